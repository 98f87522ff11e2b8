"""Rebuild a few groups at a time: the cheapest crowd first among all boxes of a pool, at noisy prices.

A pool is a handful of near groups. Its rows lie in the order of one axis of numbers, the sweep; every other
axis has a tree over the codes in the pool. Cells are the closed combinations of nodes; in a cell any run of
rows in sweep order is a box. Without numbers there is no sweep: a cell is a box, whatever rows are taken,
so its rows lie by price and the dearest are taken first. Those that are left cost less elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.random import draw
from shoal.kernels.basics.sort import sort_by
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.packed import KIND, LENGTH, PackedMetric, greatest_width, place_of
from shoal.kernels.distance.spans import LINE
from shoal.kernels.improve.pool import (
    FIRST,
    FREE,
    LAST,
    LEAF,
    MOST_CELLS,
    MOST_ENTRIES,
    MOST_GROUPS,
    MOST_LEAVES,
    MOST_ROWS,
    PARENT,
    choose_pool,
    lay_out,
    make_scratch,
    mean_excess,
    plant,
    sort_pool,
)
from shoal.kernels.improve.state import QUOTA, SIZE, State, empty_state
from shoal.kernels.improve.trial import adopt, clear, insert_rest, take_runs

__all__ = ["rebuild"]

MOST_POOLED = 7
"""Groups in a pool, at most."""
MOST_LOOKS = 1_000
"""Looks at rows for each row of a pool; one with more boxes is left as it is."""
SMALLER, LARGER, LEAST = 0.9, 0.05, 2.0
"""What becomes of the largest pool, in groups: a part of it after too many boxes, else a bit more."""
AT_K, MOST_SMALL = 25.0, 1.5
"""Small pools win more for their work, the more so the larger k is: the power by which they are preferred
grows by 1 for every AT_K, and by no more than MOST_SMALL."""
DRAWS = 3
"""Draws of prices per pool: its boxes are listed once."""
BY_SHARE, LOW_SHARE, HIGH_SHARE, HIGH_COST = 0.5, 0.5, 1.1, 1.2
"""How often rows are priced by their shares where these are known; by which part of them, and by which
part of what their groups cost."""
LARGE_K, LOWER = 40, (0.15, 0.4)
"""From here on lower prices win more: these parts of a share and of a cost are taken off."""
SPARED = 0.5
"""How often rows that are priced by their groups are left out of boxes that cost more than their part."""


def rebuild(
    packed: PackedMetric,
    state: State,
    k: int,
    tries: int,
    seed: int,
    heat: float,
    share: NDArray[np.float64],
) -> float:
    """Rebuild pools of groups so many times, and keep what is better; the loss won.

    With heat a pool may also become worse, on average by so many times the mean loss of its records. Then
    the loss won may be below 0. `share` says what each row contributes to a bound: groups that cost more
    than their shares are worth a try, and shares are prices; it is empty where none is known.
    """
    codes = state.codes
    scratch = make_scratch(packed, len(codes), seed, share)
    near = np.zeros((0, 1), dtype=np.int64)
    trial = empty_state(codes, packed, near, MOST_ROWS + MOST_GROUPS, MOST_GROUPS, state.cost[-1])
    chosen = np.zeros(MOST_POOLED, dtype=np.int64)
    return float(_rebuild(packed, state, scratch, trial, k, tries, chosen, np.zeros(MOST_POOLED), heat))


@inner
def _weigh(pool, node, layer, weight, depth, axis, leaves, nodes, members):
    """For a rebuild's cells: records per node and how many children hold any, for the rows of one layer."""
    for n in range(nodes):
        weight[depth, n, 0] = 0
        weight[depth, n, 1] = 2 if n < leaves else 0  # a leaf is always tight
    for t in range(members):
        row = layer[depth, t]
        weight[depth, pool[row, LEAF + axis], 0] += pool[row, FREE]
    for n in range(nodes):
        parent = node[axis, n, PARENT]
        if parent >= 0 and weight[depth, n, 0] > 0:
            weight[depth, parent, 0] += weight[depth, n, 0]
            weight[depth, parent, 1] += 1


@inner
def _find_cells(scratch, k, rows, order, used, leaves, nodes, cap):
    """Boxes to rebuild a pool from: closed cells of k records below `cap`; how many, -1 without room."""
    pool, layer, weight, node, above = (
        scratch.pool,
        scratch.layer,
        scratch.weight,
        scratch.node,
        scratch.above,
    )
    at = np.empty((3, used + 1), dtype=np.int64)  # per depth: the next node, the rows, the node taken
    cost = np.empty(used + 1)
    cells = np.int64(0)
    entries = np.int64(0)
    for t in range(rows):
        layer[0, t] = t
    at[0, 0] = 0
    at[1, 0] = rows
    cost[0] = 0.0
    depth = np.int64(0)
    looked = np.int64(0)
    is_new = True
    while depth >= 0:
        members = at[1, depth]
        if depth == used:
            if cells == MOST_CELLS or entries + members > MOST_ENTRIES:
                return np.int64(-1)
            for t in range(members):
                scratch.entry[entries + t] = layer[depth, t]
            scratch.cell[cells, 0] = entries
            scratch.cell[cells, 1] = members
            scratch.cell_cost[cells] = cost[depth]
            cells += 1
            entries += members
            depth -= 1
            is_new = False
            continue
        axis = order[depth]
        if is_new:
            _weigh(pool, node, layer, weight, depth, axis, leaves[axis], nodes[axis], members)
        n = at[0, depth]
        is_new = False
        if n == nodes[axis]:
            depth -= 1
            continue
        at[0, depth] = n + 1
        if weight[depth, n, 0] < k or weight[depth, n, 1] < 2:
            continue
        cost[depth + 1] = cost[depth] + scratch.node_cost[axis, n]
        if cost[depth + 1] >= cap:
            continue
        looked += members
        if looked > MOST_LOOKS * rows:
            return np.int64(-1)
        kept = 0
        for t in range(members):
            row = layer[depth, t]
            leaf = pool[row, LEAF + axis]
            if node[axis, n, FIRST] <= leaf <= node[axis, n, LAST]:
                layer[depth + 1, kept] = row
                kept += 1
        at[2, depth] = n
        is_tight = True
        for earlier in range(depth if kept < members else 0):
            other_axis = order[earlier]
            if at[2, earlier] < leaves[other_axis]:
                continue
            some = pool[layer[depth + 1, 0], LEAF + other_axis]
            is_tight = False
            for t in range(1, kept):
                other = pool[layer[depth + 1, t], LEAF + other_axis]
                if above[other_axis, some, other] == at[2, earlier]:
                    is_tight = True
                    break
            if not is_tight:
                break
        if is_tight:
            depth += 1
            at[0, depth] = 0
            at[1, depth] = kept
            is_new = True
    return cells


@inner
def _plant_all(packed, codes, scratch, rows, leaves, nodes, order):
    """Before a rebuild: plant each axis's tree, choose the sweep; the axes to cut by, widest spread first.

    Sweeps the line with most codes in the pool. Returns the sweep, -1 if there is none, and how many axes
    there are in `order`.
    """
    axes = codes.shape[1]
    pool = scratch.pool
    sweep = np.int64(-1)
    best = np.int64(1)
    for axis in range(axes):
        leaves[axis], nodes[axis] = plant(
            packed.shape,
            packed.data,
            codes,
            pool,
            scratch.mark,
            scratch.random,
            rows,
            axis,
            scratch.node,
            scratch.node_cost,
            scratch.above,
        )
        if packed.shape[axis, KIND] == LINE and leaves[axis] > best:
            best = leaves[axis]
            sweep = axis
    spread = np.empty(axes, dtype=np.int64)
    tally = np.empty(MOST_LEAVES, dtype=np.int64)
    used = np.int64(0)
    for axis in range(axes):
        if axis == sweep or leaves[axis] == 1:
            continue
        for leaf in range(leaves[axis]):
            tally[leaf] = 0
        most = 0
        for t in range(rows):
            leaf = pool[t, LEAF + axis]
            tally[leaf] += 1
            most = max(most, tally[leaf])
        spread[axis] = rows - most
        at = used
        while at > 0 and spread[order[at - 1]] < spread[axis]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = axis
        used += 1
    if sweep >= 0:
        sort_pool(codes, pool, scratch.price, scratch.mark, rows, sweep, packed.shape[sweep, LENGTH])
    return sweep, used


@inner
def _list_cells(cell, entry, cells, rows, begin, cell_of):
    """Of a pool without a sweep: the cells that hold each row, from `begin` of the row on."""
    for t in range(rows + 1):
        begin[t] = 0
    for e in range(cell[cells - 1, 0] + cell[cells - 1, 1]):
        begin[entry[e]] += 1
    for t in range(rows):
        begin[t + 1] += begin[t]
    for c in range(cells - 1, -1, -1):
        for e in range(cell[c, 0], cell[c, 0] + cell[c, 1]):
            begin[entry[e]] -= 1
            cell_of[begin[entry[e]]] = c


@inner
def _fill_cells(cell, entry, cells, rows, price, begin, cell_of, far, ranked):
    """Put the rows of a pool without a sweep into their cells once more, the dearest first."""
    for c in range(cells):
        cell[c, 1] = 0
    for t in range(rows):
        far[t] = -price[t]
        ranked[t] = t
    sort_by(far, ranked, rows)
    for at in range(rows):
        t = ranked[at]
        for e in range(begin[t], begin[t + 1]):
            c = cell_of[e]
            entry[cell[c, 0] + cell[c, 1]] = t
            cell[c, 1] += 1


@entry
def _rebuild(packed, state, scratch, trial, k, tries, chosen, score, heat):
    """Rebuild pools, so many tries: boxes of a pool, trials at noisy prices, the better one adopted."""
    pool, price, cell, entry, random = (
        scratch.pool,
        scratch.price,
        scratch.cell,
        scratch.entry,
        scratch.random,
    )
    group, cost = state.group, state.cost
    axes = state.codes.shape[1]
    by_axis = np.empty((3, axes), dtype=np.int64)
    leaves, nodes, order = by_axis[0], by_axis[1], by_axis[2]
    kept_price, far = np.empty(MOST_ROWS), np.empty(MOST_ROWS)
    by_row = np.empty((3, MOST_ROWS + 1), dtype=np.int64)
    free, begin, ranked = by_row[0], by_row[1], by_row[2]
    place = np.zeros(MOST_ROWS)
    kept_length = np.empty(MOST_CELLS, dtype=np.int64)
    kept = np.empty(MOST_ENTRIES, dtype=np.int64)  # entries of cells, or without a sweep cells of rows
    power = 1.0 + min(k / AT_K, MOST_SMALL)
    low_share, high_share, high_cost = LOW_SHARE, HIGH_SHARE, HIGH_COST
    if k >= LARGE_K:
        low_share, high_share = low_share - LOWER[0], high_share - LOWER[0]
        high_cost -= LOWER[1]
    total = 0.0
    shares = scratch.share
    mean = mean_excess(state, shares)
    largest = np.float64(chosen.size)
    for _ in range(tries):
        wanted = 2 + np.int64(draw(random) ** power * (largest - 1.0))
        groups = choose_pool(packed, state, random, shares, mean, k, wanted, chosen, score)
        if groups < 2:
            continue
        rows = lay_out(state.piece, group, cost, chosen, groups, pool, price, scratch.mark)
        if rows == 0:
            continue
        old = 0.0
        worst = 0.0
        held = np.int64(0)
        for c in range(groups):
            held += group[chosen[c], SIZE]
            old += cost[chosen[c]] * group[chosen[c], SIZE]
            worst = max(worst, cost[chosen[c]])
        sweep, used = _plant_all(packed, state.codes, scratch, rows, leaves, nodes, order)
        cap = worst * 1.05 + 0.02
        cells = _find_cells(scratch, k, rows, order, used, leaves, nodes, cap)
        if cells < 0:  # too many boxes: smaller pools for a while
            largest = max(LEAST, largest * SMALLER)
            continue
        largest = min(np.float64(chosen.size), largest + LARGER)
        if cells == 0:
            continue
        trial.stock[QUOTA] = state.stock[QUOTA] - group[cost.size - 1, SIZE]
        entries = cell[cells - 1, 0] + cell[cells - 1, 1]
        for t in range(rows):
            kept_price[t] = price[t]
            place[t] = 0.0
            if sweep >= 0:
                place[t] = place_of(packed.shape, packed.data, sweep, pool[t, LEAF + sweep])
        if sweep < 0:
            _list_cells(cell, entry, cells, rows, begin, kept)
        else:
            for c in range(cells):
                kept_length[c] = cell[c, 1]
            for e in range(entries):
                kept[e] = entry[e]
        most = 0.0 if sweep < 0 else greatest_width(packed.shape, packed.data, sweep)
        limit = old - 1e-9
        if heat > 0.0:
            limit -= heat * old / held * np.log(draw(random))
        for _ in range(DRAWS):
            level = draw(random) * high_cost
            noise = draw(random) * 0.3
            least = level * draw(random) if draw(random) < SPARED else 0.0
            by_share = shares.size > 0 and draw(random) < BY_SHARE
            if by_share:
                level = low_share + (high_share - low_share) * draw(random)
                least = 0.0
            top = 0.0
            for t in range(rows):
                free[t] = pool[t, FREE]
                price[t] = shares[pool[t, 0]] if by_share else kept_price[t]
                price[t] *= level * (1.0 + noise * (draw(random) - 0.5))
                top = max(top, price[t])
            if sweep < 0:
                _fill_cells(cell, entry, cells, rows, price, begin, kept, far, ranked)
            else:
                for c in range(cells):
                    cell[c, 1] = kept_length[c]
                for e in range(entries):
                    entry[e] = kept[e]
            take_runs(packed, scratch, trial, k, cells, place, free, most, -top, cap, least)
            new = insert_rest(packed, trial, pool, free, rows, limit)
            is_other = new < old - 1e-9 or new > old + 1e-9
            is_taken = is_other and new < limit and adopt(state, trial, chosen, groups)
            clear(trial.piece, trial.group, trial.stock, trial.near, trial.cost)
            if is_taken:
                total += old - new
                break
    return total

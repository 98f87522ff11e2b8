"""Rebuild a few groups at a time: the cheapest crowd first among all boxes of a pool, at noisy prices.

A pool is a handful of near groups. Its rows lie in the order of one axis, the sweep; every other axis
gets a tree over the codes in the pool: its own hierarchy, or one made by joining what is nearest (a LINE)
or at random (a SET). Cells are the closed combinations of nodes; in a cell any run of rows in sweep
order is a box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.spans import LINE, SET
from shoal.kernels.state import (
    AFTER,
    AT,
    CLOCK,
    COPIES,
    GROUPS,
    HEAD,
    HOME,
    KIND,
    LENGTH,
    PIECES,
    QUOTA,
    ROW,
    SEEN,
    SIZE,
    TWIN,
    State,
    best_group,
    clear_stock,
    drop_group,
    drop_piece,
    join,
    joined_cost,
    link,
    measure,
    new_group,
    new_piece,
    width,
)

__all__ = ["Desk", "draw", "make_desk", "make_trial", "try_rebuild"]

MOST_ROWS = 1200
"""Rows a pool may have."""
MOST_GROUPS = 64
"""Groups a pool may become."""
MOST_TIMES = 4
"""Groups of more than this times k stay out of pools; with 16 groups a pool never becomes more than 64."""
MOST_AROUND = 6
"""Rows of a group around which near groups are sought."""
MOST_LEAVES = 48
"""Leaves of a pool's tree; more codes share leaves."""
MOST_CELLS = 6_000
MOST_ENTRIES = 200_000
BUCKETS = 256
DRAWS = 3
"""Draws of prices per pool: its boxes are listed once."""
FAR = 1e18


class Desk(NamedTuple):
    """Room to work in, made once per region.

    `pool`: piece, copies and leaves of each row in sweep order; `node`: first leaf, last leaf, parent
    per axis and node; `above`: the lowest node over two leaves; `cell`: first entry, entries, next in
    its bucket.
    """

    pool: np.ndarray
    price: np.ndarray
    node: np.ndarray
    node_cost: np.ndarray
    above: np.ndarray
    layer: np.ndarray
    weight: np.ndarray
    cell: np.ndarray
    cell_cost: np.ndarray
    entry: np.ndarray
    mark: np.ndarray
    random: np.ndarray


@njit(cache=True, nogil=True)
def make_desk(ruler, rows, seed):
    """An empty desk for a region of `rows` distinct rows."""
    axes = ruler.shape.shape[0]
    longest = rows
    for axis in range(axes):
        longest = max(longest, ruler.shape[axis, LENGTH])
    return Desk(
        np.zeros((MOST_ROWS, 2 + axes), dtype=np.int64),
        np.zeros(MOST_ROWS),
        np.zeros((axes, 2 * MOST_LEAVES, 3), dtype=np.int64),
        np.zeros((axes, 2 * MOST_LEAVES)),
        np.zeros((axes, MOST_LEAVES, MOST_LEAVES), dtype=np.int64),
        np.zeros((axes + 1, MOST_ROWS), dtype=np.int64),
        np.zeros((axes + 1, 2 * MOST_LEAVES, 2), dtype=np.int64),
        np.zeros((MOST_CELLS, 3), dtype=np.int64),
        np.zeros(MOST_CELLS),
        np.zeros(MOST_ENTRIES, dtype=np.int64),
        np.full(longest, -1, dtype=np.int64),
        np.full(1, seed, dtype=np.uint64),
    )


@njit(cache=True, nogil=True)
def make_trial(state):
    """An empty state for one pool, of the same shape as `state`."""
    trial = State(
        state.codes,
        np.full((MOST_ROWS + MOST_GROUPS, 7), -1, dtype=np.int64),
        np.zeros((MOST_GROUPS + 1, 3), dtype=np.int64),
        np.zeros((MOST_GROUPS + 1, 2, state.codes.shape[1]), dtype=np.int32),
        np.zeros((MOST_GROUPS + 1, state.bits.shape[1]), dtype=np.uint64),
        np.zeros(MOST_GROUPS + 1),
        state.stock.copy(),
        np.zeros((0, 1), dtype=np.int64),
    )
    clear_stock(trial)
    trial.cost[MOST_GROUPS] = state.cost[state.cost.size - 1]
    return trial


@njit(cache=True, nogil=True)
def draw(random):
    """The next number in [0, 1) of a splitmix64 stream."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def _rank(ruler, state, desk, k, p, g, wanted, pull, noise, chosen, score, found):
    """Put group g among the `wanted` nearest to piece p if it belongs there; how many are found now."""
    size = state.group[g, SIZE]
    if size > MOST_TIMES * k or (state.cost[g] <= 0.0 and size <= k):
        return found
    worst = score[found - 1] if found == wanted else FAR
    joined = joined_cost(ruler, state, state.box[g], state.bits[g], p, worst)
    if joined >= worst:  # then the score, which is at least that, is too
        return found
    far = (joined + pull * (joined - state.cost[g])) * (1.0 + noise * draw(desk.random))
    if far >= worst:
        return found
    at = found
    if found == wanted:
        at = found - 1
    else:
        found += 1
    while score[at - 1] > far:
        score[at] = score[at - 1]
        chosen[at] = chosen[at - 1]
        at -= 1
    score[at] = far
    chosen[at] = g
    return found


@njit(cache=True, nogil=True)
def choose_pool(ruler, state, desk, k, wanted, chosen, score):
    """Near groups around a costly row: their number, the first one the row's own; 0 if there is none."""
    out = state.cost.size - 1
    p = np.int64(-1)
    a = np.int64(-1)
    for _ in range(200):
        q = np.int64(draw(desk.random) * state.piece.shape[0])
        a = state.piece[q, HOME]
        if a < 0 or a == out or state.cost[a] <= 0.0 or state.group[a, SIZE] > MOST_TIMES * k:
            continue
        if draw(desk.random) * 1.5 < state.cost[a] + 0.05:
            p = q
            break
    if p < 0:
        return np.int64(0)
    noise = draw(desk.random) * 0.5
    pull = 3.0 if draw(desk.random) < 0.5 else 1.0
    found = np.int64(1)
    chosen[0] = a
    score[0] = -1.0
    state.stock[CLOCK] += 1
    clock = state.stock[CLOCK]
    state.group[a, SEEN] = clock
    if state.near.shape[1] > 1:
        stays = p
        for _ in range(MOST_AROUND):
            row = state.piece[stays, ROW]
            for n in range(1, state.near.shape[1]):
                if state.near[row, n] < 0:
                    break
                q = state.near[state.near[row, n], 0]
                while q >= 0:
                    g = state.piece[q, HOME]
                    if g != out and state.group[g, SEEN] != clock:
                        state.group[g, SEEN] = clock
                        found = _rank(
                            ruler, state, desk, k, p, g, wanted, pull, noise, chosen, score, found
                        )
                    q = state.piece[q, TWIN]
            stays = state.piece[stays, AFTER]
            if stays < 0:
                stays = state.group[a, HEAD]
            if stays == p:
                break
        return found
    for g in range(out):
        if g != a and state.group[g, SIZE] > 0:
            found = _rank(ruler, state, desk, k, p, g, wanted, pull, noise, chosen, score, found)
    return found


@njit(cache=True, nogil=True)
def lay_out(ruler, state, desk, chosen, groups):
    """Write the rows of the chosen groups into the pool, copies together; their number, 0 if too many."""
    rows = np.int64(0)
    for c in range(groups):
        p = state.group[chosen[c], HEAD]
        while p >= 0:
            row = state.piece[p, ROW]
            at = desk.mark[row]
            if at < 0:
                if rows == MOST_ROWS:
                    for t in range(rows):
                        desk.mark[desk.pool[t, 0]] = -1
                    return np.int64(0)
                at = rows
                desk.mark[row] = at
                desk.pool[at, 0] = row
                desk.price[at] = state.cost[chosen[c]]
                desk.pool[at, 1] = 0
                rows += 1
            desk.pool[at, 1] += state.piece[p, COPIES]
            p = state.piece[p, AFTER]
    for t in range(rows):
        desk.mark[desk.pool[t, 0]] = -1
    return rows


@njit(cache=True, nogil=True)
def _plant(ruler, state, desk, axis, rows):
    """Make the tree of one axis over the pool's codes and note every row's leaf; the leaves, the nodes."""
    kind = ruler.shape[axis, KIND]
    length = ruler.shape[axis, LENGTH]
    for t in range(rows):
        desk.mark[state.codes[desk.pool[t, 0], axis]] = 0
    codes = np.int64(0)
    for code in range(length):
        if desk.mark[code] == 0:
            codes += 1
    if codes == 1:
        for t in range(rows):
            desk.mark[state.codes[desk.pool[t, 0], axis]] = -1
            desk.pool[t, 2 + axis] = 0
        return np.int64(1), np.int64(1)
    leaves = min(codes, MOST_LEAVES)
    gap = np.empty(leaves)
    active = np.empty(leaves, dtype=np.int64)
    ends = np.empty((2, 2 * leaves), dtype=np.int64)
    seen = 0
    previous = -1
    for code in range(length):
        if desk.mark[code] == 0:
            leaf = seen * leaves // codes
            if leaf != previous:
                ends[0, leaf] = code
                previous = leaf
            ends[1, leaf] = code
            desk.mark[code] = leaf
            seen += 1
    order = np.arange(leaves)
    if kind == SET:
        for leaf in range(leaves - 1, 0, -1):
            other = np.int64(draw(desk.random) * (leaf + 1))
            order[leaf], order[other] = order[other], order[leaf]
    for t in range(rows):
        desk.pool[t, 2 + axis] = order[desk.mark[state.codes[desk.pool[t, 0], axis]]]
    for t in range(rows):
        desk.mark[state.codes[desk.pool[t, 0], axis]] = -1
    for leaf in range(leaves):
        active[leaf] = leaf
        desk.node[axis, leaf, 0] = leaf
        desk.node[axis, leaf, 1] = leaf
        desk.node_cost[axis, leaf] = 0.0
        if kind != SET and ends[0, leaf] < ends[1, leaf]:
            desk.node_cost[axis, leaf] = width(ruler, axis, ends[0, leaf], ends[1, leaf])
        for other in range(leaves):
            desk.above[axis, leaf, other] = -1
        desk.above[axis, leaf, leaf] = leaf
        if leaf + 1 < leaves:
            if kind == SET:
                gap[leaf] = draw(desk.random)
            else:
                gap[leaf] = width(ruler, axis, ends[1, leaf], ends[0, leaf + 1])
                if kind == LINE:
                    gap[leaf] *= 1.0 + 0.5 * draw(desk.random)
    step = ruler.data[ruler.shape[axis, AT]] if kind == SET else 0.0
    nodes = leaves
    left = leaves
    while left > 1:
        least = gap[0]
        for i in range(1, left - 1):
            least = min(least, gap[i])
        least = least * (1.0 + 1e-9)
        at = 0
        i = 0
        while i < left:
            j = i
            while j + 1 < left and gap[j] <= least:
                j += 1
            if j == i:
                active[at] = active[i]
            else:
                first = desk.node[axis, active[i], 0]
                last = desk.node[axis, active[j], 1]
                desk.node[axis, nodes, 0] = first
                desk.node[axis, nodes, 1] = last
                if kind == SET:
                    desk.node_cost[axis, nodes] = step * (last - first)
                else:
                    desk.node_cost[axis, nodes] = width(ruler, axis, ends[0, first], ends[1, last])
                for c in range(i, j + 1):
                    desk.node[axis, active[c], 2] = nodes
                for one in range(first, last + 1):
                    for other in range(first, last + 1):
                        if desk.above[axis, one, other] < 0:
                            desk.above[axis, one, other] = nodes
                active[at] = nodes
                nodes += 1
            if j < left - 1:
                gap[at] = gap[j]
            at += 1
            i = j + 1
        left = at
    desk.node[axis, nodes - 1, 2] = -1
    return leaves, nodes


@njit(cache=True, nogil=True)
def _weigh(desk, depth, axis, leaves, nodes, members):
    """Records per node and how many of its children hold any, for the rows of one layer."""
    weight = desk.weight[depth]
    for node in range(nodes):
        weight[node, 0] = 0
        weight[node, 1] = 0
    for t in range(members):
        row = desk.layer[depth, t]
        weight[desk.pool[row, 2 + axis], 0] += desk.pool[row, 1]
    for node in range(nodes):
        if node < leaves:
            weight[node, 1] = 2  # a leaf is always tight
        above = desk.node[axis, node, 2]
        if above >= 0 and weight[node, 0] > 0:
            weight[above, 0] += weight[node, 0]
            weight[above, 1] += 1


@njit(cache=True, nogil=True)
def find_cells(ruler, state, desk, k, rows, order, used, leaves, nodes, sweep, cap):
    """All closed cells of at least k records below the cost `cap`; their number, -1 if there is no room."""
    cells = np.int64(0)
    entries = np.int64(0)
    next_node = np.zeros(used + 1, dtype=np.int64)
    members = np.zeros(used + 1, dtype=np.int64)
    path = np.zeros(used + 1, dtype=np.int64)
    cost = np.zeros(used + 1)
    for t in range(rows):
        desk.layer[0, t] = t
    members[0] = rows
    if used > 0:
        _weigh(desk, 0, order[0], leaves[order[0]], nodes[order[0]], rows)
    depth = np.int64(0)
    while depth >= 0:
        if depth == used:  # a cell; worth keeping if its cheapest run is
            if cells == MOST_CELLS or entries + members[depth] > MOST_ENTRIES:
                return np.int64(-1)
            for t in range(members[depth]):
                desk.entry[entries + t] = desk.layer[depth, t]
            desk.cell[cells, 0] = entries
            desk.cell[cells, 1] = members[depth]
            desk.cell_cost[cells] = cost[depth]
            cells += 1
            entries += members[depth]
            depth -= 1
            continue
        axis = order[depth]
        node = next_node[depth]
        if node == nodes[axis]:
            depth -= 1
            continue
        next_node[depth] += 1
        if desk.weight[depth, node, 0] < k or desk.weight[depth, node, 1] < 2:
            continue
        cost[depth + 1] = cost[depth] + desk.node_cost[axis, node]
        if cost[depth + 1] >= cap:
            continue
        first, last = desk.node[axis, node, 0], desk.node[axis, node, 1]
        kept = 0
        for t in range(members[depth]):
            row = desk.layer[depth, t]
            leaf = desk.pool[row, 2 + axis]
            if first <= leaf <= last:
                desk.layer[depth + 1, kept] = row
                kept += 1
        path[depth] = node
        members[depth + 1] = kept
        is_tight = True
        if kept < members[depth]:
            for earlier in range(depth):
                if path[earlier] < leaves[order[earlier]]:
                    continue
                column = 2 + order[earlier]
                some = desk.pool[desk.layer[depth + 1, 0], column]
                is_tight = False
                for t in range(1, kept):
                    other = desk.pool[desk.layer[depth + 1, t], column]
                    if desk.above[order[earlier], some, other] == path[earlier]:
                        is_tight = True
                        break
                if not is_tight:
                    break
        if is_tight:
            depth += 1
            next_node[depth] = 0
            if depth < used:
                _weigh(desk, depth, order[depth], leaves[order[depth]], nodes[order[depth]], kept)
    return cells


@njit(cache=True, nogil=True)
def take_runs(ruler, state, desk, trial, k, rows, cells, sweep, low, high):
    """Take the cheapest run of at least k free records again and again, into groups of `trial`."""
    bucket = np.full(BUCKETS + 1, -1, dtype=np.int64)
    scale = BUCKETS / (high - low)
    at_code = 2 + sweep
    taken = np.int64(0)
    for now in range(-1, BUCKETS + 1):
        # before the first bucket every cell is looked at once, to be filed
        limit = low + (now + 1) / scale if now < BUCKETS else high
        cell = np.int64(0) if now < 0 else bucket[now]
        while cell >= 0 and cell < cells:
            if now >= 0:
                bucket[now] = desk.cell[cell, 2]
            start = desk.cell[cell, 0]
            stop = start + desk.cell[cell, 1]
            write = start
            begin = start
            held = np.int64(0)
            paid = 0.0
            best = FAR
            before = taken
            for e in range(start, stop):
                row = desk.entry[e]
                free = desk.pool[row, 1]
                if free == 0:
                    continue
                desk.entry[write] = row
                write += 1
                held += free
                paid += desk.price[row] * free
                first = desk.entry[begin]
                while held - desk.pool[first, 1] >= k:
                    held -= desk.pool[first, 1]
                    paid -= desk.price[first] * desk.pool[first, 1]
                    begin += 1
                    first = desk.entry[begin]
                if held >= k:
                    one, other = desk.pool[first, at_code], desk.pool[row, at_code]
                    key = desk.cell_cost[cell] - paid / held
                    if sweep >= 0 and one < other:
                        key += width(ruler, sweep, one, other)
                    if key < limit and now >= 0:
                        g = new_group(trial)
                        over = held - k
                        for t in range(begin, write):
                            member = desk.entry[t]
                            copies = desk.pool[member, 1]
                            if t == begin:
                                copies -= over
                            desk.pool[member, 1] -= copies
                            q = new_piece(trial, desk.pool[member, 0], copies)
                            join(ruler, trial, q, g)
                        taken += 1
                        write = begin + 1 if over > 0 else begin
                        held = over
                        paid = over * desk.price[first]
                    elif key < best:
                        best = key
            desk.cell[cell, 1] = write - start
            if taken > before:  # runs across the gap have not been looked at
                best = low
            if best < high and now < BUCKETS:
                place = np.int64((best - low) * scale)
                place = min(max(place, now + 1), BUCKETS)
                desk.cell[cell, 2] = bucket[place]
                bucket[place] = cell
            cell = cell + 1 if now < 0 else bucket[now]
    return taken


@njit(cache=True, nogil=True)
def clear_trial(trial):
    """Make all pieces and groups of a trial spare again."""
    for q in range(trial.piece.shape[0]):
        if trial.piece[q, HOME] >= 0:
            drop_piece(trial, q)
    for g in range(trial.cost.size - 1):
        if trial.group[g, SIZE] > 0:
            drop_group(trial, g)
    out = trial.cost.size - 1
    trial.group[out, SIZE] = 0
    trial.group[out, HEAD] = -1


@njit(cache=True, nogil=True)
def insert_rest(ruler, state, desk, trial, rows, limit):
    """Put what is free where it adds least; the loss added, or something above `limit`."""
    added = 0.0
    for t in range(rows):
        copies = desk.pool[t, 1]
        if copies > 0:
            q = new_piece(trial, desk.pool[t, 0], copies)
            g, price = best_group(ruler, trial, q, copies, FAR, np.int64(-1))
            if g < 0 or added + price > limit:
                drop_piece(trial, q)
                return FAR
            join(ruler, trial, q, g)
            desk.pool[t, 1] = 0
            added += price
    return added


@njit(cache=True, nogil=True)
def trial_loss(trial):
    """The loss of a trial."""
    total = 0.0
    for g in range(trial.cost.size):
        total += trial.cost[g] * trial.group[g, SIZE]
    return total


@njit(cache=True, nogil=True)
def adopt(ruler, state, trial, chosen, groups):
    """Put a trial in the place of the chosen groups; False, with nothing done, when there is no room."""
    pieces = 0
    for q in range(trial.piece.shape[0]):
        pieces += trial.piece[q, HOME] >= 0
    new = 0
    for g in range(trial.cost.size - 1):
        new += trial.group[g, SIZE] > 0
    freed = 0
    for c in range(groups):
        p = state.group[chosen[c], HEAD]
        while p >= 0:
            freed += 1
            p = state.piece[p, AFTER]
    if pieces > state.stock[PIECES] + freed or new > state.stock[GROUPS] + groups:
        return False
    out = state.cost.size - 1
    for c in range(groups):
        g = chosen[c]
        p = state.group[g, HEAD]
        while p >= 0:
            following = state.piece[p, AFTER]
            drop_piece(state, p)
            p = following
        drop_group(state, g)
    for g in range(trial.cost.size - 1):
        if trial.group[g, SIZE] > 0:
            made = new_group(state)
            q = trial.group[g, HEAD]
            while q >= 0:
                link(state, new_piece(state, trial.piece[q, ROW], trial.piece[q, COPIES]), made)
                q = trial.piece[q, AFTER]
            measure(ruler, state, made)
    q = trial.group[trial.cost.size - 1, HEAD]
    while q >= 0:
        link(state, new_piece(state, trial.piece[q, ROW], trial.piece[q, COPIES]), out)
        q = trial.piece[q, AFTER]
    return True


@njit(cache=True, nogil=True)
def _sort_pool(ruler, state, desk, rows, sweep):
    """Put the pool in the order of the sweep, by counting; the sweep's column then holds codes."""
    length = ruler.shape[sweep, LENGTH]
    count = np.zeros(length + 1, dtype=np.int64)
    for t in range(rows):
        desk.pool[t, 2 + sweep] = state.codes[desk.pool[t, 0], sweep]
        count[desk.pool[t, 2 + sweep] + 1] += 1
    for code in range(length):
        count[code + 1] += count[code]
    columns = desk.pool.shape[1]
    ordered = np.empty((rows, columns), dtype=np.int64)
    price = desk.price[:rows].copy()
    for t in range(rows):
        code = desk.pool[t, 2 + sweep]
        for column in range(columns):
            ordered[count[code], column] = desk.pool[t, column]
        desk.price[count[code]] = price[t]
        count[code] += 1
    for t in range(rows):
        for column in range(columns):
            desk.pool[t, column] = ordered[t, column]


@njit(cache=True, nogil=True)
def try_rebuild(ruler, state, desk, trial, k, wanted, chosen, score):
    """Rebuild one pool of 2 to `wanted` groups and keep it if that is better; the loss won."""
    some = 2 + np.int64(draw(desk.random) * (wanted - 1))
    groups = choose_pool(ruler, state, desk, k, some, chosen, score)
    if groups < 2:
        return 0.0
    rows = lay_out(ruler, state, desk, chosen, groups)
    if rows == 0:
        return 0.0
    old = 0.0
    worst = 0.0
    for c in range(groups):
        old += state.cost[chosen[c]] * state.group[chosen[c], SIZE]
        worst = max(worst, state.cost[chosen[c]])
    axes = ruler.shape.shape[0]
    # sweep the line with most codes in the pool, or the tree if there is no line
    leaves = np.ones(axes, dtype=np.int64)
    nodes = np.ones(axes, dtype=np.int64)
    spread = np.zeros(axes)
    sweep = np.int64(-1)
    best = 1.0
    for axis in range(axes):
        leaves[axis], nodes[axis] = _plant(ruler, state, desk, axis, rows)
        kind = ruler.shape[axis, KIND]
        rank = leaves[axis] + (1e6 if kind == LINE and leaves[axis] > 1 else 0.0)
        if kind != SET and rank > best:
            best = rank
            sweep = axis
    order = np.zeros(axes, dtype=np.int64)
    used = np.int64(0)
    for axis in range(axes):
        if axis == sweep or leaves[axis] == 1:
            continue
        tally = np.zeros(leaves[axis], dtype=np.int64)
        most = 0
        for t in range(rows):
            leaf = desk.pool[t, 2 + axis]
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
        _sort_pool(ruler, state, desk, rows, sweep)
    cap = worst * 1.05 + 0.02
    cells = find_cells(ruler, state, desk, k, rows, order, used, leaves, nodes, sweep, cap)
    if cells <= 0:
        return 0.0
    out = state.cost.size - 1
    trial.stock[QUOTA] = state.stock[QUOTA] - state.group[out, SIZE]
    entries = desk.cell[cells - 1, 0] + desk.cell[cells - 1, 1]
    kept_entry = desk.entry[:entries].copy()
    kept_length = desk.cell[:cells, 1].copy()
    kept_copies = desk.pool[:rows, 1].copy()
    kept_price = desk.price[:rows].copy()
    limit = old - 1e-9
    won = 0.0
    for turn in range(DRAWS):
        if turn > 0:
            desk.entry[:entries] = kept_entry
            desk.cell[:cells, 1] = kept_length
            desk.pool[:rows, 1] = kept_copies
        share = draw(desk.random) * 1.2
        noise = draw(desk.random) * 0.3
        top = 0.0
        for t in range(rows):
            desk.price[t] = kept_price[t] * share * (1.0 + noise * (draw(desk.random) - 0.5))
            top = max(top, desk.price[t])
        take_runs(ruler, state, desk, trial, k, rows, cells, sweep, -top, cap)
        new = trial_loss(trial)
        if new < limit:
            new += insert_rest(ruler, state, desk, trial, rows, limit - new)
        if new < limit and adopt(ruler, state, trial, chosen, groups):
            won = old - new
        clear_trial(trial)
        if won > 0.0:
            break
    return won

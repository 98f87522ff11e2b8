"""A pool of a few near groups: its rows laid out, and a tree over the codes of each axis.

An axis gets its own hierarchy, or one made by joining what is nearest (a LINE) or at random (a SET).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.random import draw
from shoal.kernels.compile.decorators import inner
from shoal.kernels.distance.packed import AT, KIND, LENGTH, PackedMetric, width
from shoal.kernels.distance.spans import LINE, SET
from shoal.kernels.improve.state import (
    AFTER,
    CLOCK,
    COPIES,
    HEAD,
    HOME,
    ROW,
    SEEN,
    SIZE,
    TWIN,
    joined_cost,
)

__all__ = [
    "FAR",
    "FIRST",
    "FREE",
    "LAST",
    "LEAF",
    "MOST_CELLS",
    "MOST_ENTRIES",
    "MOST_GROUPS",
    "MOST_LEAVES",
    "MOST_ROWS",
    "PARENT",
    "Scratch",
    "choose_pool",
    "lay_out",
    "make_scratch",
    "mean_excess",
    "plant",
    "sort_pool",
]

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
DEAR, ANY = 4.0, 0.05
"""A group that exceeds the shares of its records by so many times the mean is always worth a try; any
group is with this probability."""
FAR = 1e18
FREE, LEAF = 1, 2
"""Columns of a pool: its row, its free copies, then its leaf or code per axis."""
FIRST, LAST, PARENT = 0, 1, 2


class Scratch(NamedTuple):
    """Room to work in, made once per block.

    `pool`: row, free copies and leaves of each row in sweep order; `node`: first leaf, last leaf, parent
    per axis and node; `above`: the lowest node over two leaves; `layer` and `weight`: the rows and the
    weights of nodes at each depth of a search; `cell`: first entry, entries, next in its bucket; `share`:
    what each row of the block contributes to a bound, empty where that is not known.
    """

    pool: NDArray[np.int64]
    price: NDArray[np.float64]
    node: NDArray[np.int64]
    node_cost: NDArray[np.float64]
    above: NDArray[np.int64]
    layer: NDArray[np.int64]
    weight: NDArray[np.int64]
    cell: NDArray[np.int64]
    cell_cost: NDArray[np.float64]
    entry: NDArray[np.int64]
    mark: NDArray[np.int64]
    random: NDArray[np.uint64]
    share: NDArray[np.float64]


def make_scratch(packed: PackedMetric, rows: int, seed: int, share: NDArray[np.float64]) -> Scratch:
    """Room for the pools of a block of `rows` distinct rows."""
    axes = len(packed.shape)
    longest = max(rows, int(packed.shape[:, LENGTH].max(initial=0)))
    return Scratch(
        np.zeros((MOST_ROWS, LEAF + axes), dtype=np.int64),
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
        np.array([seed], dtype=np.uint64),
        share,
    )


@inner
def _excess(piece, group, cost, share, g):
    """What a group costs beyond the shares of its records, per record: where pools are chosen."""
    worth = 0.0
    p = group[g, HEAD]
    while p >= 0:
        worth += share[piece[p, ROW]] * piece[p, COPIES]
        p = piece[p, AFTER]
    return cost[g] - worth / group[g, SIZE]


@inner
def mean_excess(state, share):
    """What groups cost beyond the shares of their records, per record, for pools; 0 without shares."""
    group, cost = state.group, state.cost
    total, records = 0.0, 0
    for g in range(cost.size - 1 if share.size > 0 else 0):
        if group[g, SIZE] > 0:
            total += _excess(state.piece, group, cost, share, g) * group[g, SIZE]
            records += group[g, SIZE]
    return max(total, 0.0) / max(records, 1)


@inner
def choose_pool(packed, state, random, share, mean, k, wanted, chosen, score):
    """Choose a pool of near groups around a costly row: their number, the row's own first; 0 if none.

    Where rows have shares, costly is what its group costs beyond them, beside the `mean` of all.
    """
    piece, group, cost, near, stock = state.piece, state.group, state.cost, state.near, state.stock
    out = cost.size - 1
    p = np.int64(-1)
    a = np.int64(-1)
    for _ in range(200):
        q = np.int64(draw(random) * piece.shape[0])
        a = piece[q, HOME]
        if a < 0 or a == out or cost[a] <= 0.0 or group[a, SIZE] > MOST_TIMES * k:
            continue
        if share.size > 0:
            excess = _excess(piece, group, cost, share, a)
            is_costly = draw(random) < excess / (DEAR * mean + 1e-12) + ANY
        else:
            is_costly = draw(random) * 1.5 < cost[a] + 0.05
        if is_costly:
            p = q
            break
    if p < 0:
        return np.int64(0)
    noise = draw(random) * 0.5
    pull = 3.0 if draw(random) < 0.5 else 1.0
    found = np.int64(1)
    chosen[0] = a
    score[0] = -1.0
    stock[CLOCK] += 1
    clock = stock[CLOCK]
    group[a, SEEN] = clock
    stays = p
    for _ in range(MOST_AROUND):
        for n in range(1, near.shape[1]):
            beside = near[piece[stays, ROW], n]
            if beside < 0:
                break
            q = near[beside, 0]
            while q >= 0:
                g = piece[q, HOME]
                q = piece[q, TWIN]
                if g == out or group[g, SEEN] == clock:
                    continue
                group[g, SEEN] = clock
                size = group[g, SIZE]
                if size > MOST_TIMES * k or (cost[g] <= 0.0 and size <= k):
                    continue
                # put it among the wanted ones if it is nearer than the last of them
                worst = score[found - 1] if found == wanted else FAR
                far = joined_cost(
                    packed.shape,
                    packed.data,
                    stock,
                    state.codes,
                    piece[p, ROW],
                    state.box,
                    state.bits,
                    g,
                    worst,
                )
                if far >= worst:  # then the score, which is at least that, is too
                    continue
                far = (far + pull * (far - cost[g])) * (1.0 + noise * draw(random))
                if far >= worst:
                    continue
                if found < wanted:
                    found += 1
                at = found - 1
                while score[at - 1] > far:
                    score[at] = score[at - 1]
                    chosen[at] = chosen[at - 1]
                    at -= 1
                score[at] = far
                chosen[at] = g
        stays = piece[stays, AFTER]
        if stays < 0:
            stays = group[a, HEAD]
        if stays == p:
            break
    return found


@inner
def lay_out(piece, group, cost, chosen, groups, pool, price, mark):
    """Write the rows of the chosen groups into the pool, copies together; their number, 0 if too many."""
    rows = np.int64(0)
    is_full = False
    for c in range(groups):
        p = group[chosen[c], HEAD]
        while p >= 0 and not is_full:
            at = mark[piece[p, ROW]]
            if at < 0 and rows == MOST_ROWS:
                is_full = True
                break
            if at < 0:
                at = rows
                mark[piece[p, ROW]] = at
                pool[at, 0] = piece[p, ROW]
                pool[at, FREE] = 0
                price[at] = cost[chosen[c]]
                rows += 1
            pool[at, FREE] += piece[p, COPIES]
            p = piece[p, AFTER]
    for t in range(rows):
        mark[pool[t, 0]] = -1
    return np.int64(0) if is_full else rows


@inner
def plant(shape, data, codes, pool, mark, random, rows, axis, node, node_cost, above):
    """Make the tree of one axis over the pool's codes and note every row's leaf; the leaves, the nodes."""
    kind = shape[axis, KIND]
    length = shape[axis, LENGTH]
    for t in range(rows):
        mark[codes[pool[t, 0], axis]] = 0
    many = np.int64(0)
    for code in range(length):
        if mark[code] == 0:
            many += 1
    leaves = min(many, MOST_LEAVES)
    gap = np.empty(leaves)
    item = np.empty((4, 2 * leaves), dtype=np.int64)  # active nodes, ends of leaves (two), their order
    seen = 0
    previous = -1
    for code in range(length):
        if mark[code] == 0:
            leaf = seen * leaves // many
            if leaf != previous:
                item[1, leaf] = code
                item[3, leaf] = leaf
                previous = leaf
            item[2, leaf] = code
            mark[code] = leaf
            seen += 1
    if kind == SET:
        for leaf in range(leaves - 1, 0, -1):
            other = np.int64(draw(random) * (leaf + 1))
            item[3, leaf], item[3, other] = item[3, other], item[3, leaf]
    for t in range(rows):
        pool[t, LEAF + axis] = item[3, mark[codes[pool[t, 0], axis]]]
    for t in range(rows):
        mark[codes[pool[t, 0], axis]] = -1
    for leaf in range(leaves):
        item[0, leaf] = leaf
        node[axis, leaf, FIRST] = leaf
        node[axis, leaf, LAST] = leaf
        node_cost[axis, leaf] = 0.0
        for other in range(leaves):
            above[axis, leaf, other] = -1
        above[axis, leaf, leaf] = leaf
        if kind != SET and item[1, leaf] < item[2, leaf]:
            node_cost[axis, leaf] = width(shape, data, axis, item[1, leaf], item[2, leaf])
        if leaf + 1 < leaves:
            if kind == SET:
                gap[leaf] = draw(random)
            else:
                gap[leaf] = width(shape, data, axis, item[2, leaf], item[1, leaf + 1])
                if kind == LINE:
                    gap[leaf] *= 1.0 + 0.5 * draw(random)
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
                item[0, at] = item[0, i]
            else:
                first = node[axis, item[0, i], FIRST]
                last = node[axis, item[0, j], LAST]
                node[axis, nodes, FIRST] = first
                node[axis, nodes, LAST] = last
                if kind == SET:
                    node_cost[axis, nodes] = data[shape[axis, AT]] * (last - first)
                else:
                    node_cost[axis, nodes] = width(shape, data, axis, item[1, first], item[2, last])
                for c in range(i, j + 1):
                    node[axis, item[0, c], PARENT] = nodes
                for one in range(first, last + 1):
                    for other in range(first, last + 1):
                        if above[axis, one, other] < 0:
                            above[axis, one, other] = nodes
                item[0, at] = nodes
                nodes += 1
            if j < left - 1:
                gap[at] = gap[j]
            at += 1
            i = j + 1
        left = at
    node[axis, nodes - 1, PARENT] = -1
    return leaves, nodes


@inner
def sort_pool(codes, pool, price, mark, rows, sweep, length):
    """Put the pool in the order of the sweep, by counting; the sweep's column then holds codes."""
    columns = pool.shape[1]
    ordered = np.empty((rows, columns), dtype=np.int64)
    cost = np.empty(rows)
    for code in range(length):
        mark[code] = 0
    for t in range(rows):
        pool[t, LEAF + sweep] = codes[pool[t, 0], sweep]
        mark[pool[t, LEAF + sweep]] += 1
    before = 0
    for code in range(length):
        before += mark[code]
        mark[code] = before - mark[code]
    for t in range(rows):
        code = pool[t, LEAF + sweep]
        cost[mark[code]] = price[t]
        for column in range(columns):
            ordered[mark[code], column] = pool[t, column]
        mark[code] += 1
    for code in range(length):
        mark[code] = -1
    for t in range(rows):
        price[t] = cost[t]
        for column in range(columns):
            pool[t, column] = ordered[t, column]

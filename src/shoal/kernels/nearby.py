"""Who stands near whom, in any distance of `kernels/space.py`: exact, without an n x n matrix.

Queries are rows of an `Index`, and each writes its own slot: the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from shoal.kernels.index import DEPTH, Index, least_to, most_to
from shoal.kernels.neighbours import reach_distances as reach_by_spans
from shoal.kernels.space import GIVEN, SPAN, apart

__all__ = ["best_centres", "count_within", "nearest", "reach_distances", "shell"]

BLOCK = 64

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def reach_distances(index: Index, space: Any, count: Counts, k: int) -> Floats:
    """For each row the least distance within which k records stand, itself included; 0 without records."""
    if space.kind == SPAN:
        return reach_by_spans(space.codes, count, space.metric, k)
    out = np.zeros(count.size)
    _reach(index, space, count, k, out)
    return out


def count_within(index: Index, space: Any, count: Counts, rows: Rows, radius: float) -> Counts:
    """For each of `rows` the records at a distance of at most `radius`, of those with counts."""
    out = np.zeros(rows.size, dtype=np.int64)
    _count(index, space, count, rows, radius, out)
    return out


def nearest(index: Index, space: Any, rows: Rows) -> tuple[Rows, Floats]:
    """For each of `rows` the nearest row of the index, of equals the first, and its distance."""
    return best_centres(index, space, np.zeros(_length(space)), rows)


def best_centres(index: Index, space: Any, price: Floats, rows: Rows) -> tuple[Rows, Floats]:
    """For each of `rows` the row c with the least max(distance, price[c]), and that value."""
    chosen, least = _least(index, space, price, rows)
    return chosen, least


def shell(index: Index, space: Any, low: float, high: float, most: int) -> Floats | None:
    """The distinct distances above `low` and at most `high`; None where more than `most` pairs have one."""
    rows = index.place
    many = np.zeros(rows.size, dtype=np.int64)
    _shell(index, space, rows, low, high, many, many, np.zeros(0))
    if int(many.sum()) > 2 * most:
        return None
    starts = np.cumsum(many) - many
    out = np.empty(int(many.sum()))
    if out.size:
        _shell(index, space, rows, low, high, many, starts, out)
    return np.unique(out)


def _length(space: Any) -> int:
    if space.kind == SPAN:
        return len(space.codes)
    return len(space.matrix) if space.kind == GIVEN else len(space.points)


@njit(cache=True, parallel=True)
def _count(index, space, count, rows, radius, out):
    for block in prange((rows.size + BLOCK - 1) // BLOCK):
        stack = np.empty(DEPTH, dtype=np.int64)
        for q in range(block * BLOCK, min(rows.size, (block + 1) * BLOCK)):
            i = rows[q]
            stack[0] = 0
            top = 1
            held = 0
            while top > 0:
                top -= 1
                node = stack[top]
                if least_to(index, space, node, i) > radius:
                    continue
                if index.child[node] >= 0:
                    if most_to(index, space, node, i) <= radius:
                        held += index.records[node]
                    else:
                        stack[top] = index.child[node] + 1
                        stack[top + 1] = index.child[node]
                        top += 2
                    continue
                for at in range(index.start[node], index.end[node]):
                    if apart(space, i, index.place[at]) <= radius:
                        held += count[index.place[at]]
            out[q] = held


@njit(cache=True)
def _push(index, space, child, i, stack, bounds, top):
    """Push both children of a node, the nearer one on top."""
    left = least_to(index, space, child, i)
    right = least_to(index, space, child + 1, i)
    swap = 1 if right < left else 0
    stack[top] = child + 1 - swap
    bounds[top] = left if swap else right
    stack[top + 1] = child + swap
    bounds[top + 1] = right if swap else left


@njit(cache=True, parallel=True)
def _reach(index, space, count, k, out):
    n = index.place.size
    for block in prange((n + BLOCK - 1) // BLOCK):
        stack = np.empty(DEPTH, dtype=np.int64)
        bounds = np.empty(DEPTH)
        near = np.empty(k + 2)
        many = np.empty(k + 2, dtype=np.int64)
        for q in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            i = index.place[q]
            kept = 0
            held = 0
            worst = np.inf
            stack[0] = 0
            bounds[0] = 0.0
            top = 1
            while top > 0:
                top -= 1
                if bounds[top] >= worst:
                    continue
                node = stack[top]
                if index.child[node] >= 0:
                    _push(index, space, index.child[node], i, stack, bounds, top)
                    top += 2
                    continue
                for at in range(index.start[node], index.end[node]):
                    row = index.place[at]
                    far = apart(space, i, row)
                    if far >= worst:
                        continue
                    slot = kept
                    while slot > 0 and near[slot - 1] > far:
                        near[slot] = near[slot - 1]
                        many[slot] = many[slot - 1]
                        slot -= 1
                    near[slot] = far
                    many[slot] = count[row]
                    kept += 1
                    held += count[row]
                    while held - many[kept - 1] >= k:  # the farthest is not needed any more
                        kept -= 1
                        held -= many[kept]
                    if held >= k:
                        worst = near[kept - 1]
            out[i] = worst


@njit(cache=True)
def _cheapest(index, price):
    """The least price in each node."""
    out = np.full(index.start.size, np.inf)
    for node in range(index.start.size - 1, -1, -1):
        if index.child[node] >= 0:
            out[node] = min(out[index.child[node]], out[index.child[node] + 1])
        else:
            for at in range(index.start[node], index.end[node]):
                out[node] = min(out[node], price[index.place[at]])
    return out


@njit(cache=True, parallel=True)
def _least(index, space, price, rows):
    """For each row the first row c of the index with the least max(distance, price[c])."""
    cheapest = _cheapest(index, price)
    chosen = np.empty(rows.size, dtype=np.int32)
    least = np.empty(rows.size)
    for block in prange((rows.size + BLOCK - 1) // BLOCK):
        stack = np.empty(DEPTH, dtype=np.int64)
        bounds = np.empty(DEPTH)
        for q in range(block * BLOCK, min(rows.size, (block + 1) * BLOCK)):
            i = rows[q]
            best = np.inf
            its = -1
            stack[0] = 0
            bounds[0] = 0.0
            top = 1
            while top > 0:
                top -= 1
                node = stack[top]
                # not >=: an equal value may belong to an earlier row
                if max(bounds[top], cheapest[node]) > best:
                    continue
                if index.child[node] >= 0:
                    _push(index, space, index.child[node], i, stack, bounds, top)
                    top += 2
                    continue
                for at in range(index.start[node], index.end[node]):
                    row = index.place[at]
                    if price[row] > best:
                        continue
                    value = max(apart(space, i, row), price[row])
                    if value < best or (value == best and row < its):
                        best = value
                        its = row
            chosen[q] = its
            least[q] = best
    return chosen, least


@njit(cache=True, parallel=True)
def _shell(index, space, rows, low, high, many, starts, out):
    """Count, and where `out` has room write, the distances above low and at most high, per row."""
    fill = out.size > 0
    for block in prange((rows.size + BLOCK - 1) // BLOCK):
        stack = np.empty(DEPTH, dtype=np.int64)
        for q in range(block * BLOCK, min(rows.size, (block + 1) * BLOCK)):
            i = rows[q]
            stack[0] = 0
            top = 1
            found = 0
            while top > 0:
                top -= 1
                node = stack[top]
                if least_to(index, space, node, i) > high or most_to(index, space, node, i) <= low:
                    continue
                if index.child[node] >= 0:
                    stack[top] = index.child[node] + 1
                    stack[top + 1] = index.child[node]
                    top += 2
                    continue
                for at in range(index.start[node], index.end[node]):
                    far = apart(space, i, index.place[at])
                    if low < far <= high:
                        if fill:
                            out[starts[q] + found] = far
                        found += 1
            many[q] = found

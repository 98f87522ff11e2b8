"""Neighbours in the mixed metric of spans: exact, without an n x n matrix.

A `Tree` halves the rows again and again and keeps for each node the box [low, high] of its codes. On
LINE and TREE axes a code's distance to a run of codes is that to the nearer end, because distances grow
away from it on both sides; on a SET axis it is 0 inside the run and one step outside. Their sum bounds
every distance into a box from below, so whole boxes are left aside.
Each query writes its own slot: the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import ArrayLike, NDArray

from shoal.kernels.cuts import list_codes, move_records, order_by_part, two_parts
from shoal.kernels.spans import SET, span

__all__ = [
    "Tree",
    "build_tree",
    "count_within",
    "list_within",
    "nearest_rows",
    "reach_distances",
    "reach_distances_euclidean",
]

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

BUCKET = 16
BLOCK = 64
SMALL = 512
"""Axes of at most this many codes get a table of distances per query; others are measured each time."""


class Tree(NamedTuple):
    """Rows in the order of a tree of boxes.

    `codes`, `place` and `count` are the rows with records, moved; `place` is a row's index before.
    Node v holds rows start[v]..end[v], its box is low[v], high[v], and its children are child[v] and
    child[v] + 1, or child[v] = -1 for a leaf. `records` counts a node's records. Node 0 is the root.
    """

    codes: Any
    place: Any
    count: Any
    start: Any
    end: Any
    child: Any
    low: Any
    high: Any
    records: Any


def build_tree(codes: Codes, count: Counts, metric: Any) -> Tree:
    """A tree over the rows of `codes` that have records. Needs at least one."""
    return Tree(*_build(codes, count, metric))


def reach_distances(codes: Codes, count: Counts, metric: Any, k: int) -> Floats:
    """For each row the least distance within which k records stand, itself included.

    0 for rows without records. Needs at least k records.
    """
    tree = build_tree(codes, count, metric)
    found = np.empty(tree.place.size)
    _reach(tree, metric, k, found)
    out = np.zeros(len(codes))
    out[tree.place] = found
    return out


def count_within(tree: Tree, metric: Any, queries: Codes, radius: ArrayLike) -> Counts:
    """For each row of `queries` (codes) the records at a distance of at most its own `radius`."""
    limits = np.ascontiguousarray(radius, dtype=np.float64)
    found = np.zeros(len(queries), dtype=np.int64)
    records = np.zeros(len(queries), dtype=np.int64)
    _within(tree, metric, queries, limits, found, records, found, np.empty(0, dtype=np.int32))
    return records


def list_within(tree: Tree, metric: Any, queries: Codes, radius: ArrayLike) -> tuple[Counts, Codes]:
    """For each row of `queries` the rows at a distance of at most its own `radius`, in order.

    Returns starts and rows: those of query i are rows[starts[i] : starts[i + 1]]. Memory is that of the
    answer: ask in blocks where it may be large.
    """
    limits = np.ascontiguousarray(radius, dtype=np.float64)
    found = np.zeros(len(queries), dtype=np.int64)
    records = np.zeros(len(queries), dtype=np.int64)
    starts = np.zeros(len(queries) + 1, dtype=np.int64)
    _within(tree, metric, queries, limits, found, records, starts, np.empty(0, dtype=np.int32))
    np.cumsum(found, out=starts[1:])
    rows = np.empty(starts[-1], dtype=np.int32)
    if rows.size:
        _within(tree, metric, queries, limits, found, records, starts, rows)
        rows = rows[np.lexsort((rows, np.repeat(np.arange(len(queries)), found)))]
    return starts, rows


def nearest_rows(tree: Tree, metric: Any, queries: Codes) -> tuple[Codes, Floats]:
    """For each row of `queries` the nearest row of the tree, of equals the first, and its distance."""
    row = np.empty(len(queries), dtype=np.int32)
    far = np.empty(len(queries))
    _nearest(tree, metric, queries, row, far)
    return row, far


def reach_distances_euclidean(points: Floats, count: Counts, k: int) -> Floats:
    """For each point the least straight distance within which k records stand, itself included.

    `points` are float coordinates, one line a row; rows without records get 0. Needs k records.
    """
    from scipy.spatial import cKDTree

    kept = np.flatnonzero(count > 0)
    tree = cKDTree(points[kept])
    out = np.zeros(len(points))
    most = min(k, kept.size)
    block = max(1, 4_000_000 // most)
    for start in range(0, kept.size, block):
        rows = kept[start : start + block]
        distances, near = tree.query(points[rows], k=[*range(1, most + 1)])
        enough = np.cumsum(count[kept[near]], axis=1) >= k
        out[rows] = np.asarray(distances)[np.arange(rows.size), enough.argmax(axis=1)]
    return out


@njit(cache=True)
def _build(all_codes, all_count, metric):
    """The arrays of a Tree: halve the axis of the widest span at its median code, down to small leaves."""
    rows, axes = all_codes.shape
    n = 0
    widest = 1
    for i in range(rows):
        n += all_count[i] > 0
    for axis in range(axes):
        widest = max(widest, metric.size[axis])
    codes = np.empty((n, axes), dtype=np.int32)
    place = np.empty(n, dtype=np.int32)
    count = np.empty(n, dtype=np.int64)
    at = 0
    for i in range(rows):
        if all_count[i] > 0:
            for axis in range(axes):
                codes[at, axis] = all_codes[i, axis]
            place[at] = i
            count[at] = all_count[i]
            at += 1
    held = np.zeros(widest, dtype=np.int64)
    part = np.zeros(widest, dtype=np.int64)
    used = np.empty(widest, dtype=np.int64)
    ends = np.empty(widest + 2, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    spare = np.empty((n, axes), dtype=np.int32)
    spare_place = np.empty(n, dtype=np.int32)
    spare_count = np.empty(n, dtype=np.int64)
    one = np.ones(n, dtype=np.int64)  # the middle of the rows, not of the records
    start = np.empty(2 * n, dtype=np.int64)
    end = np.empty(2 * n, dtype=np.int64)
    child = np.empty(2 * n, dtype=np.int64)
    records = np.empty(2 * n, dtype=np.int64)
    low = np.empty((2 * n, axes), dtype=np.int32)
    high = np.empty((2 * n, axes), dtype=np.int32)
    start[0] = 0
    end[0] = n
    nodes = 1
    node = 0
    two = np.int64(2)  # not a plain number: every constant would be a compiled form of its own
    while node < nodes:  # children are appended, so this walks level by level
        first = start[node]
        last = end[node]
        total = 0
        for i in range(first, last):
            total += count[i]
        records[node] = total
        child[node] = -1
        widest_axis = np.int64(-1)
        wide = 0.0
        for axis in range(axes):
            least = codes[first, axis]
            greatest = least
            for i in range(first + 1, last):
                code = codes[i, axis]
                if code < least:
                    least = code
                elif code > greatest:
                    greatest = code
            low[node, axis] = least
            high[node, axis] = greatest
            if span(metric, axis, least, greatest) > wide:
                wide = span(metric, axis, least, greatest)
                widest_axis = axis
        if last - first > BUCKET and widest_axis >= 0:
            many = list_codes(codes, one, widest_axis, first, last, held, used)
            left = 0
            cut = two - 1
            least_off = n + 1
            for u in range(many - 1):
                left += held[used[u]]
                off = abs(2 * left - (last - first))
                if off < least_off:
                    least_off = off
                    cut = u + 1
            for u in range(many):
                held[used[u]] = 0
            two_parts(used, part, many, cut)
            order_by_part(codes, widest_axis, first, last, two, part, ends, order)
            middle = first + ends[0]
            move_records(codes, place, count, first, last - first, order, spare, spare_place, spare_count)
            child[node] = nodes
            start[nodes] = first
            end[nodes] = middle
            start[nodes + 1] = middle
            end[nodes + 1] = last
            nodes += 2
        node += 1
    return (
        codes,
        place,
        count,
        start[:nodes].copy(),
        end[:nodes].copy(),
        child[:nodes].copy(),
        low[:nodes].copy(),
        high[:nodes].copy(),
        records[:nodes].copy(),
    )


@njit(cache=True)
def _pair(metric, axis, one, other):
    """The distance of two codes of one axis."""
    if one < other:
        return span(metric, axis, one, other)
    return span(metric, axis, other, one)


@njit(cache=True)
def _table_starts(metric):
    """Where each axis' table begins, -1 for axes too long for one; the last entry is the whole length."""
    axes = metric.form.size
    starts = np.empty(axes + 1, dtype=np.int64)
    at = 0
    for axis in range(axes):
        starts[axis] = -1
        if metric.size[axis] <= SMALL:
            starts[axis] = at
            at += metric.size[axis]
    starts[axes] = at
    return starts


@njit(cache=True)
def _fill_table(form, size, missing, most, offset, data, query, starts, table):
    """Write the distance of every code to the query's code, for the short axes."""
    for axis in range(form.size):
        at = starts[axis]
        if at < 0:
            continue
        mine = query[axis]
        base = offset[axis]
        if form[axis] == SET:
            for code in range(size[axis]):
                table[at + code] = data[base]
        elif form[axis] == 0:
            for code in range(size[axis]):
                table[at + code] = abs(data[base + code] - data[base + mine])
                if mine == missing[axis] or code == missing[axis]:
                    table[at + code] = most[axis]
        else:  # a run's span is its largest gap: walk away from the query's code
            far = 0.0
            for code in range(mine + 1, size[axis]):
                far = max(far, data[base + code - 1])
                table[at + code] = far
            far = 0.0
            for code in range(mine - 1, -1, -1):
                far = max(far, data[base + code])
                table[at + code] = far
        table[at + mine] = 0.0


@njit(cache=True)
def _row_distance(metric, codes, row, query, starts, table):
    """The distance of a row to the query, axes in order, so that every path gives the same sum."""
    total = 0.0
    for axis in range(query.size):
        at = starts[axis]
        if at >= 0:
            total += table[at + codes[row, axis]]
        else:
            total += _pair(metric, axis, query[axis], codes[row, axis])
    return total


@njit(cache=True)
def _box_distance(metric, low, high, node, query, starts, table):
    """No row of the node is nearer to the query than this."""
    total = 0.0
    for axis in range(query.size):
        code = query[axis]
        end = code
        if code < low[node, axis]:
            end = low[node, axis]
        elif code > high[node, axis]:
            end = high[node, axis]
        if end != code:
            at = starts[axis]
            total += table[at + end] if at >= 0 else _pair(metric, axis, code, end)
    return total


@njit(cache=True)
def _visit_nearer_first(metric, low, high, child, query, starts, table, stack, bounds, top):
    """Push both children of a node, the nearer one on top."""
    left = _box_distance(metric, low, high, child, query, starts, table)
    right = _box_distance(metric, low, high, child + 1, query, starts, table)
    swap = 1 if right < left else 0
    stack[top] = child + 1 - swap
    bounds[top] = left if swap else right
    stack[top + 1] = child + swap
    bounds[top + 1] = right if swap else left


@njit(cache=True)
def _reach_one(tree, metric, k, query, starts, table, stack, bounds, near, many):
    """The least distance within which k records stand; near and many are scratch of k + 1 places."""
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
        if tree.child[node] >= 0:
            _visit_nearer_first(
                metric, tree.low, tree.high, tree.child[node], query, starts, table, stack, bounds, top
            )
            top += 2
            continue
        for row in range(tree.start[node], tree.end[node]):
            far = _row_distance(metric, tree.codes, row, query, starts, table)
            if far >= worst:
                continue
            at = kept
            while at > 0 and near[at - 1] > far:
                near[at] = near[at - 1]
                many[at] = many[at - 1]
                at -= 1
            near[at] = far
            many[at] = tree.count[row]
            kept += 1
            held += tree.count[row]
            while held - many[kept - 1] >= k:  # the farthest is not needed any more
                kept -= 1
                held -= many[kept]
            if held >= k:
                worst = near[kept - 1]
    return worst


@njit(cache=True, parallel=True)
def _reach(tree, metric, k, out):
    n, axes = tree.codes.shape
    for block in prange((n + BLOCK - 1) // BLOCK):
        starts = _table_starts(metric)
        table = np.empty(starts[axes])
        stack = np.empty(tree.start.size + 2, dtype=np.int64)
        bounds = np.empty(tree.start.size + 2)
        near = np.empty(k + 2)
        many = np.empty(k + 2, dtype=np.int64)
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            query = tree.codes[i]
            _fill_table(
                metric.form,
                metric.size,
                metric.missing,
                metric.most,
                metric.offset,
                metric.data,
                query,
                starts,
                table,
            )
            out[i] = _reach_one(tree, metric, k, query, starts, table, stack, bounds, near, many)


@njit(cache=True)
def _within_one(tree, metric, query, radius, starts, table, stack, rows, begin, fill):
    """Rows and records within `radius` of the query; the rows go to rows[begin:] where `fill` is set."""
    found = 0
    records = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if _box_distance(metric, tree.low, tree.high, node, query, starts, table) > radius:
            continue
        if tree.child[node] >= 0:
            stack[top] = tree.child[node]
            stack[top + 1] = tree.child[node] + 1
            top += 2
            continue
        for row in range(tree.start[node], tree.end[node]):
            if _row_distance(metric, tree.codes, row, query, starts, table) <= radius:
                if fill:
                    rows[begin + found] = tree.place[row]
                found += 1
                records += tree.count[row]
    return found, records


@njit(cache=True, parallel=True)
def _within(tree, metric, queries, radius, found, records, begin, rows):
    """Count rows and records within reach of each query; where `rows` has room, list them from begin."""
    n, axes = queries.shape
    fill = rows.size > 0
    for block in prange((n + BLOCK - 1) // BLOCK):
        starts = _table_starts(metric)
        table = np.empty(starts[axes])
        stack = np.empty(tree.start.size + 2, dtype=np.int64)
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            query = queries[i]
            _fill_table(
                metric.form,
                metric.size,
                metric.missing,
                metric.most,
                metric.offset,
                metric.data,
                query,
                starts,
                table,
            )
            found[i], records[i] = _within_one(
                tree, metric, query, radius[i], starts, table, stack, rows, begin[i], fill
            )


@njit(cache=True, parallel=True)
def _nearest(tree, metric, queries, out, far):
    n, axes = queries.shape
    for block in prange((n + BLOCK - 1) // BLOCK):
        starts = _table_starts(metric)
        table = np.empty(starts[axes])
        stack = np.empty(tree.start.size + 2, dtype=np.int64)
        bounds = np.empty(tree.start.size + 2)
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            query = queries[i]
            _fill_table(
                metric.form,
                metric.size,
                metric.missing,
                metric.most,
                metric.offset,
                metric.data,
                query,
                starts,
                table,
            )
            best = np.inf
            nearest = -1
            stack[0] = 0
            bounds[0] = 0.0
            top = 1
            while top > 0:
                top -= 1
                node = stack[top]
                if bounds[top] > best:  # not >=: an equal distance may belong to an earlier row
                    continue
                if tree.child[node] >= 0:
                    _visit_nearer_first(
                        metric,
                        tree.low,
                        tree.high,
                        tree.child[node],
                        query,
                        starts,
                        table,
                        stack,
                        bounds,
                        top,
                    )
                    top += 2
                    continue
                for row in range(tree.start[node], tree.end[node]):
                    distance = _row_distance(metric, tree.codes, row, query, starts, table)
                    if distance < best or (distance == best and tree.place[row] < nearest):
                        best = distance
                        nearest = tree.place[row]
            out[i] = nearest
            far[i] = best

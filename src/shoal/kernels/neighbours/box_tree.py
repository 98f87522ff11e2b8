"""Rows in a tree of boxes, for any distance of `kernels/distance/rows.py`, and the rows of a ball.

An `Index` halves the rows that have records again and again and keeps the box of each half. No row of a
box is nearer than its nearest corner and none farther than its farthest, so most boxes are taken or
left whole. A given matrix has no boxes: its index is one leaf.

Straight and great-circle distances grow with the square of the straight one, which takes no root and no
arc. So rows and boxes are compared by that, their `key`, against limits with some air; only a row between
the two is measured as `apart` does. The key of spans and of given distances is the distance itself.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.lookup import box_apart, box_within, codes_apart, look, short_axes
from shoal.kernels.distance.rows import EARTH, GIVEN, GLOBE, SPAN, apart
from shoal.kernels.distance.spans import LINE, span
from shoal.kernels.mondrian import list_codes, move_records, order_by_part, two_parts

__all__ = [
    "Index",
    "Sight",
    "ball",
    "build_index",
    "build_tree",
    "face",
    "far_at",
    "key_at",
    "key_of",
    "least_key",
    "sight_of",
    "sweep",
    "tally",
]

BUCKET = 12
AIR = 1e-9
"""More than rounding can move a key, as a share of it."""


class Index(NamedTuple):
    """Rows in the order of a tree of boxes.

    `place` is a row's index in the table, `count` its records, `codes` its codes and `points` its
    coordinates, if any. Node v holds rows start[v]..end[v], its box is low[v], high[v] (codes, or
    coordinates), `records` counts its records, and its children are child[v] and child[v] + 1, or
    child[v] = -1 for a leaf. Node 0 is the root.
    """

    codes: Any
    points: Any
    place: Any
    count: Any
    start: Any
    end: Any
    child: Any
    low: Any
    high: Any
    records: Any


class Sight(NamedTuple):
    """What queries look at and write to: the table's coordinates, if any, tables of distances, nodes."""

    points: Any
    starts: Any
    table: Any
    stack: Any
    bounds: Any


class _Axes(NamedTuple):
    """What `span` reads of a metric."""

    form: Any
    size: Any
    missing: Any
    most: Any
    offset: Any
    data: Any


def build_index(space: Any, count: NDArray[np.int64]) -> Index:
    """Build a tree of boxes, the index of the rows that have records. Needs at least one."""
    if space.kind == SPAN:
        return build_tree(space.codes, count, space)
    place = np.flatnonzero(count > 0)
    axes = 0 if space.kind == GIVEN else space.points.shape[1]
    # coordinates by rank are a LINE, and the tree is cut as one of codes
    points = np.ascontiguousarray(space.points[place, :axes]) if axes else np.zeros((place.size, 0))
    ranked = [np.unique(column, return_inverse=True) for column in points.T]
    size = np.array([values.size for values, _ in ranked], dtype=np.int64)
    codes = np.empty((place.size, axes), dtype=np.int32)
    for axis, (_, rank) in enumerate(ranked):
        codes[:, axis] = rank
    nothing = np.full(axes, -1, dtype=np.int64)
    lines = _Axes(
        form=np.full(axes, LINE, dtype=np.int8),
        size=size,
        missing=nothing,
        most=np.zeros(axes),
        offset=np.cumsum(size) - size,
        data=np.concatenate([values for values, _ in ranked]) if axes else np.zeros(0),
    )
    tree = _built(codes, place, count, lines)
    low, high = tree.low.copy(), tree.high.copy()
    for axis, (values, _) in enumerate(ranked):
        low[:, axis] = values[tree.low[:, axis].astype(np.int64)]
        high[:, axis] = values[tree.high[:, axis].astype(np.int64)]
    # place is ascending, so a row's place among the points is found by it
    moved = points[np.searchsorted(place, tree.place)]
    return tree._replace(points=np.ascontiguousarray(moved), low=low, high=high)


def build_tree(codes: NDArray[np.int32], count: NDArray[np.int64], metric: Any) -> Index:
    """Build a tree of boxes by spans over the rows of `codes` that have records. Needs at least one."""
    place = np.flatnonzero(count > 0).astype(np.int32)
    axes = _Axes(metric.form, metric.size, metric.missing, metric.most, metric.offset, metric.data)
    return _built(codes[place], place, count, axes)


def _built(
    codes: NDArray[np.int32], place: NDArray[np.integer], count: NDArray[np.int64], axes: _Axes
) -> Index:
    """The tree of boxes over these rows, with room for its nodes, cut to how many there are."""
    rows = place.astype(np.int32)
    records = np.ascontiguousarray(count[place], dtype=np.int64)
    n = rows.size
    widest = int(axes.size.max(initial=1))
    start, end, child, total = (np.empty(2 * n, dtype=np.int64) for _ in range(4))
    low, high = np.empty((2 * n, codes.shape[1])), np.empty((2 * n, codes.shape[1]))
    nodes = _build(
        codes,
        rows,
        records,
        axes,
        start,
        end,
        child,
        low,
        high,
        total,
        np.zeros((2, widest), dtype=np.int64),
        np.empty((2, widest + 2), dtype=np.int64),
        np.empty_like(codes),
        np.empty_like(rows),
        np.empty((2, n), dtype=np.int64),
        records if (records == 1).all() else np.ones(n, dtype=np.int64),
    )
    parts = (start[:nodes].copy(), end[:nodes].copy(), child[:nodes].copy())
    boxes = (low[:nodes].copy(), high[:nodes].copy())
    return Index(codes, np.zeros((n, 0)), rows, records, *parts, *boxes, total[:nodes].copy())


@entry
def _build(
    codes,
    place,
    count,
    metric,
    start,
    end,
    child,
    low,
    high,
    records,
    zeros,
    lists,
    spare,
    spare_place,
    spare_rows,
    one,
):
    """Build the tree of boxes: halve the axis of the widest span at its median code, down to small leaves.

    `one` are ones: the cut is in the middle of the rows, not of the records.
    """
    n, axes = codes.shape
    held, part = zeros[0], zeros[1]
    used, ends = lists[0], lists[1]
    order, spare_count = spare_rows[0], spare_rows[1]
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
            extent = span(metric, axis, least, greatest)
            if extent > wide:
                wide = extent
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
    return nodes


def sight_of(index: Index, space: Any) -> Sight:
    """Scratch for queries of a tree of boxes; two threads must not share one."""
    starts = short_axes(space)
    nodes = index.start.size + 2  # never more nodes wait than there are
    points = space.points if space.points.size else np.zeros((len(space.codes), 0))
    return Sight(points, starts, np.empty(starts[-1] + 1), np.empty(nodes, dtype=np.int64), np.empty(nodes))


@leaf
def key_of(kind, radius, air):
    """The key by which a tree of boxes compares: that at a distance, times 1 + air."""
    if kind in (SPAN, GIVEN) or radius < 0:
        return radius
    if kind == GLOBE:
        half = radius / (2.0 * EARTH)
        if half >= 0.5 * math.pi:
            return np.inf
        radius = 2.0 * math.sin(half)
    return radius * radius * (1 + air)


@leaf
def key_at(space, kind, i, query, point, index_codes, index_points, place, at, starts, table):
    """The key of row i, with these codes and coordinates, and the row at a place of the tree of boxes."""
    if kind == SPAN:
        return codes_apart(space, index_codes, at, query, starts, table)
    if kind == GIVEN:
        return apart(space, i, place[at])
    total = 0.0
    for axis in range(point.size):
        gap = point[axis] - index_points[at, axis]
        total += gap * gap
    return total


@leaf
def far_at(kind, point, index_points, at, key):
    """The distance of a row to the one at a place of the tree, as `apart` finds it; the key is known."""
    if kind in (SPAN, GIVEN):
        return key
    less = math.sqrt(key)
    if kind != GLOBE:
        return less
    more = 0.0
    for axis in range(point.size):
        both = point[axis] + index_points[at, axis]
        more += both * both
    return 2.0 * EARTH * math.atan2(less, math.sqrt(more))


@leaf
def least_key(space, kind, query, point, low, high, node, starts, table):
    """No row in the box of this node of the tree has a lesser key."""
    if kind == SPAN:
        return box_apart(space, low, high, node, query, starts, table)
    total = 0.0
    for axis in range(low.shape[1]):
        gap = max(low[node, axis] - point[axis], point[axis] - high[node, axis], 0.0)
        total += gap * gap
    return total


@leaf
def most_key(space, kind, query, point, low, high, node, starts, table):
    """No row in the box of this node of the tree has a greater key."""
    if kind == SPAN:
        return box_within(space, low, high, node, query, starts, table)
    if kind == GIVEN:
        return np.inf
    total = 0.0
    for axis in range(low.shape[1]):
        gap = max(high[node, axis] - point[axis], point[axis] - low[node, axis])
        total += gap * gap
    return total


@inner
def face(space, sight, i):
    """Make ready to measure from row i in a tree of boxes."""
    if space.kind == SPAN:
        look(space, space.codes[i], sight.starts, sight.table)


@inner
def sweep(index, space, sight, i, radius, nearer, row_weight, node_weight, out):
    """The rows of a ball in the tree of boxes: places within `radius` of row i, to `out`; how many.

    Rows and nodes without weight are passed over, and so are those whose keys are at most `nearer`. Where
    `out` has no room, the sum of the weights of these rows is returned; those of nodes are sums themselves.
    """
    face(space, sight, i)
    # a field of a tuple costs more than an item of an array
    kind, query, point = space.kind, space.codes[i], sight.points[i]
    codes, points, place = index.codes, index.points, index.place
    start, end, child, low, high = index.start, index.end, index.child, index.low, index.high
    starts, table, stack = sight.starts, sight.table, sight.stack
    inside, outside = key_of(kind, radius, -AIR), key_of(kind, radius, AIR)
    adds = out.size == 0
    found = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if node_weight[node] == 0:
            continue
        if least_key(space, kind, query, point, low, high, node, starts, table) > outside:
            continue
        whole = False
        if child[node] >= 0:
            most = most_key(space, kind, query, point, low, high, node, starts, table)
            if most <= nearer:
                continue
            whole = most <= inside and nearer < 0
            if not whole:
                stack[top] = child[node] + 1
                stack[top + 1] = child[node]
                top += 2
                continue
            if adds:
                found += node_weight[node]
                continue
        for at in range(start[node], end[node]):
            if row_weight[at] == 0:
                continue
            if not whole:
                key = key_at(space, kind, i, query, point, codes, points, place, at, starts, table)
                if key > outside or key <= nearer:
                    continue
                if key > inside and far_at(kind, point, points, at, key) > radius:
                    continue
            if adds:
                found += row_weight[at]
            else:
                out[found] = at
                found += 1
    return found


@inner
def tally(index, space, sight, i, radius, row_weight, node_weight):
    """In a tree of boxes: the sum of weights of rows within `radius` of row i; those of nodes are sums."""
    return sweep(index, space, sight, i, radius, -1.0, row_weight, node_weight, index.place[:0])


@entry
def ball(index, space, sight, i, radius, out):
    """The rows of a ball from the tree of boxes: those within `radius` of row i, to `out`; how many."""
    place = index.place
    found = sweep(index, space, sight, i, radius, -1.0, index.count, index.records, out)
    for at in range(found):
        out[at] = place[out[at]]
    return found

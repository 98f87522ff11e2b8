"""Rows in a tree of boxes, for any distance of `kernels/space.py`, and the rows of a ball.

An `Index` halves the rows that have records again and again and keeps the box of each half. No row of a
box is nearer than its nearest corner and none farther than its farthest, so most boxes are taken or
left whole. A given matrix has no boxes: its index is one leaf.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.space import EARTH, GIVEN, GLOBE, SPAN, apart
from shoal.kernels.spans import SET, span

__all__ = ["DEPTH", "Index", "ball", "build_index", "least_to", "most_to"]

BUCKET = 8
DEPTH = 128
"""Halves are of equal size, so a stack of this many nodes serves any table."""


class Index(NamedTuple):
    """Rows in the order of a tree of boxes.

    Node v holds rows place[start[v]:end[v]], its box is low[v], high[v], `records` counts its records,
    and its children are child[v] and child[v] + 1, or child[v] = -1 for a leaf. Node 0 is the root.
    """

    place: Any
    start: Any
    end: Any
    child: Any
    low: Any
    high: Any
    records: Any


def build_index(space: Any, count: NDArray[np.int64]) -> Index:
    """An index of the rows that have records. Needs at least one."""
    return Index(*_build(space, np.ascontiguousarray(count, dtype=np.int64)))


@njit(cache=True)
def _at(space, row, axis):
    return float(space.codes[row, axis]) if space.kind == SPAN else space.points[row, axis]


@njit(cache=True)
def _build(space, count):
    rows = np.flatnonzero(count > 0)
    n = rows.size
    axes = space.codes.shape[1] if space.kind == SPAN else space.points.shape[1]
    if space.kind == GIVEN:
        axes = 0
    place = rows.astype(np.int32)
    start = np.empty(2 * n, dtype=np.int64)
    end = np.empty(2 * n, dtype=np.int64)
    child = np.full(2 * n, -1, dtype=np.int64)
    records = np.zeros(2 * n, dtype=np.int64)
    low = np.empty((2 * n, axes))
    high = np.empty((2 * n, axes))
    start[0] = 0
    end[0] = n
    nodes = 1
    node = 0
    while node < nodes:  # children are appended, so this walks level by level
        first = start[node]
        last = end[node]
        for at in range(first, last):
            records[node] += count[place[at]]
        widest = -1
        wide = 0.0
        for axis in range(axes):
            least = _at(space, place[first], axis)
            greatest = least
            for at in range(first + 1, last):
                value = _at(space, place[at], axis)
                least = min(least, value)
                greatest = max(greatest, value)
            low[node, axis] = least
            high[node, axis] = greatest
            if space.kind == SPAN:
                extent = span(space, axis, int(least), int(greatest))
            else:
                extent = greatest - least
            if extent > wide:
                wide = extent
                widest = axis
        if last - first > BUCKET and widest >= 0:
            key = np.empty(last - first)
            for at in range(first, last):
                key[at - first] = _at(space, place[at], widest)
            place[first:last] = place[first:last][np.argsort(key, kind="mergesort")]
            middle = (first + last) // 2
            child[node] = nodes
            start[nodes] = first
            end[nodes] = middle
            start[nodes + 1] = middle
            end[nodes + 1] = last
            nodes += 2
        node += 1
    return (
        place,
        start[:nodes].copy(),
        end[:nodes].copy(),
        child[:nodes].copy(),
        low[:nodes].copy(),
        high[:nodes].copy(),
        records[:nodes].copy(),
    )


@njit(cache=True)
def _side(metric, axis, code, end):
    return span(metric, axis, code, end) if code < end else span(metric, axis, end, code)


@njit(cache=True)
def _over_ground(chord):
    return 2.0 * EARTH * math.asin(min(1.0, 0.5 * chord))


@njit(cache=True)
def least_to(index, space, node, i):
    """No row of the node is nearer to row i than this."""
    total = 0.0
    if space.kind == SPAN:
        for axis in range(index.low.shape[1]):
            code = space.codes[i, axis]
            if code < index.low[node, axis]:
                total += _side(space, axis, code, int(index.low[node, axis]))
            elif code > index.high[node, axis]:
                total += _side(space, axis, code, int(index.high[node, axis]))
        return total
    for axis in range(index.low.shape[1]):
        value = space.points[i, axis]
        gap = max(index.low[node, axis] - value, value - index.high[node, axis], 0.0)
        total += gap * gap
    total = math.sqrt(total)
    # the arc of a chord is rounded otherwise than the arc of two points: leave it some air
    return _over_ground(total) * (1 - 1e-9) if space.kind == GLOBE else total


@njit(cache=True)
def most_to(index, space, node, i):
    """No row of the node is farther from row i than this."""
    total = 0.0
    if space.kind == GIVEN:
        return np.inf
    if space.kind == SPAN:
        for axis in range(index.low.shape[1]):
            code = space.codes[i, axis]
            left = int(index.low[node, axis])
            right = int(index.high[node, axis])
            if space.form[axis] == SET and left < code < right:
                total += space.data[space.offset[axis]]
            else:
                total += max(_side(space, axis, code, left), _side(space, axis, code, right))
        return total
    for axis in range(index.low.shape[1]):
        value = space.points[i, axis]
        gap = max(index.high[node, axis] - value, value - index.low[node, axis])
        total += gap * gap
    total = math.sqrt(total)
    return _over_ground(total) * (1 + 1e-9) if space.kind == GLOBE else total


@njit(cache=True)
def ball(index, space, i, radius, stack, out):
    """Write the rows within `radius` of row i to `out` and return how many; `stack` is scratch of DEPTH."""
    found = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if least_to(index, space, node, i) > radius:
            continue
        if index.child[node] >= 0 and most_to(index, space, node, i) > radius:
            stack[top] = index.child[node] + 1
            stack[top + 1] = index.child[node]
            top += 2
            continue
        whole = index.child[node] >= 0
        for at in range(index.start[node], index.end[node]):
            row = index.place[at]
            if whole or apart(space, i, row) <= radius:
                out[found] = row
                found += 1
    return found

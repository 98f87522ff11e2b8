"""How far two rows are apart, in any of the four distances of `model/coded.py`.

    apart(space, i, j)     the distance of distinct rows i and j: symmetric to the last bit, 0 to itself
    apart_from(...)        those of one row and many, much faster

A `space` is a tuple of arrays, the same types for every distance, so a kernel that measures with `apart`
is compiled once and serves them all. It has the fields of a metric too, so `span` and `distance` take it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.lookup import codes_apart, look
from shoal.kernels.distance.spans import distance

__all__ = ["EARTH", "GIVEN", "GLOBE", "SPAN", "STRAIGHT", "apart", "apart_each", "apart_from", "radii"]

SPAN, STRAIGHT, GLOBE, GIVEN = 0, 1, 2, 3
EARTH = 6371.0088


@entry
def apart(space, i, j):
    """The distance of rows i and j, in any of the four distances."""
    if i == j:
        return 0.0
    if space.kind == SPAN:
        return distance(space, space.codes[i], space.codes[j])
    if space.kind == GIVEN:
        return space.matrix[i, j]
    less = 0.0
    more = 0.0
    for axis in range(space.points.shape[1]):
        one = space.points[i, axis]
        other = space.points[j, axis]
        less += (one - other) * (one - other)
        more += (one + other) * (one + other)
    if space.kind == STRAIGHT:
        return math.sqrt(less)
    # exact near 0 and near the other side of the earth, where the arc sine of the chord is not
    return 2.0 * EARTH * math.atan2(math.sqrt(less), math.sqrt(more))


@entry
def apart_each(space, rows, others):
    """The distance of each row to its own other row, in any distance."""
    out = np.empty(rows.size)
    for at in range(rows.size):
        out[at] = apart(space, rows[at], others[at])
    return out


def radii(
    space: Any, row: NDArray[np.int32], group: NDArray[np.int32], centre: NDArray[np.int32]
) -> NDArray[np.float64]:
    """How far the farthest row of each group lies from its centre, in any distance."""
    radius = np.zeros(centre.size)
    np.maximum.at(radius, group, apart_each(space, row, centre[group]))
    return radius


@entry
def apart_from(space, i, rows, starts, table, out):
    """The distance of row i to each of `rows`, the same to the last bit as `apart` finds it.

    `starts` is what `short_axes` says and `table` scratch of that length.
    """
    if space.kind != SPAN:
        for at in range(rows.size):
            out[at] = apart(space, i, rows[at])
        return
    query = space.codes[i]
    look(space, query, starts, table)
    for at in range(rows.size):
        out[at] = codes_apart(space, space.codes, rows[at], query, starts, table)

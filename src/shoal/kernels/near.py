"""Rows near each row of a small table, found among those that stand beside it in some sorted orders."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.spans import SET
from shoal.kernels.state import AT, FORM, LENGTH, width

__all__ = ["list_near"]

BESIDE = 10
"""Rows looked at on either side, per order."""


@njit(cache=True, nogil=True)
def _far(ruler, codes, one, other, limit):
    """The distance of two rows; some number of at least `limit` if it is above."""
    total = 0.0
    for axis in range(codes.shape[1]):
        a, b = codes[one, axis], codes[other, axis]
        if a != b:
            if ruler.shape[axis, FORM] == SET:
                total += ruler.data[ruler.shape[axis, AT]]
            else:
                total += width(ruler, axis, min(a, b), max(a, b))
            if total >= limit:
                return total
    return total


@njit(cache=True, nogil=True)
def list_near(codes, ruler, wanted, orders):
    """A line per row: -1, then up to `wanted` near rows, nearest first, -1 after the last.

    `orders` holds one order of the axes per line; rows are sorted by the axes in that order.
    """
    rows, axes = codes.shape
    near = np.full((rows, 1 + wanted), -1, dtype=np.int64)
    far = np.full((rows, 1 + wanted), np.inf)
    order = np.arange(rows)
    sorted_rows = np.empty(rows, dtype=np.int64)
    for line in range(orders.shape[0]):
        for place in range(axes - 1, -1, -1):  # a stable counting sort, last axis first
            axis = orders[line, place]
            start = np.zeros(ruler.shape[axis, LENGTH] + 1, dtype=np.int64)
            for i in range(rows):
                start[codes[i, axis] + 1] += 1
            for code in range(ruler.shape[axis, LENGTH]):
                start[code + 1] += start[code]
            for t in range(rows):
                code = codes[order[t], axis]
                sorted_rows[start[code]] = order[t]
                start[code] += 1
            order, sorted_rows = sorted_rows, order
        for t in range(rows):
            one = order[t]
            for s in range(t + 1, min(rows, t + 1 + BESIDE)):
                other = order[s]
                limit = max(far[one, wanted], far[other, wanted])
                distance = _far(ruler, codes, one, other, limit)
                if distance < far[one, wanted]:
                    _insert(near, far, one, other, distance, wanted)
                if distance < far[other, wanted]:
                    _insert(near, far, other, one, distance, wanted)
    return near


@njit(cache=True, nogil=True)
def _insert(near, far, one, other, distance, wanted):
    """Put `other` into the list of `one`, unless it is there."""
    at = wanted
    while at > 1 and far[one, at - 1] > distance:
        at -= 1
    known = at - 1
    while known > 0 and far[one, known] == distance:
        if near[one, known] == other:
            return
        known -= 1
    for place in range(wanted, at, -1):
        near[one, place] = near[one, place - 1]
        far[one, place] = far[one, place - 1]
    near[one, at] = other
    far[one, at] = distance

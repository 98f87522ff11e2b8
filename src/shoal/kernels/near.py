"""Rows near each row of a small table, found among those that stand beside it in some sorted orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry, leaf
from shoal.kernels.ruler import AT, FORM, Ruler, width
from shoal.kernels.spans import SET

__all__ = ["list_near"]

BESIDE = 10
"""Rows looked at on either side, per order."""


def list_near(
    codes: NDArray[np.int32], ruler: Ruler, wanted: int, orders: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A line per row: -1, then up to `wanted` near rows, nearest first, -1 after the last.

    `orders` holds one order of the axes per line; rows are sorted by the axes in that order.
    """
    near = np.full((len(codes), 1 + wanted), -1, dtype=np.int64)
    far = np.full((len(codes), 1 + wanted), np.inf)
    for axes in orders:
        _compare(ruler.shape, ruler.data, codes, np.lexsort(codes.T[axes[::-1]]), near, far)
    return near


@entry
def _compare(shape, data, codes, order, near, far):
    """Compare every row with those that follow it in `order`."""
    rows, wanted = near.shape[0], near.shape[1] - 1
    for t in range(rows):
        for s in range(t + 1, min(rows, t + 1 + BESIDE)):
            one, other = order[t], order[s]
            limit = max(far[one, wanted], far[other, wanted])
            distance = 0.0
            for axis in range(codes.shape[1]):
                low = np.int64(min(codes[one, axis], codes[other, axis]))
                high = np.int64(max(codes[one, axis], codes[other, axis]))
                if low != high:
                    if shape[axis, FORM] == SET:
                        distance += data[shape[axis, AT]]
                    else:
                        distance += width(shape, data, axis, low, high)
                    if distance >= limit:
                        break
            for _ in range(2):
                if distance < far[one, wanted]:
                    _insert(near, far, one, other, distance)
                one, other = other, one


@leaf
def _insert(near, far, one, other, distance):
    """Put `other` into the list of `one`, unless it is there."""
    wanted = near.shape[1] - 1
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

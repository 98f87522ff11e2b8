"""Rows near each row of a small table, found among those that stand beside it in some sorted orders.

Where there are many columns such rows are seldom near in all of them. Then the near rows of near rows are
looked at too, some times over: they soon are the nearest ones. (W. Dong, M. Charikar, K. Li. Efficient
k-nearest neighbor graph construction for generic similarity measures. WWW 2011.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, leaf
from shoal.kernels.distance.packed import AT, FORM, PackedMetric, pack_metric, width
from shoal.kernels.distance.spans import SET
from shoal.kernels.threads import over_rows

__all__ = ["WIDE", "WIDE_WHOLE", "draw_orders", "list_near", "near_rows"]

WIDE = 10
"""Axes above which rows that stand beside each other are seldom near, and boxes are too many to list."""
WIDE_WHOLE = 100_000
"""Rows of such a table up to which their near rows are sought among all of them."""
BESIDE = 10
"""Rows looked at on either side, per order."""
ORDERS, ROUNDS = 8, 3
"""Sorted orders of a table of many columns, and how often the near rows of near rows are looked at."""


def near_rows(
    codes: NDArray[np.int32], metric, wanted: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Approximate neighbours, as `list_near`, of a table of many columns, however large."""
    own, packed = pack_metric(metric, codes)
    return list_near(own, packed, wanted, draw_orders(codes.shape[1], ORDERS, random), ROUNDS)


def draw_orders(axes: int, orders: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Some orders of the axes to sort by for approximate neighbours, one per line."""
    return np.array([random.permutation(axes) for _ in range(orders)])


def list_near(
    codes: NDArray[np.int32], packed: PackedMetric, wanted: int, orders: NDArray[np.int64], rounds: int = 0
) -> NDArray[np.int64]:
    """Approximate neighbours, a line per row: -1, then up to `wanted` near rows, nearest first, then -1.

    `orders` holds one order of the axes per line; rows are sorted by the axes in that order. In each of
    `rounds` the near rows of near rows are looked at.
    """
    near = np.full((len(codes), 1 + wanted), -1, dtype=np.int64)
    far = np.full((len(codes), 1 + wanted), np.inf)
    for axes in orders:
        _compare(packed.shape, packed.data, codes, np.lexsort(codes.T[axes[::-1]]), near, far)
    for _ in range(rounds):
        near, far = _refined(codes, packed, near, far)
    return near


def _refined(
    codes: NDArray[np.int32], packed: PackedMetric, near: NDArray[np.int64], far: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Approximate lists after a look at near rows of near rows, each made from the old ones alone."""
    new_near, new_far = near.copy(), far.copy()

    def look(first: int, last: int) -> None:
        """Some of the rows, refined."""
        seen = np.full(len(codes), -1, dtype=np.int64)
        _look_farther(packed.shape, packed.data, codes, near, new_near, new_far, seen, first, last)

    over_rows(len(codes), look)
    _make_mutual(new_near, new_far)
    return new_near, new_far


@entry
def _compare(shape, data, codes, order, near, far):
    """Fill approximate lists: compare every row with those that follow it in `order`."""
    rows, wanted = near.shape[0], near.shape[1] - 1
    for t in range(rows):
        for s in range(t + 1, min(rows, t + 1 + BESIDE)):
            one, other = order[t], order[s]
            limit = max(far[one, wanted], far[other, wanted])
            distance = _apart(shape, data, codes, one, other, limit)
            for _ in range(2):
                if distance < far[one, wanted]:
                    _insert(near, far, one, other, distance)
                one, other = other, one


@entry
def _look_farther(shape, data, codes, near, new_near, new_far, seen, first, last):
    """Put the near rows of near rows into the approximate lists of some rows, where they are nearer."""
    wanted = near.shape[1] - 1
    for row in range(first, last):
        seen[row] = row
        for n in range(1, wanted + 1):
            if near[row, n] >= 0:
                seen[near[row, n]] = row
        for n in range(1, wanted + 1):
            beside = near[row, n]
            if beside < 0:
                break
            for m in range(1, wanted + 1):
                other = near[beside, m]
                if other < 0:
                    break
                if seen[other] != row:
                    seen[other] = row
                    distance = _apart(shape, data, codes, row, other, new_far[row, wanted])
                    if distance < new_far[row, wanted]:
                        _insert(new_near, new_far, row, other, distance)


@entry
def _make_mutual(near, far):
    """Put every row into the approximate lists of its near rows, where it is nearer than what they hold."""
    wanted = near.shape[1] - 1
    for row in range(near.shape[0]):
        for n in range(1, wanted + 1):
            other = near[row, n]
            if other < 0:
                break
            if far[row, n] < far[other, wanted]:
                _insert(near, far, other, row, far[row, n])


@leaf
def _apart(shape, data, codes, one, other, limit):
    """For approximate lists: what two rows give up together; at least `limit` if it is above."""
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
    return distance


@leaf
def _insert(near, far, one, other, distance):
    """Put `other` into the approximate list of `one`, unless it is there."""
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

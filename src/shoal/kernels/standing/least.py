"""The least box around rows in which each of them may be shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import LINE, span
from shoal.kernels.standing.held import Present, may_show, need_of
from shoal.kernels.threads import over_rows

__all__ = [
    "close_box",
    "floors_of",
    "least_box",
    "least_boxes",
    "mend_box",
    "price_of",
    "price_of_box",
    "price_with",
    "room_for",
]


@inner
def price_of_box(metric, low, high):
    """What a row of a box loses."""
    total = 0.0
    for axis in range(low.size):
        total += span(metric, axis, low[axis], high[axis])
    return total


@entry
def price_of(metric, low, high):
    """What a row of each box loses."""
    out = np.empty(low.shape[0])
    for box in range(low.shape[0]):
        out[box] = price_of_box(metric, low[box], high[box])
    return out


@inner
def close_box(metric, axis, low, high):
    """A side widened to all that its published cell covers: a node to its leaves, a mix to everything."""
    if low == high:
        return low, high
    if metric.form[axis] == LINE:
        return (np.int32(0) if high == metric.missing[axis] else low), high
    size = metric.size[axis]
    for level in range(metric.height[axis] + 1):
        row = metric.level_offset[axis] + level * size
        first = metric.level[row + low]
        if metric.level[row + high] != first:
            continue
        below, above = high, size  # the last code of the node is below..above - 1
        while above - below > 1:
            middle = (below + above) // 2
            if metric.level[row + middle] == first:
                below = np.int32(middle)
            else:
                above = middle
        return first, below
    return np.int32(0), np.int32(size - 1)


@inner
def room_for(present):
    """Scratch: nodes that wait, a cut, and a box."""
    axes = present.points.shape[1]
    return (
        np.empty(present.start.size + 2, np.int64),
        np.empty(axes, np.int32),
        np.empty(axes, np.int32),
        np.empty(axes, np.int32),
        np.empty(axes, np.int32),
    )


@inner
def _towards(metric, present, i, axis, low, high):
    """A side of a box with all that was shown of row i."""
    least = max(np.int32(0), min(low[axis], present.out_low[i, axis]))
    most = min(np.int32(metric.size[axis] - 1), max(high[axis], present.out_high[i, axis]))
    return close_box(metric, axis, least, most)


@inner
def mend_box(metric, present, i, low, high, k, room):
    """Widen a box until row i may be shown in it, axis by axis, as little as seems to do."""
    stack, cut_low, cut_high, was_low, was_high = room
    axes = low.size
    for axis in range(axes):
        was_low[axis], was_high[axis] = low[axis], high[axis]
    while True:
        best, best_cost = -1, np.inf
        cheapest, least_cost = -1, np.inf
        for axis in range(axes):
            a, b = _towards(metric, present, i, axis, low, high)
            if a == low[axis] and b == high[axis]:
                continue
            cost = span(metric, axis, a, b) - span(metric, axis, low[axis], high[axis])
            if cost < least_cost:
                cheapest, least_cost = axis, cost
            if cost >= best_cost:
                continue
            x, y = low[axis], high[axis]
            low[axis], high[axis] = a, b
            if may_show(present, i, low, high, k, stack, cut_low, cut_high):
                best, best_cost = axis, cost
            low[axis], high[axis] = x, y
        axis = best if best >= 0 else cheapest
        if axis < 0:
            return  # it holds all that was shown, or all there is
        low[axis], high[axis] = _towards(metric, present, i, axis, low, high)
        if best >= 0:
            break
    for axis in range(axes):
        if was_low[axis] == low[axis] and was_high[axis] == high[axis]:
            continue
        x, y = low[axis], high[axis]
        low[axis], high[axis] = was_low[axis], was_high[axis]
        if not may_show(present, i, low, high, k, stack, cut_low, cut_high):
            low[axis], high[axis] = x, y


@inner
def _may_be_below(metric, present, i, low, high, k, limit):
    """Whether some box around low..high in which row i may be shown may cost less than `limit`."""
    few = present.few[present.own[i]]
    if few < 0:
        return True
    need = need_of(present, i, k)
    for at in range(few):
        if need > few - at:
            break
        if need <= 0:
            return True
        if price_with(metric, present.points, present.within[present.own[i], at], low, high) < limit:
            need -= 1
    if need <= 0:
        return True
    total = 0.0  # no finer than before
    for axis in range(low.size):
        least, most = _towards(metric, present, i, axis, low, high)
        total += span(metric, axis, least, most)
    return total < limit


@inner
def least_box(metric, present, rows, count, low, high, k, limit, room):
    """Write the least box of some rows, closed, in which each may be shown; its price, and if it is wider.

    A box in which a row may be shown may widen: that row may still be shown. So it only grows, and one
    that will cost `limit` or more is left unfinished, with an infinite price.
    """
    stack, cut_low, cut_high, _, _ = room
    for axis in range(low.size):
        low[axis] = high[axis] = present.points[rows[0], axis]
        for at in range(1, count):
            x = present.points[rows[at], axis]
            low[axis], high[axis] = min(low[axis], x), max(high[axis], x)
        low[axis], high[axis] = close_box(metric, axis, low[axis], high[axis])
    wider = False
    for at in range(count):
        i = rows[at]
        if may_show(present, i, low, high, k, stack, cut_low, cut_high):
            continue
        if limit < np.inf and not _may_be_below(metric, present, i, low, high, k, limit):
            return np.inf, True
        mend_box(metric, present, i, low, high, k, room)
        wider = True
    price = price_of_box(metric, low, high)
    return (price if price < limit else np.inf), wider


def least_boxes(
    metric: Any, present: Present, rows: NDArray[np.int64], starts: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The least box of every group, and which are wider than their rows; its rows are between starts."""
    shape = starts.size - 1, present.points.shape[1]
    low, high, wider = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape[0], np.bool_)

    def work(first: int, last: int) -> None:
        _least_boxes(metric, present, rows, starts, k, low, high, wider, first, last)

    over_rows(shape[0], work)
    return low, high, wider


@entry
def _least_boxes(metric, present, rows, starts, k, low, high, wider, first, last):
    room = room_for(present)
    for group in range(first, last):
        some = rows[starts[group] : starts[group + 1]]
        _, wider[group] = least_box(
            metric, present, some, some.size, low[group], high[group], k, np.inf, room
        )


def floors_of(metric: Any, present: Present, k: int) -> NDArray[np.float64]:
    """What a row loses at least, in whatever box it may be shown."""
    out = np.zeros(len(present.points))
    over_rows(out.size, lambda first, last: _floors_of(metric, present, k, out, first, last))
    return out


@entry
def _floors_of(metric, present, k, out, first, last):
    axes = present.points.shape[1]
    low, high = np.empty(axes, np.int32), np.empty(axes, np.int32)
    nearest = np.empty(k)
    for i in range(first, last):
        few = present.few[present.own[i]]
        if present.is_free[i] or few < 0:
            continue
        for axis in range(axes):
            low[axis] = max(np.int32(0), present.out_low[i, axis])
            high[axis] = min(np.int32(metric.size[axis] - 1), present.out_high[i, axis])
        floor = price_of_box(metric, low, high)  # no finer than before
        need = need_of(present, i, k)
        if 0 < need <= few:  # or with some that were there as long: the last of them is as far as that
            nearest[:need] = np.inf
            for at in range(few):
                cost = price_with(
                    metric,
                    present.points,
                    present.within[present.own[i], at],
                    present.points[i],
                    present.points[i],
                )
                place = need
                while place > 0 and nearest[place - 1] > cost:
                    if place < need:
                        nearest[place] = nearest[place - 1]
                    place -= 1
                if place < need:
                    nearest[place] = cost
            floor = min(floor, nearest[need - 1])
        elif need == 0:
            floor = 0.0
        out[i] = floor


@inner
def price_with(metric, points, row, low, high):
    """What a row of a box loses that holds one row more."""
    total = 0.0
    for axis in range(low.size):
        x = points[row, axis]
        total += span(metric, axis, min(low[axis], x), max(high[axis], x))
    return total

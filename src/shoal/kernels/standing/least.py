"""The least box around rows in which each of them may be shown."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import LINE, span
from shoal.kernels.standing.held import may_show

__all__ = ["close_box", "least_box", "least_boxes", "mend_box", "price_of", "price_of_box", "room_for"]


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
def least_box(metric, present, rows, count, low, high, k, room):
    """Write the least box of some rows, closed, in which each may be shown; whether it is wider than they.

    A box in which a row may be shown may widen: that row may still be shown.
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
        if not may_show(present, rows[at], low, high, k, stack, cut_low, cut_high):
            mend_box(metric, present, rows[at], low, high, k, room)
            wider = True
    return wider


@entry
def least_boxes(metric, present, rows, starts, k):
    """The least box of every group, and which are wider than their rows; its rows are between starts."""
    groups = starts.size - 1
    axes = present.points.shape[1]
    low = np.empty((groups, axes), np.int32)
    high = np.empty((groups, axes), np.int32)
    wider = np.zeros(groups, np.bool_)
    room = room_for(present)
    for group in range(groups):
        some = rows[starts[group] : starts[group + 1]]
        wider[group] = least_box(metric, present, some, some.size, low[group], high[group], k, room)
    return low, high, wider

"""What a set of codes gives up, and how far two rows are apart.

`metric` is the metric of `model/coded.py`: weights are multiplied in, so spans add up to loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inlined

__all__ = ["boxes", "count_labels", "distance", "group_losses", "span", "spans"]

LINE, TREE, SET = 0, 1, 2


FEW_LABELS = 4
"""Members up to which the sets of a label column are so few that one or all will do."""


def count_labels(form: NDArray[np.integer], size: NDArray[np.integer]) -> int:
    """How many axes are labels of more than a few members, whose sets have no order."""
    return int(np.sum((form == SET) & (size > FEW_LABELS)))


@inlined
def span(metric, axis, low, high):
    """The span of codes low..high of one LINE or TREE axis: what they give up; one step on a SET axis.

    Needs low <= high. On a SET axis the true span depends on the members: this is that of a pair.
    """
    if low == high:
        return 0.0
    at = metric.offset[axis]
    form = metric.form[axis]
    if form == LINE:
        if high == metric.missing[axis]:
            return metric.most[axis]
        return metric.data[at + high] - metric.data[at + low]
    if form == TREE:
        reach = 1
        row = at
        length = high - low
        while 2 * reach <= length:
            reach *= 2
            row += metric.size[axis]
        left = metric.data[row + low]
        right = metric.data[row + high - reach]
        return left if left > right else right
    return metric.data[at]


@entry
def spans(metric, axis, low, high):
    """The spans of many runs of codes of one LINE or TREE axis: what they give up."""
    out = np.empty(low.size)
    for i in range(low.size):
        out[i] = span(metric, axis, low[i], high[i])
    return out


@entry
def distance(metric, one, other):
    """The distance of two rows of codes: the sum of the spans of their pairs."""
    total = 0.0
    for axis in range(one.size):
        a, b = one[axis], other[axis]
        if a < b:
            total += span(metric, axis, a, b)
        elif b < a:
            total += span(metric, axis, b, a)
    return total


@entry
def boxes(codes, distinct, starts):
    """Boxes for spans: least and greatest code per axis of group g, distinct[starts[g]:starts[g+1]]."""
    groups = starts.size - 1
    axes = codes.shape[1]
    low = np.empty((groups, axes), dtype=np.int32)
    high = np.empty((groups, axes), dtype=np.int32)
    for g in range(groups):
        for axis in range(axes):
            least = codes[distinct[starts[g]], axis]
            greatest = least
            for p in range(starts[g] + 1, starts[g + 1]):
                code = codes[distinct[p], axis]
                if code < least:
                    least = code
                elif code > greatest:
                    greatest = code
            low[g, axis] = least
            high[g, axis] = greatest
    return low, high


@entry
def group_losses(codes, metric, distinct, starts):
    """The sum of spans of each group, per record; multiply by sizes for the loss."""
    groups = starts.size - 1
    axes = codes.shape[1]
    low, high = boxes(codes, distinct, starts)
    out = np.zeros(groups)
    widest = 1
    for axis in range(axes):
        if metric.form[axis] == SET and metric.size[axis] > widest:
            widest = metric.size[axis]
    seen = np.full(widest, -1, dtype=np.int64)
    for axis in range(axes):
        if metric.form[axis] != SET:
            for g in range(groups):
                out[g] += span(metric, axis, low[g, axis], high[g, axis])
            continue
        seen[:] = -1
        step = metric.data[metric.offset[axis]]
        for g in range(groups):
            members = 0
            for p in range(starts[g], starts[g + 1]):
                code = codes[distinct[p], axis]
                if seen[code] != g:
                    seen[code] = g
                    members += 1
            out[g] += step * (members - 1)
    return out

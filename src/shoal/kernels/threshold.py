"""Grow a group around a seed while its spans stay below a limit."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import SET, distance, span

__all__ = ["grow_within"]


@inner
def _widened(metric, low, high, members, start, kinds, codes, row):
    """The spans of a threshold group once a row joins."""
    total = 0.0
    for axis in range(low.size):
        code = codes[row, axis]
        if metric.form[axis] == SET:
            step = metric.data[metric.offset[axis]]
            total += step * (kinds[axis] - members[start[axis] + code])
        else:
            total += span(metric, axis, min(low[axis], code), max(high[axis], code))
    return total


@entry
def grow_within(metric, codes, order, label, limit, begin, most):
    """Grow groups whose spans stay below a threshold, up to `most` seeds of order[begin:]; where to go on.

    `label` is -1 for free rows. A group is named by its seed's place in `order`. It takes the row that
    widens it least, of equals the first, until every row left would widen it beyond the limit.
    """
    axes = codes.shape[1]
    start = np.zeros(axes + 1, dtype=np.int64)
    for axis in range(axes):
        start[axis + 1] = start[axis] + (metric.size[axis] if metric.form[axis] == SET else 0)
    members = np.zeros(start[axes] + 1, dtype=np.int8)
    kinds = np.zeros(axes, dtype=np.int64)
    low = np.empty(axes, dtype=np.int32)
    high = np.empty(axes, dtype=np.int32)
    near = np.empty(codes.shape[0], dtype=np.int64)
    known = np.empty(codes.shape[0])
    at = begin
    seeds = 0
    while at < order.size and seeds < most:
        seed = order[at]
        name = at
        at += 1
        if label[seed] >= 0:
            continue
        seeds += 1
        members[:] = 0
        for axis in range(axes):
            low[axis] = codes[seed, axis]
            high[axis] = low[axis]
            kinds[axis] = 1
            if metric.form[axis] == SET:
                members[start[axis] + low[axis]] = 1
        label[seed] = name
        # spans only grow, so a row farther from the seed than the limit never joins
        many = 0
        for row in range(codes.shape[0]):
            if label[row] < 0:
                far = distance(metric, codes[seed], codes[row])
                if far <= limit:
                    near[many] = row
                    known[many] = far
                    many += 1
        while True:
            best = -1
            least = np.inf
            for p in range(many):
                if label[near[p]] >= 0 or known[p] >= least:  # known is never more than the true width
                    continue
                known[p] = _widened(metric, low, high, members, start, kinds, codes, near[p])
                if known[p] < least:
                    least = known[p]
                    best = p
            if best < 0 or least > limit:
                break
            row = near[best]
            label[row] = name
            for axis in range(axes):
                code = codes[row, axis]
                low[axis] = min(low[axis], code)
                high[axis] = max(high[axis], code)
                if metric.form[axis] == SET and members[start[axis] + code] == 0:
                    members[start[axis] + code] = 1
                    kinds[axis] += 1
    return at

"""k-means with a weight per column over mixed columns: nearest centroids, and small clusters merged."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import LINE, span

__all__ = ["assign_weighted", "merge_small", "spans_to_centroids"]


@inner
def _gap(metric, axis, code, mean, mode):
    """What a row is apart from a weighted mean on one axis; `mode` is the missing code where most are."""
    if metric.form[axis] == LINE:
        gone = metric.missing[axis]
        if code == gone or mode == gone:  # noqa: PLR1714 - codes of two integer types
            return 0.0 if code == mode else metric.most[axis]
        return abs(metric.data[metric.offset[axis] + code] - mean)
    if code == mode:
        return 0.0
    return span(metric, axis, min(code, mode), max(code, mode))


@entry
def assign_weighted(metric, codes, weight, mean, mode, label):
    """Give each row to the nearest weighted mean, in place; of equals to its old one, then the first."""
    changed = 0
    axes = codes.shape[1]
    start = np.zeros(axes + 1, dtype=np.int64)
    for axis in range(axes):
        start[axis + 1] = start[axis] + (0 if metric.form[axis] == LINE else metric.size[axis])
    table = np.empty(start[axes] + 1)
    form, most, missing = metric.form, metric.most, metric.missing
    position = np.zeros(axes)
    best = -1
    for row in range(codes.shape[0]):
        for axis in range(axes):
            if form[axis] == LINE:
                position[axis] = metric.data[metric.offset[axis] + codes[row, axis]]
            else:
                for code in range(metric.size[axis]):
                    gap = _gap(metric, axis, codes[row, axis], 0.0, code)
                    table[start[axis] + code] = weight[axis] * gap
        if label[row] >= 0:
            best = label[row]
        # the last row's cluster is a good first guess; of equals the first wins, but for the row's own
        least = np.inf
        turn = -1 if best >= 0 else 0
        guess = best
        best = -1
        while turn < mean.shape[0]:
            cluster = turn if turn >= 0 else guess
            total = 0.0
            for axis in range(axes):
                if form[axis] != LINE:
                    total += table[start[axis] + mode[cluster, axis]]
                elif codes[row, axis] == missing[axis] or mode[cluster, axis] == missing[axis]:
                    if codes[row, axis] != mode[cluster, axis]:
                        total += weight[axis] * most[axis]
                else:
                    total += weight[axis] * abs(position[axis] - mean[cluster, axis])
                if total > least:
                    break
            tie = total == least and cluster < best and best != label[row]
            if total < least or tie:
                least = total
                best = cluster
            turn += 1
        changed += best != label[row]
        label[row] = best
    return changed


@entry
def spans_to_centroids(metric, codes, count, mean, mode, label):
    """What all records are apart from their weighted means, per axis."""
    out = np.zeros(codes.shape[1])
    for row in range(codes.shape[0]):
        for axis in range(codes.shape[1]):
            out[axis] += count[row] * _gap(
                metric, axis, codes[row, axis], mean[label[row], axis], mode[label[row], axis]
            )
    return out


@entry
def merge_small(metric, low, high, size, order, k):
    """Weighted means: merge each cluster below k, in the given order, where it loses least; where to.

    Loss by boxes of codes; a label costs one step in a cluster that holds more than one value.
    """
    clusters, axes = low.shape
    target = np.arange(clusters)
    for small in order:
        if size[small] == 0 or size[small] >= k:
            continue
        best = -1
        least = np.inf
        own = 0.0
        for axis in range(axes):
            own += span(metric, axis, low[small, axis], high[small, axis])
        for other in range(clusters):
            if other == small or size[other] == 0:
                continue
            before = 0.0
            after = 0.0
            for axis in range(axes):
                before += span(metric, axis, low[other, axis], high[other, axis])
                first = min(low[small, axis], low[other, axis])
                last = max(high[small, axis], high[other, axis])
                after += span(metric, axis, first, last)
            cost = (size[small] + size[other]) * after - size[other] * before - size[small] * own
            if cost < least:
                least = cost
                best = other
        if best < 0:
            continue
        target[small] = best
        size[best] += size[small]
        size[small] = 0
        for axis in range(axes):
            low[best, axis] = min(low[best, axis], low[small, axis])
            high[best, axis] = max(high[best, axis], high[small, axis])
    return target

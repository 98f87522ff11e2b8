"""The loop of k-member."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.spans import distance, fill_costs

__all__ = ["grow_groups"]


@njit(cache=True)
def grow_groups(codes, count, metric, k, first):
    """Pieces (distinct, group, count) of groups grown greedily from far seeds; ties to the first row."""
    n, axes = codes.shape
    start = np.zeros(axes + 1, dtype=np.int64)
    for axis in range(axes):
        start[axis + 1] = start[axis] + metric.size[axis]
    table = np.zeros(start[axes])
    flags = np.zeros(start[axes], dtype=np.uint8)
    free = count.copy()
    left = 0
    for i in range(n):
        left += free[i]
    most = n + left // k + 1
    distinct = np.empty(2 * most, dtype=np.int32)
    group = np.empty(2 * most, dtype=np.int32)
    taken = np.empty(2 * most, dtype=np.int64)
    low = np.empty(axes, dtype=np.int32)
    high = np.empty(axes, dtype=np.int32)
    pieces = 0
    groups = 0
    seed = first
    while left >= k:
        if groups > 0:  # the row farthest from the last seed
            best = -1.0
            last = seed
            for i in range(n):
                if free[i] > 0:
                    far = distance(metric, codes[last], codes[i])
                    if far > best:
                        best = far
                        seed = i
        need = k
        nearest = seed
        for axis in range(axes):
            low[axis] = codes[seed, axis]
            high[axis] = codes[seed, axis]
        flags[:] = 0
        while True:
            part = min(need, free[nearest])
            distinct[pieces] = nearest
            group[pieces] = groups
            taken[pieces] = part
            pieces += 1
            free[nearest] -= part
            left -= part
            need -= part
            if need == 0:
                break
            for axis in range(axes):
                code = codes[nearest, axis]
                low[axis] = min(low[axis], code)
                high[axis] = max(high[axis], code)
                flags[start[axis] + code] = 1
                fill_costs(
                    metric,
                    axis,
                    low[axis],
                    high[axis],
                    flags[start[axis] : start[axis + 1]],
                    start[axis],
                    table,
                )
            cheapest = np.inf
            for i in range(n):
                if free[i] > 0:
                    cost = 0.0
                    for axis in range(axes):
                        cost += table[start[axis] + codes[i, axis]]
                    if cost < cheapest:
                        cheapest = cost
                        nearest = i
        groups += 1
    for i in range(n):
        if free[i] > 0:
            distinct[pieces] = i
            group[pieces] = groups - 1
            taken[pieces] = free[i]
            pieces += 1
    return distinct[:pieces].copy(), group[:pieces].copy(), taken[:pieces].copy()

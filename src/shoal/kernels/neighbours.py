"""Neighbours in the mixed metric of spans: exact, without an n x n matrix."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.spans import distance

__all__ = ["reach_distances"]


@njit(cache=True)
def reach_distances(codes, count, metric, k):
    """For each distinct row the least distance within which k records stand, itself included."""
    n = codes.shape[0]
    out = np.zeros(n)
    near = np.empty(n)
    for i in range(n):
        for j in range(n):
            near[j] = distance(metric, codes[i], codes[j])
        held = 0
        for j in np.argsort(near):
            held += count[j]
            if held >= k:
                out[i] = near[j]
                break
    return out

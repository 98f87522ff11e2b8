"""Sorting: Numba's own sort takes seconds to compile."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import inner

__all__ = ["sort_by", "sort_values"]


@inner
def sort_values(values, many):
    """Sort values[:many] in place, by heap."""
    for first in range(many // 2 - 1, -1, -1):
        _sift(values, first, many)
    for last in range(many - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sift(values, np.int64(0), last)


@inner
def _sift(values, at, end):
    """A step of the heap sort: move values[at] down until no child in values[:end] is greater."""
    item = values[at]
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and values[child + 1] > values[child]:
            child += 1
        if values[child] <= item:
            break
        values[at] = values[child]
        at = child
        child = 2 * at + 1
    values[at] = item


@inner
def sort_by(far, row, many):
    """Sort the first rows by distance, in place, by Shell."""
    gap = 1
    while gap < many // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for start in range(gap, many):
            its = far[start]
            who = row[start]
            at = start
            while at >= gap and far[at - gap] > its:
                far[at] = far[at - gap]
                row[at] = row[at - gap]
                at -= gap
            far[at] = its
            row[at] = who
        gap //= 3

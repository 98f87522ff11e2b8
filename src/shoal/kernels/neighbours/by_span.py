"""Neighbours by spans alone, whatever distance the plan names: `exact` for codes and a metric."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.kernels.distance.rows import SPAN
from shoal.kernels.neighbours import exact
from shoal.kernels.neighbours.box_tree import Index, build_tree

__all__ = ["build_tree", "list_within", "reach_distances"]

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


class _Spans(NamedTuple):
    """A space of spans."""

    kind: int
    codes: Any
    points: Any
    matrix: Any
    form: Any
    size: Any
    missing: Any
    most: Any
    offset: Any
    data: Any


def _space(codes: Codes, metric: Any) -> _Spans:
    """Codes and a metric as a space that measures by span alone."""
    nothing = np.zeros((0, 0))
    axes = (metric.form, metric.size, metric.missing, metric.most, metric.offset, metric.data)
    return _Spans(SPAN, np.ascontiguousarray(codes), nothing, nothing, *axes)


def reach_distances(codes: Codes, count: Counts, metric: Any, k: int) -> Floats:
    """By span alone: for each row the least distance within which k records stand, itself included.

    0 for rows without records. Needs at least k records.
    """
    return exact.reach_distances(build_tree(codes, count, metric), _space(codes, metric), count, k)


def list_within(tree: Index, metric: Any, queries: Codes, radius: ArrayLike) -> tuple[Counts, Codes]:
    """By span alone: for each row of `queries` (codes) the rows within its own `radius`, in order.

    Returns starts and rows: those of query i are rows[starts[i] : starts[i + 1]]. Memory is that of the
    answer: ask in blocks where it may be large.
    """
    limits = np.ascontiguousarray(radius, dtype=np.float64)
    rows = np.arange(len(queries), dtype=np.int32)
    return exact.list_within(tree, _space(queries, metric), rows, limits)

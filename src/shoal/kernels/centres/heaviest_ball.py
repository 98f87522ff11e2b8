"""Whether so many balls are too few to cover all rows; the search for shares has no part in this check."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart_from
from shoal.kernels.threads import over_rows

__all__ = ["are_too_few"]

TOLERANCE = 1e-9
"""What the rounding of sums may add to shares."""


def are_too_few(
    space: Any,
    count: NDArray[np.int64],
    reach: NDArray[np.float64],
    most: int,
    radius: float,
    share: NDArray[np.float32],
) -> bool:
    """Whether the shares sum to more than `most` times what any ball of the radius bears.

    Balls stand around rows with records whose `reach` is at most the radius.
    """
    its = share.astype(np.float64)
    if not bool(np.all(np.isfinite(its) & (its >= 0.0) & ((its == 0.0) | (count > 0)))):
        return False
    centres = np.flatnonzero((count > 0) & (reach <= radius)).astype(np.int32)
    rows = np.flatnonzero(its > 0.0).astype(np.int32)
    heaviest = _heaviest_ball(space, rows, its[rows], centres, radius)
    return float(its.sum()) > most * heaviest * (1.0 + TOLERANCE)


def _heaviest_ball(
    space: Any,
    rows: NDArray[np.int32],
    share: NDArray[np.float64],
    centres: NDArray[np.int32],
    radius: float,
) -> float:
    """The most that a ball of that radius around one of the centres bears."""
    bears = np.zeros(centres.size)
    short = short_axes(space)

    def work(first: int, last: int) -> None:
        """Some centres, each with all rows that have shares."""
        some, table = centres[first:last], np.empty(short[-1] + 1)
        away = np.empty(some.size)
        for row, its in zip(rows.tolist(), share.tolist(), strict=True):
            apart_from(space, row, some, short, table, away)
            bears[first:last] += np.where(away <= radius, its, 0.0)

    over_rows(centres.size, work)
    return float(bears.max(initial=0.0))

"""The style `centres`: one line per group, with its centre, size, radius, and values with counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.space import radii
from shoal.model.cell import print_counts
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Groups
from shoal.model.plan import RADIUS, SIZE, Plan
from shoal.recode.generalize import generalize
from shoal.recode.pieces import Pieces, lay_out

__all__ = ["centres", "radii_of"]

DIGITS = 6


def centres(
    frame: pl.DataFrame, coded: Coded, grouping: Grouping, plan: Plan
) -> tuple[pl.DataFrame, Groups]:
    """One line per group, sorted by its published values, and the groups seen from the input's rows.

    Every column besides the quasi-identifiers becomes a list of its values in the group with counts: which
    value goes with which is not published.
    """
    assert grouping.centre is not None, "the method has centres"
    pieces, groups = lay_out(frame, coded, grouping, plan)
    many = grouping.groups
    alone = Grouping(
        distinct=grouping.centre,
        group=np.arange(many, dtype=np.int32),
        count=np.ones(many, dtype=np.int64),
    )
    faces = generalize(coded, alone, replace(plan, cells="text"))
    parts = [
        faces.with_columns(
            pl.Series(SIZE, grouping.sizes), pl.Series(RADIUS, _rounded_up(radii_of(coded, grouping)))
        ),
        *(
            pl.DataFrame({name: _counted(frame[name], pieces, many)})
            for name in (*plan.sensitive, *plan.keep)
        ),
    ]
    table = pl.concat(parts, how="horizontal")
    return table.sort(table.columns, nulls_last=True, maintain_order=False), groups


def radii_of(coded: Coded, grouping: Grouping) -> NDArray[np.float64]:
    """How far the farthest record of each group lies from its centre."""
    assert grouping.centre is not None, "the method has centres"
    kept = grouping.group >= 0
    return radii(coded.space, grouping.distinct[kept], grouping.group[kept], grouping.centre)


def _rounded_up(radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """A few digits read well; upwards, so that every record lies within the radius shown."""
    rounded: NDArray[np.float64] = np.round(np.ceil(radius * 10**DIGITS - 1e-6) / 10**DIGITS, DIGITS)
    return rounded + 0.0  # 0 and not -0


def _counted(series: pl.Series, pieces: Pieces, groups: int) -> list[str]:
    """Per group the values with how often they occur, the commonest first, then in their own order."""
    kept = pieces.group >= 0
    counts = (
        pl.DataFrame(
            {
                "group": pieces.group[kept],
                "value": series[pl.Series(pieces.row[kept])],
                "many": pieces.records[kept],
            }
        )
        .group_by("group", "value")
        .agg(pl.col("many").sum())
    )
    # numbers that a file holds as text stand in the order of numbers
    by_number = counts["value"].cast(pl.Float64, strict=False) if series.dtype == pl.String else None
    if by_number is not None and by_number.null_count() == counts["value"].null_count():
        counts = counts.with_columns(order=by_number)
    else:
        counts = counts.with_columns(order=pl.col("value"))
    counts = counts.sort(
        "group", "many", "order", "value", descending=[False, True, False, False], nulls_last=True
    ).select("group", pl.col("value").cast(pl.String), "many")
    lists: list[list[tuple[str | None, int]]] = [[] for _ in range(groups)]
    for group, value, many in counts.iter_rows():
        lists[group].append((value, many))
    return [print_counts(counted) for counted in lists]

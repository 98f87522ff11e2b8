"""The style `centres`: one line per group, with its centre, size, radius, and values with counts.

The centre is nobody's row but a middle made for the group, unless the plan's option says `centre=row`: then
it is the row that the method grouped around, with the quasi-identifiers of a real person.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.distance.rows import radii
from shoal.model.cell import print_counts
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Groups
from shoal.model.plan import RADIUS, SIZE, Plan
from shoal.recode.generalize import generalize
from shoal.recode.middles import middles
from shoal.recode.pieces import RowPieces, lay_out

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
    if plan.centre == "row":
        alone = Grouping(
            distinct=grouping.centre,
            group=np.arange(grouping.groups, dtype=np.int32),
            count=np.ones(grouping.groups, dtype=np.int64),
        )
        published, radius = generalize(coded, alone, replace(plan, cells="text")), radii_of(coded, grouping)
    else:
        published, radius = middles(coded, grouping, plan)
    parts = [
        published.with_columns(pl.Series(SIZE, grouping.sizes), pl.Series(RADIUS, _rounded_up(radius))),
        *(
            pl.DataFrame({name: _counted(frame[name], pieces, grouping.groups)})
            for name in (*plan.sensitive, *plan.keep)
        ),
    ]
    table = pl.concat(parts, how="horizontal")
    lines = table.with_row_index("\0group").sort(table.columns, nulls_last=True, maintain_order=False)
    line = np.argsort(lines["\0group"].to_numpy())
    kept = pieces.group >= 0
    groups = replace(groups, line=line[pieces.group[kept]], source=pieces.row[kept])
    return lines.drop("\0group"), groups


def radii_of(coded: Coded, grouping: Grouping) -> NDArray[np.float64]:
    """How far the farthest record of each group lies from its centre."""
    assert grouping.centre is not None, "the method has centres"
    kept = grouping.group >= 0
    return radii(coded.space, grouping.distinct[kept], grouping.group[kept], grouping.centre)


def _rounded_up(radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """A few digits read well; upwards, so that every record lies within the radius shown."""
    rounded: NDArray[np.float64] = np.round(np.ceil(radius * 10**DIGITS - 1e-6) / 10**DIGITS, DIGITS)
    return rounded + 0.0  # 0 and not -0


def _counted(series: pl.Series, pieces: RowPieces, groups: int) -> list[str]:
    """Per group the values with how often they occur, the commonest first, then in their own order."""
    if series.dtype.is_float():  # 0 and -0 are one value, and not-a-number is missing
        series = series.fill_nan(None).set(series == 0, 0.0)
    kept = pieces.group >= 0
    counts = (
        pl.DataFrame(
            {
                "group": pieces.group[kept],
                "value": series[pl.Series(pieces.row[kept])],
                "times": pieces.records[kept],
            }
        )
        .group_by("group", "value")
        .agg(pl.col("times").sum())
    )
    # numbers that a file holds as text stand in the order of numbers
    by_number = counts["value"].cast(pl.Float64, strict=False) if series.dtype == pl.String else None
    if by_number is not None and by_number.null_count() == counts["value"].null_count():
        counts = counts.with_columns(order=by_number)
    else:
        counts = counts.with_columns(order=pl.col("value"))
    counts = counts.sort(
        "group", "times", "order", "value", descending=[False, True, False, False], nulls_last=True
    ).select("group", pl.col("value").cast(pl.String), "times")
    lists: list[list[tuple[str | None, int]]] = [[] for _ in range(groups)]
    for group, value, times in counts.iter_rows():
        lists[group].append((value, times))
    return [print_counts(counted) for counted in lists]

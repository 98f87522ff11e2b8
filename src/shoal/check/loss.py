"""What the published cells lose, recomputed from the cells alone.

The loss of a column is the sum over records of its cell's span: for a range of numbers or dates
(greatest - least) / denominator, for a node of a tree (leaves below - 1) / denominator or
level / denominator, for a set (members - 1) / denominator, 1 for a suppressed cell, 0 for a single value
or for missing alone. A withheld record loses the whole column. Columns add up by weight.

Non-uniform entropy (De Waal and Willenborg 1999; Gionis and Tassa 2007): a record whose value has the
share p of the original column and whose published cell covers values with the share P >= p loses
log2(P / p) bits; suppressed or withheld, log2(1 / p). We report all bits lost divided by all bits
there were, so 0 is nothing and 1 is everything. It needs the original frequencies of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.apart import told_apart
from shoal.check.readings import Readings, read_cells
from shoal.check.ruler import PLACES, RANGES, Ruler
from shoal.model.plain import check_text
from shoal.model.verdict import ColumnLoss

__all__ = [
    "PublishedCells",
    "bits_of",
    "by_axis",
    "entropy_share",
    "loss_of_column",
    "published_names",
    "read_column",
    "total_of",
]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCells:
    """The distinct cells of one published column: what each says, and its records.

    `place` is the cell of each line that was read; `texts` are the cells themselves.
    """

    readings: Readings
    records: NDArray[np.int64]
    place: NDArray[np.int64]
    texts: pl.DataFrame

    @property
    def unfit(self) -> int:
        """Records whose cell could not be understood."""
        return int(self.records[self.readings.unfit].sum())


def read_column(
    lines: pl.DataFrame, names: Sequence[str], ruler: Ruler, records: NDArray[np.int64]
) -> PublishedCells:
    """Read every distinct cell of a column once; two names are typed bounds, four those of a place."""
    for name in names:
        check_text(lines[name])
    text = lines.select(pl.col(name).cast(pl.String) for name in names)
    distinct = text.unique(maintain_order=True)
    place = text.join(
        distinct.with_row_index("\0place"),
        on=list(names),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["\0place"].to_numpy()
    readings = read_cells(distinct, ruler)
    sums = np.bincount(place, weights=records, minlength=distinct.height)
    return PublishedCells(readings, np.rint(sums).astype(np.int64), place.astype(np.int64), distinct)


def by_axis(cells: PublishedCells) -> tuple[PublishedCells, ...]:
    """The cells once for each axis of the column: what they cover there."""
    return tuple(
        replace(cells, readings=replace(cells.readings, axes=(runs,))) for runs in cells.readings.axes
    )


def loss_of_column(cells: PublishedCells, ruler: Ruler, *, withheld: int) -> ColumnLoss:
    """The share of a column that was lost; a cell that does not fit counts in full."""
    spans = np.where(cells.readings.unfit, 1.0, cells.readings.span)
    lost = float(spans @ cells.records) + withheld
    everything = int(cells.records.sum()) + withheld
    return ColumnLoss(
        name=ruler.name,
        weight=ruler.weight,
        denominator=ruler.denominator,
        loss=lost / everything if everything else 0.0,
        told_apart=told_apart(
            cells.texts, cells.records, ruler, withheld=withheld, ends=cells.readings.ends
        ),
    )


def total_of(losses: Sequence[ColumnLoss], *, records: int) -> tuple[float | None, float | None]:
    """Total loss and the same in per cent; None where a column's loss is not known."""
    total = 0.0
    for column in losses:
        if column.loss is None:
            return None, None
        total += column.weight * column.loss
    weights = sum(column.weight for column in losses)
    percent = 100.0 * total / weights if weights > 0 else 0.0
    return total * records, percent


def bits_of(
    cells: PublishedCells, counts: NDArray[np.int64], *, withheld: int
) -> tuple[float, float] | None:
    """The bits that a column has lost and those there were, by the original records of its codes.

    None where that is not known. Needs a column of one axis.
    """
    total = int(counts.sum())
    if total != int(cells.records.sum()) + withheld:
        return None
    covered = cells.readings.axes[0].records(np.r_[0, np.cumsum(counts)])
    if (covered <= 0).any():
        return None
    kept = cells.records * np.log2(total / covered)
    present = counts[counts > 0]
    bits = float(present @ np.log2(total / present))
    return bits - (float(np.cumsum(kept)[-1]) if kept.size else 0.0), bits  # added up one by one


def entropy_share(columns: Sequence[tuple[float, float] | None]) -> float | None:
    """Non-uniform entropy over all columns, from the bits of each; None where some are not known."""
    lost = there_were = 0.0
    for column in columns:
        if column is None:
            return None
        lost += column[0]
        there_were += column[1]
    return max(0.0, lost / there_were) if there_were > 0 else 0.0


def published_names(ruler: Ruler, cells: str, style: str = "generalize") -> tuple[str, ...]:
    """The columns in which a quasi-identifier is published."""
    if style == "means":
        return ruler.parts or (ruler.name,)
    if ruler.published == RANGES and cells == "bounds":
        return (f"{ruler.name}_low", f"{ruler.name}_high")
    if ruler.published == PLACES and cells == "bounds":
        return tuple(f"{part}_{end}" for part in ruler.parts for end in ("low", "high"))
    if ruler.published == PLACES and cells == "middle":
        return tuple(name for part in ruler.parts for name in (part, f"{part}_size"))
    return (ruler.name,)

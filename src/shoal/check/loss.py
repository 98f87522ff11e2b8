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
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.apart import told_apart
from shoal.check.ruler import PLACES, RANGES, Reading, Ruler
from shoal.model.plain import check_text
from shoal.model.verdict import ColumnLoss

__all__ = [
    "PublishedCells",
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

    `place` is the cell of each line that was read; `readings` has None where a cell does not fit; `texts`
    are the cells themselves.
    """

    readings: tuple[Reading | None, ...]
    records: NDArray[np.int64]
    place: NDArray[np.int64]
    texts: pl.DataFrame

    @property
    def unfit(self) -> int:
        """Records whose cell could not be understood."""
        bad = [reading is None for reading in self.readings]
        return int(self.records[bad].sum()) if bad else 0


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
    if len(names) == 4:
        readings = tuple(ruler.read_box(ends) for ends in distinct.iter_rows())
    elif len(names) == 2:
        readings = tuple(ruler.read_ends(low, high) for low, high in distinct.iter_rows())
    else:
        readings = tuple(ruler.read(cell) for (cell,) in distinct.iter_rows())
    sums = np.bincount(place, weights=records, minlength=len(readings))
    return PublishedCells(readings, np.rint(sums).astype(np.int64), place.astype(np.int64), distinct)


def by_axis(cells: PublishedCells, ruler: Ruler) -> tuple[PublishedCells, ...]:
    """The cells once for each axis of the column: what they cover there."""
    if not ruler.sides:
        return (cells,)
    across = tuple(
        None if reading is None else Reading(reading.span, reading.across) for reading in cells.readings
    )
    return cells, PublishedCells(across, cells.records, cells.place, cells.texts)


def loss_of_column(cells: PublishedCells, ruler: Ruler, *, withheld: int) -> ColumnLoss:
    """The share of a column that was lost; a cell that does not fit counts in full."""
    spans = np.array([1.0 if reading is None else reading.span for reading in cells.readings])
    lost = float(spans @ cells.records) + withheld
    everything = int(cells.records.sum()) + withheld
    return ColumnLoss(
        name=ruler.name,
        weight=ruler.weight,
        denominator=ruler.denominator,
        loss=lost / everything if everything else 0.0,
        told_apart=told_apart(cells.texts, cells.records, ruler, withheld=withheld),
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


def entropy_share(
    columns: Sequence[tuple[PublishedCells, NDArray[np.int64]]], *, withheld: int
) -> float | None:
    """Non-uniform entropy over all columns, each with the original records of its codes."""
    lost = there_were = 0.0
    for cells, counts in columns:
        total = int(counts.sum())
        if total != int(cells.records.sum()) + withheld:
            return None
        up_to = np.r_[0, np.cumsum(counts)]
        kept = 0.0
        for reading, records in zip(cells.readings, cells.records.tolist(), strict=True):
            if reading is None or reading.codes is None:
                return None
            covered = sum(int(up_to[last + 1] - up_to[first]) for first, last in reading.codes)
            if covered <= 0:
                return None
            kept += records * float(np.log2(total / covered))
        present = counts[counts > 0]
        bits = float(present @ np.log2(total / present))
        there_were += bits
        lost += bits - kept
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

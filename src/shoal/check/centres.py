"""The style `centres`: one line per group, judged line by line.

A line is a class: it holds the quasi-identifiers of its centre, the records of the group, its radius, and
for every other column the values with how often they occur. So k is held by the size, and the size by the
counts of every column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kanonymity import Classes, records_of
from shoal.check.loss import read_column
from shoal.check.ruler import NODES, Ruler
from shoal.model.cell import parse_counts
from shoal.model.plan import RADIUS, SIZE
from shoal.model.verdict import Finding

if TYPE_CHECKING:  # which `shoal check` need not load
    from shoal.model.certificate import Certificate
    from shoal.model.coded import Coded

__all__ = [
    "as_counted",
    "faults",
    "find_centres",
    "is_unreadable",
    "lines_of",
    "publishes_rows",
    "unfold",
    "value_from",
]


def lines_of(table: pl.DataFrame) -> Classes:
    """A class per line, of as many records as it says; none where the sizes are not there."""
    there = SIZE in table.columns
    records = records_of(table, SIZE) if there else np.zeros(table.height, dtype=np.int64)
    alive = records > 0
    label = np.where(alive, np.cumsum(alive) - 1, -1)
    return Classes(label, records, records[alive], np.flatnonzero(alive))


def unfold(series: pl.Series, classes: Classes) -> tuple[pl.Series, Classes, int]:
    """The values behind the counts, one row per line and value, and how many lines cannot be read.

    A line cannot be read where its cell is no list of values with counts, or where they do not add up to
    the records of the line.
    """
    values: list[str | None] = []
    label: list[int] = []
    records: list[int] = []
    unfit = 0
    # a column of numbers alone holds no counts
    cells = series.cast(pl.String, strict=False).to_list()
    for cell, number, size in zip(cells, classes.label.tolist(), classes.records.tolist(), strict=True):
        counted = parse_counts(cell)
        if number < 0 or counted is None or sum(times for _, times in counted) != size:
            unfit += 1
            continue
        for value, times in counted:
            if times > 0:
                values.append(value)
                label.append(number)
                records.append(times)
    one = np.array(label, dtype=np.int64)
    unfolded = Classes(one, np.array(records, dtype=np.int64), classes.sizes, classes.row)
    return pl.Series(series.name, values, dtype=pl.String), unfolded, unfit


def as_counted(series: pl.Series) -> pl.Series:
    """The values of an original as text, as counts know them: 0 and -0 are one, not-a-number is missing."""
    if series.dtype.is_float():
        series = series.fill_nan(None).set(series == 0, 0.0)
    return series.cast(pl.String)


def is_unreadable(ruler: Ruler) -> bool:
    """Whether a column's values are nodes of a hierarchy that was not given."""
    return ruler.published == NODES and ruler.nodes is None


def faults(
    table: pl.DataFrame, classes: Classes, rulers: Sequence[Ruler | None], counted: Sequence[str]
) -> Iterator[str]:
    """What speaks against a table of centres, besides k; columns that are not there are left to others."""
    empty = int((classes.label < 0).sum())
    if empty:
        yield f"{empty} of {table.height} lines stand for no record."
    if RADIUS in table.columns:
        radius = table[RADIUS].cast(pl.Float64, strict=False)
        bad = int((~(radius.is_finite() & (radius >= 0)).fill_null(False)).sum())
        if bad:
            yield f"Column {RADIUS!r}: {bad} of {table.height} radii are not numbers of at least 0."
    lines = table[classes.row]
    for ruler in rulers:
        if ruler is None or ruler.name not in table.columns or is_unreadable(ruler):
            continue
        cells = read_column(lines, (ruler.name,), ruler, classes.sizes)
        bad = int((cells.readings.span != 0)[cells.place].sum())  # nan is not 0, either
        if bad:
            yield f"Column {ruler.name!r}: {bad} of {table.height} cells are no single values of it."
    for name in counted:
        if name in table.columns:
            _, _, unfit = unfold(table[name], classes)
            if unfit:
                yield (
                    f"Column {name!r}: in {unfit} of {table.height} lines the values with counts cannot be "
                    "read or do not add up to the records of the group."
                )


def value_from(table: pl.DataFrame, objective: str) -> float | None:
    """The objective by the published sizes and radii; None for one that these do not tell."""
    radius = table[RADIUS].cast(pl.Float64, strict=False).fill_null(np.inf).to_numpy()
    if objective == "radius":
        return float(radius.max(initial=0.0))
    if objective == "cellular":
        return float(radius @ records_of(table, SIZE))
    return None


def publishes_rows(certificate: Certificate) -> bool:
    """Whether the centres of a release are rows of the original, by its plan; else they are middles."""
    return certificate.plan.options.get("centre") == "row"


def find_centres(
    table: pl.DataFrame, classes: Classes, coded: Coded, rulers: Sequence[Ruler | None], *, rows: bool
) -> Finding:
    """Whether every centre is a row of the original that stands for a record.

    Where centres are middles (not `rows`): whether every cell is a value of its column, or lies among them.
    """
    lines = table[classes.row]
    first: list[NDArray[np.int64]] = []
    last: list[NDArray[np.int64]] = []
    for ruler in rulers:
        if ruler is None:
            return Finding(
                "centres", None, "Not recomputable: a column of a kind this check does not know."
            )
        cells = read_column(lines, (ruler.name,), ruler, classes.sizes)
        for runs in cells.readings.axes:
            first.append(np.where(runs.known, runs.first, -1)[cells.place])
            last.append(np.where(runs.known, runs.last, -2)[cells.place])
    low, high = np.stack(first, axis=1), np.stack(last, axis=1)
    centres = len(low)
    if not rows:
        # a number between two values covers none of them: its run ends right before it begins
        size = np.array([axis.size - (axis.missing >= 0) for c in coded.columns for axis in c.axes])
        fits = ((low == high) | ((low == high + 1) & (low > 0) & (low < size))).all(axis=1)
        strange = int((~fits).sum())
        detail = f"The cells of all {centres} centres are values of the original, or lie among them."
        if strange:
            detail = f"{strange} of {centres} centres have cells that lie outside the original's values."
        return Finding("centres", strange == 0, detail)
    known = {tuple(line) for line in coded.codes[coded.count > 0].tolist()}
    single = np.where(low == high, low, -1).tolist()
    strange = sum(tuple(line) not in known for line in single)
    detail = f"All {centres} centres are rows of the original."
    if strange:
        detail = f"{strange} of {centres} centres are no rows of the original."
    return Finding("centres", strange == 0, detail)

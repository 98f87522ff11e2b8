"""Many published cells of a column read at once: what each loses and which codes it covers, as arrays.

The same as `Ruler` says cell by cell. Ranges and rectangles are read together; nodes, sets and values, of
which a column has few, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.ranges import ends_of
from shoal.check.ruler import PLACES, RANGES, ROUNDING, Reading, Ruler
from shoal.model.cell import BY, SUPPRESSED

__all__ = ["CodeRuns", "Readings", "read_cells"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CodeRuns:
    """The codes that cells cover on one axis: a run for each, both ends included.

    A run that ends before it begins covers nothing. `known` is not so where a cell does not fit, or where
    the ruler does not know the column's values. A set may cover several runs: `several` has all of them, by
    the cell's place, and `first` and `last` are those of the first.
    """

    first: Integers
    last: Integers
    known: Booleans
    several: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @classmethod
    def unknown(cls, many: int) -> CodeRuns:
        """Of so many cells nothing is known yet."""
        return cls(np.zeros(many, np.int64), np.full(many, -1, np.int64), np.zeros(many, np.bool_), {})

    def put(self, cells: Booleans, run: tuple[int, int] | None) -> None:
        """Say of some cells what they cover; while a column is read, and by nobody else."""
        self.first[cells], self.last[cells] = run or (0, -1)
        self.known[cells] = run is not None

    def records(self, up_to: Integers) -> Integers:
        """The records of each cell's codes, by those below each code; -1 where that is not known."""
        many = np.full(self.first.size, -1, dtype=np.int64)
        known = self.known
        many[known] = up_to[self.last[known] + 1] - up_to[self.first[known]]
        for at, runs in self.several.items():
            many[at] = sum(int(up_to[last + 1] - up_to[first]) for first, last in runs)
        return many


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Cells understood: the share of the column that each loses, and the codes it covers on each axis.

    `span` is nan where a cell does not fit. `ends` are both ends of ranges as numbers, nan where there are
    none; None for columns of another kind.
    """

    span: Floats
    axes: tuple[CodeRuns, ...]
    ends: tuple[Floats, Floats] | None = None

    @property
    def unfit(self) -> Booleans:
        """Which cells do not fit."""
        return np.isnan(self.span)


def read_cells(cells: pl.DataFrame, ruler: Ruler) -> Readings:
    """Read cells as texts: in one column, or as typed bounds in two, those of a place in four."""
    if ruler.published == PLACES:
        return _places(cells, ruler)
    if ruler.published == RANGES and ruler.coding is None:
        return _ranges(cells, ruler)
    return _one_by_one(cells, ruler)


def _one_by_one(cells: pl.DataFrame, ruler: Ruler) -> Readings:
    span, runs = np.full(cells.height, np.nan), CodeRuns.unknown(cells.height)
    several: dict[int, tuple[tuple[int, int], ...]] = {}
    for at, texts in enumerate(cells.iter_rows()):
        reading = _read(texts, ruler)
        if reading is None:
            continue
        span[at] = reading.span
        if reading.codes is not None:
            runs.first[at], runs.last[at] = reading.codes[0]
            runs.known[at] = True
            if len(reading.codes) > 1:
                several[at] = reading.codes
    return Readings(span, (CodeRuns(runs.first, runs.last, runs.known, several),))


def _read(texts: Sequence[str | None], ruler: Ruler) -> Reading | None:
    return ruler.read_ends(texts[0], texts[1]) if len(texts) == 2 else ruler.read(texts[0])


def _ranges(cells: pl.DataFrame, ruler: Ruler) -> Readings:
    low, high = ends_of(cells, ruler.kind)
    span, runs = _between(low, high, ruler)
    whole = (0, ruler.size - 1) if ruler.size else None
    if ruler.missing != -1:
        missing = _missing(cells)
        # two typed bounds that are missing may hide a mix with missing cells: they count in full
        alone = None if ruler.missing is None else (ruler.missing, ruler.missing)
        span[missing] = 0.0 if cells.width == 1 else 1.0
        runs.put(missing, alone if cells.width == 1 else whole)
    if cells.width == 1:
        stars = _stars(cells)
        span[stars] = 1.0
        runs.put(stars, whole)
    return Readings(span, (runs,), (low, high))


def _places(cells: pl.DataFrame, ruler: Ruler) -> Readings:
    pairs = _sides(cells) if cells.width == 1 else [cells[:, :2], cells[:, 2:]]
    read = [
        _between(*ends_of(pair, side.kind), side) for side, pair in zip(ruler.sides, pairs, strict=True)
    ]
    span = read[0][0] + read[1][0]
    span[span > 1 + ROUNDING] = np.nan
    np.minimum(1.0, span, out=span)
    axes = tuple(runs for _, runs in read)
    whole = [(0, side.size - 1) if side.size else None for side in ruler.sides]
    unfit = np.isnan(span)
    for runs in axes:  # which may fit on one side alone
        runs.put(unfit, None)
    if ruler.missing != -1:
        missing = _missing(cells)
        span[missing] = 0.0 if cells.width == 1 else 1.0
        codes = [side.missing for side in ruler.sides]
        alone = [None if code is None else (code, code) for code in codes]
        for runs, run in zip(axes, alone if cells.width == 1 else whole, strict=True):
            runs.put(missing, run)
    if cells.width == 1:
        stars = _stars(cells)
        span[stars] = 1.0
        for runs, run in zip(axes, whole, strict=True):
            runs.put(stars, run)
    return Readings(span, axes)


def _between(low: Floats, high: Floats, ruler: Ruler) -> tuple[Floats, CodeRuns]:
    """What ranges lose and cover, by their ends; nan is the end of none."""
    span, runs = np.full(low.size, np.nan), CodeRuns.unknown(low.size)
    with np.errstate(over="ignore", invalid="ignore"):  # wider than any float is wider than the table
        width = high - low
        fits = (low <= high) & ~(width > ruler.denominator * (1 + ROUNDING))
        share = np.fmin(1.0, width[fits] / ruler.denominator) if ruler.denominator > 0 else 0.0
    span[fits] = share
    if ruler.numbers is not None:
        runs.first[fits] = np.searchsorted(ruler.numbers, low[fits])
        runs.last[fits] = np.searchsorted(ruler.numbers, high[fits], side="right") - 1
        runs.known[fits] = True
    return span, runs


def _sides(cells: pl.DataFrame) -> list[pl.DataFrame]:
    """Both sides of rectangles, missing where a text has not two."""
    parts = cells.to_series().str.splitn(BY, 3).struct.unnest()
    two = parts.to_series(1).is_not_null() & parts.to_series(2).is_null()
    return [parts.select(pl.when(two).then(pl.col(name))) for name in parts.columns[:2]]


def _missing(cells: pl.DataFrame) -> Booleans:
    return cells.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()


def _stars(cells: pl.DataFrame) -> Booleans:
    return (cells.to_series() == SUPPRESSED).fill_null(False).to_numpy()

"""Many published ranges read at once: what each loses and which codes it covers.

The same as `Ruler.read`, cell by cell, says; what has another form than ours is left to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.ruler import RANGES, Reading, Ruler, number_of
from shoal.model.cell import parse_range

__all__ = ["CellSpans", "ends_of", "read_spans"]

_ROUNDING = 1e-9
_DAY = 10
"""The length of a date as text."""


@dataclass(frozen=True, slots=True, eq=False)
class CellSpans:
    """What cells say: the share of the column that each loses, nan where it does not fit.

    `covered` has how many of the original's records its codes have, -1 where that is not known.
    """

    span: NDArray[np.float64]
    covered: NDArray[np.int64]


def read_spans(cells: pl.Series, ruler: Ruler, up_to: NDArray[np.int64] | None) -> CellSpans:
    """Read different cells of a column; `up_to` has the original's records below each code."""
    spans = CellSpans(np.full(len(cells), np.nan), np.full(len(cells), -1, dtype=np.int64))
    rest = np.ones(len(cells), dtype=np.bool_)
    if ruler.published == RANGES and (ruler.numbers is not None or up_to is None):
        rest = ~_read_ranges(cells, ruler, up_to, spans)
    for at in np.flatnonzero(rest).tolist():
        reading = ruler.read(cells[at])
        if reading is not None:
            spans.span[at] = reading.span
            spans.covered[at] = _covered(reading, up_to)
    return spans


def _covered(reading: Reading, up_to: NDArray[np.int64] | None) -> int:
    if up_to is None or reading.codes is None:
        return -1
    return sum(int(up_to[last + 1] - up_to[first]) for first, last in reading.codes)


def _read_ranges(
    cells: pl.Series, ruler: Ruler, up_to: NDArray[np.int64] | None, spans: CellSpans
) -> NDArray[np.bool_]:
    """Fill in what fits; which cells that were."""
    least, greatest = _ends(cells, ruler.kind)
    width = greatest - least
    fits = (width >= 0) & (width <= ruler.denominator * (1 + _ROUNDING))  # nan fits nowhere
    wide = width[fits]
    spans.span[fits] = np.minimum(1.0, wide / ruler.denominator) if ruler.denominator > 0 else 0.0
    if up_to is not None and ruler.numbers is not None:
        first = np.searchsorted(ruler.numbers, least[fits])
        last = np.searchsorted(ruler.numbers, greatest[fits], side="right")
        spans.covered[fits] = up_to[last] - up_to[first]
    return fits


def ends_of(cells: pl.DataFrame, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of cells, texts in one column or typed bounds in two; nan where there are none."""
    if cells.width == 2:
        low, high = (_numbers(cells.to_series(at), kind) for at in (0, 1))
    else:
        low, high = _ends(cells.to_series(), kind)
    low, high = low.copy(), high.copy()
    for at in np.flatnonzero(np.isnan(low) | np.isnan(high)).tolist():  # what has another form
        texts = cells.row(at) if cells.width == 2 else parse_range(cells.item(at, 0) or "")
        ends = [number_of(text or "", kind) for text in texts]
        low[at], high[at] = (np.nan if end is None else end for end in ends)
    return low, high


def _ends(cells: pl.Series, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    in_brackets = cells.str.starts_with("[") & cells.str.ends_with("]")
    inside = pl.select(pl.when(in_brackets).then(cells.str.slice(1, cells.str.len_chars() - 2))).to_series()
    ends = inside.str.split_exact(", ", 1).struct.unnest()
    low = pl.select(pl.when(in_brackets).then(ends["field_0"]).otherwise(cells)).to_series()
    high = pl.select(pl.when(in_brackets).then(ends["field_1"]).otherwise(cells)).to_series()
    return _numbers(low, kind), _numbers(high, kind)


def _numbers(texts: pl.Series, kind: str) -> NDArray[np.float64]:
    """Numbers, or dates in days; nan for every text of another form."""
    if kind == "date":
        days = texts.set(texts.str.len_chars() != _DAY, None).str.to_date("%Y-%m-%d", strict=False)
        numbers = days.to_physical().cast(pl.Float64)
    else:
        plain = texts.str.contains(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$").fill_null(False)
        numbers = texts.set(~plain, None).cast(pl.Float64, strict=False)
    return numbers.fill_null(float("nan")).to_numpy()

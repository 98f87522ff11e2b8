"""Both ends of many published ranges at once, as numbers.

The same as `parse_range` and `number_of` say text by text: texts of the forms that we write ourselves are
read together, and what has any other form is left to these two.
"""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.ruler import number_of
from shoal.model.cell import parse_range

__all__ = ["ends_of"]

_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{6})?$"


def ends_of(cells: pl.DataFrame, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of cells, texts in one column or typed bounds in two; nan where there are none."""
    texts = (cells.to_series(0), cells.to_series(1)) if cells.width == 2 else _ends(cells.to_series())
    low, high = (_numbers(ends, kind) for ends in texts)
    del texts
    for at in np.flatnonzero(np.isnan(low) | np.isnan(high)).tolist():  # what has another form
        both = cells.row(at) if cells.width == 2 else parse_range(cells.item(at, 0) or "")
        ends = [number_of(text or "", kind) for text in both]
        low[at], high[at] = (np.nan if end is None else end for end in ends)
    return low, high


def _ends(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Both texts of ranges, parted at their first comma; what is no range is both ends itself."""
    in_brackets = cells.str.starts_with("[") & cells.str.ends_with("]")
    inside = pl.select(pl.when(in_brackets).then(cells.str.slice(1, cells.str.len_chars() - 2))).to_series()
    ends = inside.str.splitn(", ", 2).struct.unnest()
    low = pl.select(pl.when(in_brackets).then(ends["field_0"]).otherwise(cells)).to_series()
    high = pl.select(pl.when(in_brackets).then(ends["field_1"]).otherwise(cells)).to_series()
    return low, high


def _numbers(texts: pl.Series, kind: str) -> NDArray[np.float64]:
    """Numbers, dates in days or moments in microseconds; nan for every text of another form."""
    if kind != "date":
        numbers = _of_form(texts, _NUMBER).cast(pl.Float64, strict=False)
        return _as_floats(numbers.set(numbers.is_infinite(), None))
    days = _of_form(texts, _DAY).str.to_date("%Y-%m-%d", strict=False)
    found = _as_floats(days.set(days < date.min, None).to_physical())
    if days.null_count() > texts.null_count():
        moments = _of_form(texts, _MOMENT).str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False
        )
        later = _as_floats(moments.set(moments < datetime.min, None).to_physical())
        found = np.where(np.isnan(found), later, found)
    return found


def _of_form(texts: pl.Series, form: str) -> pl.Series:
    return texts.set(~texts.str.contains(form), None)


def _as_floats(numbers: pl.Series) -> NDArray[np.float64]:
    return numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy(writable=True)

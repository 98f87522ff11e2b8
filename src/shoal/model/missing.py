"""What counts as missing: one answer for encoding, rules, the finished table and its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from shoal.model.plan import Plan

__all__ = ["missing_to_null", "one_missing"]


def missing_to_null(series: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    """The cells, null where a text is blank or a mark, or a number a mark or not a number.

    Blanks around a text do not matter. Other cells stay as they are, but for -0.0, which is 0.0: a
    reader of a file would take them for two values.

    >>> missing_to_null(pl.Series(["a ", " ? ", ""]), ("?",)).to_list()
    ['a ', None, None]
    """
    if isinstance(series.dtype, pl.String | pl.Categorical | pl.Enum):
        empty = pl.Series(["", *marks], dtype=pl.String)
        return _without(series, series.cast(pl.String).str.strip_chars().is_in(empty.implode()))
    if series.dtype.is_float():
        series = series.fill_nan(None)
        series = series.set(series == 0.0, 0.0)  # adding 0.0 changes nothing in Polars
    numbers = _numbers(marks, series.dtype) if series.dtype.is_numeric() else None
    if numbers is None or numbers.is_empty():
        return series
    return _without(series, series.is_in(numbers.implode()))


def _without(series: pl.Series, missing: pl.Series) -> pl.Series:
    if not missing.any():
        return series
    return pl.select(pl.when(~missing).then(series).alias(series.name)).to_series()


def _numbers(marks: tuple[str, ...], dtype: pl.DataType) -> pl.Series:
    """The marks that are numbers of this type; -9.0 is also the whole number -9."""
    texts = pl.Series(marks, dtype=pl.String).str.strip_chars().str.replace(r"\.0*$", "")
    return texts.cast(dtype, strict=False).drop_nulls()


def one_missing(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """The table with its sensitive and kept columns in the form in which they are judged and written."""
    names = (*plan.sensitive, *plan.keep)
    return frame.with_columns(missing_to_null(frame[name], plan.missing) for name in names)

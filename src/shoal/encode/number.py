"""Numbers and dates: codes by rank, measured from least to greatest."""

from __future__ import annotations

import math
import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.model.column import LINE, Axis, Column
from shoal.model.kind import Kind
from shoal.model.plain import EXACT
from shoal.model.plan import Plan

__all__ = ["dates_as_published", "encode_number", "line_axis", "rank", "to_numbers", "whole_days"]


def encode_number(
    series: pl.Series, kind: Kind, plan: Plan
) -> tuple[Column, tuple[NDArray[np.int32], ...]]:
    """Code one number or date column."""
    numbers, form = to_numbers(series, kind)
    values, codes = rank(numbers)
    has_missing = numbers.null_count() > 0
    extent = float(values[-1]) - float(values[0]) if values.size else 0.0
    if not math.isfinite(extent):
        raise DataError(
            f"Column {series.name!r} has numbers too far apart to be measured: their range is more than a "
            "floating-point number holds. Declare it a label, or clean those rows first.",
            field="kinds",
            column=series.name,
        )
    column = Column(
        name=series.name,
        kind=kind.name,
        weight=plan.weight(series.name),
        axes=(line_axis(values, extent, has_missing=has_missing),),
        has_missing=has_missing,
        denominator=extent,
        numbers=(values,),
        form=form,
    )
    return column, (codes,)


def line_axis(values: NDArray[np.float64], extent: float, *, has_missing: bool, share: float = 1.0) -> Axis:
    """An axis over sorted `values`; 0 everywhere where the extent is 0."""
    size = values.size + has_missing
    position = np.zeros(values.size)
    if extent > 0:  # divided first: 1 / extent may be more than a float holds
        position = (values - values[0]) / extent * share
    return Axis(
        form=LINE,
        size=size,
        missing=values.size if has_missing else -1,
        # a column that is constant but for missing cells still tells missing from present
        share=share if size > 1 else 0.0,
        position=position,
    )


def rank(numbers: pl.Series) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The sorted distinct values, and each row's place among them; null comes last."""
    numbers = numbers.set(numbers == 0, 0.0)  # 0 and -0 are one value; Polars leaves out + 0.0
    values = numbers.drop_nulls().unique().sort().to_numpy()
    # a rank by sorting: looking millions of values up one by one is ten times slower
    places = numbers.rank("dense").cast(pl.Int64) - 1
    codes = places.fill_null(values.size).to_numpy().astype(np.int32)
    return np.ascontiguousarray(values, dtype=np.float64), codes


def to_numbers(series: pl.Series, kind: Kind) -> tuple[pl.Series, str]:
    """Floats behind a number or date column, and how to print them: integer, float, date, datetime.

    Dates are days since 1970, moments microseconds; both are exact in a float for any real calendar. A
    moment in a time zone is what the clocks there showed, and moments that are all at midnight are dates.
    """
    if kind.name == "date":
        return _dates(series, kind)
    if series.dtype == pl.Boolean or not (series.dtype == pl.String or series.dtype.is_numeric()):
        raise DataError(
            f"Column {series.name!r} is read as a number, but its type is "
            f"{series.dtype.base_type().__name__}. Declare it a label, or convert it first.",
            field="kinds",
            column=series.name,
        )
    text = series.str.strip_chars() if series.dtype == pl.String else series
    if series.dtype == pl.Float32:
        text = series.cast(pl.String)  # 0.1 stays 0.1, whatever its nearest longer float is
    numbers = text.cast(pl.Float64, strict=False)
    bad = numbers.null_count() - series.null_count()
    bad += int((~numbers.is_finite()).fill_null(False).sum())
    if bad:
        raise DataError(
            f"Column {series.name!r} is read as a number, but {bad} of {len(series)} values are not "
            "numbers. Declare it a label, name its missing marks, or clean those rows first.",
            field="kinds",
            column=series.name,
        )
    written_out = numbers.is_not_null()  # digit by digit, so that no digit may be lost
    if series.dtype == pl.String:
        whole = bool(text.str.contains(r"^[+-]?\d+$").fill_null(True).all())
        written_out = text.str.contains(r"^[+-]?\d+\.?\d*$")
    else:
        is_whole_decimal = isinstance(series.dtype, pl.Decimal) and series.dtype.scale == 0
        whole = series.dtype.is_integer() or is_whole_decimal
    if not series.dtype.is_float() and int((written_out & (numbers.abs() >= EXACT)).sum()):
        raise DataError(
            f"Column {series.name!r} has numbers of 2^53 and more, which cannot be measured exactly. "
            "Declare it a label.",
            field="kinds",
            column=series.name,
        )
    return numbers, "integer" if whole else "float"


def whole_days(series: pl.Series) -> pl.Series:
    """Moments as what their clocks showed; as dates where all are at midnight. Other columns stay."""
    if not isinstance(series.dtype, pl.Datetime):
        return series
    naive = series.dt.replace_time_zone(None)
    days = naive.dt.date()
    return days if days.cast(naive.dtype).equals(naive, null_equal=True) else naive


def dates_as_published(series: pl.Series, kind: Kind) -> pl.Series:
    """Dates as a release writes them, texts as texts, blanks as null."""
    if series.dtype != pl.String:
        return whole_days(series)
    text = series.str.strip_chars()
    days = whole_days(_parse_dates(text.set(text == "", None), kind))
    return days.dt.to_string("%Y-%m-%d" if days.dtype == pl.Date else "%Y-%m-%d %H:%M:%S%.f")


def _dates(series: pl.Series, kind: Kind) -> tuple[pl.Series, str]:
    if series.dtype == pl.String:
        series = _parse_dates(series, kind)
    if isinstance(series.dtype, pl.Date | pl.Datetime):
        _check_years(series)
        series = whole_days(series)
    if series.dtype == pl.Date:
        return series.cast(pl.Int32).cast(pl.Float64), "date"
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.cast_time_unit("us").cast(pl.Int64).cast(pl.Float64), "datetime"
    raise DataError(
        f"Column {series.name!r} is read as a date, but its type is {series.dtype.base_type().__name__}. "
        "Declare it a number or a label, or convert it first.",
        field="kinds",
        column=series.name,
    )


def _parse_dates(series: pl.Series, kind: Kind) -> pl.Series:
    text = series.str.strip_chars()
    if kind.date_form:
        moments = re.search(r"%[-_0]?[HITRXrcs+]", kind.date_form) is not None
        target = pl.Datetime("us") if moments else pl.Date
        parsed = text.str.strptime(target, kind.date_form, strict=False)
        if kind.first_year is not None:
            parsed = _in_hundred_years(parsed, kind.first_year)
    else:
        longest = text.str.len_chars().max()
        whole_days = not isinstance(longest, int) or longest <= 10
        if whole_days:
            parsed = text.str.to_date("%Y-%m-%d", strict=False)
        else:
            iso = text.str.replace(" ", "T", literal=True)
            iso = iso.set(iso.str.len_chars() == 10, None).fill_null(iso + "T00:00:00")
            parsed = iso.str.to_datetime(strict=False, time_unit="us", format="%Y-%m-%dT%H:%M:%S%.f")
            parsed = parsed.fill_null(
                iso.str.to_datetime(strict=False, time_unit="us", format="%Y-%m-%dT%H:%M")
            )
    bad = parsed.null_count() - series.null_count()
    if bad:
        raise DataError(
            f"Column {series.name!r} is read as a date, but {bad} of {len(series)} values do not read "
            f"as {kind.inside or 'YYYY-MM-DD'}. Give the format, as in date(%d.%m.%Y), or clean them.",
            field="kinds",
            column=series.name,
        )
    short = _short_years(text, parsed)
    if short:
        raise DataError(
            f"Column {series.name!r} is read as a date, but {short} of {len(series)} values have years of "
            "fewer than four digits. Complete them; where all have two, say which hundred years they "
            "stand for, as in date(%d.%m.%y, from 1930).",
            field="kinds",
            column=series.name,
        )
    return parsed


def _short_years(text: pl.Series, parsed: pl.Series) -> int:
    """How many years the parser took as they stood, such as 45: as a year it would be nobody's."""
    frame = pl.DataFrame({"text": text, "year": parsed.dt.year()}).filter(pl.col("year") < 1000)
    written = pl.col("text").str.contains(pl.col("year").cast(pl.String).str.zfill(4), literal=True)
    return frame.filter(~written).height


def _in_hundred_years(parsed: pl.Series, first: int) -> pl.Series:
    """Dates moved by centuries into the hundred years from `first`; null where there is no such day."""
    years = first + (parsed.dt.year() - first) % 100
    is_leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    lost = (parsed.dt.month() == 2) & (parsed.dt.day() == 29) & ~is_leap
    return parsed.set(lost, None).dt.replace(year=years)


def _check_years(series: pl.Series) -> None:
    """Refuse dates that no calendar of ours can print."""
    outside = int((~series.dt.year().is_between(1, 9999)).sum())
    if outside:
        raise DataError(
            f"Column {series.name!r} has {outside} of {len(series)} dates outside the years 1 to 9999. "
            "Clean those rows first.",
            column=series.name,
        )

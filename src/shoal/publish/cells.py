"""Columns for formats that know few types: refused by name and count where a cell would change."""

from __future__ import annotations

from datetime import date

import polars as pl

from shoal.errors import DataError
from shoal.model.plain import EXACT

__all__ = ["check_days", "check_lengths", "moments", "no_room", "numbers", "refuse"]

MILLISECOND = 1_000_000
"""In the unit of times, nanoseconds."""


def no_room(series: pl.Series, ending: str) -> DataError:
    """A column whose type a format does not have."""
    kind = series.dtype.base_type().__name__  # the full name of an Enum lists its values
    zone = " with a time zone" if isinstance(series.dtype, pl.Datetime) else ""
    return DataError(
        f"Column {series.name!r} is a {kind}{zone}, which a {ending} file cannot hold. Write Parquet or "
        "Arrow, or give the column another type first.",
        column=series.name,
    )


def refuse(series: pl.Series, bad: pl.Series, what: str, ending: str) -> None:
    """Refuse a column where any cell is bad; `what` says what those cells are."""
    count = int(bad.sum())
    if count:
        raise DataError(
            f"Column {series.name!r} has {count} of {len(series)} {what}, which a {ending} file cannot "
            "hold. Write CSV, Parquet or Arrow, or change those cells first.",
            column=series.name,
        )


def numbers(series: pl.Series, ending: str, *, most: float) -> pl.Series:
    """The numbers as floats, which hold them exactly; `most` is the greatest that the format knows."""
    if series.dtype.is_integer():
        wide = series.cast(pl.Float64)
        refuse(series, wide.abs() >= EXACT, "whole numbers of 2^53 and more", ending)
        return wide
    floats = series.cast(pl.Float64)
    if series.dtype.is_decimal():
        refuse(series, floats.cast(series.dtype, strict=False).ne_missing(series), "long decimals", ending)
    refuse(series, ~(floats.abs() < most), "numbers that are infinite or too large", ending)
    return floats


def moments(series: pl.Series, ending: str) -> pl.Series:
    """Times of day, or dates with a time, to the millisecond: no format here holds more."""
    if isinstance(series.dtype, pl.Time):
        refuse(series, series.cast(pl.Int64) % MILLISECOND != 0, "parts of a millisecond", ending)
        return series
    rough = series.cast(pl.Datetime("ms"))
    refuse(series, rough.cast(series.dtype) != series, "parts of a millisecond", ending)
    return rough


def check_days(series: pl.Series, first: date, ending: str) -> None:
    """Refuse days before the first that a format knows."""
    refuse(series, series.cast(pl.Date) < first, f"dates before {first.isoformat()}", ending)


def check_lengths(series: pl.Series, lengths: pl.Series, most: int, ending: str) -> None:
    """Refuse texts that are too long."""
    refuse(series, lengths > most, f"texts of more than {most:,} bytes or signs", ending)

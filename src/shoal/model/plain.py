"""Which cells can be compared, sorted and published."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError

__all__ = [
    "EXACT",
    "as_text",
    "check_moments",
    "check_plain",
    "check_text",
    "check_texts",
    "counts_of",
    "has_text",
    "is_plain",
    "is_text",
]

EXACT = 2.0**53
"""Below it, whole numbers and floats are the same."""
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""Of the years 1 to 9999, counted from 1970."""


def is_plain(dtype: pl.DataType) -> bool:
    """Whether cells of this type can be compared and sorted: no lists, objects or types of others.

    >>> is_plain(pl.Int64()), is_plain(pl.List(pl.Int64))
    (True, False)
    """
    known = pl.Boolean | pl.String | pl.Categorical | pl.Enum | pl.Binary | pl.Null
    return dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, known)


def has_text(dtype: pl.DataType) -> bool:
    """Whether cells of this type can be written as text, so that a CSV file can hold them.

    >>> has_text(pl.Date()), has_text(pl.Binary())
    (True, False)
    """
    return is_plain(dtype) and not isinstance(dtype, pl.Binary | pl.Duration)


def as_text(series: pl.Series) -> pl.Series:
    """Cells as they are published and stand in hierarchies: floats that are all whole without `.0`.

    >>> as_text(pl.Series([1.0, None])).to_list(), as_text(pl.Series([1.0, 2.5])).to_list()
    (['1', None], ['1.0', '2.5'])
    """
    if series.dtype.is_float():
        whole = (series == series.floor()) & (series.abs() < EXACT)
        if whole.fill_null(True).all():
            return series.cast(pl.Int64).cast(pl.String)
    return series.cast(pl.String)


def check_plain(series: pl.Series) -> None:
    """Refuse a column whose cells cannot be compared."""
    if not is_plain(series.dtype):
        # the full name of a type may list its values
        raise DataError(
            f"Column {series.name!r} is of the type {series.dtype.base_type().__name__}, which cannot be "
            "compared. Give it a plain type first, such as text or numbers.",
            column=series.name,
        )


def is_text(dtype: pl.DataType) -> bool:
    """Whether the cells of a type are texts."""
    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def check_texts(series: pl.Series) -> None:
    """Refuse texts with a zero byte: no text file gives them back, and some readers stop there."""
    if not is_text(series.dtype):
        return
    bad = int(series.cast(pl.String).str.contains("\0", literal=True).sum())
    if bad:
        raise DataError(
            f"Column {series.name!r} has {bad} of {len(series)} texts with a zero byte, which a text file "
            "cannot hold. Clean those rows first.",
            column=series.name,
        )


def check_text(series: pl.Series) -> None:
    """Refuse a column whose cells have no text to be compared by."""
    if not has_text(series.dtype):
        raise DataError(
            f"Column {series.name!r} is of the type {series.dtype.base_type().__name__}, which has no "
            "text. Give it a plain type first, such as text or numbers.",
            column=series.name,
        )


def check_moments(table: pl.DataFrame) -> None:
    """Refuse dates outside the years 1 to 9999: tools end without a word where they write one."""
    for series in table.iter_columns():
        day = _day_of(series.dtype)
        if day is None:
            continue
        clock = series.to_physical().cast(pl.Int64)
        inside = (clock >= FIRST_DAY * day) & (clock < (LAST_DAY + 1) * day)
        outside = int((~inside).sum())
        if outside:
            raise DataError(
                f"Column {series.name!r} has {outside} of {len(series)} dates outside the years 1 to 9999. "
                "Clean those rows first.",
                column=series.name,
            )


def _day_of(dtype: pl.DataType) -> int | None:
    """What a day is to a type that counts from 1970; None where no count leaves the calendar."""
    if isinstance(dtype, pl.Datetime):
        return {"ms": 86_400_000, "us": 86_400_000_000}.get(dtype.time_unit)
    return 1 if isinstance(dtype, pl.Date) else None


def counts_of(series: pl.Series, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The records that each row stands for: whole numbers of at least 0, below 2^53 also in all.

    `rows` says how many rows have each cell, where it is not one.
    """
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if not (series.dtype.is_numeric() or series.dtype in {pl.String, pl.Null}):
        raise DataError(
            f"Column {series.name!r} counts records, but its type is {series.dtype.base_type().__name__}. "
            "Give it whole numbers first.",
            field="count",
            column=series.name,
        )
    numbers = series.cast(pl.Float64, strict=False)
    fit = (numbers == numbers.floor()) & (numbers >= 0) & (numbers < EXACT)
    if series.dtype == pl.String or series.dtype.is_decimal():  # which may have more digits than a float
        fit &= ~series.cast(pl.String).str.contains(r"^[^eE]*\.[0-9]*[1-9][0-9]*$")
    rows = np.ones(len(series), dtype=np.int64) if rows is None else rows
    bad = int(rows[~fit.fill_null(False).to_numpy()].sum())
    if bad:
        raise DataError(
            f"Column {series.name!r} counts records, but {bad} of {rows.sum()} of its values are not "
            "whole numbers of at least 0 and below 2^53. Clean those rows first.",
            field="count",
            column=series.name,
        )
    if float(numbers.to_numpy() @ rows) >= EXACT:
        raise DataError(
            f"Column {series.name!r} counts 2^53 records and more, which cannot be right.",
            field="count",
            column=series.name,
        )
    return numbers.cast(pl.Int64).to_numpy()

"""Which cells can be compared, sorted and published."""

from __future__ import annotations

import polars as pl

from shoal.errors import DataError

__all__ = ["EXACT", "check_plain", "has_text", "is_plain"]

EXACT = 2.0**53
"""Below it, whole numbers and floats are the same."""


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


def check_plain(series: pl.Series) -> None:
    """Refuse a column whose cells cannot be compared."""
    if not is_plain(series.dtype):
        # the full name of a type may list its values
        raise DataError(
            f"Column {series.name!r} is of the type {series.dtype.base_type().__name__}, which cannot be "
            "compared. Give it a plain type first, such as text or numbers."
        )

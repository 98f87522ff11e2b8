"""Whole numbers as such: many files keep every number as a float, and 34 is not to become 34.0."""

from __future__ import annotations

import polars as pl

from shoal.model.plain import EXACT

__all__ = ["whole"]


def whole(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its float columns that hold whole numbers alone as such."""
    floats = [column for column in frame.iter_columns() if column.dtype.is_float()]
    return frame.with_columns(
        column.cast(pl.Int64)
        for column in floats
        if ((column == column.floor()) & (column.abs() < EXACT)).fill_null(True).all()
    )

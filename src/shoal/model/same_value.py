"""Whether two sensitive values of a register are one, in whatever type or manner they are written."""

from __future__ import annotations

import polars as pl

__all__ = ["as_compared"]

MIDNIGHT = r"[t ]00:00(:00(\.0+)?)?$"


def as_compared(values: pl.Series) -> pl.Series:
    """A text per value, the same for those that may be one: 1 and 1.0, a day and its midnight, Flu and flu.

    Values of two releases are compared by it. Two that differ and are taken for one only keep a person in
    the list where he is.

    >>> as_compared(pl.Series(["1", "1.0", "01", "Flu ", "2026-01-01 00:00:00", None])).to_list()
    ['1.0', '1.0', '1.0', 'flu', '2026-01-01', None]
    """
    texts = values.cast(pl.String).str.strip_chars().str.to_lowercase().str.replace(MIDNIGHT, "")
    numbers = texts.cast(pl.Float64, strict=False).cast(pl.String)
    return pl.select(pl.coalesce(numbers, texts).alias(values.name)).to_series()

"""The kind of a column nobody declared: asked by those who read plans and by those who encode."""

from __future__ import annotations

import polars as pl

__all__ = ["guess_kind"]

ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def guess_kind(series: pl.Series) -> str:
    """Guess number, date or label; codes such as ZIPs are labels, never numbers.

    Text is a number only where every value reads as one and it does not look like a code: no leading
    zeros, and not digits of one width of 4 or more (years from 1800 to 2199 apart).
    """
    if series.dtype.is_numeric():
        return "number"
    if series.dtype == pl.Date or isinstance(series.dtype, pl.Datetime):
        return "date"
    if series.dtype != pl.String:
        return "label"
    values = series.drop_nulls().unique().str.strip_chars()
    if values.len() == 0:
        return "label"
    if values.str.contains(ISO_DATE).all():
        return "date"
    if not values.str.contains(NUMBER).all() or values.str.contains(r"^[+-]?0\d").any():
        return "label"
    return "label" if _looks_like_code(values) else "number"


def _looks_like_code(values: pl.Series) -> bool:
    if not values.str.contains(r"^\d{4,}$").all():
        return False
    widths = values.str.len_chars()
    if widths.min() != widths.max():
        return False
    return not values.str.contains(r"^(18|19|20|21)\d\d$").all()

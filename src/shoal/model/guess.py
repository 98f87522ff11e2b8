"""The kind of a column nobody declared: asked by those who read plans and by those who encode."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

__all__ = ["NUMBER", "doubt_label", "guess_kind"]

ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
OTHER_DATE = r"^(\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})|\d{4}[./]\d{1,2}[./]\d{1,2}|\d{4}-\d{2}-\d{2}T.*)$"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
MOST_STRANGE = 0.2
"""The share of cells that are no numbers up to which a column may well be one of numbers."""


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


def doubt_label(series: pl.Series, missing: Iterable[str] = ()) -> str:
    """What speaks against taking a text column for labels, in a sentence without a cell; "" if nothing."""
    if series.dtype != pl.String:
        return ""
    cells = series.str.strip_chars()
    cells = cells.filter(~cells.is_in(["", *missing])).drop_nulls()
    if not len(cells):
        return f"Column {series.name!r} has nothing in it: all of its cells are missing."
    strange = len(cells) - int(cells.str.contains(NUMBER).sum())
    if 0 < strange <= MOST_STRANGE * len(cells):
        verb = "is no number" if strange == 1 else "are no numbers"
        return (
            f"Column {series.name!r} was taken for labels because {strange:,} of its {len(cells):,} cells "
            f"{verb}. Name its missing marks, or clean it."
        )
    if cells.str.contains(OTHER_DATE).all():
        return (
            f"Column {series.name!r} was taken for labels, but its cells look like dates. Say how they are "
            "written, as in date(%d.%m.%Y)."
        )
    return ""


def _looks_like_code(values: pl.Series) -> bool:
    if not values.str.contains(r"^\d{4,}$").all():
        return False
    widths = values.str.len_chars()
    if widths.min() != widths.max():
        return False
    return not values.str.contains(r"^(18|19|20|21)\d\d$").all()

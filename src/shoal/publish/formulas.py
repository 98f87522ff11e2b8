"""Cells that a spreadsheet would take for formulas, or turn into dates: counted, never changed.

A sign put before them would make them safe to open and wrong to read: the release would no longer hold
the values of the original, and `verify` would say so.
"""

from __future__ import annotations

import polars as pl

__all__ = ["count_dates", "count_formulas"]

SIGN = r"^[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001  (full-width signs count in some languages)
HARMLESS = r"^\s*[+-]?[\d.,]+([eE][+-]?\d+)?\s*%?\s*$|^[^\p{L}\d]*$"
"""Numbers, and signs alone such as a dash for a missing value."""


MONTH = r"(jan|feb|mar|apr|may|mai|jun|jul|aug|sep|sept|oct|okt|nov|dec|dez)[a-z]*"
DAYS = r"(?:0?[1-9]|[12]\d|3[01])"
MONTHS = r"(?:0?[1-9]|1[0-2])"
DAY = rf"{DAYS}[-/]{MONTHS}|{MONTHS}[-/]\d{{1,2}}|{DAYS}\.{MONTHS}\."
DATE = rf"(?i)^({DAY}|{MONTH}[-/. ]?\d{{1,4}}|\d{{1,2}}[-/. ]?{MONTH})$"
"""Bands, fractions and names of genes: 10-12, 3/4, 12-69, SEPT2. What is a whole date may become one."""


TEXTS = pl.col(pl.String, pl.Categorical, pl.Enum)


def count_dates(table: pl.DataFrame) -> dict[str, int]:
    """The number of texts by column that are no dates and would become some."""
    found = table.select(TEXTS.cast(pl.String).str.contains(DATE).sum())  # all columns side by side
    return {one.name: int(one[0]) for one in found if one[0]}


def count_formulas(table: pl.DataFrame) -> dict[str, int]:
    """The number of such cells by column, of the columns that have any."""
    cells = TEXTS.cast(pl.String)
    signed = cells.filter(cells.str.contains(SIGN))
    found = table.select((~signed.str.contains(HARMLESS)).sum())
    return {one.name: int(one[0]) for one in found if one[0]}

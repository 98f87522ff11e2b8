"""Cells that a spreadsheet would take for formulas: counted, never changed.

A sign put before them would make them safe to open and wrong to read: the release would no longer hold
the values of the original, and `verify` would say so.
"""

from __future__ import annotations

import polars as pl

__all__ = ["count_formulas"]

SIGN = r"^[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001  (full-width signs count in some languages)
HARMLESS = r"^\s*[+-]?[\d.,]+([eE][+-]?\d+)?\s*%?\s*$|^[^\p{L}\d]*$"
"""Numbers, and signs alone such as a dash for a missing value."""


def count_formulas(table: pl.DataFrame) -> dict[str, int]:
    """The number of such cells by column, of the columns that have any."""
    counts = {}
    for column in table.select(pl.col(pl.String, pl.Categorical, pl.Enum)).iter_columns():
        cells = column.cast(pl.String)
        cells = cells.filter(cells.str.contains(SIGN))
        count = int((~cells.str.contains(HARMLESS)).sum())
        if count:
            counts[column.name] = count
    return counts

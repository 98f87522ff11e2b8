"""Rows that hold nothing: spreadsheets leave them behind, and k counts them as persons.

They are said, not left out: a row of a release may be without a cell, too.
"""

from __future__ import annotations

import polars as pl

__all__ = ["tell_empty"]


def tell_empty(frame: pl.DataFrame) -> list[str]:
    """What to say of rows without any cell, if there are some; a single column may have missing cells."""
    if frame.width < 2:
        return []
    empty = frame
    for name in frame.columns:
        cells = empty[name]
        is_blank = cells.str.strip_chars() == "" if cells.dtype == pl.String else cells.is_null()
        empty = empty.filter(is_blank.fill_null(True))
    if empty.height == 0:
        return []
    if empty.height == 1:
        return ["1 line without any cell counts as a row (take it out if it is nobody)"]
    return [f"{empty.height:,} lines without any cell count as rows (take them out if they are nobody)"]

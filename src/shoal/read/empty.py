"""Rows that are nobody, and k counts them as persons: without any cell, or with totals.

They are said, not left out: a row of a release may be without a cell, too, and somebody may be called Sum.
"""

from __future__ import annotations

import polars as pl

__all__ = ["tell_empty", "tell_totals"]

LAST = 3
"""Totals stand among the last lines, if anywhere."""
TOTALS = (
    "total totals subtotal sum sums summe summen gesamt insgesamt gesamtsumme zwischensumme somme totaux "
    "suma totale totali totaal soma razem average mean mittelwert durchschnitt \u03a3 \u2211"
)


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


def tell_totals(frame: pl.DataFrame) -> list[str]:
    """What to say of last lines in which a word for totals stands that no other line has."""
    known = [*TOTALS.split(), "grand total", "total general"]
    last = frame.tail(LAST)
    lines: set[int] = set()
    for column in last.select(pl.col(pl.String)).iter_columns():
        words = column.str.to_lowercase().str.strip_chars(" :.")
        for at in words.is_in(known).fill_null(False).arg_true().to_list():
            often = frame[column.name].eq_missing(pl.Series([column[at]])).sum()
            lines |= {at} if often == 1 else set()
    if not lines or frame.width < 2:
        return []
    many = "1 of the last lines looks" if len(lines) == 1 else f"{len(lines)} of the last lines look"
    return [f"{many} like totals and counts as a row (take it out if it is nobody)"]

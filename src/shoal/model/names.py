"""Columns that were named, and those that are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from shoal.errors import DataError

__all__ = ["check_named"]


def check_named(named: Iterable[str], columns: Sequence[str], *, what: str = "table") -> None:
    """Refuse names that are no columns, and say what there is instead.

    Where no name fits, the first line of the file may have been a row in place of names: then only what
    resembles a name is shown, since the rest may be cells.
    """
    wanted = list(named)
    absent = [name for name in wanted if name not in columns]
    if not absent:
        return
    listed = f"The {what} has no column {', '.join(repr(name) for name in absent)}."
    if len(absent) < len(wanted):
        raise DataError(f"{listed} Its columns are: {', '.join(columns)}.")
    known = {column.casefold(): column for column in reversed(columns)}
    close = (get_close_matches(name.casefold(), known) for name in absent)
    near = dict.fromkeys(known[match] for matches in close for match in matches)
    meant = f" Did you mean {', '.join(repr(name) for name in near)}?" if near else ""
    many = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
    raise DataError(
        f"{listed}{meant} It has {many}: check the names, the delimiter, and that the first line holds the "
        "names."
    )

"""Columns that were named, and those that are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from shoal.errors import DataError

__all__ = ["check_literal", "check_named", "check_published_names"]


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
    known = {column.casefold(): column for column in reversed(columns)}
    close = (get_close_matches(name.casefold(), known) for name in absent)
    near = dict.fromkeys(known[match] for matches in close for match in matches)
    meant = f" Did you mean {', '.join(repr(name) for name in near)}?" if near else ""
    if len(absent) < len(wanted):
        raise DataError(f"{listed}{meant} Its columns are: {', '.join(columns)}.", column=absent[0])
    many = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
    raise DataError(
        f"{listed}{meant} It has {many}: check the names, the delimiter, and that the first line holds the "
        "names.",
        column=absent[0],
    )


def check_literal(columns: Sequence[str], *, what: object = "The table") -> None:
    """Refuse names that are no names to the tools below: patterns stand for other columns.

    `*` and `^...$` choose among all columns where Polars reads an expression, so a sensitive column of
    such a name would publish others. No text file holds a zero byte. They are told by number: a row in
    place of names would show cells.
    """
    odd = [
        str(at)
        for at, name in enumerate(columns, 1)
        if name == "*" or (name.startswith("^") and name.endswith("$")) or "\0" in name
    ]
    if odd:
        raise DataError(
            f"{what} has {len(odd)} of {len(columns)} columns whose names are patterns (* or ^...$) or "
            f"hold a zero byte: {', '.join(odd)}, counted from the left. Rename them."
        )


def check_published_names(names: Iterable[str]) -> None:
    """Refuse names that a text file would give back without their outer blanks, or not at all."""
    odd = [name for name in names if not name or name != name.strip() or name.startswith("\ufeff")]
    if odd:
        raise DataError(
            f"Column {', '.join(repr(name) for name in odd)} has an empty name, or blanks around it, which "
            "would not be read back from a text file. Rename it.",
            column=odd[0],
        )

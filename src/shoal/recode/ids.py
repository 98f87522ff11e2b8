"""Sets under short names: a group's id in the cell, and its members in a table beside the release.

Different sets get different ids, so the classes of the table stay what they were when it was judged. An id
depends on its members alone: the same set has the same id in every release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, NotAnonymous
from shoal.model.cell import parse_set, print_set
from shoal.model.column import SET, Column
from shoal.recode.anew import anew

__all__ = ["digest_of", "from_ids", "to_ids"]

ID = "group"
SHORT = 10


def to_ids(
    table: pl.DataFrame, columns: Sequence[Column]
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame], NDArray[np.uint32]]:
    """The table with an id for every set of two or more, by column who belongs to which id, and the order.

    Ids stand in another order than sets; line i of the new table is line `order[i]` of the old.
    """
    lookups: dict[str, pl.DataFrame] = {}
    for column in columns:
        if column.axes[0].form != SET:
            continue
        cells = table[column.name].drop_nulls().unique().sort()
        sets = [cell for cell in cells.to_list() if cell.startswith("{")]
        ids = _ids(column.name, sets, set(column.values))
        members = [
            (name, member) for cell, name in zip(sets, ids, strict=True) for member in parse_set(cell)
        ]
        lookups[column.name] = pl.DataFrame(
            [[name for name, _ in members], [member for _, member in members]],
            schema={_id_name(column.name): pl.String, column.name: pl.String},
        )
        if sets:
            named = table[column.name].replace(sets, ids)
            if not named.replace(ids, sets).equals(table[column.name], null_equal=True):
                raise NotAnonymous(
                    f"The ids of column {column.name!r} do not stand for its sets one by one."
                )
            table = table.with_columns(named)
    order = table.select(pl.arg_sort_by(table.columns, nulls_last=True, maintain_order=True)).to_series()
    return anew(table[order]), lookups, order.to_numpy()


def _id_name(column: str) -> str:
    """The name of the column of ids, beside that of the members."""
    return ID if column != ID else f"{ID}_id"


def _ids(name: str, sets: list[str], values: set[str]) -> list[str]:
    """An id per set, longer where short ones would clash with another or with a value."""
    marks = [hashlib.sha256(cell.encode()).hexdigest() for cell in sets]
    for length in range(SHORT, 65, 6):
        ids = [f"{name}-{mark[:length]}" for mark in marks]
        if len(set(ids)) == len(ids) and not values & set(ids):
            return ids
    raise DataError(
        f"Column {name!r} holds values that look like ids of groups. Publish its sets as text.",
        field="cells",
        column=name,
    )


def from_ids(table: pl.DataFrame, lookups: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The table with its sets written out again."""
    for name, lookup in lookups.items():
        members: dict[str, list[str | None]] = {}
        for key, member in lookup.iter_rows():
            members.setdefault(key, []).append(member or None)
        if members and name in table.columns:
            cells = [print_set(held) for held in members.values()]
            table = table.with_columns(table[name].replace(list(members), cells))
    return table


def digest_of(lookup: pl.DataFrame, column: str) -> str:
    """SHA-256 over a lookup table's lines, the name of its column first."""
    lines = [column, *("\0".join(cell or "" for cell in row) for row in lookup.iter_rows())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()

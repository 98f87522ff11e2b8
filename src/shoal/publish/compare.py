"""What was judged is what a reader must see: a written file is read again and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from shoal.errors import NotAnonymous

if TYPE_CHECKING:
    import polars as pl

Read = TypeVar("Read")
SMALL, TOGETHER, SOME = 1_000_000, 1, 1 << 21
"""Rows up to which a table is read at once; of larger ones, how many columns and rows are."""

__all__ = ["compare", "compare_columns"]


def compare(table: pl.DataFrame, read: Callable[[], pl.DataFrame], *, what: str = "file") -> None:
    """Refuse a file, or a table of a database, that does not read as the table that was judged."""
    found = _read_again(read, what)
    _check_shape(found.schema == table.schema and found.height == table.height, what)
    _check_cells(_others(table, found), what)


def compare_columns(
    table: pl.DataFrame,
    names: Callable[[], Sequence[str]],
    read: Callable[[list[str], int, int | None], pl.DataFrame],
    *,
    what: str = "file",
) -> None:
    """The same, some columns and rows at a time: of a large table there is no room for all of it twice.

    `read` gives so many rows of some columns from a row on, where no number is given all there are.
    """
    _check_shape(list(_read_again(names, what)) == table.columns, what)
    is_small = table.height <= SMALL
    at_once = max(1, table.width if is_small else TOGETHER)
    others: dict[str, None] = {}
    for first in range(0, table.width, at_once):
        for start in range(0, 1 if is_small else table.height, SOME):
            some = table[:, first : first + at_once][start : None if is_small else start + SOME]
            # one row more than there should be, so that none can stand behind the last
            rows = None if is_small else some.height + (start + some.height == table.height)
            found = _read_again(partial(read, some.columns, start, rows), what)
            _check_shape(found.schema == some.schema and found.height == some.height, what)
            others |= dict.fromkeys(_others(some, found))
    _check_cells(list(others), what)


def _others(table: pl.DataFrame, found: pl.DataFrame) -> list[str]:
    return [name for name in table.columns if not found[name].equals(table[name], null_equal=True)]


def _read_again(read: Callable[[], Read], what: str) -> Read:
    import polars as pl

    try:
        return read()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # readers quote cells in their errors
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the file
            raise
        raise NotAnonymous(
            f"The written {what} cannot be read again, so nothing was published. Write another format."
        ) from None


def _check_shape(is_same: bool, what: str) -> None:
    if not is_same:
        raise NotAnonymous(
            f"The written {what} has other columns or rows than the table that was judged, so nothing was "
            "published. Write another format."
        )


def _check_cells(names: Sequence[str], what: str) -> None:
    other = [repr(name) for name in names]
    if other:
        raise NotAnonymous(
            f"In column {', '.join(other)} the written {what} does not read as the table that was judged, "
            "so nothing was published. Write another format, such as Parquet."
        )

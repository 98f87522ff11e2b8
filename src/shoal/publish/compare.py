"""What was judged is what a reader must see: a written file is read again and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shoal.errors import NotAnonymous

if TYPE_CHECKING:
    import polars as pl

__all__ = ["compare"]


def compare(table: pl.DataFrame, read: Callable[[], pl.DataFrame], *, what: str = "file") -> None:
    """Refuse a file, or a table of a database, that does not read as the table that was judged."""
    import polars as pl

    try:
        found = read()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # readers quote cells in their errors
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the file
            raise
        raise NotAnonymous(
            f"The written {what} cannot be read again, so nothing was published. Write another format."
        ) from None
    if found.schema != table.schema or found.height != table.height:
        raise NotAnonymous(
            f"The written {what} has other columns or rows than the table that was judged, so nothing was "
            "published. Write another format."
        )
    other = [repr(name) for name in table.columns if not found[name].equals(table[name], null_equal=True)]
    if other:
        raise NotAnonymous(
            f"In column {', '.join(other)} the written {what} does not read as the table that was judged, "
            "so nothing was published. Write another format, such as Parquet."
        )

"""Any frame as Polars, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from shoal.errors import DataError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["from_polars", "to_polars"]


def to_polars(frame: Any) -> tuple[Any, pl.DataFrame]:
    """Any eager or lazy frame as Polars, with what is needed to go back."""
    try:
        narrow = nw.from_native(frame)
    except TypeError:
        raise DataError(
            "The table is not a frame Shoal knows. Give a pandas, Polars or Arrow frame."
        ) from None
    if isinstance(narrow, nw.LazyFrame):
        narrow = narrow.collect()
    names = narrow.columns
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise DataError(f"The table has doubled columns: {', '.join(doubled)}. Rename them.")
    return narrow, narrow.to_polars()


def from_polars(table: pl.DataFrame, like: Any) -> Any:
    """A Polars frame as the kind of frame that came in."""
    narrow = nw.from_native(table, eager_only=True)
    if like.implementation.is_pandas():
        return narrow.to_pandas()
    if like.implementation.is_pyarrow():
        return narrow.to_arrow()
    return table

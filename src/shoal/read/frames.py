"""Any frame as Polars, and back.

Converters quote the cells they stumble over, so nothing of theirs leaves this file.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals as nw
import polars as pl

from shoal.errors import DataError

__all__ = ["from_polars", "to_polars"]


def to_polars(frame: Any) -> tuple[Any, pl.DataFrame]:
    """Any eager or lazy frame as Polars, with what is needed to go back."""
    try:
        narrow = nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        names = getattr(frame, "column_names", None) or frame.columns  # Arrow's word, and pandas'
        doubled = sorted(str(name) for name, times in Counter(names).items() if times > 1)
        raise DataError(f"The table has doubled columns: {', '.join(doubled)}. Rename them.") from None
    except TypeError:
        raise DataError(
            "The table is not a frame Shoal knows. Give a pandas, Polars or Arrow frame."
        ) from None
    if isinstance(narrow, nw.LazyFrame):
        narrow = _collected(narrow)
    table = _converted(narrow)
    if table is None:
        strange = [repr(name) for name in narrow.columns if _converted(narrow.select(name)) is None]
        raise DataError(
            f"Values of mixed or unknown types stand in column {', '.join(strange)}. Give each column one "
            "plain type first, such as text, numbers or dates."
        )
    return narrow, table


def _collected(lazy: Any) -> Any:
    try:
        return lazy.collect()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise DataError(
            f"The lazy frame cannot be collected ({type(error).__name__}). Collect it yourself to see why."
        ) from None


def _converted(narrow: Any) -> pl.DataFrame | None:
    try:
        table: pl.DataFrame = narrow.to_polars()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException):
        return None
    return table


def from_polars(table: pl.DataFrame, like: Any) -> Any:
    """A Polars frame as the kind of frame that came in."""
    narrow = nw.from_native(table, eager_only=True)
    if like.implementation.is_pandas():
        return narrow.to_pandas()
    if like.implementation.is_pyarrow():
        return narrow.to_arrow()
    return table

"""Any frame as Polars; `hand_back` is the way back.

Converters quote the cells they stumble over, so nothing of theirs leaves this file.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import polars as pl

from shoal.errors import DataError
from shoal.model.names import check_literal
from shoal.model.plain import check_moments

__all__ = ["declared_orders", "first_rows", "is_pandas", "to_polars"]


def to_polars(frame: Any) -> tuple[Any, pl.DataFrame]:
    """Any eager or lazy frame as Polars, and the frame itself, collected, as it came."""
    if isinstance(frame, pl.LazyFrame):
        frame = _collected(frame)
    native, table = (frame, frame) if isinstance(frame, pl.DataFrame) else _from_others(frame)
    check_literal(table.columns)
    check_moments(table)
    orders = {name: order for name, order in declared_orders(native).items() if name in table.columns}
    enums = [
        table[name].cast(pl.Enum(order))
        for name, order in orders.items()
        if table[name].dtype == pl.Categorical
    ]
    return native, table.with_columns(enums)


def _from_others(frame: Any) -> tuple[Any, pl.DataFrame]:
    """A frame of another library, collected, and the same as Polars."""
    import narwhals as nw  # takes a while to load, and a frame of Polars needs it not

    try:
        narrow = nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        names = getattr(frame, "column_names", None) or frame.columns  # Arrow's word, and pandas'
        doubled = sorted(str(name) for name, times in Counter(names).items() if times > 1)
        listed = ", ".join(doubled)
        raise DataError(
            f"The table has doubled columns: {listed}. Rename them.", column=doubled[0] if doubled else None
        ) from None
    except TypeError:
        aside = " Read a file with shoal.read_table(path)." if isinstance(frame, str | os.PathLike) else ""
        raise DataError(
            f"The table is not a frame Shoal knows. Give a pandas, Polars or Arrow frame.{aside}"
        ) from None
    if isinstance(narrow, nw.LazyFrame):
        narrow = _collected(narrow)
    table = _converted(narrow)
    if table is None:
        strange = [name for name in narrow.columns if _converted(narrow.select(name)) is None]
        raise DataError(
            f"Values of mixed or unknown types stand in column {', '.join(map(repr, strange))}. Give each "
            "column one plain type first, such as text, numbers or dates.",
            column=strange[0] if strange else None,
        )
    return narrow.to_native(), table


def first_rows(frame: Any, rows: int) -> Any:
    """The first rows of any frame, as Polars."""
    return to_polars(frame)[1].head(rows)


def is_pandas(frame: Any) -> bool:
    """Whether a frame is one of pandas, which need not be there."""
    return type(frame).__module__.partition(".")[0] == "pandas"


def declared_orders(frame: Any) -> dict[str, list[Any]]:
    """The categories of pandas and Arrow columns whose order means something, in that order."""
    if type(frame).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        ordered = [f.name for f in frame.schema if pa.types.is_dictionary(f.type) and f.type.ordered]
        unified = frame.select(ordered).unify_dictionaries()
        listed = {
            name: unified[name].chunk(0).dictionary.to_pylist()
            for name in ordered
            if unified[name].num_chunks
        }
        # Arrow's dictionaries may hold a value twice, or none
        return {
            name: [value for value in dict.fromkeys(values) if value is not None]
            for name, values in listed.items()
        }
    if is_pandas(frame):
        types = zip(map(str, frame.columns), frame.dtypes, strict=True)
        return {
            name: dtype.categories.tolist() for name, dtype in types if getattr(dtype, "ordered", False)
        }
    return {}


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

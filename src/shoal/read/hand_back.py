"""A finished table as the kind of frame that came in, its values in the types that they came in.

Sensitive and kept columns go back to the very type they had, with what categories need and no more: those
that stand in the table, by name, or as they were declared where their order means something. Columns that
cannot go back as they came are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.read.frames import declared_orders, is_pandas

__all__ = ["Origin", "hand_back", "origin_of"]

OBJECTS = (str, bytes, bool, int, float, Decimal, date, datetime, time, timedelta, list, dict)
"""What a pandas column of objects may hold: all its cells of one of these types."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The kind of frame that came in (pandas, arrow or polars) and the types of columns that go back.

    `orders` are those of categories whose order was declared.
    """

    kind: str
    types: Mapping[str, Any]
    orders: Mapping[str, list[Any]]

    @property
    def plain(self) -> Origin:
        """The same for a table whose columns were all made here."""
        return Origin(self.kind, {}, {})


def origin_of(frame: Any, table: pl.DataFrame, kept: Sequence[str]) -> Origin:
    """What is needed to hand back the columns `kept` of `frame`, which is `table` in Polars.

    Refuses columns whose cells would come back changed.
    """
    kind, types = "polars", {}
    if isinstance(frame, pa.Table):
        kind, types = "arrow", {name: frame.schema.field(name).type for name in kept}
    elif is_pandas(frame):
        columns = {name: frame.iloc[:, table.columns.index(name)] for name in kept}
        for name, column in columns.items():
            if column.dtype == object:
                _check_objects(column, table[name])
        kind, types = "pandas", {name: column.dtype for name, column in columns.items()}
    orders = declared_orders(frame)
    origin = Origin(kind, types, {name: orders[name] for name in kept if name in orders})
    hand_back(table[list(kept)].clear(), origin)  # types that cannot go back are refused before any work
    return origin


def hand_back(table: pl.DataFrame, origin: Origin) -> Any:
    """A copy of the table, of the kind that came in."""
    if origin.kind == "polars":
        return table.clone()
    columns = {series.name: _handed(series, origin) for series in table.iter_columns()}
    if origin.kind == "arrow":
        return pa.table(columns)
    import pandas as pd

    return pd.DataFrame(columns)


def _handed(series: pl.Series, origin: Origin) -> Any:
    """One column in the type that it came in, or in a plain one where it was made here."""
    name, wanted, order = series.name, origin.types.get(series.name), origin.orders.get(series.name)
    if isinstance(series.dtype, pl.Enum):
        series = series.cast(pl.String)
    cells = series.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    try:
        if origin.kind == "arrow":
            return cells if wanted is None else _arrow(cells, wanted, order)
        return series.to_pandas() if wanted is None else _pandas(series, cells, wanted, order)
    except MemoryError:
        raise
    except Exception:  # converters quote the cells they stumble over
        raise _refused(
            name, f"is of the type {_type_name(wanted)}", "Give it a plain type first."
        ) from None


def _type_name(wanted: Any) -> str:
    """The name of a type, without the categories that some of them list."""
    return wanted.name if hasattr(wanted, "name") else str(wanted)


def _refused(name: str, why: str, instead: str) -> DataError:
    return DataError(f"Column {name!r} {why}: it would not come back as it went in. {instead}", column=name)


def _check_objects(column: Any, read: pl.Series) -> None:
    """Refuse objects of several types, or such as come back as others: `read` is what became of them."""
    name = read.name
    present = column[column.notna()].tolist()
    found = {type(cell) for cell in present}
    plain = {np.str_: str, np.bytes_: bytes, np.int64: int, np.float64: float, np.ndarray: list}
    kinds = {plain.get(one, one) for one in found}
    if len(kinds) > 1 or not kinds <= set(OBJECTS):
        names = ", ".join(sorted(one.__name__ for one in found))
        raise _refused(name, f"holds objects of the type {names}", "Give it one plain type first.")
    if kinds == {Decimal} and len({cell.as_tuple().exponent for cell in present}) > 1:
        raise _refused(name, "holds decimals of different scales", "Round them to one scale first.")
    if kinds & {list, dict, datetime, time}:  # of other keys, in other zones
        before = [repr(cell.tolist() if isinstance(cell, np.ndarray) else cell) for cell in present]
        if before != [repr(cell) for cell in read.drop_nulls().to_list()]:
            names = ", ".join(sorted(one.__name__ for one in found))
            raise _refused(name, f"holds a {names} that has no like here", "Give it a plain type first.")


def _arrow(cells: Any, wanted: Any, order: list[Any] | None) -> Any:
    """Arrow cells in the type that they came in; a dictionary with the values that are there."""
    if not pa.types.is_dictionary(wanted):
        return cells.cast(wanted)
    cells = cells.cast(wanted.value_type)
    values = pa.array(_present(cells.unique().to_pylist(), order), wanted.value_type)
    codes = pc.index_in(cells, values).cast(wanted.index_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=wanted.ordered)


def _present(cells: list[Any], order: list[Any] | None) -> list[Any]:
    """The values that stand in a column of categories: as they were declared, else sorted."""
    present = {cell for cell in cells if cell is not None}
    return sorted(present) if order is None else [value for value in order if value in present]


def _pandas(series: pl.Series, cells: Any, wanted: Any, order: list[Any] | None) -> Any:
    """Cells as the pandas type that they came in; whole numbers with missing cells as nullable ones."""
    import pandas as pd

    if isinstance(wanted, pd.CategoricalDtype):
        values = _pandas(series, cells, wanted.categories.dtype, None)
        there = pd.Index(_present(values.dropna().unique().tolist(), order), dtype=wanted.categories.dtype)
        return pd.Series(pd.Categorical(values, categories=there, ordered=wanted.ordered))
    if isinstance(wanted, pd.ArrowDtype):
        held = _arrow(cells, wanted.pyarrow_dtype, order)
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([held])))
    if wanted.kind in "mM" or isinstance(wanted, pd.DatetimeTZDtype):
        return series.to_pandas().astype(wanted)
    if hasattr(wanted, "__from_arrow__"):
        return pd.Series(wanted.__from_arrow__(cells))
    if wanted.kind == "O":
        return pd.Series(series.to_list(), dtype=object)
    if series.null_count() and wanted.kind in "iub":
        wide = "boolean" if wanted.kind == "b" else wanted.name.replace("i", "I").replace("u", "U")
        wanted = pd.api.types.pandas_dtype(wide)
        return pd.Series(wanted.__from_arrow__(cells))
    return pd.Series(series.to_numpy().astype(wanted))

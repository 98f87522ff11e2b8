"""A case as a frame of some library, or as a file; and the cells of any frame as plain values."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from fuzzing.cases import Case
from fuzzing.columns import Column

__all__ = ["cells_of", "frame_of", "kind_of", "plain_value", "read_as", "write_file"]

Value = tuple[str, Any] | None


def frame_of(case: Case, order: Sequence[int] | None = None) -> Any:
    """The table as its door takes it, rows in the given order; a slice of a longer one where rows hide."""
    at = list(order) if order is not None else list(range(case.rows))
    if case.door == "pandas":
        whole = pd.DataFrame({c.name: _pandas(c, case, at) for c in case.columns})
        return whole.iloc[case.hidden :]
    # Polars takes a name such as ^a$ for a pattern while it makes a column
    series = [pl.Series("", _with_hidden(c, case, at), dtype=c.dtype).alias(c.name) for c in case.columns]
    frame = pl.DataFrame(series)
    if case.door != "arrow":
        return frame.slice(case.hidden)
    table = frame.to_arrow()
    for place, column in enumerate(case.columns):
        if column.dtype == pl.String and (case.seed + place) % 3 == 0:
            table = table.set_column(place, column.name, table.column(place).dictionary_encode())
    return table.slice(case.hidden)


def _with_hidden(column: Column, case: Case, at: Sequence[int]) -> list[Any]:
    return [*_hidden(column, case), *(column.cells[row] for row in at)]


def _hidden(column: Column, case: Case) -> list[Any]:
    if not column.is_text:
        return [None] * case.hidden
    spare = column.unused or [f"canary hidden {case.seed:012x}"]
    if column.dtype == pl.Enum and not column.unused:
        spare = [None]
    return [spare[at % len(spare)] for at in range(case.hidden)]


def _pandas(column: Column, case: Case, at: Sequence[int]) -> Any:
    cells = _with_hidden(column, case, at)
    dtype, variant = column.dtype, (case.seed + len(column.name)) % 3
    if dtype in (pl.Categorical, pl.Enum):
        known = list(dict.fromkeys([*(cell for cell in cells if cell is not None), *column.unused]))
        return pd.Categorical(cells, categories=known)
    if dtype == pl.String:
        return pd.Series(cells, dtype=object if variant else "string")
    has_gaps = any(cell is None for cell in cells)
    if dtype.is_integer():
        return pd.Series(cells, dtype="Int64" if has_gaps or variant == 0 else "int64")
    if dtype.is_float():
        floats = [math.nan if cell is None else cell for cell in cells]
        return pd.Series(floats, dtype="float32" if dtype == pl.Float32 else "float64")
    if dtype == pl.Boolean:
        return pd.Series(cells, dtype="boolean" if has_gaps or variant == 0 else "bool")
    if isinstance(dtype, pl.Datetime):
        unit = dtype.time_unit
        return pd.Series(
            cells, dtype=f"datetime64[{unit}, UTC]" if dtype.time_zone else f"datetime64[{unit}]"
        )
    if isinstance(dtype, pl.Duration):
        return pd.Series(cells, dtype="timedelta64[us]")
    return pd.Series(cells, dtype=object)


def write_file(case: Case, path: Path, order: Sequence[int] | None = None) -> None:
    """The table as a CSV file."""
    at = order if order is not None else range(case.rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in case.columns])
        for row in at:
            writer.writerow(["" if c.cells[row] is None else str(c.cells[row]) for c in case.columns])


def plain_value(cell: Any, marks: Sequence[str] = ()) -> Value:
    """A cell with what it is, comparable across libraries; None is missing, in any of its writings."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, np.ndarray | list | tuple | pl.Series):
        return "list", tuple(plain_value(one) for one in cell)
    if isinstance(cell, bool | np.bool_):
        return "bool", bool(cell)
    if isinstance(cell, int | float | Decimal | np.integer | np.floating):
        return _plain_number(cell, marks)
    if isinstance(cell, str):
        return None if cell in {"", *marks} else ("text", cell)
    if isinstance(cell, pd.Timestamp):
        cell = cell.to_pydatetime(warn=False)
    if isinstance(cell, pd.Timedelta):
        cell = cell.to_pytimedelta()
    if isinstance(cell, datetime):
        zone = cell.utcoffset()
        return "moment", (cell.replace(tzinfo=None) - (zone or timedelta())).isoformat()
    if isinstance(cell, date):
        return "date", cell.isoformat()
    if isinstance(cell, time):
        return "time", cell.isoformat()
    return type(cell).__name__, cell


def _plain_number(cell: Any, marks: Sequence[str]) -> Value:
    if isinstance(cell, float | np.floating):
        if math.isnan(cell):
            return None
        if math.isinf(cell):
            return "number", str(cell)
    exact = Fraction(cell if isinstance(cell, float | Decimal) else int(cell))
    for mark in marks:
        try:
            if Fraction(mark) == exact:
                return None
        except ValueError:
            continue
    return "number", exact


def kind_of(cells: Sequence[Any]) -> str:
    """What stands in a column, for whoever reads it from text."""
    for cell in cells:
        value = plain_value(cell)
        if value is not None:
            return "float" if isinstance(cell, float | np.floating) else value[0]
    return "float" if any(isinstance(cell, float | np.floating) for cell in cells) else "text"


def read_as(text: str | None, what: str, marks: Sequence[str] = ()) -> Value:
    """The text of a CSV cell as a value of the named kind; what cannot be read is a value of its own."""
    if text is None or text in {"", *marks}:
        return None
    try:
        if what in {"number", "float"}:
            return plain_value(float(text) if what == "float" else Decimal(text), marks)
        if what == "bool":
            return "bool", {"true": True, "false": False}[text]
        if what == "moment":
            return plain_value(datetime.fromisoformat(text))
        if what == "date":
            return plain_value(date.fromisoformat(text))
        if what == "time":
            return plain_value(time.fromisoformat(text))
    except (ValueError, KeyError, ArithmeticError):
        return "unreadable", text
    return "text", text


def cells_of(frame: Any, name: str) -> list[Any]:
    """The cells of a column of any frame."""
    if isinstance(frame, pl.DataFrame):
        return frame[name].to_list()
    if isinstance(frame, pa.Table):
        return frame.column(name).to_pylist()
    return frame[name].tolist()

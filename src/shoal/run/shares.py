"""How a column's values are spread over a table: a row's in full, or in parts where its cell is wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode.number import to_numbers
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.kind import Kind
from shoal.model.missing import missing_to_null
from shoal.model.plain import as_text
from shoal.model.plan import Plan

__all__ = ["Shares", "ValueAxis", "as_numbers", "axis_of", "numbers_of", "of_original", "of_release"]

BINS = 20
MOST_VALUES = 500
DAY = 86_400e6
"""A day in microseconds."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """A column of a table: for each row a line of `parts`, which says how likely each value is."""

    line: NDArray[np.int64]
    parts: Floats

    def rows(self) -> Floats:
        """The parts of every row."""
        return self.parts[self.line]


@dataclass(frozen=True, slots=True, eq=False)
class ValueAxis:
    """The values of a column in the original, as bins of numbers or one by one, and the tree over them."""

    name: str
    kind: str
    edges: Floats | None
    values: tuple[str, ...]
    tree: Hierarchy | None

    @property
    def size(self) -> int:
        """How many values there are, missing among them."""
        return len(self.values) + 1 if self.edges is None else len(self.edges)  # the last is missing


def axis_of(series: pl.Series, kind: str, plan: Plan) -> ValueAxis | None:
    """The values of a column; None where it is of another kind, or has none or too many."""
    name, word = series.name, kind.partition("(")[0]
    if word in {"number", "date"}:
        numbers = numbers_of(series, kind, plan).drop_nulls()
        if not len(numbers):
            return None
        cuts = np.unique(np.quantile(numbers.to_numpy(), np.linspace(0, 1, BINS + 1)))
        return ValueAxis(name, kind, cuts, (), None)
    if word not in {"tree", "label"}:
        return None
    cells = as_text(missing_to_null(series, plan.missing)).str.strip_chars().drop_nulls()
    values = tuple(cells.unique().sort().to_list())
    if not values or len(values) > MOST_VALUES:
        return None
    tree = plan.hierarchies.get(name) if word == "tree" else None
    if isinstance(tree, Builder):
        tree = tree.build(values, column=name)
    return ValueAxis(name, word, None, values, tree)


def numbers_of(series: pl.Series, kind: str, plan: Plan) -> pl.Series:
    """The floats behind a number or date column; dates as moments, which other rows may have."""
    parsed = Kind.parse(kind, column=series.name)
    numbers, form = to_numbers(missing_to_null(series, plan.missing), parsed)
    return numbers * DAY if form == "date" else numbers


def of_original(series: pl.Series, axis: ValueAxis, plan: Plan) -> Shares:
    """Each row's own value."""
    if axis.edges is not None:
        numbers = numbers_of(series, axis.kind, plan).to_numpy()
        line = np.clip(np.searchsorted(axis.edges, numbers, side="right") - 1, 0, max(axis.size - 2, 0))
        line = np.where(np.isnan(numbers), axis.size - 1, line)
    else:
        cells = as_text(missing_to_null(series, plan.missing)).str.strip_chars()
        places = {value: at for at, value in enumerate(axis.values)}
        line = np.array([places.get(cell, axis.size - 1) for cell in cells.to_list()], dtype=np.int64)
    return Shares(line.astype(np.int64), np.eye(axis.size))


def of_release(frame: pl.DataFrame, axis: ValueAxis) -> Shares:
    """What the cells of a release say of the values of a column."""
    name = axis.name
    if axis.edges is not None:
        text = frame[name] if name in frame.columns else frame[f"{name}_low"]
        pairs = pl.DataFrame(
            {
                "low": as_numbers(frame[f"{name}_low"]),
                "high": as_numbers(frame[f"{name}_high"]),
                "is_missing": text.is_null() | (text.cast(pl.String) == ""),
            }
        )
        return _lines(pairs, lambda row: _spread(row, axis))
    if f"{name}_set" in frame.columns:
        return _lines(frame.select(f"{name}_set"), lambda row: _among(row[0], axis))
    return _lines(frame.select(f"{name}_node"), lambda row: _below(row[0], axis))


def as_numbers(series: pl.Series) -> pl.Series:
    """Numbers or moments as floats, in the unit of `numbers_of`."""
    if series.dtype == pl.Date:
        return series.cast(pl.Int32).cast(pl.Float64) * DAY
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.cast_time_unit("us").cast(pl.Int64).cast(pl.Float64)
    return series.cast(pl.Float64)


def _lines(frame: pl.DataFrame, parts_of: Any) -> Shares:
    distinct = frame.unique(maintain_order=True).with_row_index("\0at")
    at = frame.join(distinct, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")["\0at"]
    parts = np.array([parts_of(row[1:]) for row in distinct.iter_rows()])
    return Shares(at.to_numpy().astype(np.int64), parts)


def _spread(row: Sequence[Any], axis: ValueAxis) -> Floats:
    assert axis.edges is not None, "a number or date has bins"
    parts = np.zeros(axis.size)
    if row[2]:
        parts[-1] = 1.0
        return parts
    low, high = (axis.edges[0], axis.edges[-1]) if row[0] is None else (row[0], row[1])
    if len(axis.edges) == 1:
        parts[0] = 1.0
        return parts
    starts, ends = axis.edges[:-1], axis.edges[1:]
    inside = np.clip(np.minimum(high, ends) - np.maximum(low, starts), 0.0, None)
    if inside.sum() <= 0:
        at = int(np.clip(np.searchsorted(axis.edges, low, side="right") - 1, 0, axis.size - 2))
        parts[at] = 1.0
    else:
        parts[:-1] = inside / inside.sum()
    return parts


def _among(members: Sequence[str | None] | None, axis: ValueAxis) -> Floats:
    places = {value: at for at, value in enumerate(axis.values)}
    chosen = range(axis.size) if members is None else [places.get(m or "", axis.size - 1) for m in members]
    return _even(chosen, axis)


def _below(node: str | None, axis: ValueAxis) -> Floats:
    places = {value: at for at, value in enumerate(axis.values)}
    if node is None:
        return _even([axis.size - 1], axis)
    if axis.tree is not None:
        found = axis.tree.nodes(of_others=True).get(node)
        if found is not None:
            leaves = {*axis.tree.leaves[found[0] : found[1] + 1]}
            return _even([at for value, at in places.items() if axis.tree.leaf_of(value) in leaves], axis)
    return _even([places[node]] if node in places else range(axis.size), axis)


def _even(chosen: Any, axis: ValueAxis) -> Floats:
    parts = np.zeros(axis.size)
    listed = list(chosen) or list(range(axis.size))
    parts[listed] = 1 / len(listed)
    return parts

"""The published cells of each group: ranges, nodes, sets, stars."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.spans import boxes
from shoal.model.cell import SUPPRESSED, print_range, print_set, print_value
from shoal.model.coded import Coded
from shoal.model.column import SET, Column
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode.places import place_faces

__all__ = ["generalize", "nodes", "typed"]

EPOCH = datetime(1970, 1, 1)


def generalize(coded: Coded, grouping: Grouping, plan: Plan) -> pl.DataFrame:
    """One line per group: the published cells of its quasi-identifiers."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    members, group = grouping.distinct[order], grouping.group[order]
    starts = np.searchsorted(group, np.arange(grouping.groups + 1))
    low, high = boxes(coded.codes, members, starts)
    faces: list[pl.Series] = []
    axis = 0
    for column in coded.columns:
        first = column.axes[0]
        if first.form == SET:
            cells = _sets(column, coded.codes[members, axis], group, grouping.groups)
            faces.append(pl.Series(column.name, cells, dtype=pl.String))
        elif len(column.axes) == 2:
            faces.extend(place_faces(column, low[:, axis : axis + 2], high[:, axis : axis + 2], plan))
        elif column.numbers:
            faces.extend(_ranges(column, low[:, axis], high[:, axis], plan))
        else:
            faces.append(nodes(column, low[:, axis], high[:, axis]))
        axis += len(column.axes)
    return pl.DataFrame(faces)


def _by_pair(
    low: NDArray[np.int32], high: NDArray[np.int32]
) -> tuple[list[tuple[int, int]], NDArray[np.intp]]:
    """The distinct (low, high) pairs, and each group's place among them."""
    size = int(high.max(initial=0)) + 1
    pairs, place = np.unique(low.astype(np.int64) * size + high, return_inverse=True)
    return [divmod(pair, size) for pair in pairs.tolist()], place.ravel()


def nodes(column: Column, low: NDArray[np.int32], high: NDArray[np.int32]) -> pl.Series:
    """The lowest common ancestor of each group."""
    pairs, place = _by_pair(low, high)
    cells = [_node(column, a, b) for a, b in pairs]
    return pl.Series(column.name, cells, dtype=pl.String)[pl.Series(place)].rename(column.name)


def _node(column: Column, low: int, high: int) -> str | None:
    missing = column.axes[0].missing
    if low == high:
        return None if low == missing else print_value(column.values[low])
    if high == missing or column.hierarchy is None:  # no hierarchy: the style is `suppress`
        return SUPPRESSED
    tree = column.hierarchy
    for level in range(tree.height + 1):
        if tree.first[level, low] == tree.first[level, high]:
            run = int(tree.first[level, low]), int(tree.last[level, low])
            name = tree.names[run]
            return SUPPRESSED if name == SUPPRESSED else print_value(name)
    raise AssertionError("two leaves share at least the root")


def _sets(
    column: Column, codes: NDArray[np.int32], group: NDArray[np.int32], groups: int
) -> list[str | None]:
    size = column.axes[0].size
    pairs = np.unique(group.astype(np.int64) * size + codes)
    starts = np.searchsorted(pairs, np.arange(groups + 1, dtype=np.int64) * size)
    members = (pairs % size).tolist()
    names: list[str | None] = [*column.values, None]
    printed: dict[tuple[int, ...], str | None] = {}
    cells: list[str | None] = []
    for g in range(groups):
        key = tuple(members[starts[g] : starts[g + 1]])
        if key not in printed:
            printed[key] = print_set(names[code] for code in key)
        cells.append(printed[key])
    return cells


def _ranges(column: Column, low: NDArray[np.int32], high: NDArray[np.int32], plan: Plan) -> list[pl.Series]:
    values, missing = column.numbers[0], column.axes[0].missing
    pairs, place = _by_pair(low, high)
    picked = pl.Series(place)
    if plan.cells in {"text", "id"}:
        texts = [text_of(value, column.form) for value in values.tolist()]
        cells = [
            (None if a == missing else SUPPRESSED if b == missing else print_range(texts[a], texts[b]))
            for a, b in pairs
        ]
        return [pl.Series(column.name, cells, dtype=pl.String)[picked].rename(column.name)]
    known = [b != missing for _, b in pairs]
    ends = [(float(values[a]), float(values[b])) for (a, b), ok in zip(pairs, known, strict=True) if ok]
    lows, highs = iter([a for a, _ in ends]), iter([b for _, b in ends])
    least = pl.Series(column.name, [next(lows) if ok else None for ok in known], dtype=pl.Float64)
    greatest = pl.Series(column.name, [next(highs) if ok else None for ok in known], dtype=pl.Float64)
    if plan.cells == "bounds":
        return [
            typed(least, column.form)[picked].rename(f"{column.name}_low"),
            typed(greatest, column.form)[picked].rename(f"{column.name}_high"),
        ]
    middle = (least + greatest) / 2
    form = "float" if column.form == "integer" else column.form
    return [typed(middle, form)[picked].rename(column.name)]


def typed(numbers: pl.Series, form: str) -> pl.Series:
    """Floats in the type their column came in."""
    if form == "integer":
        return numbers.cast(pl.Int64)
    if form == "date":
        return numbers.floor().cast(pl.Int32).cast(pl.Date)
    if form == "datetime":
        return numbers.floor().cast(pl.Int64).cast(pl.Datetime("us"))
    return numbers


def text_of(value: float, form: str) -> str:
    """A number or date as text, exact."""
    if form == "integer":
        return str(int(value))
    if form == "date":
        return str(date(1970, 1, 1) + timedelta(days=int(value)))
    if form == "datetime":
        return (EPOCH + timedelta(microseconds=int(value))).isoformat(sep=" ")
    return repr(value + 0.0)

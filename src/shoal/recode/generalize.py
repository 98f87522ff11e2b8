"""The published cells of each group: ranges, nodes, sets, stars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import BrokenPromise
from shoal.kernels.distance.spans import boxes
from shoal.model.cell import SUPPRESSED, print_range, print_set, print_value
from shoal.model.coded import Coded
from shoal.model.column import SET, Column
from shoal.model.distinct import distinct
from shoal.model.grouping import Grouping
from shoal.model.levels import levels_of
from shoal.model.plan import Plan
from shoal.recode.places import place_columns

__all__ = ["cells_of", "generalize", "nodes", "typed"]

EPOCH = datetime(1970, 1, 1)
Codes = NDArray[np.int32]


def generalize(coded: Coded, grouping: Grouping, plan: Plan) -> pl.DataFrame:
    """One line per group: the published cells of its quasi-identifiers."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    members, group = grouping.distinct[order], grouping.group[order]
    starts = np.searchsorted(group, np.arange(grouping.groups + 1))
    low, high = boxes(coded.codes, members, starts)
    if grouping.level is not None:
        return pl.DataFrame(_on_levels(coded, low, high, grouping.level.tolist(), plan))
    published: list[pl.Series] = []
    axis = 0
    for column in coded.columns:
        first = column.axes[0]
        if first.form == SET:
            cells = _sets(column, coded.codes[members, axis], group, grouping.groups)
            published.append(pl.Series(column.name, cells, dtype=pl.String))
        elif len(column.axes) == 2:
            published.extend(place_columns(column, low[:, axis : axis + 2], high[:, axis : axis + 2], plan))
        elif column.numbers:
            published.extend(_ranges(column, low[:, axis], high[:, axis], plan))
        else:
            published.append(nodes(column, low[:, axis], high[:, axis]))
        axis += len(column.axes)
    return pl.DataFrame(published)


def cells_of(columns: Sequence[Column], low: Codes, high: Codes, plan: Plan) -> pl.DataFrame:
    """The published cells of boxes, one line each. Needs numbers, dates and trees, of one axis each."""
    published: list[pl.Series] = []
    for axis, column in enumerate(columns):
        if column.numbers:
            published.extend(_ranges(column, low[:, axis], high[:, axis], plan))
        else:
            published.append(nodes(column, low[:, axis], high[:, axis]))
    return pl.DataFrame(published)


def _on_levels(
    coded: Coded, low: NDArray[np.int32], high: NDArray[np.int32], levels: list[int], plan: Plan
) -> list[pl.Series]:
    """The cells where a column has one level for all its rows. Needs columns of one axis each."""
    faces: list[pl.Series] = []
    for axis, (column, level) in enumerate(zip(coded.columns, levels, strict=True)):
        its = levels_of(column)
        first, last = its.first[level, low[:, axis]], its.last[level, low[:, axis]]
        if column.axes[0].form == SET:
            faces.append(_whole_sets(column, first, last))
        elif not column.numbers:
            faces.append(nodes(column, first, last))
        elif level == 0:
            faces.extend(_ranges(column, first, last, plan))
        elif plan.cells in {"text", "id"}:
            faces.append(pl.Series(column.name, [SUPPRESSED] * len(low), dtype=pl.String))
        else:  # typed cells have no star: everything that is published, and nothing of what is withheld
            least, greatest = (
                np.full_like(first, end) for end in (low[:, axis].min(), high[:, axis].max())
            )
            faces.extend(_ranges(column, least, greatest, plan))
    return faces


def _whole_sets(column: Column, first: NDArray[np.int32], last: NDArray[np.int32]) -> pl.Series:
    """A set of all values of a run, or a star for all there are."""
    pairs, place = _by_pair(first, last)
    names: list[str | None] = [*column.values, None]
    size = column.axes[0].size
    cells = [
        SUPPRESSED if size > 1 and b - a == size - 1 else print_set(names[a : b + 1]) for a, b in pairs
    ]
    return pl.Series(column.name, cells, dtype=pl.String)[pl.Series(place)].rename(column.name)


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
    raise BrokenPromise("Two leaves share at least the root.")


def _sets(
    column: Column, codes: NDArray[np.int32], group: NDArray[np.int32], groups: int
) -> list[str | None]:
    size = column.axes[0].size
    pairs = distinct(group.astype(np.int64) * size + codes)
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
    middle = least + (greatest - least) / 2  # their sum may be more than a float holds
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

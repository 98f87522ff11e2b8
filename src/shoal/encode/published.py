"""A table in the unit of what is published of it.

What a column's loss is divided by tells the column's range, and with it the value of a person whose row is
withheld or whose cell is starred. So the figures of a release are those of the table as its readers may
know it: values beyond the published range stand at its ends, and the range itself is the unit. Published
cells lose the same there; what is proved of that table holds for every release of the original in that unit
(docs/proofs/published-unit.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.model.coded import SPACES, Coded, Metric, Space, pack
from shoal.model.column import Axis, Column
from shoal.model.figures import Places, Ranges
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan

__all__ = ["as_published", "clipped_columns", "published_places", "ranges_of"]

Floats = NDArray[np.float64]


def published_places(coded: Coded, grouping: Grouping, plan: Plan) -> Places:
    """The least and the greatest code of each axis of numbers in rows whose cells say something of them.

    None where no row is such. A group's cell says nothing where it is starred, for mixing missing with
    present; a mean or middle where fewer than k have a value; a centre that is a row where that has none;
    nor does any cell of a column that is published on a level above its values, as text, or with missing.
    """
    kept = grouping.group >= 0
    rows, group, count = grouping.distinct[kept], grouping.group[kept], grouping.count[kept]
    codes, groups = coded.codes[rows], grouping.groups
    unit = None if coded.held is None or coded.held.unit is None else coded.held.unit[rows]
    places: dict[str, tuple[tuple[int, int] | None, ...]] = {}
    at = 0
    for place, column in enumerate(coded.columns):
        axes = range(at, at + len(column.axes))
        at += len(column.axes)
        if not column.numbers:
            continue
        missing = column.axes[0].missing
        shown = codes[:, axes[0]] != missing
        risen = grouping.level is not None and grouping.level[place] > 0
        if risen and (plan.cells in {"text", "id"} or not shown.all()):
            shown[:] = False
        if column.has_missing:
            if plan.style == "generalize":
                says = np.bincount(group[~shown], minlength=groups) == 0
            elif plan.style == "centres" and plan.centre == "row" and grouping.centre is not None:
                says = coded.codes[grouping.centre, axes[0]] != missing
            else:
                its = None if unit is None else unit[shown]
                says = _bodies(group[shown], count[shown], its, groups) >= plan.k
            shown &= says[group]
        places[column.name] = tuple(
            (int(codes[shown, axis].min()), int(codes[shown, axis].max())) if shown.any() else None
            for axis in axes
        )
    return places


def _bodies(
    group: NDArray[np.int32], count: NDArray[np.int64], unit: NDArray[np.int32] | None, groups: int
) -> NDArray[np.float64]:
    """The records of each group, or its different persons where the plan counts those."""
    if unit is None:
        return np.bincount(group, weights=count, minlength=groups).astype(np.float64)
    pairs = np.unique(np.stack([group, unit], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=groups).astype(np.float64)


def ranges_of(columns: tuple[Column, ...], places: Places) -> Ranges:
    """The values at some places; none where the table has no such place."""
    ranges: dict[str, tuple[tuple[float, float] | None, ...]] = {}
    for column in columns:
        pairs = zip(column.numbers, places.get(column.name, ()), strict=False)
        ranges[column.name] = tuple(
            (float(values[pair[0]]), float(values[pair[1]]))
            if pair is not None and 0 <= pair[0] <= pair[1] < values.size
            else None
            for values, pair in pairs
        )
    return ranges


def as_published(coded: Coded, ranges: Ranges) -> Coded:
    """The same rows, measured by the published ranges; `coded` itself where they are its own."""
    columns = clipped_columns(coded.columns, ranges)
    if all(one is other for one, other in zip(columns, coded.columns, strict=True)):
        return coded
    metric = pack([(axis, column.weight) for column in columns for axis in column.axes])
    held = coded.held
    if held is not None:
        held = replace(held, plain=_measured(held.plain, columns, metric))
    return replace(_measured(coded, columns, metric), held=held)


def clipped_columns(columns: tuple[Column, ...], ranges: Ranges) -> tuple[Column, ...]:
    """The columns measured by the published ranges."""
    return tuple(_clipped(column, ranges.get(column.name)) for column in columns)


def _clipped(column: Column, ends: tuple[tuple[float, float] | None, ...] | None) -> Column:
    own = tuple((float(values[0]), float(values[-1])) if values.size else None for values in column.numbers)
    if not ends or ends == own:
        return column
    extents = [0.0 if pair is None else pair[1] - pair[0] for pair in ends]
    whole = sum(extents)
    axes: list[Axis] = []
    for axis, values, pair, extent in zip(column.axes, column.numbers, ends, extents, strict=True):
        share = 1.0
        if column.parts:  # a place: its sides are measured together
            share = extent / whole if whole > 0 else 1.0 / len(extents)
        position = np.zeros(values.size)
        if pair is not None and extent > 0:
            position = (np.clip(values, *pair) - pair[0]) / extent * share
        axes.append(replace(axis, position=position, share=share if axis.size > 1 else 0.0))
    return replace(column, axes=tuple(axes), denominator=whole)


def _measured(coded: Coded, columns: tuple[Column, ...], metric: Metric) -> Coded:
    space = coded.space
    points = space.points
    if SPACES[space.kind] == "euclidean":
        points = np.stack(
            [metric.data[start + coded.codes[:, axis]] for axis, start in enumerate(metric.offset)], axis=1
        )
    measured = Space(space.kind, space.codes, points, space.matrix, *metric)
    return replace(coded, columns=columns, metric=metric, space=measured)

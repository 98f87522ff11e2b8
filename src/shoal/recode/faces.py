"""Classes by what they publish: their cells and what they lose.

A face is what a group shows: of a number, date or tree column the least and the greatest of its codes, of a
label column its members. Groups with the same face are one class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.distance.spans import boxes, group_losses, spans
from shoal.model.cell import SUPPRESSED, print_set
from shoal.model.coded import Coded, Metric
from shoal.model.column import SET, Column
from shoal.model.distinct import distinct
from shoal.model.figures import Places
from shoal.model.grouping import Grouping
from shoal.recode.generalize import nodes, text_of

__all__ = [
    "Faces",
    "cells_between",
    "cells_of",
    "faces_of",
    "join_faces",
    "losses_of",
    "lost_on",
    "number_texts",
    "places_of",
    "some_at_a_time",
]

Members = tuple[int, ...]
CHUNK = 1 << 18
"""Groups that are measured at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Faces:
    """What some groups publish, a line per group: `low` and `high` per axis, and the records in `size`.

    On the axis of a label column `low` is the place of the group's members in `sets`, and `high` is the
    same. Every column has one axis.
    """

    low: tuple[NDArray[np.integer], ...]
    high: tuple[NDArray[np.integer], ...]
    size: NDArray[np.integer]
    sets: tuple[tuple[Members, ...], ...]

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.size.size)

    def take(self, places: NDArray[np.integer] | slice) -> Faces:
        """Some of them."""
        low, high = (tuple(codes[places] for codes in ends) for ends in (self.low, self.high))
        return Faces(low, high, self.size[places], self.sets)


def faces_of(coded: Coded, grouping: Grouping) -> tuple[Faces, NDArray[np.float64]]:
    """The faces of the groups of one part, and what each of their records loses."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    members, group = grouping.distinct[order], grouping.group[order]
    starts = np.searchsorted(group, np.arange(grouping.groups + 1))
    low, high = boxes(coded.codes, members, starts)
    lost = group_losses(coded.codes, coded.metric, members, starts)
    lows, highs, sets = [], [], []
    for axis, column in enumerate(coded.columns):
        kind = np.min_scalar_type(max(column.axes[0].size - 1, 0))
        if column.axes[0].form == SET:
            place, known = _sets(coded.codes[members, axis], group, grouping.groups, column.axes[0].size)
            lows.append(place)
            highs.append(place)
            sets.append(known)
        else:
            lows.append(low[:, axis].astype(kind))
            highs.append(high[:, axis].astype(kind))
            sets.append(())
    return Faces(tuple(lows), tuple(highs), grouping.sizes, tuple(sets)), lost


def _sets(
    codes: NDArray[np.int32], group: NDArray[np.int32], groups: int, size: int
) -> tuple[NDArray[np.int32], tuple[Members, ...]]:
    """The place of each group's members among the sets that occur."""
    pairs = distinct(group.astype(np.int64) * size + codes)
    starts = np.searchsorted(pairs, np.arange(groups + 1, dtype=np.int64) * size)
    members = (pairs % size).tolist()
    known: dict[Members, int] = {}
    place = np.empty(groups, dtype=np.int32)
    for at, (begin, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        place[at] = known.setdefault(tuple(members[begin:end]), len(known))
    return place, tuple(known)


def join_faces(parts: Sequence[Faces]) -> Faces:
    """All groups of several parts, in their order."""
    axes = range(len(parts[0].low))
    sets: list[tuple[Members, ...]] = []
    moved: list[list[NDArray[np.int32]]] = []
    for axis in axes:
        known: dict[Members, int] = {}
        moved.append(
            [
                np.array([known.setdefault(one, len(known)) for one in part.sets[axis]], dtype=np.int32)
                for part in parts
            ]
        )
        sets.append(tuple(known))

    def joined(axis: int, ends: Sequence[NDArray[np.integer]]) -> NDArray[np.integer]:
        if sets[axis]:
            ends = [places[codes] for places, codes in zip(moved[axis], ends, strict=True)]
        return np.concatenate(ends)

    most = max(int(part.size.max(initial=0)) for part in parts)
    return Faces(
        tuple(joined(axis, [part.low[axis] for part in parts]) for axis in axes),
        tuple(joined(axis, [part.high[axis] for part in parts]) for axis in axes),
        np.concatenate([part.size for part in parts], dtype=np.min_scalar_type(-most - 1)),
        tuple(sets),
    )


def losses_of(metric: Metric, faces: Faces) -> float:
    """The total loss of all groups."""
    parts = []
    for some in some_at_a_time(faces):
        lost = np.zeros(some.groups)
        for axis in range(len(some.sets)):
            lost += lost_on(metric, some, axis)
        parts.append(math.fsum(lost * some.size))
    return math.fsum(parts)


def lost_on(metric: Metric, faces: Faces, axis: int) -> NDArray[np.float64]:
    """What a record of each group loses on one axis."""
    lost: NDArray[np.float64]
    if metric.form[axis] == SET:
        steps = np.array([len(members) - 1 for members in faces.sets[axis]], dtype=np.float64)
        lost = metric.data[metric.offset[axis]] * steps[faces.low[axis]]
    else:
        low, high = faces.low[axis].astype(np.int64), faces.high[axis].astype(np.int64)
        lost = spans(metric, axis, low, high)
    return lost


def places_of(columns: Sequence[Column], faces: Faces) -> Places:
    """The least and the greatest code of each number column in cells that say something of them."""
    places: dict[str, tuple[tuple[int, int] | None, ...]] = {}
    for axis, column in enumerate(columns):
        if column.numbers:
            shown = faces.high[axis] != column.axes[0].missing
            low, high = faces.low[axis][shown], faces.high[axis][shown]
            places[column.name] = ((int(low.min()), int(high.max())) if shown.any() else None,)
    return places


def cells_of(column: Column, faces: Faces, axis: int) -> pl.Series:
    """The published text of one column, a cell per group."""
    return cells_between(column, faces.low[axis], faces.high[axis], faces.sets[axis])


def cells_between(
    column: Column, low: NDArray[np.integer], high: NDArray[np.integer], sets: tuple[Members, ...]
) -> pl.Series:
    """The published texts of one column from the ends of each."""
    if column.axes[0].form == SET:
        used, place = np.unique(low, return_inverse=True)
        names: list[str | None] = [*column.values, None]
        printed = [print_set(names[code] for code in sets[at]) for at in used.tolist()]
        return pl.Series(column.name, printed, dtype=pl.String).gather(place.ravel())
    if not column.numbers:
        return nodes(column, low.astype(np.int32), high.astype(np.int32))
    missing = column.axes[0].missing
    texts = pl.Series([*number_texts(column), None], dtype=pl.String)
    ends = pl.DataFrame(
        {
            "low": texts.gather(low),
            "high": texts.gather(high),
            "alone": low == high,
            "mixed": (high == missing) & (low != high),
        }
    )
    cell = (
        pl.when("mixed")
        .then(pl.lit(SUPPRESSED))
        .when("alone")
        .then("low")
        .otherwise(pl.format("[{}, {}]", "low", "high"))
    )
    return ends.select(cell.alias(column.name)).to_series()


def number_texts(column: Column) -> list[str]:
    """The values of a number column as they are published."""
    return [text_of(value, column.form) for value in column.numbers[0].tolist()]


def some_at_a_time(faces: Faces) -> Iterator[Faces]:
    """All faces, one piece after the other."""
    for first in range(0, faces.groups, CHUNK):
        yield faces.take(slice(first, first + CHUNK))

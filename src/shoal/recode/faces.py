"""Classes by what they publish: their cells, and their order as texts without a sort of texts.

A face is what a group shows: of a number, date or tree column the least and the greatest of its codes, of a
label column its members. Groups with the same face are one class. Their order is that of the published
texts, column by column, missing last: the order of a finished table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
    "cells_of",
    "faces_of",
    "join_faces",
    "losses_of",
    "lost_on",
    "order_of",
    "places_of",
    "ranks_of",
]

Integers = NDArray[np.int64]
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
    for some in _some(faces):
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
    return _cells(column, faces.low[axis], faces.high[axis], faces.sets[axis])


def _cells(
    column: Column, low: NDArray[np.integer], high: NDArray[np.integer], sets: tuple[Members, ...]
) -> pl.Series:
    if column.axes[0].form == SET:
        used, place = np.unique(low, return_inverse=True)
        names: list[str | None] = [*column.values, None]
        printed = [print_set(names[code] for code in sets[at]) for at in used.tolist()]
        return pl.Series(column.name, printed, dtype=pl.String).gather(place.ravel())
    if not column.numbers:
        return nodes(column, low.astype(np.int32), high.astype(np.int32))
    missing = column.axes[0].missing
    texts = pl.Series([*_number_texts(column), None], dtype=pl.String)
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


def _number_texts(column: Column) -> list[str]:
    return [text_of(value, column.form) for value in column.numbers[0].tolist()]


def _order_keys(column: Column, axis: int) -> tuple[Callable[[Faces], Integers], int]:
    """Gives whole numbers for groups in the order of their cells' texts, missing last; all are below this.

    Of ranges: a star stands before numbers, and these before a bracket. Inside brackets the low end
    decides, together with the comma behind it; then the high end with the bracket that closes it, since
    that is greater than any digit: "[1, 50]" stands before "[1, 5]".
    """
    texts = pl.Series(_number_texts(column), dtype=pl.String)
    size = len(texts) + 1
    first, alone, last = (
        np.append((texts + end).rank("dense").cast(pl.Int64).to_numpy(), 0) for end in (",", "", "]")
    )
    missing, room = column.axes[0].missing, (size + 1) ** 2 + 1

    def keys(faces: Faces) -> Integers:
        low, high = faces.low[axis], faces.high[axis]
        key: Integers = np.where(low == high, alone[low], size + first[low] * size + last[high])
        if missing >= 0:
            key = np.where((high == missing) & (low != high), 0, key)
            key = np.where(low == missing, room - 1, key)
        return key

    return keys, room


def _text_keys(column: Column, faces: Faces, axis: int) -> tuple[Callable[[Faces], Integers], int]:
    """The same for trees and labels, whose different cells are few: their texts are ranked."""
    size = max(len(faces.sets[axis]), column.axes[0].size)
    tree = column.hierarchy
    levels = 1 if tree is None or faces.sets[axis] else tree.height + 1
    star = levels * size

    def cells(some: Faces) -> Integers:
        """A number for each cell: a level and its first code, or a star."""
        low, high = some.low[axis].astype(np.int64), some.high[axis].astype(np.int64)
        cell = np.full(some.groups, star, dtype=np.int64)
        same = low == high
        cell[same] = low[same]
        if levels > 1:
            assert tree is not None, "levels are those of a tree"
            open_ = np.flatnonzero(~same & (high != column.axes[0].missing))
            for level in range(1, levels):
                one = tree.first[level, low[open_]]
                meet = one == tree.first[level, high[open_]]
                cell[open_[meet]] = level * size + one[meet]
                open_ = open_[~meet]
        return cell

    ends = np.full((2, star + 1), -1, dtype=np.int64)
    for some in _some(faces):
        cell = cells(some)
        ends[0, cell], ends[1, cell] = some.low[axis], some.high[axis]
    used = np.flatnonzero(ends[0] >= 0)
    texts = _cells(column, ends[0, used], ends[1, used], faces.sets[axis])
    ranks = np.zeros(star + 1, dtype=np.int64)
    ranks[used] = texts.rank("dense").cast(pl.Int64).fill_null(len(texts) + 1).to_numpy()
    return lambda some: ranks[cells(some)], len(texts) + 2


def _every_cell(columns: Sequence[Column], axis: int) -> Faces:
    """A group for each cell that a column of a tree can show, whatever the other columns show."""
    column = columns[axis]
    size, missing, tree = column.axes[0].size, column.axes[0].missing, column.hierarchy
    low, high = [np.arange(size)], [np.arange(size)]
    for level in range(1, 0 if tree is None else tree.height + 1):
        assert tree is not None, "levels are those of a tree"
        low.append(np.unique(tree.first[level]))
        high.append(tree.last[level, low[-1]])
    if missing >= 0 or tree is None:  # a star
        low.append(np.zeros(1, dtype=np.int64))
        high.append(np.array([size - 1]))
    ends = np.concatenate(low), np.concatenate(high)
    axes = len(columns)
    return Faces((ends[0],) * axes, (ends[1],) * axes, np.ones(ends[0].size, np.int64), ((),) * axes)


def order_of(columns: Sequence[Column], faces: Faces) -> Integers:
    """A whole number per group in published order by the first columns, as many as fit; labels do not.

    It says the same of a cell whatever other groups there are, so groups of different parts compare.
    """
    key, room = np.zeros(faces.groups, dtype=np.int64), 1
    for axis, column in enumerate(columns):
        if column.axes[0].form == SET:
            break
        every = faces if column.numbers else _every_cell(columns, axis)
        keys, its = _order_keys(column, axis) if column.numbers else _text_keys(column, every, axis)
        if room > 2**62 // its:
            break
        key = key * its + keys(faces)
        room *= its
    return key


def _some(faces: Faces) -> Iterator[Faces]:
    for first in range(0, faces.groups, CHUNK):
        yield faces.take(slice(first, first + CHUNK))


def ranks_of(columns: Sequence[Column], faces: Faces) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The class of every group, numbered in published order, and one group of each class.

    Classes may be many millions: whole columns of wide numbers are held for the packed keys alone.
    """
    packed = [np.zeros(faces.groups, dtype=np.int64)]
    room = 1
    for axis, column in enumerate(columns):
        keys, its = _order_keys(column, axis) if column.numbers else _text_keys(column, faces, axis)
        if room > 2**62 // its:
            packed.append(np.zeros(faces.groups, dtype=np.int64))
            room = 1
        key = packed[-1]
        for at, some in enumerate(_some(faces)):
            part = key[at * CHUNK : (at + 1) * CHUNK]
            part *= its
            part += keys(some)
        room *= its
    sort = np.lexsort(packed[::-1]) if len(packed) > 1 else np.argsort(packed[0], kind="stable")
    order: NDArray[np.int32] = sort.astype(np.int32)
    del sort
    new = np.zeros(order.size, dtype=np.bool_)
    new[:1] = True
    for one in packed:
        new[1:] |= np.diff(one[order]) != 0
    del packed, key
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.cumsum(new, dtype=np.int32) - 1
    return rank, order[new]

"""Published cells as whole numbers in the order of their texts, so that no texts are sorted or sent.

The order of a finished table is that of its published texts, column by column, missing last. A cell of a
number, date or tree column is told by a whole number that says the same whatever other cells there are: the
numbers stand in the order of the texts, and the texts come back from them. Labels have too many sets for
that, and are told by their texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model.cell import SUPPRESSED
from shoal.model.column import SET, Column
from shoal.recode.faces import Faces, cells_between, cells_of, number_texts, some_at_a_time

__all__ = ["InOrder", "ranks_of"]

Integers = NDArray[np.int64]
ROOM = 2**62


class _Ranges:
    """Cells of numbers: alone, in brackets, a star, or missing.

    A star stands before numbers, and these before a bracket. Inside brackets the low end decides, together
    with the comma behind it; then the high end with the bracket that closes it, since that is greater than
    any digit: "[1, 50]" stands before "[1, 5]".
    """

    def __init__(self, column: Column, axis: int) -> None:
        self.name, self.axis, self.missing = column.name, axis, column.axes[0].missing
        texts = pl.Series(number_texts(column), dtype=pl.String)
        self.size = len(texts) + 1
        self.room = (self.size + 1) ** 2 + 1
        ranks = [(texts + end).rank("dense").cast(pl.Int64).to_numpy() for end in (",", "", "]")]
        self.first, self.alone, self.last = (np.append(one, 0) for one in ranks)
        self.by_first, self.by_alone, self.by_last = (_by_rank(texts, one, self.size) for one in ranks)

    def keys(self, faces: Faces) -> Integers:
        low, high = faces.low[self.axis], faces.high[self.axis]
        key: Integers = np.where(
            low == high, self.alone[low], self.size + self.first[low] * self.size + self.last[high]
        )
        if self.missing >= 0:
            key = np.where((high == self.missing) & (low != high), 0, key)
            key = np.where(low == self.missing, self.room - 1, key)
        return key

    def texts(self, keys: Integers) -> pl.Series:
        missing = keys == self.room - 1
        ranged = (keys >= self.size) & ~missing
        inside = np.where(ranged, keys - self.size, 0)
        ends = pl.DataFrame(
            {
                "low": self.by_first.gather(inside // self.size),
                "high": self.by_last.gather(inside % self.size),
                "alone": self.by_alone.gather(np.where(ranged | missing, 0, keys)),
                "ranged": ranged,
                "mixed": keys == 0,
            }
        )
        cell = (
            pl.when("mixed")
            .then(pl.lit(SUPPRESSED))
            .when("ranged")
            .then(pl.format("[{}, {}]", "low", "high"))
            .otherwise("alone")
        )
        return ends.select(cell.alias(self.name)).to_series()


class _Texts:
    """Cells of trees and labels, of which `faces` show all there are: their texts are ranked."""

    def __init__(self, column: Column, axis: int, faces: Faces) -> None:
        self.axis, self.missing, self.tree = axis, column.axes[0].missing, column.hierarchy
        self.size = max(len(faces.sets[axis]), column.axes[0].size)
        self.levels = 1 if self.tree is None or faces.sets[axis] else self.tree.height + 1
        star = self.levels * self.size
        ends = np.full((2, star + 1), -1, dtype=np.int64)
        for some in some_at_a_time(faces):
            cell = self._cells(some)
            ends[0, cell], ends[1, cell] = some.low[axis], some.high[axis]
        used = np.flatnonzero(ends[0] >= 0)
        texts = cells_between(column, ends[0, used], ends[1, used], faces.sets[axis])
        ranks = texts.rank("dense").cast(pl.Int64).fill_null(len(texts) + 1).to_numpy()
        self.room = len(texts) + 2
        self.ranks = np.zeros(star + 1, dtype=np.int64)
        self.ranks[used] = ranks
        self.by_rank = _by_rank(texts, ranks, self.room)

    def _cells(self, some: Faces) -> Integers:
        """A number for each cell: a level and its first code, or a star."""
        low, high = some.low[self.axis].astype(np.int64), some.high[self.axis].astype(np.int64)
        cell = np.full(some.groups, self.levels * self.size, dtype=np.int64)
        same = low == high
        cell[same] = low[same]
        if self.levels > 1:
            assert self.tree is not None, "levels are those of a tree"
            open_ = np.flatnonzero(~same & (high != self.missing))
            for level in range(1, self.levels):
                one = self.tree.first[level, low[open_]]
                meet = one == self.tree.first[level, high[open_]]
                cell[open_[meet]] = level * self.size + one[meet]
                open_ = open_[~meet]
        return cell

    def keys(self, faces: Faces) -> Integers:
        key: Integers = self.ranks[self._cells(faces)]
        return key

    def texts(self, keys: Integers) -> pl.Series:
        return self.by_rank.gather(keys)


def _by_rank(texts: pl.Series, ranks: Integers, room: int) -> pl.Series:
    """The text of every rank; equal texts have the same, and there is none of rank 0."""
    place = np.full(room, len(texts), dtype=np.int64)
    place[ranks] = np.arange(len(texts))
    return pl.concat([texts, pl.Series(texts.name, [None], dtype=pl.String)]).gather(place)


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


class InOrder:
    """What groups publish in a few fields each, which stand in published order from left to right.

    `fields` has the axes of each field. One of numbers packs as many as fit; one of labels has its own,
    which is a text, and its axis stands in `labels`.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.labels = {at for at, column in enumerate(columns) if column.axes[0].form == SET}
        self._told: dict[int, _Ranges | _Texts] = {}
        fields: list[list[int]] = []
        room = ROOM
        for axis, column in enumerate(columns):
            if axis in self.labels:
                fields.append([axis])
                room = ROOM
                continue
            every = _every_cell(columns, axis)
            told = _Ranges(column, axis) if column.numbers else _Texts(column, axis, every)
            if not fields or room > ROOM // told.room:
                fields.append([])
                room = 1
            fields[-1].append(axis)
            room *= told.room
            self._told[axis] = told
        self.fields = tuple(map(tuple, fields))

    def is_text(self, field: int) -> bool:
        """Whether a field is one of labels."""
        return self.fields[field][0] in self.labels

    def tell(self, faces: Faces) -> list[Integers | pl.Series]:
        """The fields of groups: whole numbers, or the texts of labels."""
        found: list[Integers | pl.Series] = []
        for at, axes in enumerate(self.fields):
            if self.is_text(at):
                found.append(cells_of(self.columns[axes[0]], faces, axes[0]))
                continue
            key = np.zeros(faces.groups, dtype=np.int64)
            for axis in axes:
                key = key * self._told[axis].room + self._told[axis].keys(faces)
            found.append(key)
        return found

    def texts(self, told: Sequence[Integers | pl.Series]) -> list[pl.Series]:
        """The published cells of groups from their fields, column by column."""
        found: dict[int, pl.Series] = {}
        for axes, its in zip(self.fields, told, strict=True):
            if isinstance(its, pl.Series):
                found[axes[0]] = its
                continue
            rest = its
            for axis in reversed(axes):
                rest, key = np.divmod(rest, self._told[axis].room)
                found[axis] = self._told[axis].texts(key)
        return [found[axis].alias(column.name) for axis, column in enumerate(self.columns)]


def ranks_of(columns: Sequence[Column], faces: Faces) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The class of every group, numbered in published order, and one group of each class.

    Classes may be many millions: whole columns of wide numbers are held for the packed keys alone.
    """
    packed = [np.zeros(faces.groups, dtype=np.int64)]
    room = 1
    for axis, column in enumerate(columns):
        told = _Ranges(column, axis) if column.numbers else _Texts(column, axis, faces)
        if room > ROOM // told.room:
            packed.append(np.zeros(faces.groups, dtype=np.int64))
            room = 1
        key, first = packed[-1], 0
        for some in some_at_a_time(faces):
            part = key[first : first + some.groups]
            part *= told.room
            part += told.keys(some)
            first += some.groups
        room *= told.room
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

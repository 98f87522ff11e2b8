"""A table as numbers: distinct rows with counts, and the metric the kernels measure with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.model.column import LINE, TREE, Axis, Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.rule import Rule

__all__ = ["SPACES", "Coded", "Held", "Metric", "Ruled", "Space", "pack"]

SPACES = ("span", "euclidean", "great-circle", "matrix")
"""The distances by name; the `kind` of a space is its place here."""


class Metric(NamedTuple):
    """All axes of a table packed into arrays, weights multiplied in.

    For axis a with code c: LINE: `data[offset[a] + c]` is the position. TREE: row j of the table at
    `data[offset[a]]` (rows of `size[a]`) holds at c the largest gap among codes c .. c + 2^j, so any
    run of codes is measured by two look-ups. SET: `data[offset[a]]` is the price of one more member.
    `most[a]` is the whole axis. `level[level_offset[a] + l * size[a] + c]`, l = 0..height[a], is the
    first code below c's ancestor on level l of a TREE (height 0 for other axes).
    """

    form: NDArray[np.int8]
    size: NDArray[np.int64]
    missing: NDArray[np.int64]
    most: NDArray[np.float64]
    offset: NDArray[np.int64]
    data: NDArray[np.float64]
    height: NDArray[np.int64]
    level_offset: NDArray[np.int64]
    level: NDArray[np.int32]


class Space(NamedTuple):
    """How far distinct rows are apart, in one of four distances; `kernels/distance` measures any two.

    `kind` is a place in SPACES. span: the sum over columns of weight * span of the pair, by `codes` and
    the fields of the metric. euclidean: `points` holds a line per row and a place per axis, the value
    from 0 to 1 over the column's range (a place's two sides share one range) times the column's weight;
    the distance is straight. great-circle: `points` are unit vectors from the middle of the earth; the
    distance runs over the ground, in kilometres, and weights have no part in it. matrix: `matrix` holds
    the distances. Arrays that a distance does not need are empty, so that kernels are compiled once for
    all four; the metric's fields stand here by themselves, because parallel kernels take no nested tuples.
    """

    kind: int
    codes: NDArray[np.int32]
    points: NDArray[np.float64]
    matrix: NDArray[np.float64]
    form: NDArray[np.int8]
    size: NDArray[np.int64]
    missing: NDArray[np.int64]
    most: NDArray[np.float64]
    offset: NDArray[np.int64]
    data: NDArray[np.float64]
    height: NDArray[np.int64]
    level_offset: NDArray[np.int64]
    level: NDArray[np.int32]

    @property
    def name(self) -> str:
        """The distance in the words of a plan."""
        return SPACES[self.kind]

    @property
    def metric(self) -> Metric:
        """The metric of spans alone; seen from Python, not from kernels."""
        return Metric(*self[4:])


@dataclass(frozen=True, slots=True)
class Ruled:
    """A sensitive column as one way to measure sees it: by value, ordered, or by its hierarchy.

    Codes are 0..size-1; those of an ordered column stand in its order, those of a hierarchy in the order
    of the leaves, and missing comes last.
    """

    name: str
    measure: str
    size: int
    tree: Hierarchy | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What rules look at, beside the distinct rows of a table that has them.

    `plain` is the same table by quasi-identifiers alone, which methods and bounds work on, and `parent`
    the distinct row of `plain` behind each of ours. `value` has a line per distinct row and a code per
    entry of `columns`; `unit` is who a row belongs to, below `units`, or None. `shares` are those of the
    values of each entry in a whole table of which this is a part; there are none where this is all of it.
    """

    plain: Coded
    parent: NDArray[np.int32]
    rules: tuple[Rule, ...]
    columns: tuple[Ruled, ...]
    value: NDArray[np.int32]
    unit: NDArray[np.int32] | None = None
    units: int = 0
    shares: tuple[NDArray[np.float64], ...] = ()

    @property
    def trees(self) -> dict[str, Hierarchy]:
        """The hierarchies that rules measure by."""
        return {column.name: column.tree for column in self.columns if column.tree is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """What every method works on.

    `codes` holds one line per distinct row, sorted, one code per axis; `count` its records; `row` the
    distinct row of each input row; `records` the records of each input row where a column counts them,
    else None; `space` the distance the plan names. The order of the input rows changes `row` alone.
    Where the plan has rules or a unit, `held` says what they look at, and distinct rows differ in that
    too; only a method that obeys rules itself sees such a table, the others its `plain`.
    """

    codes: NDArray[np.int32]
    count: NDArray[np.int64]
    row: NDArray[np.int32]
    columns: tuple[Column, ...]
    metric: Metric
    space: Space
    records: NDArray[np.int64] | None = None
    held: Held | None = None

    @property
    def plain(self) -> Coded:
        """The table by quasi-identifiers alone."""
        return self if self.held is None else self.held.plain

    def without_codes(self) -> Coded:
        """The same table, whose rows are still told apart but no longer described."""
        nothing = np.empty((0, self.codes.shape[1]), dtype=np.int32)
        held = self.held
        if held is not None:
            held = replace(held, plain=held.plain.without_codes())
        space = self.space._replace(codes=nothing)
        return replace(self, codes=nothing, space=space, held=held)

    def without_rows(self) -> Coded:
        """What is still known of a table whose rows are needed no more: its columns, and how many."""
        nothing = np.empty((0, self.codes.shape[1]), dtype=np.int32)
        no_row, no_point = np.empty(0, dtype=np.int32), np.empty((0, 0))
        held = self.held
        if held is not None:
            held = replace(held, plain=held.plain.without_rows(), parent=no_row, value=nothing, unit=None)
        return replace(
            self,
            codes=nothing,
            count=np.array([self.total]),
            row=no_row,
            space=self.space._replace(codes=nothing, points=no_point, matrix=no_point),
            records=None,
            held=held,
        )

    @property
    def is_ruled(self) -> bool:
        """Whether rules or a unit are held."""
        return self.held is not None

    @property
    def distinct(self) -> int:
        """How many distinct rows there are."""
        return len(self.count)

    @property
    def total(self) -> int:
        """How many records there are."""
        return int(self.count.sum())

    @property
    def owner(self) -> NDArray[np.int64]:
        """The column of each axis."""
        return np.repeat(np.arange(len(self.columns)), [len(column.axes) for column in self.columns])

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each column."""
        return np.array([column.weight for column in self.columns], dtype=np.float64)

    @property
    def weight(self) -> float:
        """The sum of the columns' weights: what one wholly suppressed record loses."""
        return float(sum(column.weight for column in self.columns))


def pack(axes: Sequence[tuple[Axis, float]]) -> Metric:
    """Pack axes with their columns' weights for the kernels."""
    data: list[NDArray[np.float64]] = []
    levels: list[NDArray[np.int32]] = []
    offset, level_offset, height = [], [], []
    at = level_at = 0
    for axis, weight in axes:
        offset.append(at)
        level_offset.append(level_at)
        if axis.form == LINE:
            assert axis.position is not None, "a line has positions"
            table = np.zeros(axis.size)
            table[: axis.position.size] = axis.position * weight
        elif axis.form == TREE:
            assert axis.gap is not None, "a tree has gaps"
            assert axis.levels is not None, "a tree has levels"
            table = _running_maxima(axis.gap * weight, axis.size)
            levels.append(axis.levels.ravel())
            level_at += axis.levels.size
        else:
            table = np.array([axis.step * weight])
        height.append(len(axis.levels) - 1 if axis.levels is not None else 0)
        data.append(table)
        at += table.size
    return Metric(
        form=np.array([axis.form for axis, _ in axes], dtype=np.int8),
        size=np.array([axis.size for axis, _ in axes], dtype=np.int64),
        missing=np.array([axis.missing for axis, _ in axes], dtype=np.int64),
        most=np.array([axis.share * weight for axis, weight in axes], dtype=np.float64),
        offset=np.array(offset, dtype=np.int64),
        data=np.concatenate(data) if data else np.zeros(0),
        height=np.array(height, dtype=np.int64),
        level_offset=np.array(level_offset, dtype=np.int64),
        level=np.concatenate(levels) if levels else np.zeros(0, dtype=np.int32),
    )


def _running_maxima(gap: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Rows j = 0, 1, ..: at c the largest of gap[c : c + 2^j], flat; short runs at the end hold less."""
    row = np.zeros(size)
    row[: gap.size] = gap
    rows = [row]
    reach = 1
    while 2 * reach <= gap.size:
        wider = rows[-1].copy()
        wider[:-reach] = np.maximum(rows[-1][:-reach], rows[-1][reach:])
        rows.append(wider)
        reach *= 2
    return np.concatenate(rows)

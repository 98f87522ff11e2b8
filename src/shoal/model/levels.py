"""The levels of a column: from its values as they are up to a star for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.model.coded import Coded
from shoal.model.column import SET, TREE, Axis, Column
from shoal.model.packed_rules import PackedRules, lasting, no_rules, pack_rules
from shoal.model.task import Effort

__all__ = ["Lattice", "Levels", "lattice_of", "levels_of", "looks_for"]

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


class Levels(NamedTuple):
    """A line per level and an entry per code: the run of codes published in its place, and what that costs.

    Level 0 is every value alone. On the last level all codes are one run, missing among them; below it
    missing stays alone. No two levels are alike. Costs are shares of the column, without its weight.
    """

    first: Codes
    last: Codes
    cost: Floats


class Lattice(NamedTuple):
    """A table and the levels of all its columns, packed for the kernels.

    Column c with code x stands on level l in node `node[offset[c] + l * size[c] + x]` of the
    `nodes[c, l]` there, for `cost` at the same place, weights multiplied in; it has `levels[c]` levels.
    A row holds `held` records; rows without any are left out. A withheld record costs `full`. Rules look at
    the line of `value` of a row; rows of one `mark`, below `marks`, are alike to them. No part of a class
    that breaks one of the `lasting` rules obeys it; of the others, some part of such a class breaks them.
    """

    codes: Codes
    held: NDArray[np.int64]
    size: NDArray[np.int64]
    levels: NDArray[np.int64]
    offset: NDArray[np.int64]
    node: Codes
    nodes: NDArray[np.int64]
    cost: Floats
    full: float
    rules: PackedRules
    lasting: PackedRules
    value: Codes
    mark: NDArray[np.int64]
    marks: int


def levels_of(column: Column) -> Levels:
    """The levels of a column of one axis: those of its hierarchy, or as it is and a star."""
    axis = column.axes[0]
    first = _partitions(column, axis)
    kept = [0, *(at for at in range(1, len(first)) if (first[at] != first[at - 1]).any())]
    first = np.ascontiguousarray(first[kept])
    last, cost = np.empty_like(first), np.zeros(first.shape)
    for level, its in enumerate(first):
        starts = np.unique(its)
        ends = np.r_[starts[1:], axis.size] - 1
        run = np.searchsorted(starts, its)
        last[level] = ends[run]
        cost[level] = _costs(axis, starts, ends)[run]
    return Levels(first, last, cost)


def _partitions(column: Column, axis: Axis) -> Codes:
    """Per level and code the first code of its run, some levels perhaps twice."""
    if axis.levels is not None:
        return axis.levels
    alone = np.arange(axis.size, dtype=np.int32)
    together = np.zeros(axis.size, dtype=np.int32)
    tree = column.hierarchy
    if tree is None:
        return np.stack([alone, together])
    between = [np.r_[its, alone[len(its) :]] for its in tree.first[1:-1]]
    return np.stack([alone, *between, together]).astype(np.int32)


def _costs(axis: Axis, starts: NDArray[np.int32], ends: NDArray[np.int64]) -> Floats:
    """What each run of codes gives up."""
    if axis.form == SET:
        return np.asarray((ends - starts) * axis.step, dtype=np.float64)
    if axis.form == TREE and axis.gap is not None and axis.size > 1:
        inside = np.r_[axis.gap, 0.0]
        inside[ends] = 0.0
        return np.asarray(np.maximum.reduceat(inside, starts), dtype=np.float64)
    return np.where(ends > starts, axis.share, 0.0)


def lattice_of(coded: Coded, k: int) -> Lattice:
    """The levels of all columns of a table, and its rules. Needs columns of one axis each."""
    tables = [levels_of(column) for column in coded.columns]
    most = max(len(table.first) for table in tables)
    nodes = np.zeros((len(tables), most), dtype=np.int64)
    node, cost, offset = [], [], []
    at = 0
    for place, (column, table) in enumerate(zip(coded.columns, tables, strict=True)):
        offset.append(at)
        at += table.first.size
        for level, its in enumerate(table.first):
            starts, names = np.unique(its, return_inverse=True)
            nodes[place, level] = starts.size
            node.append(names.ravel().astype(np.int32))
        cost.append(table.cost.ravel() * column.weight)
    present = coded.count > 0
    some = np.flatnonzero(present)
    rules, value = no_rules(), np.zeros((some.size, 0), dtype=np.int32)
    mark = np.zeros(some.size, dtype=np.int64)
    if coded.held is not None:
        values, rules = pack_rules(coded.held, some, coded.count[some], k)
        value = np.ascontiguousarray(values[some])
        mark = np.unique(value, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return Lattice(
        codes=np.ascontiguousarray(coded.codes[present]),
        held=coded.count[present],
        size=np.array([column.axes[0].size for column in coded.columns], dtype=np.int64),
        levels=np.array([len(table.first) for table in tables], dtype=np.int64),
        offset=np.array(offset, dtype=np.int64),
        node=np.concatenate(node),
        nodes=nodes,
        cost=np.concatenate(cost),
        full=coded.weight,
        rules=rules,
        lasting=lasting(rules),
        value=value,
        mark=mark,
        marks=int(mark.max(initial=0)) + 1,
    )


_LOOKS = {"quick": 1e9, "normal": 5e9, "thorough": 1e11}
"""Rows that a search may look at, by effort."""
_PER_SECOND = 1e8


def looks_for(effort: Effort) -> float:
    """Rows that a search over all choices of levels may look at; the same on every machine."""
    if effort.level is not None:
        return _LOOKS[effort.level]
    return float(effort.steps) if effort.steps is not None else _PER_SECOND * (effort.seconds or 0.0)

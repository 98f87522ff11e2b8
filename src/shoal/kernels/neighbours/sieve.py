"""Which rows of a tile cannot be near a row, seen in small whole numbers: many are compared at one go.

Every column is one or more planes of whole numbers. A line is one plane of places, rounded down; labels
are one of codes; a tree has a plane for some of its levels, of the nodes there, and two rows in different
nodes are so much farther apart than two in one. Differences of planes add up to at most the distance, in
units of the sieve, and one unit for each line. So a row that is farther than a limit and these units is
farther in truth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.spans import LINE, SET

__all__ = ["BEYOND", "Sieve", "distance_of", "make_sieve", "sift"]

WHOLE, BEYOND = 60_000, 65_535
"""Units of all columns together; where missing stands on a line. Both fit into 16 bits."""
LEVELS = 4
"""Planes of a tree, at most: its other levels are rounded down to the next below."""
FEWEST = 4
"""Planes at least between two looks at whether any row is still near: half of those left, each time."""
PAIRS = 4096
"""Pairs of rows that say which planes differ most."""


class Sieve(NamedTuple):
    """Planes of rows in tiles.

    `cells` holds the tiles one after the other, each plane by plane; two rows differ on plane p by their
    places, at most most[p], where is_line[p], else by most[p] if they differ at all. A distance is `scale`
    times as many units, and `slack` units are too many.
    """

    cells: Any
    is_line: Any
    most: Any
    scale: Any
    slack: Any


def make_sieve(codes: NDArray[np.int32], begin: NDArray[np.int64], metric: Any, *, many: bool) -> Sieve:
    """The planes of rows, tile q from begin[q] on; none where columns are not `many`."""
    weight = float(metric.most.sum())
    scale = WHOLE / weight if weight > 0.0 else 0.0
    rows = len(codes)
    one = np.arange(0, rows, max(1, rows // PAIRS))
    other = (one * 7919 + 1) % rows
    tables, axes, is_line, most, differ = [], [], [], [], []
    for axis in np.flatnonzero(metric.most > 0.0) if many else ():
        for table, along, units in _planes(metric, int(axis), codes[one, axis], codes[other, axis], scale):
            tables.append(table)
            axes.append(axis)
            is_line.append(along)
            most.append(units)
            a, b = (table[codes[at, axis]].astype(np.int64) for at in (one, other))
            differ.append(np.minimum(abs(a - b), units).mean() if along else units * (a != b).mean())
    order = np.argsort(-np.array(differ, dtype=np.float64), kind="stable")
    cells = np.empty(rows * order.size, dtype=np.uint16)
    for p, at in enumerate(order):
        _lay(tables[at][codes[:, axes[at]]], begin, p, order.size, cells)
    return Sieve(
        cells,
        np.array(is_line, dtype=np.bool_)[order],
        np.array(most, dtype=np.uint16)[order],
        scale,
        1.0 + sum(is_line),  # rounding in single precision is far below one unit
    )


def _planes(
    metric: Any, axis: int, one: NDArray[np.int32], other: NDArray[np.int32], scale: float
) -> list[tuple[NDArray[np.uint16], bool, int]]:
    """The planes of an axis: a number for each code, whether these are places, and the most units."""
    size, at = int(metric.size[axis]), int(metric.offset[axis])
    most = int(metric.most[axis] * scale)
    if metric.form[axis] == LINE:
        place = (metric.data[at : at + size] - metric.data[at]) * scale
        table = np.clip(place, 0, most).astype(np.uint16)
        if metric.missing[axis] >= 0:
            table[metric.missing[axis]] = BEYOND
        return [(table, True, most)]
    if metric.form[axis] == SET:
        code = (np.arange(size) & 0xFFFF).astype(np.uint16)
        return [(code, False, int(metric.data[at] * scale))]
    gap = metric.data[at : at + size - 1]
    level = _levels(gap, one, other)
    planes, before = [], 0
    for high in level:
        node = np.concatenate([[0], np.cumsum(gap >= high)])
        units = int(high * scale)
        planes.append(((node & 0xFFFF).astype(np.uint16), False, units - before))
        before = units
    return planes


def _levels(
    gap: NDArray[np.float64], one: NDArray[np.int32], other: NDArray[np.int32]
) -> NDArray[np.float64]:
    """The distances of a tree that planes tell apart: those few which leave most of all distances."""
    level = np.unique(gap[gap > 0.0])
    while level.size > LEVELS:
        # pairs that fall to the level below, times by how much
        often = np.zeros(level.size)
        for at, high in enumerate(level):
            node = np.concatenate([[0], np.cumsum(gap >= high)])
            often[at] = np.mean(node[one] != node[other])
        loss = (often - np.append(often[1:], 0.0)) * np.diff(level, prepend=0.0)
        level = np.delete(level, int(np.argmin(loss)))
    return level


@entry
def _lay(column, begin, p, planes, cells):
    """Put one plane of a sieve in its place in every tile."""
    for tile in range(begin.size - 1):
        first = begin[tile]
        rows = begin[tile + 1] - first
        at = first * planes + p * rows
        for r in range(rows):
            cells[at + r] = column[first + r]


@leaf
def distance_of(sieve, units):
    """Rows of so many units in a sieve are at least this far apart."""
    return np.float32(max(0.0, (units - sieve.slack) / sieve.scale))


@inner
def sift(sieve, own, own_end, row, first, rows, bar, units):
    """Units between a row and each row of a tile that begins at `first`; how many are below `bar`.

    The row's own tile is own..own_end. Where none are, not all planes are counted.
    """
    planes = sieve.most.size
    for r in range(rows):
        units[r] = np.uint16(0)
    near = rows
    looked = 0
    for p in range(planes):
        if p == (looked + planes) // 2 and p - looked >= FEWEST:
            near = _near(units, rows, bar)
            if near == 0:
                return 0
            looked = p
        column = sieve.cells[first * planes + p * rows : first * planes + (p + 1) * rows]
        mine = sieve.cells[own * planes + p * (own_end - own) + row - own]
        most = sieve.most[p]
        if sieve.is_line[p]:
            for r in range(rows):
                its = column[r]
                far = np.uint16((its if its > mine else mine) - (its if its < mine else mine))
                units[r] = np.uint16(units[r] + (far if far < most else most))
        else:
            for r in range(rows):
                units[r] = np.uint16(units[r] + (most if column[r] != mine else np.uint16(0)))
    return _near(units, rows, bar)


@inner
def _near(units, rows, bar):
    """How many rows of a tile are below `bar` in a sieve."""
    near = 0
    for r in range(rows):
        near += 1 if units[r] < bar else 0
    return near

"""Boxes that stay from release to release, beside the rows of one table.

What a published cell covers is a side: a range of numbers, or a node of a tree. Ranges are kept as
numbers and nodes by a keyed digest of their names, so that a state says nothing about which values there
are; whoever has the key, a tree and a point can tell whether the point lies inside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.model.coded import Coded, Metric, pack
from shoal.model.column import LINE, Axis, Column

__all__ = ["DIGEST", "Ground", "Sides", "closed", "digest_of", "ground_of", "sides_of"]

DIGEST = 16
"""Bytes of a keyed digest."""
MISSING, EVERYTHING = "\0", "\0*"
"""What stands for the name of a node where a cell is missing, or hides a mix of missing and present."""

Codes = NDArray[np.int32]
Sides = NDArray[np.float64] | NDArray[np.uint8]
"""The sides of one column: a line with both ends of a range, or the digest of a node."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """Rows and boxes in one coding.

    `columns` have codes for the values of the rows and for the ends of the boxes. `points` has a line per
    row, `low` and `high` a line per box: all codes that a published cell of the box covers. A box that is
    not `there` covers nobody in this table: a node of it has no value below.
    """

    columns: tuple[Column, ...]
    metric: Metric
    points: Codes
    low: Codes
    high: Codes
    there: NDArray[np.bool_]

    def holds(self, rows: NDArray[np.integer], boxes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each row lies inside its box."""
        inside = (self.points[rows] >= self.low[boxes]) & (self.points[rows] <= self.high[boxes])
        return np.asarray(inside.all(axis=1) & self.there[boxes])


def digest_of(key: bytes, *texts: str) -> bytes:
    """A keyed digest: without the key it confirms no guess."""
    return hashlib.blake2b("\0".join(texts).encode(), key=key, digest_size=DIGEST).digest()


def ground_of(coded: Coded, boxes: Codes, sides: Sequence[Sides], key: bytes) -> Ground:
    """The rows of a table and the boxes of a state in one coding. Needs columns of one axis each."""
    columns, points, low, high, there = [], [], [], [], np.ones(len(boxes), bool)
    codes = coded.codes[coded.row]
    for place, column in enumerate(coded.columns):
        known = sides[place]
        if column.axes[0].form == LINE:
            laid, its, ends = _line(column, codes[:, place], np.asarray(known, np.float64))
        else:
            laid, its, ends = column, codes[:, place], _tree(column, np.asarray(known, np.uint8), key)
        columns.append(laid)
        points.append(its)
        mine = ends[boxes[:, place]]
        low.append(mine[:, 0])
        high.append(mine[:, 1])
        there &= mine[:, 0] >= 0
    return Ground(
        tuple(columns),
        pack([(column.axes[0], column.weight) for column in columns]),
        np.ascontiguousarray(np.stack(points, axis=1), dtype=np.int32),
        np.ascontiguousarray(np.stack(low, axis=1), dtype=np.int32),
        np.ascontiguousarray(np.stack(high, axis=1), dtype=np.int32),
        there,
    )


def _line(column: Column, codes: Codes, ends: NDArray[np.float64]) -> tuple[Column, Codes, Codes]:
    """A column with codes for its own values and all ends, the rows in these codes, and the ends."""
    finite = np.asarray(np.isfinite(ends).all(axis=1))
    values = np.unique(np.concatenate([column.numbers[0], ends[finite].ravel()]))
    has_missing = column.has_missing or not finite.all()
    missing = values.size if has_missing else -1
    extent = float(values[-1] - values[0]) if values.size else 0.0
    axis = Axis(
        form=LINE,
        size=values.size + has_missing,
        missing=missing,
        share=1.0 if values.size + has_missing > 1 else 0.0,
        position=(values - values[0]) / extent if extent > 0 else np.zeros(values.size),
    )
    place = np.append(np.searchsorted(values, column.numbers[0]), missing).astype(np.int32)
    found = np.searchsorted(values, np.where(finite[:, None], ends, 0.0)).astype(np.int32)
    found[~finite] = missing  # missing alone
    found[np.isinf(ends[:, 0]), 0] = 0  # a mix of missing and present
    laid = replace(column, axes=(axis,), numbers=(values,), has_missing=has_missing, counts=())
    return laid, place[codes], found


def _tree(column: Column, marks: NDArray[np.uint8], key: bytes) -> Codes:
    """The codes below each node, -1 where the tree of this table has no such node."""
    tree, missing = column.hierarchy, column.axes[0].missing
    assert tree is not None, "a tree has a hierarchy"
    last = len(tree.leaves) - 1
    runs = {digest_of(key, column.name, name): run for run, name in tree.names.items()}
    runs[digest_of(key, column.name, EVERYTHING)] = (0, max(last, missing))
    if missing >= 0:
        runs[digest_of(key, column.name, MISSING)] = (missing, missing)
    for name, (first, end) in tree.others.items():
        # a chain of only children has one name here: the node is shown by the next one above
        above = next(
            (
                (int(tree.first[level, first]), int(tree.last[level, first]))
                for level in range(tree.height + 1)
                if tree.last[level, first] - tree.first[level, first] > end - first
            ),
            None,
        )
        mark = digest_of(key, column.name, name)
        if above is None and any(mark == known.tobytes() for known in marks):
            raise DataError(
                f"Column {column.name!r} has one branch of its hierarchy only, so what was shown "
                "before cannot "
                "be shown again. Give its hierarchy as a file with all values that may come.",
                field="hierarchies",
                column=column.name,
            )
        if above is not None:
            runs.setdefault(mark, above)
    found = [runs.get(mark.tobytes(), (-1, -1)) for mark in marks]
    return np.array(found, dtype=np.int32).reshape(-1, 2)


def closed(columns: Sequence[Column], low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Boxes widened to all that their published cells cover: nodes to their leaves, a mix to everything."""
    low, high = low.copy(), high.copy()
    for place, column in enumerate(columns):
        axis = column.axes[0]
        if axis.form == LINE:
            low[(high[:, place] == axis.missing) & (low[:, place] != axis.missing), place] = 0
            continue
        levels = axis.levels
        assert levels is not None, "a tree has levels"
        open_ = low[:, place] != high[:, place]
        for first in levels:
            one, other = first[low[:, place]], first[high[:, place]]
            joined = open_ & (one == other)
            last = np.searchsorted(first, one, side="right") - 1
            low[joined, place], high[joined, place] = one[joined], last[joined]
            open_ &= ~joined
    return low, high


def sides_of(
    columns: Sequence[Column], low: Codes, high: Codes, key: bytes
) -> tuple[Codes, tuple[Sides, ...]]:
    """Boxes as numbers of sides, and these by column, in an order that tells nothing."""
    boxes = np.zeros(low.shape, np.int32)
    sides: list[Sides] = []
    for place, column in enumerate(columns):
        pairs = np.stack([low[:, place], high[:, place]], axis=1)
        distinct, boxes[:, place] = np.unique(pairs, axis=0, return_inverse=True)
        missing = column.axes[0].missing
        if column.axes[0].form == LINE:
            values = np.append(column.numbers[0], np.nan)
            found = values[np.where(distinct == missing, column.numbers[0].size, distinct)]
            found[(distinct[:, 1] == missing) & (distinct[:, 0] != missing)] = -np.inf, np.inf
            sides.append(found)
            continue
        names = [_name(column, first, last) for first, last in distinct.tolist()]
        marks = b"".join(digest_of(key, column.name, name) for name in names)
        sides.append(np.frombuffer(marks, np.uint8).reshape(-1, DIGEST).copy())
    return boxes, tuple(sides)


def _name(column: Column, first: int, last: int) -> str:
    missing = column.axes[0].missing
    assert column.hierarchy is not None, "a tree has a hierarchy"
    if last == missing:
        return MISSING if first == missing else EVERYTHING
    return column.hierarchy.names[first, last]

"""What was shown of persons, beside the rows of one table.

What a published cell covers is a side: a range of numbers, or a node of a tree. All cells that were shown
of a person hold some sides in common: his cut. Ranges are kept as numbers and nodes by a keyed digest of
their names, so that a state says nothing about which values there are; whoever has the key, a tree and a
point can tell whether the point lies inside. Whether a person has moved is told by a keyed digest of his
point.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.model.cell import SUPPRESSED
from shoal.model.coded import Coded, Metric, pack
from shoal.model.column import LINE, Axis, Column

__all__ = [
    "DIGEST",
    "POINT",
    "Ground",
    "Sides",
    "as_read",
    "cut_with",
    "digest_of",
    "ground_of",
    "points_of",
]

DIGEST = 16
"""Bytes of a keyed digest."""
POINT = 8
"""Bytes of the keyed digest of a person's point."""
MISSING, EVERYTHING = "\0", "\0*"
"""What stands for the name of a node where a cell is missing, or hides a mix of missing and present."""

Codes = NDArray[np.int32]
Sides = NDArray[np.float64] | NDArray[np.uint8]
"""The sides of one column: a line with both ends of a range, or the digest of a node."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """Rows and what was shown of them, in one coding.

    `columns` have codes for the values of the rows and for the ends of ranges. `points` has a line per
    row, and `distinct` the number of its point among all; `low`..`high` are the codes that its cut holds,
    and `out_low`..`out_high` those of the least box that can be shown and is no finer. They differ where
    a tree of this table has one name for a node that was shown and a finer one, and reach beyond all codes
    where no box is as wide as that. Rows that are free, because nothing was shown of them or they have
    moved out of it, have everything.
    """

    columns: tuple[Column, ...]
    metric: Metric
    points: Codes
    distinct: Codes
    low: Codes
    high: Codes
    out_low: Codes
    out_high: Codes
    is_free: NDArray[np.bool_]

    def at(self, rows: NDArray[np.int64]) -> Ground:
        """Some rows, in their order."""
        by_row = ("points", "distinct", "low", "high", "out_low", "out_high", "is_free")
        return replace(self, **{name: getattr(self, name)[rows] for name in by_row})


def digest_of(key: bytes, *texts: str) -> bytes:
    """A keyed digest: without the key it confirms no guess."""
    return hashlib.blake2b("\0".join(texts).encode(), key=key, digest_size=DIGEST).digest()


def points_of(coded: Coded, persons: NDArray[np.uint8], key: bytes) -> NDArray[np.uint8]:
    """The keyed digest of each row's point. Needs columns of one axis each, and whose digest each row is.

    It is of values as they are measured, and of the person: two at one point have two digests.
    """
    texts = [_texts(column) for column in coded.columns]
    tuples = zip(
        *(map(its.__getitem__, codes) for its, codes in zip(texts, coded.codes.T, strict=True)), strict=True
    )
    points = [b"".join(its) for its in tuples]
    digests = b"".join(
        hashlib.blake2b(person.tobytes() + points[row], key=key, digest_size=POINT).digest()
        for person, row in zip(persons, coded.row, strict=True)
    )
    return np.frombuffer(digests, np.uint8).reshape(-1, POINT)


def _texts(column: Column) -> list[bytes]:
    """The value behind each code, in bytes that say where they end; that of missing comes last."""
    if column.axes[0].form == LINE:
        values = [repr(value) for value in column.numbers[0].tolist()]
    else:
        assert column.hierarchy is not None, "a tree has a hierarchy"
        values = [*column.hierarchy.leaves]
    texts = [text.encode() for text in values]
    return [*(b"%d:%b" % (len(text), text) for text in texts), b"-"]


def ground_of(coded: Coded, cut: Codes, sides: Sequence[Sides], key: bytes) -> Ground:
    """The rows of a table and what was shown of them in one coding. Needs columns of one axis each.

    `cut` has a line per row and the number of a side per column, or -1 where nothing was shown.
    """
    columns, points, within, around = [], [], [], []
    codes = coded.codes[coded.row]
    is_free: NDArray[np.bool_] = np.asarray((cut < 0).any(axis=1))
    for place, column in enumerate(coded.columns):
        known = sides[place]
        if column.axes[0].form == LINE:
            laid, its, ends = _line(column, codes[:, place], np.asarray(known, np.float64))
            above = ends
        else:
            laid, its = column, codes[:, place]
            ends, above = _tree(column, np.asarray(known, np.uint8), key)
        everything = np.array([[0, laid.axes[0].size - 1]], np.int32)
        number = np.where(is_free, len(ends), cut[:, place])
        mine = np.concatenate([ends, everything])[number]
        is_free = is_free | (its < mine[:, 0]) | (its > mine[:, 1])
        columns.append(laid)
        points.append(its)
        within.append(mine)
        around.append(np.concatenate([above, everything])[number])
    last = np.array([column.axes[0].size - 1 for column in columns], np.int32)
    boxes = [
        np.where(is_free[:, None], everything, np.stack([its[:, end] for its in some], axis=1))
        for some in (within, around)
        for end, everything in ((0, np.int32(0)), (1, last))
    ]
    low, high, out_low, out_high = (np.ascontiguousarray(some, dtype=np.int32) for some in boxes)
    return Ground(
        tuple(columns),
        pack([(column.axes[0], column.weight) for column in columns]),
        np.ascontiguousarray(np.stack(points, axis=1), dtype=np.int32),
        np.ascontiguousarray(coded.row, dtype=np.int32),
        *(low, high, out_low, out_high),
        is_free,
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


def _tree(column: Column, marks: NDArray[np.uint8], key: bytes) -> tuple[Codes, Codes]:
    """The codes below each node, -1 where the tree of this table has no such node.

    And those of the least node that can be shown for it and is no finer.
    """
    tree, missing = column.hierarchy, column.axes[0].missing
    assert tree is not None, "a tree has a hierarchy"
    last = len(tree.leaves) - 1
    runs = {digest_of(key, column.name, name): run for run, name in tree.names.items()}
    everything = digest_of(key, column.name, EVERYTHING)
    runs[everything] = (0, max(last, missing))
    above = {}
    if missing >= 0:
        runs[digest_of(key, column.name, MISSING)] = (missing, missing)
    elif tree.names[0, last] != SUPPRESSED:
        above[everything] = (-1, last + 1)  # the whole tree says that nothing is missing
    wanted = {mark.tobytes() for mark in marks}
    for name, run in tree.others.items():
        # a chain of only children has one name here, the finest: the node is shown by the next one above
        mark = digest_of(key, column.name, name)
        if mark in runs or mark not in wanted:
            continue
        runs[mark] = run
        above[mark] = _above(column, run)
    found = [runs.get(mark.tobytes(), (-1, -1)) for mark in marks]
    shown = [above.get(mark.tobytes(), run) for mark, run in zip(marks, found, strict=True)]
    return (
        np.array(found, dtype=np.int32).reshape(-1, 2),
        np.array(shown, dtype=np.int32).reshape(-1, 2),
    )


def _above(column: Column, run: tuple[int, int]) -> tuple[int, int]:
    """The least node that holds more than a run; beyond all codes where there is none."""
    tree = column.hierarchy
    assert tree is not None, "a tree has a hierarchy"
    for level in range(tree.height + 1):
        first, last = int(tree.first[level, run[0]]), int(tree.last[level, run[0]])
        if last - first > run[1] - run[0]:
            return first, last
    return -1, column.axes[0].size


def as_read(columns: Sequence[Column], low: Codes, high: Codes, cells: str) -> tuple[Codes, Codes]:
    """Boxes as their published cells are read: a star, or no bounds, may hide a missing cell or none."""
    low, high = low.copy(), high.copy()
    for place, column in enumerate(columns):
        missing = column.axes[0].missing
        if missing < 0:
            continue
        if column.hierarchy is not None:
            last = len(column.hierarchy.leaves) - 1
            if column.hierarchy.names[0, last] == SUPPRESSED:
                high[(low[:, place] == 0) & (high[:, place] == last), place] = missing
        elif cells == "bounds":
            low[high[:, place] == missing, place] = 0
    return low, high


def cut_with(
    ground: Ground, low: Codes, high: Codes, cut: Codes, sides: Sequence[Sides], key: bytes
) -> tuple[Codes, tuple[Sides, ...]]:
    """What is known of every row once the boxes low..high are shown: its cut, and all sides.

    A side that is no finer than before stays as it is; the others are new ones, in an order that tells
    nothing.
    """
    new = cut.copy()
    wider = (low <= ground.out_low) & (high >= ground.out_high) & ~ground.is_free[:, None]
    both = []
    for place, column in enumerate(ground.columns):
        rows = np.flatnonzero(~wider[:, place])
        pairs = np.stack(
            [
                np.maximum(low[rows, place], ground.low[rows, place]),
                np.minimum(high[rows, place], ground.high[rows, place]),
            ],
            axis=1,
        )
        distinct, number = np.unique(pairs, axis=0, return_inverse=True)
        new[rows, place] = len(sides[place]) + number.reshape(-1)
        its = _sides(column, distinct, key)
        both.append(np.concatenate([sides[place], its]) if len(sides[place]) else its)
    return new, tuple(both)


def _sides(column: Column, pairs: Codes, key: bytes) -> Sides:
    """What each pair of a least and a greatest code covers."""
    missing = column.axes[0].missing
    if column.axes[0].form == LINE:
        values = np.append(column.numbers[0], np.nan)
        found = values[np.where(pairs == missing, column.numbers[0].size, pairs)]
        found[(pairs[:, 1] == missing) & (pairs[:, 0] != missing)] = -np.inf, np.inf
        return np.asarray(found.reshape(-1, 2))
    names = [_name(column, first, last) for first, last in pairs.tolist()]
    marks = b"".join(digest_of(key, column.name, name) for name in names)
    return np.frombuffer(marks, np.uint8).reshape(-1, DIGEST).copy()


def _name(column: Column, first: int, last: int) -> str:
    missing = column.axes[0].missing
    assert column.hierarchy is not None, "a tree has a hierarchy"
    if last == missing:
        return MISSING if first == missing else EVERYTHING
    return column.hierarchy.names[first, last]

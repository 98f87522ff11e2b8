"""The frozen baseline of the large tables: plain median cuts of the widest normalised span.

Written once in plain NumPy, never to be tuned: figures of one year stay comparable with those of the
next. It imports nothing of Shoal.

A node of at least 2 k rows is cut on the column whose span is widest, as a share of that column's span in
the whole table; where no cut of that column leaves k rows on both sides, on the next widest. A line
(numbers, dates) is cut before or after the middle row's value, whichever is nearer to halves. A tree is
cut before or after the child, below the common ancestor, that holds the middle row. A node that cannot
be cut is a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Line", "Tree", "median_cuts"]

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Line:
    """A column of ordered values: `position[code]` rises from 0 to 1."""

    position: NDArray[np.float64]

    def span(self, low: int, high: int) -> float:
        """What the values between two codes cover."""
        return float(self.position[high] - self.position[low])

    def middle(self, _low: int, _high: int, code: int) -> tuple[int, int]:
        """The first code of the middle part, and the first one after it."""
        return code, code + 1


@dataclass(frozen=True, slots=True)
class Tree:
    """A column of leaves in depth-first order.

    `levels[level, code]` is the first leaf below the ancestor of a code; level 0 are the leaves, the last
    is the root.
    """

    levels: Codes

    def level(self, low: int, high: int) -> int:
        """The lowest level on which both codes have one ancestor."""
        return int(np.argmax(self.levels[:, low] == self.levels[:, high]))

    def run(self, level: int, code: int) -> tuple[int, int]:
        """The first leaf below an ancestor, and the first one after it."""
        firsts = self.levels[level]
        first = firsts[code]
        return int(first), int(np.searchsorted(firsts, first, side="right"))

    def span(self, low: int, high: int) -> float:
        """The share of leaves below the common ancestor of two codes."""
        first, after = self.run(self.level(low, high), low)
        return (after - first - 1) / max(self.levels.shape[1] - 1, 1)

    def middle(self, low: int, high: int, code: int) -> tuple[int, int]:
        """The child of the common ancestor that holds `code`."""
        return self.run(self.level(low, high) - 1, code)


def median_cuts(codes: Codes, columns: Sequence[Line | Tree], k: int) -> Codes:
    """One label per row; `codes` holds a line per row and a code per column. Needs at least k rows."""
    codes = np.array(codes, dtype=np.int32)
    place = np.arange(len(codes))
    label = np.empty(len(codes), dtype=np.int32)
    groups = 0
    todo = [(0, len(codes))]
    while todo:
        start, end = todo.pop()
        node = codes[start:end]
        goes_left = _cut(node, columns, k) if end - start >= 2 * k else None
        if goes_left is None:
            label[place[start:end]] = groups
            groups += 1
            continue
        order = np.concatenate([np.flatnonzero(goes_left), np.flatnonzero(~goes_left)])
        codes[start:end] = node[order]
        place[start:end] = place[start:end][order]
        middle = start + int(goes_left.sum())
        todo += [(middle, end), (start, middle)]
    return label


def _cut(node: Codes, columns: Sequence[Line | Tree], k: int) -> NDArray[np.bool_] | None:
    """Which rows of a node go left; None where no cut leaves k on both sides."""
    low, high = node.min(axis=0).tolist(), node.max(axis=0).tolist()
    spans = [column.span(a, b) if a < b else 0.0 for column, a, b in zip(columns, low, high, strict=True)]
    rows = len(node)
    for at in sorted(range(len(columns)), key=lambda at: -spans[at]):  # stable: the first wins a tie
        if spans[at] <= 0.0:
            return None
        mine = node[:, at]
        middle = int(np.partition(mine, rows // 2)[rows // 2])
        best, found = k - 1, None
        for border in columns[at].middle(low[at], high[at], middle):
            left = mine < border
            smaller = min(int(left.sum()), rows - int(left.sum()))
            if smaller > best:
                best, found = smaller, left
        if found is not None:
            return found
    return None

"""Whether boxes hold k points: counted for many boxes at a time, down a tree of halves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hold"]

FEW = 4
"""Points of a part that is not halved any more."""
AT_A_TIME = 1 << 13
"""Boxes that go down the tree together."""

Codes = NDArray[np.int32]


def hold(
    points: Codes, stay: Codes, low: Codes, high: Codes, since: Codes, need: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """For each box low..high whether it has as many points as it needs whose `stay` is at most `since`."""
    out = np.zeros(len(low), bool)
    if not len(points):
        return out
    # a stay is one more axis of a point, and a box reaches from the beginning to its `since`
    tree = _Halves(np.column_stack([points, stay]).astype(np.int32))
    beginning = np.full(len(low), np.iinfo(np.int32).min, np.int32)
    least, most = np.column_stack([low, beginning]), np.column_stack([high, since]).astype(np.int32)
    for at in range(0, len(low), AT_A_TIME):
        some = slice(at, at + AT_A_TIME)
        out[some] = tree.count(least[some], most[some], need[some]) >= need[some]
    return out


class _Halves:
    """Points halved again and again, each part on its widest axis.

    On level l part j is points[n j // 2^l : n (j + 1) // 2^l]; its halves are 2j and 2j + 1 below it.
    """

    def __init__(self, points: Codes) -> None:
        n = len(points)
        depth = 0
        while n >> depth > FEW:
            depth += 1
        extent = np.maximum(np.ptp(points, axis=0), 1)
        self.start: list[NDArray[np.int64]] = []
        self.low: list[Codes] = []
        self.high: list[Codes] = []
        for level in range(depth + 1):
            start = n * np.arange((1 << level) + 1, dtype=np.int64) >> level
            low, high = np.minimum.reduceat(points, start[:-1]), np.maximum.reduceat(points, start[:-1])
            self.start.append(start)
            self.low.append(low)
            self.high.append(high)
            if level < depth:
                part = np.repeat(np.arange(1 << level), np.diff(start))
                axis = ((high - low) / extent).argmax(axis=1)
                key = points[np.arange(n), axis[part]].astype(np.int64)
                points = points[np.argsort(part * (int(key.max()) + 1) + key, kind="stable")]
        self.points = points

    def count(self, low: Codes, high: Codes, need: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many points each box holds, as far as it needs."""
        found = np.zeros(len(low), np.int64)
        box, part = np.arange(len(low)), np.zeros(len(low), np.int64)
        for start, least, most in zip(self.start, self.low, self.high, strict=True):
            if start.size > 2:  # below the first level
                box, part = np.repeat(box, 2), np.stack([2 * part, 2 * part + 1], axis=1).ravel()
            touches = ((least[part] <= high[box]) & (most[part] >= low[box])).all(axis=1)
            box, part = box[touches], part[touches]
            inside = ((least[part] >= low[box]) & (most[part] <= high[box])).all(axis=1)
            np.add.at(found, box[inside], np.diff(start)[part[inside]])
            open_ = ~inside & (found[box] < need[box])
            box, part = box[open_], part[open_]
        for place in range(2 * FEW):  # what is left are parts of few points
            at = self.start[-1][part] + place
            there = at < self.start[-1][part + 1]
            if not there.any():
                break
            its = self.points[at[there]]
            lies = ((its >= low[box[there]]) & (its <= high[box[there]])).all(axis=1)
            np.add.at(found, box[there][lies], 1)
        return found

"""How far a group is from obeying its rules, from the counts of its values.

A group's counts stand in a tally, one slot per value of each ruled column; `present` lists the values
that may occur (those of two groups under comparison, in order), so that rare values cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "DISTINCT",
    "ENTROPY",
    "EQUAL",
    "HIERARCHY",
    "ORDERED",
    "RECURSIVE",
    "SHARE",
    "Rules",
    "violation",
]

DISTINCT, ENTROPY, RECURSIVE, SHARE, EQUAL, ORDERED, HIERARCHY = 0, 1, 2, 3, 4, 5, 6
TOLERANCE = 1e-10


class Rules(NamedTuple):
    """All rules of a table, packed.

    Rule r looks at column `column[r]`, whose `size` values have slots from `offset` on. There `share` is
    the value's share of the whole table, `up_to` the sum of shares up to it, and `sums` the sum of `up_to`
    before it (one slot more). Row l of `level` from `level_offset` on holds for each value the first
    one below its ancestor on level l, for `height` levels.
    """

    kind: NDArray[np.int64]
    column: NDArray[np.int64]
    limit: NDArray[np.float64]
    tail: NDArray[np.int64]
    size: NDArray[np.int64]
    offset: NDArray[np.int64]
    share: NDArray[np.float64]
    up_to: NDArray[np.float64]
    sums: NDArray[np.float64]
    height: NDArray[np.int64]
    level_offset: NDArray[np.int64]
    level: NDArray[np.int32]


@njit(cache=True)
def violation(rules, tally, present, many, size, room):
    """How much is lacking, summed over rules; 0 exactly where all hold.

    Needs `tally` with `size` records in all, and `present` ascending for ordered columns. `room` is
    working space of the tally's length.
    """
    total = 0.0
    for r in range(rules.kind.size):
        kind, column, limit = rules.kind[r], rules.column[r], rules.limit[r]
        at, held = rules.offset[column], many[column]
        if kind == DISTINCT:
            found = 0
            for j in range(held):
                found += tally[at + present[at + j]] > 0
            short = (limit - found) / limit
        elif kind == ENTROPY:
            mixed = 0.0
            for j in range(held):
                n = tally[at + present[at + j]]
                if n > 0:
                    mixed += n * np.log(n)
            short = (np.log(limit) - np.log(size) + mixed / size) / np.log(limit)
        elif kind == RECURSIVE:
            short = _recursive(tally, present, at, held, size, limit, rules.tail[r], room)
        elif kind == SHARE:
            most = 0
            for j in range(held):
                most = max(most, tally[at + present[at + j]])
            short = most / size - limit
        elif kind == EQUAL:
            apart = 1.0
            for j in range(held):
                slot = at + present[at + j]
                apart += abs(tally[slot] / size - rules.share[slot]) - rules.share[slot]
            short = apart / 2 - limit
        elif kind == ORDERED:
            short = _ordered(rules, tally, present, column, held, size) - limit
        else:
            short = _by_hierarchy(rules, tally, column, size, room) - limit
        if short > TOLERANCE:
            total += short
    return total


@njit(cache=True)
def _recursive(tally, present, at, held, size, c, tail, room):
    """The commonest value less c times all but the tail - 1 commonest; it must be below 0."""
    kept = 0
    for j in range(held):
        n = tally[at + present[at + j]]
        place = kept
        if kept < tail - 1:
            kept += 1
        elif kept == 0 or room[kept - 1] >= n:
            continue
        else:
            place = kept - 1
        while place > 0 and room[place - 1] < n:
            room[place] = room[place - 1]
            place -= 1
        room[place] = n
    rest = float(size)
    for j in range(kept):
        rest -= room[j]
    short = (room[0] - c * rest) / size
    # strictly below: equality lacks something too
    return short + 1e-6 if short > -TOLERANCE else 0.0


@njit(cache=True)
def _ordered(rules, tally, present, column, held, size):
    """The earth mover's distance on a line of values, 1 from first to last."""
    at = rules.offset[column]
    gaps = rules.size[column] - 1
    if gaps < 1:
        return 0.0
    total, level, begin = 0.0, 0.0, 0
    for j in range(held + 1):
        end = present[at + j] if j < held else gaps
        if j < held and tally[at + end] == 0:
            continue
        stop = min(end, gaps)
        if stop > begin:
            # from `split` on, the table's sum is above the group's
            split = begin + np.searchsorted(rules.up_to[at + begin : at + stop], level)
            total += level * (split - begin) - (rules.sums[at + split] - rules.sums[at + begin])
            total += rules.sums[at + stop] - rules.sums[at + split] - level * (stop - split)
        begin = stop
        if j < held:
            level += tally[at + end] / size
    return total / gaps


@njit(cache=True)
def _by_hierarchy(rules, tally, column, size, room):
    """The earth mover's distance where two values are as far apart as their ancestor is high."""
    at, values, height = rules.offset[column], rules.size[column], rules.height[column]
    if height == 0:
        return 0.0
    total = 0.0
    for step in range(height):
        first = rules.level_offset[column] + step * values
        for v in range(values):
            room[v] = 0.0
        for v in range(values):
            room[rules.level[first + v]] += tally[at + v] / size - rules.share[at + v]
        for v in range(values):
            total += abs(room[v])
    return total / (2 * height)

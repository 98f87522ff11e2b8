"""How far a group is from obeying its rules, from the counts of its values.

A group's counts stand in a tally, one slot per value of each ruled column; `present` lists the values
that may occur (those of two groups under comparison, in order), so that rare values cost nothing.
`rules` are those of `model/packed_rules.py`, and the kinds stand in the order of its KINDS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner

__all__ = [
    "BOTH",
    "COLUMN",
    "DISTINCT",
    "ENTROPY",
    "EQUAL",
    "HEIGHT",
    "HIERARCHY",
    "KIND",
    "LEVELS",
    "MINE",
    "ORDERED",
    "OWN",
    "RECURSIVE",
    "SHARE",
    "SIZE",
    "SUMS",
    "TAIL",
    "THEIRS",
    "UP_TO",
    "Tallies",
    "clear",
    "lack_of_all",
    "make_tallies",
    "note",
    "shift",
    "sort_present",
    "violation",
]

DISTINCT, ENTROPY, RECURSIVE, SHARE, EQUAL, ORDERED, HIERARCHY = 0, 1, 2, 3, 4, 5, 6
KIND, COLUMN, TAIL, SIZE, HEIGHT, LEVELS = 0, 1, 2, 3, 4, 5
OWN, UP_TO, SUMS = 0, 1, 2
TOLERANCE = 1e-10
MINE, THEIRS, BOTH = np.int64(0), np.int64(1), np.int64(2)
"""The tallies."""


class Tallies(NamedTuple):
    """Where groups are counted: three tallies, the values present in each column and how many, and room."""

    records: NDArray[np.int64]
    present: NDArray[np.int64]
    many: NDArray[np.int64]
    room: NDArray[np.float64]


def make_tallies(rules) -> Tallies:
    """Three empty tallies of values, from which a violation is counted."""
    slots = rules.share.shape[1]
    return Tallies(
        np.zeros((3, slots), dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(rules.offset.size, dtype=np.int64),
        np.zeros(slots),
    )


@inner
def note(rules, tallies, value, row, held, which):
    """Count records of a distinct row into a tally of values; new values join those present."""
    for column in range(rules.offset.size):
        at = rules.offset[column]
        slot = at + value[row, column]
        if tallies.records[MINE, slot] == 0 and tallies.records[THEIRS, slot] == 0:
            tallies.present[at + tallies.many[column]] = value[row, column]
            tallies.many[column] += 1
        tallies.records[which, slot] += held


@inner
def shift(rules, tallies, value, row, held, which):
    """For a violation count records of a row, values present, in a tally; out of it for `held` below 0."""
    for column in range(rules.offset.size):
        tallies.records[which, rules.offset[column] + value[row, column]] += held


@inner
def clear(rules, tallies):
    """Forget all counts and values of a tally."""
    for column in range(rules.offset.size):
        at = rules.offset[column]
        for j in range(tallies.many[column]):
            slot = at + tallies.present[at + j]
            for which in range(3):
                tallies.records[which, slot] = 0
        tallies.many[column] = 0


@inner
def sort_present(rules, tallies):
    """Put a tally's values present in order, where an ordered rule looks at them; a heap sort."""
    for r in range(rules.limit.size):
        if rules.asked[r, KIND] != ORDERED:
            continue
        at = rules.offset[rules.asked[r, COLUMN]]
        many = tallies.many[rules.asked[r, COLUMN]]
        start, end = many // 2, many
        while end > 1:
            if start > 0:
                start -= 1
            else:
                end -= 1
                tallies.present[at], tallies.present[at + end] = (
                    tallies.present[at + end],
                    tallies.present[at],
                )
            root = start
            while 2 * root + 1 < end:
                child = 2 * root + 1
                if child + 1 < end and tallies.present[at + child] < tallies.present[at + child + 1]:
                    child += 1
                if tallies.present[at + root] >= tallies.present[at + child]:
                    break
                one = tallies.present[at + root]
                tallies.present[at + root] = tallies.present[at + child]
                tallies.present[at + child] = one
                root = child


@inner
def violation(rules, tallies, which, size):
    """How large a violation is: what a tally of `size` records lacks, over all rules; 0 where all hold.

    Needs `present` ascending for ordered columns.
    """
    total = 0.0
    for r in range(rules.limit.size):
        kind, column, limit = rules.asked[r, KIND], rules.asked[r, COLUMN], rules.limit[r]
        at, held = rules.offset[column], tallies.many[column]
        if kind == ORDERED:
            short = _ordered(rules, tallies, which, r, size) - limit
        elif kind == HIERARCHY:
            short = _by_hierarchy(rules, tallies, which, r, size) - limit
        elif kind == RECURSIVE:
            short = _recursive(rules, tallies, which, r, size)
        else:
            # the other four are sums over the values, or the most of them
            found = 0.0
            for j in range(held):
                slot = at + tallies.present[at + j]
                n = tallies.records[which, slot]
                if kind == EQUAL:
                    share = rules.share[OWN, slot]
                    found += abs(n / size - share) - share
                elif kind == SHARE:
                    found = max(found, float(n))
                elif n > 0:
                    found += 1.0 if kind == DISTINCT else n * np.log(n)
            if kind == DISTINCT:
                short = (limit - found) / limit
            elif kind == ENTROPY:
                short = (np.log(limit) - np.log(size) + found / size) / np.log(limit)
            elif kind == SHARE:
                short = found / size - limit
            else:
                short = (1.0 + found) / 2 - limit
        if short > TOLERANCE:
            total += short
    return total


@entry
def lack_of_all(rules, value, row, held, tallies):
    """The violation of all records as one group: how much they lack."""
    size = np.int64(0)
    for i in range(row.size):
        note(rules, tallies, value, row[i], held[i], MINE)
        size += held[i]
    sort_present(rules, tallies)
    lack = violation(rules, tallies, MINE, size)
    clear(rules, tallies)
    return lack


@inner
def _recursive(rules, tallies, which, r, size):
    """A violation of recursive diversity: the commonest less c times all but the tail - 1 commonest."""
    column, tail = rules.asked[r, COLUMN], rules.asked[r, TAIL]
    at, kept = rules.offset[column], 0
    for j in range(tallies.many[column]):
        n = tallies.records[which, at + tallies.present[at + j]]
        place = kept
        if kept < tail - 1:
            kept += 1
        elif kept == 0 or tallies.room[kept - 1] >= n:
            continue
        else:
            place = kept - 1
        while place > 0 and tallies.room[place - 1] < n:
            tallies.room[place] = tallies.room[place - 1]
            place -= 1
        tallies.room[place] = n
    rest = float(size)
    for j in range(kept):
        rest -= tallies.room[j]
    short = (tallies.room[0] - rules.limit[r] * rest) / size
    # strictly below: equality lacks something too
    return short + 1e-6 if short > -TOLERANCE else 0.0


@inner
def _ordered(rules, tallies, which, r, size):
    """A violation of closeness: the earth mover's distance on a line of values, 1 from first to last."""
    column, gaps = rules.asked[r, COLUMN], rules.asked[r, SIZE] - 1
    at, held = rules.offset[column], tallies.many[column]
    if gaps < 1:
        return 0.0
    total, level, begin = 0.0, 0.0, 0
    for j in range(held + 1):
        end = tallies.present[at + j] if j < held else gaps
        if j < held and tallies.records[which, at + end] == 0:
            continue
        stop = min(end, gaps)
        if stop > begin:
            # from `split` on, the table's sum is above the group's
            split, above = begin, stop
            while split < above:
                middle = (split + above) // 2
                if rules.share[UP_TO, at + middle] < level:
                    split = middle + 1
                else:
                    above = middle
            total += level * (2 * split - begin - stop) - 2 * rules.share[SUMS, at + split]
            total += rules.share[SUMS, at + begin] + rules.share[SUMS, at + stop]
        begin = stop
        if j < held:
            level += tallies.records[which, at + end] / size
    return total / gaps


@inner
def _by_hierarchy(rules, tallies, which, r, size):
    """A violation of closeness in a tree: the earth mover's distance, by how high ancestors are."""
    at, values = rules.offset[rules.asked[r, COLUMN]], rules.asked[r, SIZE]
    height = rules.asked[r, HEIGHT]
    total = 0.0
    for step in range(height):
        first = rules.asked[r, LEVELS] + step * values
        for v in range(values):
            tallies.room[v] = 0.0
        for v in range(values):
            tallies.room[rules.level[first + v]] += (
                tallies.records[which, at + v] / size - rules.share[OWN, at + v]
            )
        for v in range(values):
            total += abs(tallies.room[v])
    return total / (2 * max(height, 1))

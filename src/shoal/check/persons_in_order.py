"""Who stands behind the lines of a large table, class by class; told beside it by numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.check.persons import Standing

__all__ = ["Told", "count_in_classes", "persons_by_class", "standing_by_class"]

Integers = NDArray[np.int64]
Told = Callable[[int, int], NDArray[np.integer]]
"""Gives what is told of `many` lines from the `first` on: the number of a person, 0 where it is missing."""
AT_ONCE = 1 << 20
"""Lines that are looked at together, about."""
REMEMBERED = 8_000_000
"""Persons that are remembered at a time: 128 MB."""


def _chunks(ends: Integers) -> Iterator[tuple[int, int, int, int]]:
    """Classes of about so many lines in all: the first and the end of them, and of their lines."""
    at = begin = 0
    while at < ends.size:
        after = max(int(np.searchsorted(ends, begin + AT_ONCE, side="right")), at + 1)
        yield at, after, begin, int(ends[after - 1])
        at, begin = after, int(ends[after - 1])


def _pairs(ends: Integers, persons: Told) -> Iterator[tuple[Integers, NDArray[np.integer]]]:
    """Every pair of a class and a person in it, once, classes in order."""
    for first, after, begin, end in _chunks(ends):
        if after - first == 1:  # a class may be larger than memory, if not its persons
            who: NDArray[np.integer] = np.zeros(0, dtype=np.int64)
            for at in range(begin, end, AT_ONCE):
                who = np.union1d(who, persons(at, min(AT_ONCE, end - at)))
            yield np.full(who.size, first), who
            continue
        label = np.repeat(np.arange(first, after), np.diff(ends[first:after], prepend=begin))
        who = persons(begin, end - begin)
        order = np.lexsort((who, label))
        label, who = label[order], who[order]
        new = np.r_[True, (label[1:] != label[:-1]) | (who[1:] != who[:-1])]
        yield label[new], who[new]


def persons_by_class(ends: Integers, persons: Told) -> Integers:
    """How many different persons each class holds; those who are missing may all be one."""
    held = np.zeros(ends.size, dtype=np.int64)
    for label, _ in _pairs(ends, persons):
        its = np.bincount(label - label[0])
        held[label[0] : label[0] + its.size] += its
    return held


def standing_by_class(ends: Integers, persons: Told) -> Standing:
    """The same, and how many persons have which smallest class; persons are looked at in turns."""
    sizes = persons_by_class(ends, persons)
    turns = max(1, -(-int(sizes.sum()) // REMEMBERED))
    counted: dict[int, int] = {}
    for turn in range(turns):
        found: list[tuple[NDArray[np.integer], Integers]] = []
        for label, who in _pairs(ends, persons):
            mine = who % turns == turn
            found.append((who[mine], sizes[label[mine]]))
        for size, many in zip(*np.unique(_least(found), return_counts=True), strict=True):
            counted[int(size)] = counted.get(int(size), 0) + int(many)
    smallest = np.array(sorted(counted), dtype=np.int64)
    return Standing(
        sizes, smallest, np.array([counted[size] for size in smallest.tolist()], dtype=np.int64)
    )


def count_in_classes(ends: Integers, told: Told) -> Integers:
    """Of how many lines of each class something is told."""
    found = np.zeros(ends.size, dtype=np.int64)
    for first, after, begin, end in _chunks(ends):
        starts = np.append(begin, ends[first : after - 1]) - begin
        if after - first == 1:
            parts = (told(at, min(AT_ONCE, end - at)) for at in range(begin, end, AT_ONCE))
            found[first] = sum(int(np.count_nonzero(part)) for part in parts)
        else:
            found[first:after] = np.add.reduceat(told(begin, end - begin).astype(np.int64), starts)
    return found


def _least(found: list[tuple[NDArray[np.integer], Integers]]) -> Integers:
    """The smallest of the classes of every person."""
    if not found:
        return np.zeros(0, dtype=np.int64)
    who = np.concatenate([one for one, _ in found])
    size = np.concatenate([its for _, its in found])
    order = np.lexsort((size, who))
    who, size = who[order], size[order]
    first = np.r_[True, who[1:] != who[:-1]] if who.size else np.zeros(0, dtype=np.bool_)
    return size[first]

"""Which school each person of a register belongs to: those whose values are listed together, once.

A school is at least k persons, and the rules hold in its list. A list never changes. Whoever has a school
stays in it, also where he leaves and returns. One whose value has left his list may be listed anew, with
persons who are listed for the first time, if that list shares no value with any list he was ever in, if
no other who is listed anew there was in a list with a value of his, and if the rules still hold
(docs/proofs/series.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standing.least import price_of
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE, Rule
from shoal.model.standing import Ground

__all__ = ["Enlisted", "Listed", "enlist", "obeys"]

LOOKS = 512
"""New schools that one whose value has left his list looks at: those nearest on the first axis."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """All entries so far: the school of each, and per sensitive column the code of its value."""

    school: Rows
    values: NDArray[np.int64]

    def held(self, schools: Sequence[int]) -> list[set[int]]:
        """Per column the values that the lists of some schools hold. Needs schools in ascending order."""
        ends = np.searchsorted(self.school, [[one, one + 1] for one in schools])
        some = np.concatenate([self.values[first:last] for first, last in ends])
        return [set(column.tolist()) for column in some.T]

    def lacks(self, school: Rows, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether some value of each person is not in the list of his school."""
        out = np.zeros(school.size, bool)
        for mine, listed in zip(values.T, self.values.T, strict=True):
            room = int(max(mine.max(initial=0), listed.max(initial=0))) + 1
            out |= ~np.isin(school * room + mine, self.school * room + listed)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Enlisted:
    """The school of every row, -1 where it has none; `left` has pairs of a row and the school it left."""

    school: Rows
    left: Rows
    new: int
    outdated: int


def enlist(
    ground: Ground,
    school: Rows,
    past: Sequence[tuple[int, int]],
    listed: Listed,
    values: NDArray[np.int64],
    born: Rows,
    rules: Sequence[tuple[int, Rule]],
) -> Enlisted:
    """Give new schools to those `born` into groups, and perhaps to those whose value left its list.

    `past` has pairs of a row and a school it left before; `values` are codes by row and sensitive column,
    `rules` come with the place of their column.
    """
    school = school.copy()
    first = int(max(listed.school.max(initial=0), school.max(initial=0))) + 1
    outdated = np.zeros(school.size, bool)
    had = np.flatnonzero(school >= 0)
    outdated[had] = listed.lacks(school[had], values[had])
    rows = np.flatnonzero(born >= 0)
    groups = int(born.max(initial=-1)) + 1
    school[rows] = first + born[rows]
    left: list[tuple[int, int]] = []
    anew = np.flatnonzero(outdated)
    if groups and anew.size and not any(rule.kind == CLOSE for _, rule in rules):
        schools = _Schools(ground, values, born, groups)
        before: dict[int, list[int]] = {}
        for row, old in past:
            before.setdefault(row, []).append(old)
        for row in anew.tolist():
            was = int(school[row])
            barred = listed.held([was, *before.get(row, ())])
            number = schools.take(row, barred, rules)
            if number is not None:
                left.append((row, was))
                school[row] = first + number
                outdated[row] = False
    pairs = np.array(left, np.int64).reshape(-1, 2)
    return Enlisted(school, pairs, groups, int(outdated.sum()))


class _Schools:
    """New schools while others join them."""

    def __init__(self, ground: Ground, values: NDArray[np.int64], born: Rows, groups: int) -> None:
        self.ground, self.values = ground, values
        rows = np.argsort(born, kind="stable")
        rows = rows[born[rows] >= 0]
        starts = np.searchsorted(born[rows], np.arange(groups))
        points = ground.points[rows]
        self.low, self.high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
        middle = self.low[:, 0].astype(np.int64) + self.high[:, 0]
        self.by_middle = np.argsort(middle, kind="stable")
        self.middle = middle[self.by_middle]
        self.members = [part.tolist() for part in np.split(rows, starts[1:])]
        columns = values.shape[1]
        self.shows = [[set(values[its, c].tolist()) for c in range(columns)] for its in self.members]
        self.kept_out: list[list[set[int]]] = [[set() for _ in range(columns)] for _ in self.members]

    def take(self, row: int, barred: list[set[int]], rules: Sequence[tuple[int, Rule]]) -> int | None:
        """The nearest school that may take a row, which then has joined it."""
        own = self.values[row].tolist()
        if any(value in out for value, out in zip(own, barred, strict=True)):
            return None
        for number in self._nearest(row):
            fits = all(
                not (shows & out) and value not in kept
                for shows, out, kept, value in zip(
                    self.shows[number], barred, self.kept_out[number], own, strict=True
                )
            )
            if fits and self._obeys(number, row, rules):
                self.members[number].append(row)
                for place, value in enumerate(own):
                    self.shows[number][place].add(value)
                    self.kept_out[number][place] |= barred[place]
                return number
        return None

    def _nearest(self, row: int) -> list[int]:
        point = self.ground.points[row]
        some = self.by_middle
        if some.size > LOOKS:
            aim = 2 * int(point[0])
            at = int(np.searchsorted(self.middle, aim))
            there = slice(max(0, at - LOOKS), at + LOOKS)
            some = some[there][np.argsort(np.abs(self.middle[there] - aim), kind="stable")[:LOOKS]]
        some = np.sort(some)
        low, high = np.minimum(self.low[some], point), np.maximum(self.high[some], point)
        cost = price_of(self.ground.metric, low, high)
        return [int(number) for number in some[np.argsort(cost, kind="stable")]]

    def _obeys(self, number: int, row: int, rules: Sequence[tuple[int, Rule]]) -> bool:
        its = [*self.members[number], row]
        return all(
            obeys(rule, np.unique(self.values[its, at], return_counts=True)[1]) for at, rule in rules
        )


def obeys(rule: Rule, counts: NDArray[np.int64]) -> bool:
    """Whether a list with so many entries of each of its values obeys a rule that is not of closeness."""
    total = float(counts.sum())
    if rule.kind == DISTINCT:
        return bool(counts.size >= rule.limit)
    if rule.kind == ENTROPY:
        share = counts / total
        return bool(np.exp(-(share * np.log(share)).sum()) >= rule.limit)
    falling = np.sort(counts)[::-1]
    if rule.kind == RECURSIVE:
        return bool(falling[0] < rule.limit * (total - falling[: rule.tail - 1].sum()))
    return bool(falling[0] / total <= rule.limit)

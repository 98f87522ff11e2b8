"""What published cells cover of the values that an outsider knows, without a table of all pairs.

The values of a column stand in one order: by number or date, or by leaf of the hierarchy. A cell covers a
run of that order, and perhaps some values besides; a blank of the register is covered by every cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.check.ruler import number_of
from shoal.model.cell import SUPPRESSED, parse_range, parse_set, parse_value

__all__ = ["Cell", "KnownColumn", "Nodes", "Side"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Cell = str | None
Side = tuple[str, str]
Nodes = Mapping[str, tuple[int, int, int]]
EVERYTHING = (-np.inf, np.inf)
NOTHING = (np.inf, -np.inf)
DAY = 24 * 60 * 60 * 1_000_000
"""A day in microseconds."""


class KnownColumn:
    """One known column: which persons have which value, and what each cell of the release covers.

    `cells` are the distinct cells, `place` the cell of each class; a side is a pair of bounds, a text any
    other cell, None a blank, which covers nothing but what is unknown.
    """

    def __init__(
        self,
        person: Integers,
        values: Sequence[Cell],
        cells: Sequence[Cell | Side],
        place: Integers,
        nodes: Nodes | None,
    ) -> None:
        self.place = place
        self.kind, numbers = _numbers(values)
        self.by_day = self.kind == "date" and _speaks_of_days(values, cells)
        if self.by_day:
            numbers = np.array([np.nan if one is None else self._number(one) for one in values])
        if nodes is not None:
            leaves = [nodes.get(value, (np.nan,))[0] if value is not None else np.nan for value in values]
            numbers = np.array(leaves, dtype=np.float64)
        self.by_leaf = nodes is not None
        at = {value: number for number, value in enumerate(values) if value is not None}
        read = [self._read(cell, at, nodes) for cell in cells]
        self.low = np.array([ends[0] for ends, _ in read])
        self.high = np.array([ends[1] for ends, _ in read])
        self.extra = [extra for _, extra in read]
        self.number = numbers
        self.unknown = np.array([value is None for value in values], dtype=np.bool_)
        # persons by number; those without one come last and are in no run
        self.person = person
        self.order = np.argsort(numbers[person], kind="stable")
        sorted_ = numbers[person][self.order]
        alive = int(np.count_nonzero(~np.isnan(sorted_)))
        self.first = np.searchsorted(sorted_[:alive], self.low, side="left")
        self.last = np.searchsorted(sorted_[:alive], self.high, side="right")
        self.blank = np.flatnonzero(self.unknown[person])
        self.by_value = np.argsort(person, kind="stable")
        self.start = np.searchsorted(person[self.by_value], np.arange(len(values) + 1))
        # what each cell covers besides its run, as one sorted list of cell and value
        beside = [cell * len(values) + extra for cell, extra in enumerate(self.extra)]
        self.values = len(values)
        self.beside = np.concatenate([*beside, [np.iinfo(np.int64).max]]).astype(np.int64)
        self.wide = np.isneginf(self.low) & np.isposinf(self.high)
        self.covered = np.maximum(self.last - self.first, 0) + self.blank.size
        self.covered[self.wide] = person.size
        persons = np.diff(self.start)
        for number, extra in enumerate(self.extra):
            if extra.size:
                self.covered[number] += int(persons[extra].sum())

    def _read(
        self, cell: Cell | Side, at: Mapping[str, int], nodes: Nodes | None
    ) -> tuple[tuple[float, float], Integers]:
        """The run that a cell covers, as numbers, and the values that it covers besides."""
        nothing = np.zeros(0, dtype=np.int64)
        if cell is None:
            return NOTHING, nothing
        if isinstance(cell, tuple):
            return self._between(*cell), nothing
        if cell == SUPPRESSED:
            return EVERYTHING, nothing
        if not (cell.startswith("{") and cell.endswith("}")):
            node = nodes.get(parse_value(cell)) if nodes is not None else None
            if node is not None:
                return (float(node[0]), float(node[1])), nothing
            ends = self._between(*parse_range(cell)) if nodes is None else NOTHING
            if ends != NOTHING:
                return ends, nothing
        members = [at[member] for member in parse_set(cell) if member is not None and member in at]
        return NOTHING, np.unique(np.array(members, dtype=np.int64))

    def _between(self, low: str, high: str) -> tuple[float, float]:
        ends = self._number(low), self._number(high)
        return NOTHING if np.isnan(ends).any() else ends

    def _number(self, text: str) -> float:
        """A value or an end as a number, NaN if it is none; moments by day where one side knows days."""
        number = number_of(text, self.kind)
        if number is None:
            return np.nan
        return number // DAY if self.by_day and len(text) != len("YYYY-MM-DD") else number

    def many(self) -> Integers:
        """About how many persons the cell of each class covers."""
        return np.asarray(self.covered[self.place])

    def look_up(self, number: int) -> Integers:
        """The persons that the cell of a class covers."""
        cell = self.place[number]
        if self.wide[cell]:
            return np.arange(self.person.size)
        run = self.order[self.first[cell] : max(self.last[cell], self.first[cell])]
        more = [self.by_value[self.start[value] : self.start[value + 1]] for value in self.extra[cell]]
        return np.concatenate([run, self.blank, *more]) if more or self.blank.size else run

    def fits(self, numbers: Integers, persons: Integers) -> NDArray[np.bool_]:
        """In which pairs the cell of the class covers the person."""
        cell, value = self.place[numbers], self.person[persons]
        x = self.number[value]
        fit = (x >= self.low[cell]) & (x <= self.high[cell]) | self.unknown[value] | self.wide[cell]
        if self.beside.size > 1:
            key = cell * self.values + value
            fit |= self.beside[np.searchsorted(self.beside, key)] == key
        return np.asarray(fit)

    def distances(self, persons: Integers) -> Floats:
        """How far some persons are from every class, as shares of the farthest; 1 where nobody knows."""
        value, at = np.unique(self.person[persons], return_inverse=True)
        x = self.number[value][:, None]
        away = np.maximum(0.0, np.maximum(self.low - x, x - self.high))
        away[:, self.wide] = 0.0
        away = np.nan_to_num(away, nan=np.inf, posinf=np.inf)
        if self.by_leaf:  # leaves are near or not: their order is no distance
            away[away > 0] = np.inf
        else:
            away = np.where(np.isfinite(away), away / self._farthest(), away)
        for cell, extra in enumerate(self.extra):
            if extra.size:
                away[np.isin(value, extra), cell] = 0.0
        away[self.unknown[value]] = 0.0
        return np.asarray(np.minimum(away, 1.0)[at.ravel()[:, None], self.place])

    def _farthest(self) -> float:
        """The largest distance of any value from any cell, 1 where there is none."""
        x = self.number[~np.isnan(self.number)]
        ends = np.isfinite(self.low) & np.isfinite(self.high)
        if not x.size or not ends.any():
            return 1.0
        most = max(float(self.low[ends].max() - x.min()), float(x.max() - self.high[ends].min()))
        return most if most > 0 else 1.0


def _speaks_of_days(values: Sequence[Cell], cells: Sequence[Cell | Side]) -> bool:
    """Whether a value of the register, or an end of a cell of the release, is a day without a time."""
    ends = (end for cell in cells if cell for end in (parse_range(cell) if isinstance(cell, str) else cell))
    return any(
        len(text) == len("YYYY-MM-DD") and number_of(text, "date") is not None
        for text in (*(value for value in values if value), *ends)
    )


def _numbers(values: Sequence[Cell]) -> tuple[str, Floats]:
    """The values as numbers or, where more of them are that, as dates; NaN where they are neither."""
    found = {}
    for kind in ("number", "date"):
        read = (None if value is None else number_of(value, kind) for value in values)
        found[kind] = np.array([np.nan if one is None else one for one in read], dtype=np.float64)
    kind = max(found, key=lambda name: np.count_nonzero(~np.isnan(found[name])))
    return kind, found[kind]

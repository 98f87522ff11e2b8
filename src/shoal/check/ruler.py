"""Reads one published cell of one column: what it covers and how much it loses.

What a cell means is said here and nowhere else; `check/readings` reads many at once and must say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from shoal.check.ends import is_beyond
from shoal.model.cell import SUPPRESSED, parse_box, parse_range, parse_set, parse_value
from shoal.model.column import SET, Column
from shoal.model.hierarchy import Builder

__all__ = [
    "NODES",
    "PLACES",
    "RANGES",
    "ROUNDING",
    "SETS",
    "STARS",
    "Reading",
    "Ruler",
    "number_of",
    "place_ruler",
    "ruler_of",
]

RANGES, NODES, SETS, STARS, PLACES = "ranges", "nodes", "sets", "stars", "places"
"""How a column is published: number and date ranges, nodes of a tree, sets, values or stars, rectangles."""

ROUNDING = 1e-9
"""By how much of itself a range may be wider than its table, since floats are rounded."""
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Reading:
    """A cell understood: the share of the column it loses, and the codes it covers.

    `codes` are runs of codes, both ends included; None where the ruler does not know the column's
    values. A run that ends before it begins covers nothing. `across` is the same on the second axis of a
    place.
    """

    span: float
    codes: tuple[tuple[int, int], ...] | None = None
    across: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """How to read the cells of one column.

    A suppressed cell loses the whole column, whatever stands in it: it tells nothing. `missing` is the code
    of missing cells: -1 where the column has none, None where that is not known. What is None of `nodes`
    (name -> first leaf, last leaf, level), `places` (value -> code) and `numbers` (value of each code) is
    not known and not judged. A cell that tells more than the ends of `coding` let it does not fit. A place
    has two `sides`, each read like a range and divided by the whole; `parts` are the columns it is made of.
    """

    name: str
    weight: float
    denominator: float
    published: str
    kind: str = "number"
    by_levels: bool = False
    missing: int | None = None
    size: int = 0
    nodes: Mapping[str, tuple[int, int, int]] | None = None
    places: Mapping[str, int] | None = None
    numbers: NDArray[np.float64] | None = None
    sides: tuple[Ruler, ...] = ()
    parts: tuple[str, ...] = ()
    coding: Builder | None = None

    def read(self, cell: str | None) -> Reading | None:
        """Understand a cell; None where it does not fit the column."""
        if self.published == PLACES:
            return self._place_text(cell)
        if cell is None:
            return None if self.missing == -1 else Reading(0.0, self._run(self.missing))
        if cell == SUPPRESSED:
            return self._anything()
        if self.coding is not None and is_beyond(cell, self.coding):
            return None
        if self.published == RANGES:
            return self._between(*parse_range(cell))
        if self.published == NODES:
            return self._node(cell)
        if self.published == SETS:
            return self._set(cell)
        return self._value(cell)

    def read_ends(self, low: str | None, high: str | None) -> Reading | None:
        """Understand two typed bounds. Null may hide a mix with missing cells: it counts in full."""
        if low is None and high is None:
            return None if self.missing == -1 else self._anything()
        if low is None or high is None:
            return None
        return self._between(low, high)

    def read_box(self, ends: Sequence[str | None]) -> Reading | None:
        """Understand four typed bounds of a place. Null may hide a mix with missing: it counts in full."""
        if all(end is None for end in ends):
            return None if self.missing == -1 else self._everywhere()
        low, high, left, right = ends
        if low is None or high is None or left is None or right is None:
            return None
        return self._box([(low, high), (left, right)])

    def _place_text(self, cell: str | None) -> Reading | None:
        if cell is None:
            if self.missing == -1:
                return None
            runs = [side._run(side.missing) for side in self.sides]
            return Reading(0.0, *runs)
        return self._everywhere() if cell == SUPPRESSED else self._box(parse_box(cell))

    def _everywhere(self) -> Reading:
        runs = [((0, side.size - 1),) if side.size else None for side in self.sides]
        return Reading(1.0, *runs)

    def _anything(self) -> Reading:
        return Reading(1.0, ((0, self.size - 1),) if self.size else None)

    def _box(self, pairs: Sequence[tuple[str, str]]) -> Reading | None:
        if len(pairs) != len(self.sides):
            return None
        found = [side._between(*pair) for side, pair in zip(self.sides, pairs, strict=True)]
        spans = [reading.span for reading in found if reading is not None]
        if len(spans) != len(pairs) or sum(spans) > 1 + ROUNDING:
            return None
        return Reading(min(1.0, sum(spans)), *(reading.codes for reading in found if reading is not None))

    def _between(self, low: str, high: str) -> Reading | None:
        least, greatest = number_of(low, self.kind), number_of(high, self.kind)
        if least is None or greatest is None or greatest < least:
            return None
        width = greatest - least
        if width > self.denominator * (1 + ROUNDING):
            return None  # wider than the whole table
        span = min(1.0, width / self.denominator) if self.denominator > 0 else 0.0
        if self.numbers is None:
            return Reading(span)
        first = int(np.searchsorted(self.numbers, least))
        last = int(np.searchsorted(self.numbers, greatest, side="right")) - 1
        return Reading(span, ((first, last),))

    def _node(self, cell: str) -> Reading | None:
        node = self.nodes.get(parse_value(cell)) if self.nodes is not None else None
        if node is None:
            return None
        first, last, level = node
        width = level if self.by_levels else last - first
        return Reading(
            width / self.denominator if self.denominator > 0 else 0.0,
            ((first, last),),
        )

    def _set(self, cell: str) -> Reading | None:
        members = set(parse_set(cell))
        codes = []
        for member in members:
            code = self.missing if member is None else self._place(member)
            if code == -1:
                return None
            codes.append(code)
        if len(members) - 1 > self.denominator:
            return None
        span = (len(members) - 1) / self.denominator if self.denominator > 0 else 0.0
        known = [code for code in codes if code is not None]
        runs = tuple((code, code) for code in sorted(known))
        return Reading(span, runs if len(known) == len(codes) else None)

    def _value(self, cell: str) -> Reading | None:
        code = self._place(parse_value(cell))
        return None if code == -1 else Reading(0.0, self._run(code))

    def _place(self, value: str) -> int | None:
        """A value's code, -1 where the column lacks it, None where its values are not known."""
        return None if self.places is None else self.places.get(value, -1)

    @staticmethod
    def _run(code: int | None) -> tuple[tuple[int, int], ...] | None:
        return None if code is None else ((code, code),)


def ruler_of(column: Column, *, loss: str, coding: Builder | None = None) -> Ruler | None:
    """The ruler of a coded column; None for kinds that are not published as one cell."""
    if len(column.axes) == 2:
        return place_ruler(
            column.name,
            column.weight,
            column.denominator,
            column.parts,
            numbers=column.numbers,
            missing=column.axes[0].missing,
        )
    axis = column.axes[0]
    places = None
    nodes = None
    numbers = None
    if axis.form == SET:
        published = SETS
        places = {value: code for code, value in enumerate(column.values)}
    elif column.numbers:
        published = RANGES
        numbers = column.numbers[0]
    elif column.hierarchy is not None:
        published = NODES
        nodes = column.hierarchy.nodes()
    else:
        published = STARS
        places = {value: code for code, value in enumerate(column.values)}
    return Ruler(
        name=column.name,
        weight=column.weight,
        denominator=column.denominator,
        published=published,
        kind=column.kind,
        by_levels=loss == "levels",
        missing=axis.missing,
        size=axis.size,
        nodes=nodes,
        places=places,
        numbers=numbers,
        coding=coding,
    )


def place_ruler(
    name: str,
    weight: float,
    denominator: float,
    parts: tuple[str, ...],
    *,
    numbers: tuple[NDArray[np.float64], ...] = (),
    missing: int | None = None,
) -> Ruler:
    """The ruler of a place; without `numbers` it measures but does not know what a cell covers."""
    known: Sequence[NDArray[np.float64] | None] = numbers or (None, None)
    has_missing = missing is not None and missing >= 0
    sides = tuple(
        Ruler(
            name=name,
            weight=weight,
            denominator=denominator,
            published=RANGES,
            missing=None if values is None else values.size if has_missing else -1,
            size=0 if values is None else values.size + has_missing,
            numbers=values,
        )
        for values in known
    )
    return Ruler(
        name=name,
        weight=weight,
        denominator=denominator,
        published=PLACES,
        kind="place",
        missing=missing,
        sides=sides,
        parts=parts,
    )


def number_of(text: str, kind: str) -> float | None:
    """A published number, date (in days) or moment (in microseconds) as a float; None if it is none.

    >>> number_of("25", "number"), number_of("1970-01-03", "date"), number_of("x", "number")
    (25.0, 2.0, None)
    """
    try:
        if kind != "date":
            number = float(text)
            return number if math.isfinite(number) and "_" not in text else None
        if len(text) == 10:
            return float((date.fromisoformat(text) - date(1970, 1, 1)).days)
        moment = datetime.fromisoformat(text).replace(tzinfo=None)
        return float((moment - datetime(1970, 1, 1)) // _MICROSECOND)
    except ValueError:
        return None

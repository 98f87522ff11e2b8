"""Rows recoded as an earlier release was: each goes to the cheapest of the boxes that hold it.

A box is a line of `ends` (ranges), of node numbers or of members, by the sort of each column. Two boxes are
joined by the smallest cell that covers both; where there is none, by a star.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.model.cell import (
    SUPPRESSED,
    parse_range,
    parse_set,
    parse_value,
    print_range,
    print_set,
    print_value,
)
from shoal.model.column import SET, Column
from shoal.model.hierarchy import Builder
from shoal.model.plan import Plan
from shoal.model.recoding import Coarse, Coarsening
from shoal.recode.generalize import EPOCH, text_of

__all__ = ["OldBoxes", "nodes_over", "recoding_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STAR, GONE = np.inf, np.nan
NODE = "\0"
"""Begins the name of a published node that stands among the values below another one."""


def recoding_of(table: pl.DataFrame, plan: Plan, columns: tuple[Column, ...]) -> Coarsening:
    """The recoding behind a published table."""
    if plan.style not in {"generalize", "suppress"} or plan.cells != "text":
        raise PlanError(
            "Only a release of ranges, nodes and sets as text can be used again. Choose the style "
            "generalize, and cells as text.",
            field="style",
        )
    coarse = []
    for column in columns:
        if column.kind in {"place", "region"}:
            raise PlanError(
                f"Column {column.name!r} is a {column.kind}, whose recoding cannot be used again.",
                field="kinds",
                column=column.name,
            )
        first = column.axes[0]
        sort = (
            "range"
            if column.numbers
            else "set"
            if first.form == SET or column.hierarchy is None
            else "node"
        )
        kind = plan.kinds.get(column.name, column.kind) if column.numbers else "label"
        nodes: dict[str, tuple[str, ...]] = {}
        given = plan.hierarchies.get(column.name)
        text = given.text if isinstance(given, Builder) and (sort == "node" or given.ends) else ""
        if sort == "node" and text:
            coarse.append(Coarse(column.name, sort, str(kind), column.form, column.weight, 0, tree=text))
            continue
        if sort == "node" and column.hierarchy is not None:
            tree = column.hierarchy
            every = tree.nodes()
            for cell in table[column.name].drop_nulls().unique(maintain_order=False).sort().to_list():
                name = parse_value(cell)
                if cell != SUPPRESSED and name in every:
                    low, high, _ = every[name]
                    nodes[name] = tree.leaves[low : high + 1]
        size = len(column.hierarchy.leaves) if column.hierarchy is not None else first.size
        coarse.append(Coarse(column.name, sort, str(kind), column.form, column.weight, size, nodes, text))
    names = [column.name for column in columns]
    faces = table.select(names).unique().sort(names, nulls_last=True)
    # a pseudonym is made of an identifier, which nobody may take for a column that is published as it is
    others = tuple(name for name in table.columns if name not in {*names, plan.pseudonym})
    return Coarsening(plan.k, tuple(coarse), tuple(faces.iter_rows()), others, plan.rules, plan.whom.unit)


def nodes_over(values: list[str], cells: list[str | None], builder: Builder) -> dict[str, tuple[str, ...]]:
    """The values below each published node of a built tree, and the published nodes below it."""
    below: dict[str, set[str]] = {
        name: {NODE + name}
        for name in (parse_value(cell) for cell in cells if cell not in {None, SUPPRESSED})
    }
    for value in values:
        try:
            path = (value, *builder.path(value))
        except (ValueError, ArithmeticError):
            path = (value,)  # it has no place in such a tree
        under = {value}
        for name in path:
            if name in below:
                below[name] |= under
                under = below[name]
    return {name: tuple(sorted(its)) for name, its in below.items()}


class _Side(Protocol):
    """The cells of all boxes in one column."""

    def holds(self) -> NDArray[np.bool_]:
        """A line per distinct value of the new rows and a place per box: whether the box holds it."""

    def join(self, one: int) -> tuple[Floats, object]:
        """What each box would cost joined with box `one`, and the joined cells."""

    def take(self, place: int, joined: object) -> None:
        """Make the box at `place` what it became."""

    def costs(self) -> Floats:
        """What each box costs."""

    def now(self) -> object:
        """The cells as they are."""

    def show(self, cells: object, place: int) -> str | None:
        """One of these cells as it is published."""


class _RangeCells:
    """Low and high ends; both infinite for a star, both nothing for a missing cell."""

    def __init__(self, coarse: Coarse, cells: list[str | None], values: Floats, has_missing: bool) -> None:
        self.form = coarse.form
        if self.form == "integer" and (values % 1 != 0).any():  # a box that is widened must show its parts
            self.form = "float"
        self.weight = coarse.weight
        ends = [self._ends(cell) for cell in cells]
        own = [*((value, value) for value in values.tolist()), *([(GONE, GONE)] if has_missing else [])]
        self.values = len(own)
        self.low: Floats = np.array([low for low, _ in (*own, *ends)])
        self.high: Floats = np.array([high for _, high in (*own, *ends)])
        known = np.isfinite(self.low)
        whole = np.ptp(np.r_[self.low[known], self.high[known]]) if known.any() else 0.0
        self.whole = float(whole) or 1.0

    def _ends(self, cell: str | None) -> tuple[float, float]:
        if cell is None:
            return GONE, GONE
        if cell == SUPPRESSED:
            return -STAR, STAR
        low, high = parse_range(cell)
        return self._number(low), self._number(high)

    def _number(self, text: str) -> float:
        if self.form == "date":
            return float((date.fromisoformat(text) - EPOCH.date()).days)
        if self.form == "datetime":
            return (datetime.fromisoformat(text) - EPOCH).total_seconds() * 1e6
        return float(text)

    def holds(self) -> NDArray[np.bool_]:
        value = self.low[: self.values, None]
        missing = np.isnan(value)
        return np.where(
            missing,
            np.isnan(self.low)[None, :] | np.isinf(self.low)[None, :],
            (self.low[None, :] <= value) & (value <= self.high[None, :]),
        )

    def _cost(self, low: Floats, high: Floats) -> Floats:
        span = np.where(np.isnan(low), 0.0, (high - low) / self.whole)
        return self.weight * np.minimum(span, 1.0)

    def costs(self) -> Floats:
        return self._cost(self.low, self.high)

    def join(self, one: int) -> tuple[Floats, tuple[Floats, Floats]]:
        mixed = np.isnan(self.low) != np.isnan(self.low[one])
        low = np.where(mixed, -STAR, np.minimum(self.low, self.low[one]))
        high = np.where(mixed, STAR, np.maximum(self.high, self.high[one]))
        return self._cost(low, high), (low, high)

    def take(self, place: int, joined: object) -> None:
        for mine, its in zip((self.low, self.high), joined, strict=True):  # type: ignore[call-overload]
            mine[place] = its[place]

    def now(self) -> tuple[Floats, Floats]:
        return self.low, self.high

    def show(self, cells: object, place: int) -> str | None:
        low, high = (float(ends[place]) for ends in cells)  # type: ignore[attr-defined]
        if np.isnan(low):
            return None
        if np.isinf(low):
            return SUPPRESSED
        return print_range(text_of(low, self.form), text_of(high, self.form))


class _NodeCells:
    """Numbers of nodes: published ones, and each new value by itself; the last two are star and missing."""

    def __init__(
        self, coarse: Coarse, cells: list[str | None], values: list[str], has_missing: bool
    ) -> None:
        below = {name: frozenset(leaves) for name, leaves in coarse.nodes.items()}
        for value in values:
            below.setdefault(value, frozenset({value}))
        self.names = list(below)
        self.star = len(self.names)
        self.missing = self.star + 1
        self.weight = coarse.weight
        sizes = [len(leaves) - 1 for leaves in below.values()]
        others = [max(0, sum(not leaf.startswith(NODE) for leaf in its) - 1) for its in below.values()]
        self.price = (
            np.array([*(many / max(coarse.size - 1, 1) for many in others), 1.0, 0.0]) * coarse.weight
        )
        place = {name: at for at, name in enumerate(self.names)}
        self.over = np.full((self.star + 2, self.star + 2), self.star)
        by_size = sorted(range(self.star), key=lambda at: sizes[at])
        sets = list(below.values())
        for a in range(self.star):
            for b in range(a, self.star):
                both = sets[a] | sets[b]
                found = next(
                    (at for at in by_size if sizes[at] + 1 >= len(both) and both <= sets[at]), self.star
                )
                self.over[a, b] = self.over[b, a] = found
        self.over[self.missing, self.missing] = self.missing
        own = [*(place[value] for value in values), *([self.missing] if has_missing else [])]
        self.values = len(own)
        boxes = [
            self.missing if cell is None else self.star if cell == SUPPRESSED else place[parse_value(cell)]
            for cell in cells
        ]
        self.node = np.array([*own, *boxes])

    def holds(self) -> NDArray[np.bool_]:
        return np.asarray(
            self.over[self.node[: self.values, None], self.node[None, :]] == self.node[None, :]
        )

    def costs(self) -> Floats:
        return np.asarray(self.price[self.node])

    def join(self, one: int) -> tuple[Floats, Integers]:
        joined = self.over[self.node, self.node[one]]
        return self.price[joined], joined

    def take(self, place: int, joined: object) -> None:
        self.node[place] = joined[place]  # type: ignore[index]

    def now(self) -> Integers:
        return self.node

    def show(self, cells: object, place: int) -> str | None:
        at = int(cells[place])  # type: ignore[index]
        return (
            None if at == self.missing else SUPPRESSED if at == self.star else print_value(self.names[at])
        )


class _SetCells:
    """Members; the last value is missing. All true for a star, which holds what nobody named, too."""

    def __init__(
        self, coarse: Coarse, cells: list[str | None], values: list[str], has_missing: bool
    ) -> None:
        self.weight = coarse.weight
        known: dict[str | None, None] = {}
        parsed = [None if cell == SUPPRESSED else parse_set(cell) for cell in cells]
        for members in (*parsed, values):
            known |= dict.fromkeys(members or ())
        self.members: list[str | None] = [*sorted(value for value in known if value is not None), None]
        place = {value: at for at, value in enumerate(self.members)}
        own: list[tuple[str | None, ...]] = [
            *((value,) for value in values),
            *([(None,)] if has_missing else []),
        ]
        self.values = len(own)
        self.inside = np.zeros((len(own) + len(cells), len(place)), dtype=np.bool_)
        for at, members in enumerate([*own, *parsed]):
            self.inside[
                at, list(range(len(place))) if members is None else [place[one] for one in members]
            ] = True
        self.others = max(coarse.size - 1, 1)

    def holds(self) -> NDArray[np.bool_]:
        own = self.inside[: self.values].argmax(axis=1)
        return np.asarray(self.inside[:, own].T)

    def _cost(self, inside: NDArray[np.bool_]) -> Floats:
        return np.asarray(self.weight * np.minimum((inside.sum(axis=1) - 1) / self.others, 1.0))

    def costs(self) -> Floats:
        return self._cost(self.inside)

    def join(self, one: int) -> tuple[Floats, NDArray[np.bool_]]:
        joined = self.inside | self.inside[one]
        return self._cost(joined), joined

    def take(self, place: int, joined: object) -> None:
        self.inside[place] = joined[place]  # type: ignore[index]

    def now(self) -> NDArray[np.bool_]:
        return self.inside

    def show(self, cells: object, place: int) -> str | None:
        inside = cells[place]  # type: ignore[index]
        if inside.all() and inside.size > 1:
            return SUPPRESSED
        return print_set(value for value, is_in in zip(self.members, inside.tolist(), strict=True) if is_in)


class OldBoxes:
    """The boxes of a recoding, and the distinct values of the rows that are to be recoded.

    `values` has the distinct values of each column, numbers as floats, others as text; `codes` a line per
    row and a place among those values for each column, the place behind the last where a cell is missing.
    """

    def __init__(self, recoding: Coarsening, values: list[Floats | list[str]], codes: Integers) -> None:
        self.codes = codes
        self.boxes = len(recoding.boxes)
        self.sides: list[_Side] = []
        self.starts: list[int] = []
        for at, coarse in enumerate(recoding.columns):
            cells = [box[at] for box in recoding.boxes]
            has_missing = bool((codes[:, at] == len(values[at])).any())
            self.starts.append(len(values[at]) + has_missing)
            make = {"range": _RangeCells, "node": _NodeCells, "set": _SetCells}[coarse.sort]
            try:
                self.sides.append(make(coarse, cells, values[at], has_missing))
            except (ValueError, KeyError):
                raise DataError(
                    "The recoding cannot be read: it is damaged, or another file. Write it anew."
                ) from None

    def fit(self, most: int = 2_000) -> Integers:
        """The cheapest box that holds each row, -1 where none does."""
        cost = sum(side.costs()[start:] for side, start in zip(self.sides, self.starts, strict=True))
        held = [side.holds()[:, start:] for side, start in zip(self.sides, self.starts, strict=True)]
        found = np.empty(len(self.codes), dtype=np.int64)
        for first in range(0, len(self.codes), most):
            part = self.codes[first : first + most]
            inside = np.ones((len(part), self.boxes), dtype=np.bool_)
            for at, holds in enumerate(held):
                inside &= holds[part[:, at]]
            best = np.where(inside, cost, np.inf)
            found[first : first + most] = np.where(inside.any(axis=1), best.argmin(axis=1), -1)
        return found

    def cells(self, box: int) -> tuple[str | None, ...]:
        """A box as it is published."""
        sides = zip(self.sides, self.starts, strict=True)
        return tuple(side.show(side.now(), start + box) for side, start in sides)

    def widened(self, row: int) -> tuple[str | None, ...]:
        """The cells of the box that costs least to widen for a row; the boxes stay as they are."""
        box, joined = self._joined(row)
        sides = zip(self.sides, self.starts, joined, strict=True)
        return tuple(side.show(cells, start + box) for side, start, cells in sides)

    def widen(self, row: int) -> int:
        """Widen the box that costs least to hold a row."""
        box, joined = self._joined(row)
        for side, start, cells in zip(self.sides, self.starts, joined, strict=True):
            side.take(start + box, cells)
        return box

    def _joined(self, row: int) -> tuple[int, list[object]]:
        total = np.zeros(self.boxes)
        joined = []
        for at, (side, start) in enumerate(zip(self.sides, self.starts, strict=True)):
            cost, cells = side.join(int(self.codes[row, at]))
            total += cost[start:]
            joined.append(cells)
        return int(total.argmin()), joined

    def merge(self, label: Integers, k: int) -> Integers:
        """Join the smallest box below k with the one that costs least, until all that are used hold k."""
        label = label.copy()
        size = np.bincount(label[label >= 0], minlength=self.boxes)
        into = np.arange(self.boxes)
        while True:
            small = np.flatnonzero((size > 0) & (size < k))
            if not small.size or (size > 0).sum() < 2:
                break
            one = int(small[size[small].argmin()])
            added, joined = np.zeros(self.boxes), []
            for side, start in zip(self.sides, self.starts, strict=True):
                cost, cells = side.join(start + one)
                now = side.costs()[start:]
                added += cost[start:] * (size + size[one]) - now * size - now[one] * size[one]
                joined.append(cells)
            added[(size == 0) | (np.arange(self.boxes) == one)] = np.inf
            other = int(added.argmin())
            for side, start, cells in zip(self.sides, self.starts, joined, strict=True):
                side.take(start + other, cells)
            size[other] += size[one]
            size[one] = 0
            into[into == one] = other
        return np.where(label >= 0, into[label], -1)

"""Random small tables with all that a plan may ask, and the best release of each by every objective.

Nothing here knows how Shoal computes a bound: costs come from raw cells, the best from all partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from datetime import date, timedelta
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl

from every_kind import Small
from naive import Cells, Table, span
from naive_cellular import least_cells
from naive_levels import all_choices
from naive_radius import least_radius
from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from small_tables import starred
from tables import PATHS

__all__ = ["Solved", "best_of_groups"]

WEIGHTS = (1.0, 2.5, 0.0, 0.001, 1000.0, 2 / 3)
SCALES = (1.0, 1.0, 0.1, 5e-324, 1e-300, 1e-9, 1e9, 1e306)
"""What numbers are multiplied by: spans do not depend on it."""


def best_of_groups(
    weights: list[int],
    k: int,
    cost: Callable[[tuple[int, ...]], float],
    *,
    join: Callable[[float, float], float] = float.__add__,
    withhold: int = 0,
    full: float = 0.0,
) -> float:
    """The least cost of all ways to part items of these weights into groups of at least k, by subsets.

    `join` adds up two costs; up to `withhold` may stay out for `full` each. Infinite where there is no way.
    """
    items = range(len(weights))

    @cache
    def heavy(group: int) -> int:
        return sum(weights[at] for at in items if group >> at & 1)

    @cache
    def price(group: int) -> float:
        return float(cost(tuple(at for at in items if group >> at & 1)))

    @cache
    def best(left: int, spare: int) -> float:
        if not left:
            return 0.0
        first = left & -left
        rest = others = left ^ first
        weight = heavy(first)
        found = join(weight * full, best(rest, spare - weight)) if weight <= spare else float("inf")
        while True:
            if heavy(first | others) >= k:
                found = min(found, join(price(first | others), best(rest ^ others, spare)))
            if not others:
                return found
            others = (others - 1) & rest

    return best((1 << len(weights)) - 1, withhold)


_TYPES = {"number": pl.Float64, "date": pl.Date, "tree": pl.String, "label": pl.String}


def _frame(cells: Cells, kinds: dict[str, str], copies: Any, where: Any) -> pl.DataFrame:
    frame = pl.DataFrame(cells, schema={name: _TYPES[kinds[name]] for name in cells})
    frame = frame.with_columns(n=pl.Series(copies, dtype=pl.Int64))
    if where is None:
        return frame
    return frame.with_columns(lat=pl.Series(where[:, 0]), lon=pl.Series(where[:, 1]))


def _width(cells: set[Any], unit: float) -> float:
    """The part of a range that a group of such cells gives up."""
    if len(cells) == 1:
        return 0.0
    if None in cells or unit <= 0.0:
        return 1.0
    wide = max(cells) - min(cells)
    return min(1.0, (wide.days if isinstance(wide, timedelta) else wide) / unit)


class Solved(Small):
    """A random table of 4 to 9 records: every kind of column, and now and then what is hard on sums."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 19])
        self.k = int(rng.integers(2, 6))
        self.withhold = int(rng.choice([0, 0, 0, 1, 2]))
        records = int(rng.integers(max(4, self.k + self.withhold), 10))
        copies = rng.integers(0, 4, records) if rng.random() < 0.4 else np.ones(records, dtype=np.int64)
        copies = copies[: int(np.searchsorted(np.cumsum(copies), records)) + 1]
        copies = np.append(copies, max(0, records - copies.sum()))
        copies[-2] -= max(0, copies.sum() - records)
        rows = copies.size
        stars = bool(rng.random() < 0.25)
        if stars:
            self.withhold = int(rng.choice([0, 0, self.withhold]))
        lone = not stars and bool(rng.random() < 0.12)  # one number alone has a bound of its own
        cells: dict[str, list[Any]] = {}
        kinds: dict[str, str] = {}
        for at in range(1 if lone else int(rng.integers(1, 5))):
            kind = "number" if lone else str(rng.choice(["number", "date", "tree", "label"]))
            cells[f"{kind}{at}"] = self._values(rng, kind, rows)
            kinds[f"{kind}{at}"] = kind
        weights = {name: float(rng.choice(WEIGHTS)) for name in cells}
        weights[next(iter(cells))] = float(rng.choice([weight for weight in WEIGHTS if weight]))
        paths = {name: PATHS for name, kind in kinds.items() if kind == "tree"}
        loss = "leaves" if stars else str(rng.choice(["leaves", "levels", "sets"]))
        self.style = "suppress" if stars else "generalize"
        alone = stars or lone or rng.random() > 0.3
        where = None if alone else rng.random((rows, 2)).round(2)
        self.frame = _frame(cells, kinds, copies, where)
        self.words: dict[str, Any] = {
            "k": self.k,
            "quasi": (*cells, *([] if where is None else ["home"])),
            "kinds": kinds | ({} if where is None else {"home": "place(lat, lon)"}),
            "hierarchies": {name: Hierarchy.of_paths(its) for name, its in paths.items()},
            "weights": weights,
            "loss": loss,
            "style": self.style,
            "count": "persons(n)",
        }
        table = Table(cells, kinds, paths, weights, loss, tuple(copies.tolist()))
        self.table = starred(table) if stars else table
        self.place = where
        self.record = np.repeat(np.arange(rows), copies)
        self.unit: dict[str, float] = {}

    def seen(self, unit: Mapping[str, float]) -> Solved:
        """The same table, numbers, dates and places measured by what a certificate says to divide by."""
        other = copy(self)
        other.unit = dict(unit)
        other.__dict__.pop("apart", None)  # which may be known of the table as it is
        return other

    def clipped(self, ends: Mapping[str, tuple[Any, Any] | None]) -> Solved:
        """The table in which radii are measured: numbers and dates beyond what is published are its end.

        Where nothing of a column is published, all its values stand in one place.
        """
        unit = {}
        cells = dict(self.table.cells)
        for name, pair in ends.items():
            low, high = pair or (0, 0)
            wide = high - low
            unit[name] = float(wide.days if isinstance(wide, timedelta) else wide)
            cells[name] = [
                None if cell is None else min(high, max(low, cell)) if pair else 0 for cell in cells[name]
            ]
        other = self.seen(unit)
        other.table = replace(self.table, cells=cells)
        return other

    def cost(self, rows: list[int]) -> float:
        """What one record of a group of rows gives up, by raw cells."""
        if not self.unit:
            return super().cost(rows)
        total = 0.0
        for name, cells in self.table.cells.items():
            if name in self.unit:
                share = _width({cells[row] for row in rows}, self.unit[name])
            else:
                share = span(self.table, name, rows)
            total += self.table.weights[name] * share
        if self.place is None:
            return total
        wide = float(np.ptp(self.place[rows], axis=0).sum())
        return total + (min(1.0, wide / self.unit["home"]) if self.unit["home"] > 0 else float(wide > 0))

    def coded(self) -> Coded:
        """As Shoal sees it."""
        return encode(self.frame, Plan(**self.words))

    @cached_property
    def apart(self) -> list[list[float]]:
        """The distance of every two records."""
        far = [
            [self.cost([one, other]) for other in range(self.table.rows)] for one in range(self.table.rows)
        ]
        return [[far[one][other] for other in self.record] for one in self.record]

    def best(self, objective: str) -> float:
        """What the best release reaches: by all partitions, all centres or all choices of levels."""
        each = [1] * self.record.size

        def cost(some: tuple[int, ...]) -> float:
            return self.cost(sorted({int(self.record[at]) for at in some}))

        if objective == "loss":
            full = self.weight
            return best_of_groups(
                each, self.k, lambda some: len(some) * cost(some), withhold=self.withhold, full=full
            )
        if objective == "half-perimeter":
            return best_of_groups(each, self.k, cost, join=max, withhold=self.withhold)
        if objective == "largest":  # values stay whole, and none is withheld
            faces: Counter[Any] = Counter()
            for face, many in zip(
                zip(*self.table.cells.values(), strict=True), self.table.counts, strict=True
            ):
                faces[face] += many
            heavy = [many for many in faces.values() if many]
            return best_of_groups(heavy, self.k, lambda some: sum(heavy[at] for at in some), join=max)
        if objective == "levels":
            return min(choice.loss for choice in all_choices(self.table, self.k, self.withhold))
        if objective == "radius":
            return least_radius(self.apart, self.k, withhold=self.withhold)[0]
        return least_cells(self.apart, self.k, withhold=self.withhold)[0]

    @staticmethod
    def _values(rng: np.random.Generator, kind: str, rows: int) -> list[Any]:
        """Cells of a column: few values so that ties are common, some missing, all alike or none at all."""
        odd = rng.random()
        if odd < 0.03:
            return [None] * rows
        several = 1 if odd < 0.08 else int(rng.choice([3, 7, 30]))
        number = rng.integers(0, several, rows)
        values: list[Any]
        if kind == "number":
            values = (number * float(rng.choice(SCALES))).tolist()
        elif kind == "date":
            values = [date(2020, 1, 1) + timedelta(days=int(day)) for day in number]
        elif kind == "tree":
            values = [PATHS[int(at) % len(PATHS)][0] for at in number]
        else:
            values = [("red", "green", "blue", "grey")[int(at) % 4] for at in number]
        if rng.random() < 0.3:
            values = [None if rng.random() < 0.25 else value for value in values]
        return values

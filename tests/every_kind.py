"""Random small tables of every kind, places and counts among them, solved exactly by trying all groups."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from naive import Table, group_loss
from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from tables import PATHS, coded_of, frame_of

__all__ = ["Small"]


class Small:
    """A random small table, as Shoal sees it and as a reader does."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.k = int(rng.integers(2, 6))
        self.withhold = int(rng.choice([0, 0, 1, 2]))
        records = int(rng.integers(self.k + self.withhold, 10))
        copies = rng.integers(1, 4, records) if rng.random() < 0.4 else np.ones(records, dtype=np.int64)
        copies = copies[: int(np.searchsorted(np.cumsum(copies), records)) + 1]
        copies[-1] -= copies.sum() - records
        rows = copies.size
        cells: dict[str, list[Any]] = {}
        kinds: dict[str, str] = {}
        weights: dict[str, float] = {}
        for at in range(int(rng.integers(1, 5))):
            kind = str(rng.choice(["number", "tree", "label"]))
            name = f"{kind}{at}"
            if kind == "number":
                values: list[Any] = rng.integers(0, int(rng.choice([3, 7, 30])), rows).tolist()
            elif kind == "tree":
                values = rng.choice([path[0] for path in PATHS], rows).tolist()
            else:
                values = rng.choice(["red", "green", "blue", "grey"], rows).tolist()
            if rng.random() < 0.3:
                values = [None if rng.random() < 0.25 else value for value in values]
            cells[name], kinds[name] = values, kind
            weights[name] = float(rng.choice([1.0, 2.5, 0.0, 0.001])) if at else 1.0
        paths = {name: PATHS for name, kind in kinds.items() if kind == "tree"}
        loss = str(rng.choice(["leaves", "levels", "sets"]))
        self.table = Table(cells, kinds, paths, weights, loss, tuple(copies.tolist()))
        self.place = rng.random((rows, 2)).round(2) if rng.random() < 0.3 else None
        self.record = np.repeat(np.arange(rows), copies)

    @property
    def weight(self) -> float:
        return self.table.weight + (self.place is not None)

    def coded(self) -> Coded:
        table = self.table
        if self.place is None:
            return coded_of(table, self.k)
        frame = frame_of(table).with_columns(
            lat=pl.Series(self.place[:, 0]), lon=pl.Series(self.place[:, 1])
        )
        plan = Plan(
            k=self.k,
            quasi=(*table.cells, "home"),
            kinds=table.kinds | {"home": "place(lat, lon)"},
            hierarchies={name: Hierarchy.of_paths(paths) for name, paths in table.paths.items()},
            weights=table.weights,
            loss=table.loss,
            count="persons(n)",
        )
        return encode(frame, plan)

    def cost(self, rows: list[int]) -> float:
        """What one record of a group of rows gives up, by raw cells."""
        cost = group_loss(self.table, rows)
        if self.place is None:
            return cost
        whole = np.ptp(self.place, axis=0).sum()
        return cost + (float(np.ptp(self.place[rows], axis=0).sum() / whole) if whole > 0 else 0.0)

    def least(self) -> float:
        """The least loss of any release: the best group of the first record left, by sets of records."""
        many = self.record.size
        costs = {}
        for size in range(self.k, many + 1):
            for some in combinations(range(many), size):
                rows = sorted({int(self.record[at]) for at in some})
                costs[sum(1 << at for at in some)] = size * self.cost(rows)
        best: dict[tuple[int, int], float] = {}

        def of(left: int, quota: int) -> float:
            if not left:
                return 0.0
            if (left, quota) not in best:
                first = left & -left
                found = of(left ^ first, quota - 1) + self.weight if quota else np.inf
                rest = left ^ first
                others = rest
                while True:
                    if (its := costs.get(others | first)) is not None:
                        found = min(found, its + of(rest ^ others, quota))
                    if not others:
                        break
                    others = (others - 1) & rest
                best[left, quota] = found
            return best[left, quota]

        return of((1 << many) - 1, self.withhold)

    def own_boxes(self) -> float:
        """The sum over records of the cheapest box around each."""
        total = 0.0
        for at in range(self.record.size):
            others = [other for other in range(self.record.size) if other != at]
            total += min(
                self.cost(sorted({int(self.record[one]) for one in (at, *some)}))
                for some in combinations(others, self.k - 1)
            )
        return total

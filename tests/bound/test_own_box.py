"""The own-box bound on small tables of every kind, solved exactly by trying all groups."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numba
import numpy as np
import polars as pl
import pytest

from naive import Table, group_loss
from shoal.bound import value_of
from shoal.bound.loss import again as loss_again
from shoal.bound.loss import prove
from shoal.bound.own_box import again, prove_by_own_boxes
from shoal.encode import encode
from shoal.group.crowd import group
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task
from tables import PATHS, coded_of, frame_of, many_columns


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


def check_one(seed: int) -> tuple[float, float]:
    """Bound <= optimum <= value for one table; returns the bound and the optimum."""
    small = Small(seed)
    coded = small.coded()
    best = small.least()
    task = Task(
        k=small.k, withhold=small.withhold, effort=Effort(level=("quick", "normal", "thorough")[seed % 3])
    )
    rng = np.random.default_rng([seed, 1])  # not the luck that chose k
    cut_off = again(
        coded,
        task,
        most=int(rng.integers(1, 9)),
        deepest=int(rng.integers(1, 6)),
        looks=int(rng.integers(0, 40)),
        every=int(rng.integers(1, 4)),
    )
    proof = prove_by_own_boxes(coded, task)
    for one in (cut_off, proof, prove(coded, task)):
        assert one is not None
        assert one.bound <= best + 1e-9, one.name
        found = loss_again(coded, task, one.name, dict(one.parameters))
        assert found is not None
        assert found.bound == pytest.approx(one.bound, rel=1e-12)
    assert best <= value_of("loss", coded, group(coded, task)) + 1e-9
    return proof.bound, best


def test_no_bound_exceeds_the_optimum_and_no_value_beats_it() -> None:
    shares = [bound / best for bound, best in map(check_one, range(60)) if best > 0]
    assert np.mean(shares) > 0.6  # a bound that says nothing would pass all else


@pytest.mark.slow
def test_no_bound_exceeds_the_optimum_on_2000_tables() -> None:
    for seed in range(1000, 3000):
        check_one(seed)


@pytest.mark.parametrize("seed", range(30))
def test_searched_to_its_end_it_is_the_cheapest_box_around_every_record(seed: int) -> None:
    small = Small(seed)
    found = again(small.coded(), Task(k=small.k), most=99, deepest=99, looks=10**9, every=1)
    assert found is not None
    assert found.bound == pytest.approx(small.own_boxes(), rel=3e-5, abs=1e-9)


def test_it_is_the_same_on_one_thread_and_on_two_and_for_any_order_of_rows() -> None:
    table = many_columns(700, 3)
    coded = coded_of(table, 5)
    order = np.random.default_rng(0).permutation(700).tolist()
    moved = Table(
        {name: [cells[at] for at in order] for name, cells in table.cells.items()}, table.kinds, table.paths
    )
    task = Task(k=5)
    before = numba.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
            found.append(prove_by_own_boxes(coded, task).bound)
        found.append(prove_by_own_boxes(coded_of(moved, 5), task).bound)
    finally:
        numba.set_num_threads(before)
    assert len(set(found)) == 1
    assert found[0] > 0


def test_a_receipt_cannot_claim_a_search_that_is_none() -> None:
    coded = Small(1).coded()
    for wrong in ({"most": 0}, {"deepest": 0}, {"every": 0}):
        words = {"most": 5, "deepest": 2, "looks": 10, "every": 1} | wrong
        assert again(coded, Task(k=2), **words) is None
    assert loss_again(coded, Task(k=2), "own-box", {"most": 5}) is None

"""The own-box bound on small tables of every kind, solved exactly by trying all groups."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest

from every_kind import Small
from naive import Table
from shoal.bound import value_of
from shoal.bound.around import prove_around
from shoal.bound.loss import again as loss_again
from shoal.bound.loss import prove
from shoal.bound.neighbour import neighbour_bound
from shoal.bound.own_box import again
from shoal.group.crowd import group
from shoal.kernels.bound.own_boxes import one_in
from shoal.kernels.neighbours import tiles
from shoal.model.task import Effort, Task
from tables import coded_of, many_columns


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
    proof = prove_around(coded, task)
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


def test_no_bound_exceeds_the_optimum_where_rows_go_through_a_sieve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiles, "NARROW", 0)
    shares = [bound / best for bound, best in map(check_one, range(60, 120)) if best > 0]
    assert np.mean(shares) > 0.6


def test_more_looks_never_say_less() -> None:
    coded = coded_of(many_columns(300, 5), 6)
    found = []
    for looks in (0, 20, 100, 500, 2_000, 10_000, 10**12):  # no room is taken for what no search needs
        proof = again(coded, Task(k=6), most=299, deepest=99, looks=looks, every=1)
        assert proof is not None
        found.append(proof.bound)
    assert found == sorted(found)
    assert found[0] < found[2] < found[4] < found[-1]


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
            found.append(prove_around(coded, task).bound)
        found.append(prove_around(coded_of(moved, 5), task).bound)
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


@pytest.mark.parametrize("every", [1, 2, 3, 7, 100])
def test_one_row_in_some_of_each_tile_is_asked(every: int) -> None:
    begin = np.cumsum([0, 1, 5, 64, 7, 2])

    class Some:
        pass

    tiles: Any = Some()
    tiles.begin, tiles.place = begin, np.zeros(begin[-1])
    expected = [
        row
        for first, last in pairwise(begin.tolist())
        for row in range(first, last)
        if (row - first) % every == 0
    ]
    assert one_in(every, tiles).tolist() == expected


@pytest.mark.parametrize("kind", ["number", "label"])
def test_roundings_of_a_thousand_columns_do_not_lift_it_above_the_optimum(kind: str) -> None:
    columns, weight = 1000, 1.9599  # whose sum in single precision is too high by more than 1e-5
    cells = {f"{kind}{at}": [0, 1] if kind == "number" else ["a", "b"] for at in range(columns)}
    table = Table(cells, dict.fromkeys(cells, kind), weights=dict.fromkeys(cells, weight))
    coded = coded_of(table, 2)
    best = 2 * columns * weight
    for one in (
        again(coded, Task(k=2), most=9, deepest=9, looks=99, every=1),
        neighbour_bound(coded, Task(k=2)),
        prove_around(coded, Task(k=2)),
    ):
        assert one is not None
        assert 0.999 * best < one.bound <= best
    assert (
        loss_again(coded, Task(k=2), "in-turn", {"most": 9, "deepest": 9, "looks": 9, "passes": 2}) is None
    )

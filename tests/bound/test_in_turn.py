"""The in-turn bound: every set of k records of small tables, and all their releases."""

from __future__ import annotations

from itertools import combinations

import numba
import numpy as np
import pytest

from every_kind import Small
from shoal.bound import in_turn
from shoal.bound.in_turn import again
from shoal.bound.loss import again as loss_again
from shoal.bound.own_box import again as own_again
from shoal.kernels.bound.in_turn import in_turn as shares_in_turn
from shoal.kernels.bound.own_boxes import listed_boxes
from shoal.kernels.neighbours.tiles import cut_tiles
from shoal.model.task import Task
from tables import coded_of, many_columns


def check_one(seed: int) -> tuple[float, float, float]:
    """Bound <= optimum for one table; returns own boxes, bound and optimum."""
    small = Small(seed)
    coded = small.coded()
    best = small.least()
    task = Task(k=small.k, withhold=small.withhold)
    rng = np.random.default_rng([seed, 2])
    words = {"most": 99, "deepest": 99, "looks": 10**6}
    whole = again(coded, task, **words, passes=5)
    few = again(
        coded,
        task,
        most=int(rng.integers(1, 9)),
        deepest=int(rng.integers(1, 6)),
        looks=int(rng.integers(0, 40)),
        passes=int(rng.integers(0, 4)),
    )
    own = own_again(coded, task, **words, every=1)
    assert whole is not None
    assert few is not None
    assert own is not None
    assert max(whole.bound, few.bound) <= best + 1e-9
    assert whole.bound >= own.bound * (1 - 1e-9)
    found = loss_again(coded, task, whole.name, dict(whole.parameters))
    assert found is not None
    assert found.bound == whole.bound
    return own.bound, whole.bound, best


def test_no_bound_exceeds_the_optimum() -> None:
    found = np.array([check_one(seed) for seed in range(60)])
    found = found[found[:, 2] > 0]
    own, shared = (found[:, :2] / found[:, 2:]).mean(axis=0)
    assert shared > own + 0.02  # shares that say no more than the own boxes would pass all else


@pytest.mark.slow
def test_no_bound_exceeds_the_optimum_on_2000_tables() -> None:
    for seed in range(1000, 3000):
        check_one(seed)


@pytest.mark.parametrize("seed", range(40))
def test_in_every_set_of_k_records_shares_are_at_most_its_cost(seed: int) -> None:
    small = Small(seed)
    coded, k = small.coded(), small.k
    rng = np.random.default_rng([seed, 3])
    tiles = cut_tiles(coded.codes, coded.count, coded.metric)
    words = {"deepest": int(rng.integers(1, 6)), "looks": int(rng.choice([0, 5, 10**6]))}
    own, lists = listed_boxes(tiles, coded.metric, k, most=tiles.place.size, **words)
    guess = np.where(
        tiles.count >= k, 0.0, np.minimum(rng.random(own.size) * 2 * coded.weight, lists.radius)
    )
    share, _, _ = shares_in_turn(tiles, coded.metric, k, lists, guess, own, **words)
    of_distinct = np.zeros(coded.distinct)
    of_distinct[tiles.place] = share
    of_record = of_distinct[coded.row][small.record]
    for some in combinations(range(small.record.size), k):
        cost = small.cost(sorted({int(small.record[at]) for at in some}))
        assert of_record[list(some)].sum() <= k * cost + 1e-9


def test_it_is_the_same_on_one_thread_and_on_two() -> None:
    coded = coded_of(many_columns(400, 4), 4)
    before = numba.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
            proof = again(coded, Task(k=4), most=40, deepest=3, looks=500, passes=2)
            found.append(proof and proof.bound)
    finally:
        numba.set_num_threads(before)
    assert found[0] == found[1]


def test_a_forged_number_of_passes_or_rows_proves_nothing() -> None:
    coded = Small(1).coded()
    assert in_turn.again(coded, Task(k=2), most=0, deepest=2, looks=5, passes=1) is None
    assert loss_again(coded, Task(k=2), "in-turn", {"most": 5}) is None

"""The bound by ball covers: never above the best, by every partition; its check against a slow twin."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest

import naive
from naive_radius import least_radius
from shoal.bound import again, text_of_shares
from shoal.kernels.centres import ball_cover
from shoal.kernels.centres.ball_cover import far_rows, least_cover, share_out
from shoal.kernels.centres.heaviest_ball import are_too_few
from shoal.kernels.distance.rows import apart
from shoal.kernels.neighbours.box_tree import build_index
from shoal.kernels.neighbours.exact import reach_distances
from shoal.model.coded import Coded
from shoal.model.task import Task
from tables import coded_of, small_table


def reach_of(coded: Coded, k: int) -> np.ndarray:
    return reach_distances(build_index(coded.space, coded.count), coded.space, coded.count, k)


def naive_too_few(coded: Coded, reach: np.ndarray, most: int, radius: float, share: np.ndarray) -> bool:
    """By all pairs, one ball after the other."""
    rows = range(coded.distinct)
    bears = [
        sum(float(share[i]) for i in rows if apart(coded.space, i, c) <= radius)
        for c in rows
        if coded.count[c] > 0 and reach[c] <= radius
    ]
    return sum(map(float, share)) > most * max(bears, default=0.0) * (1 + 1e-9)


def judge(seed: int) -> tuple[float, float]:
    """The bound of a small table and the best there is, for few groups."""
    table, k = small_table(seed, [5, 6, 7, 8, 8], [2, 2, 3])
    most = random.Random(seed).choice([1, 2, 2, 3])
    records = [row for row, many in enumerate(table.counts) for _ in range(many)]
    distances = [[naive.distance(table, i, j) for j in records] for i in records]
    coded = coded_of(table, k)
    reach = reach_of(coded, k)
    best, _ = least_radius(distances, k, most=most)
    found = least_cover(coded.space, coded.count, reach, min(most, len(records) // k), (0.0, 9.0), 16)
    if found is None:
        return 0.0, best
    radius, share = found
    task = Task(k=k, options={"max_groups": most})
    proof = again("radius", coded, task, "cover", {"radius": radius, "shares": text_of_shares(share)})
    assert proof is not None
    assert proof.bound == radius <= best
    # no share proves a radius that is no bound
    for its in (share, 3 * share, np.random.default_rng(seed).permutation(share)):
        words = {"radius": best * (1 + 1e-9) + 1e-12, "shares": text_of_shares(its)}
        assert again("radius", coded, task, "cover", words) is None
    fewer = Task(k=k, options={"max_groups": most}, withhold=1)
    words = {"radius": radius, "shares": text_of_shares(share)}
    assert again("radius", coded, fewer, "cover", words) is None  # a row may be left out
    return radius, best


def check_tables(seeds: range) -> None:
    found = [judge(seed) for seed in seeds]
    hard = [(bound, best) for bound, best in found if best > 0]
    assert len(hard) > len(found) / 2
    assert sum(bound > 0.99 * best for bound, best in hard) > len(hard) / 3  # often nothing is left open


def test_no_bound_is_above_the_best() -> None:
    check_tables(range(60))


@pytest.mark.slow
def test_no_bound_is_above_the_best_of_1500_tables() -> None:
    check_tables(range(1000, 2500))


def test_the_check_is_what_all_pairs_say() -> None:
    decided = set()
    for seed in range(40):
        coded = coded_of(*small_table(seed, [12], [2]))
        rng = np.random.default_rng(seed)
        reach = reach_of(coded, 2)
        radius = float(rng.random())
        share = np.where(coded.count > 0, rng.random(coded.distinct), 0).astype(np.float32)
        share[rng.random(coded.distinct) < 0.5] = 0
        for most in (1, 2, 3):
            its = are_too_few(coded.space, coded.count, reach, most, radius, share)
            assert its == naive_too_few(coded, reach, most, radius, share)
            decided.add(its)
    assert decided == {True, False}


def test_the_same_on_any_number_of_threads() -> None:
    coded = coded_of(*small_table(4, [400], [2]))
    reach = reach_of(coded, 2)
    before = numba.get_num_threads()
    found = []
    for threads in (1, before):
        numba.set_num_threads(threads)
        found.append(least_cover(coded.space, coded.count, reach, 3, (0.0, 3.0), 6))
    numba.set_num_threads(before)
    one, other = found
    assert one is not None
    assert other is not None
    assert one[0] == other[0]
    assert one[1].tolist() == other[1].tolist()


def test_rows_that_were_left_uncovered_get_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = coded_of(*small_table(4, [300], [2]))
    alive = np.flatnonzero(coded.count).astype(np.int32)
    monkeypatch.setattr(ball_cover, "PRICED", 2)
    few = far_rows(coded.space, alive, 3)
    assert few.size == 3
    grown = share_out(coded.space, few, alive, alive, 0.05, 5)
    assert grown.enough
    assert grown.rows.size > 5
    assert grown.share.sum() > 5


def test_where_there_is_no_room_there_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = coded_of(*small_table(4, [60], [2]))
    monkeypatch.setattr(ball_cover, "ROOM", 4)
    assert least_cover(coded.space, coded.count, reach_of(coded, 2), 3, (0.0, 3.0), 6) is None

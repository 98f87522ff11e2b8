"""The bound by shares of balls: never above the best, by every partition; its check and its kernels."""

from __future__ import annotations

from itertools import product

import numba
import numpy as np
import polars as pl
import pytest

import naive
import shoal
from naive_cellular import least_cells
from shoal.bound import again, cellular, prove, text_of_shares, value_of
from shoal.bound.ball_shares import prove_by_balls
from shoal.encode import encode
from shoal.group import fill_options, load
from shoal.kernels.centres.ball_sets import lower_in_balls, rows_near, table_of, worst_balls
from shoal.kernels.centres.balls_bear import all_balls_bear
from shoal.kernels.distance.rows import apart
from shoal.model.coded import Coded
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task
from tables import coded_of, small_table


def task_of(k: int, withhold: int = 0, effort: str = "normal") -> Task:
    options = fill_options("cellular", {})
    return Task(k=k, withhold=withhold, options=options, effort=Effort(level=effort))


def naive_over(coded: Coded, share: np.ndarray, k: int) -> list[float]:
    """By centre: what the k largest shares of a ball exceed k times its radius by at most."""
    rows = [i for i in range(coded.distinct) if coded.count[i]]
    over = []
    for v in rows:
        far = {i: apart(coded.space, v, i) for i in rows}
        worst = -1.0
        for radius in sorted(set(far.values())):
            its = [float(share[i]) for i in rows if far[i] <= radius for _ in range(coded.count[i])]
            if len(its) >= k:
                worst = max(worst, sum(sorted(its)[-k:]) - k * radius)
        over.append(worst)
    return over


def naive_lowered(coded: Coded, share: np.ndarray, k: int) -> np.ndarray:
    """Centre by centre, the worst first: its worst ball's k largest are multiplied by what it bears."""
    rows = [i for i in range(coded.distinct) if coded.count[i]]
    share = share.copy()
    over = naive_over(coded, share, k)
    for v in sorted((at for at in range(len(rows)) if over[at] > 1e-12), key=lambda at: -over[at]):
        far = {i: apart(coded.space, rows[v], i) for i in rows}
        while True:
            worst, part, ball, least = 1e-12, 1.0, [], 0.0
            for radius in sorted(set(far.values())):
                inside = [i for i in rows if far[i] <= radius]
                its = sorted(float(share[i]) for i in inside for _ in range(coded.count[i]))[-k:]
                if len(its) == k and sum(its) - k * radius > worst:
                    worst, part, ball, least = sum(its) - k * radius, k * radius / sum(its), inside, its[0]
            if not ball:
                break
            share[[i for i in ball if share[i] >= least]] *= part
    return share


def judge(seed: int) -> tuple[float, float]:
    """The bound and the best of a small table: bound <= best <= value; and no forged share proves more."""
    table, k = small_table(seed, [5, 6, 7, 8, 8], [2, 2, 3])
    withhold = seed % 3 // 2
    records = [row for row, many in enumerate(table.counts) for _ in range(many)]
    distances = [[naive.distance(table, i, j) for j in records] for i in records]
    coded = coded_of(table, k)
    task = task_of(k, withhold)
    grouping = load("cellular").group(coded, task)
    best, _ = least_cells(distances, k, withhold=withhold)
    proof, _ = prove_by_balls(coded, task, grouping, 12)
    assert proof is not None
    assert proof.bound <= best * (1 + 1e-9) + 1e-12
    assert best <= value_of("cellular", coded, grouping) * (1 + 1e-9) + 1e-12
    assert proof.shares is not None
    rng = np.random.default_rng(seed)
    for its in (proof.shares, 1.03 * proof.shares, rng.permutation(proof.shares), proof.shares + 1e-5):
        words = {"withhold": float(withhold), "shares": text_of_shares(its.astype(np.float32))}
        found = again("cellular", coded, task, "shares", words)
        if its is proof.shares:
            assert found is not None
            assert found.bound == proof.bound
        assert found is None or found.bound <= best * (1 + 1e-9) + 1e-12
    return proof.bound, best


def check_tables(seeds: range) -> None:
    found = [judge(seed) for seed in seeds]
    hard = [(bound, best) for bound, best in found if best > 0]
    assert len(hard) > len(found) / 2
    assert sum(bound > 0.9 * best for bound, best in hard) > len(hard) / 4


def test_no_bound_is_above_the_best() -> None:
    check_tables(range(60))


@pytest.mark.slow
def test_no_bound_is_above_the_best_of_1000_tables() -> None:
    check_tables(range(1000, 2000))


@pytest.mark.parametrize(("seed", "k"), list(product(range(6), (2, 5))))
def test_balls_that_bear_too_much_are_found_and_lowered(seed: int, k: int) -> None:
    coded = coded_of(*small_table(seed, [40], [2]))
    rng = np.random.default_rng(seed)
    share = np.where(coded.count > 0, rng.random(coded.distinct) * rng.choice([0.05, 0.4]), 0.0)
    over = naive_over(coded, share, k)
    its = table_of(coded.space, coded.count, k)
    own = share[its.rows]
    found = worst_balls(its, own, 0.0)
    broken = [v for v, one in enumerate(over) if one > 1e-12]
    assert [v for v, one in zip(found.centre, found.over, strict=True) if one > 1e-12] == broken
    assert found.over == pytest.approx([over[v] for v in found.centre], abs=1e-12)
    assert all_balls_bear(coded.space, coded.count, k, share, 1e-10) == (not broken)
    # sets of k records, each of them as heavy as it was found, around its own centre
    cuts = found.cuts
    bears = np.add.reduceat(cuts.amount * own[cuts.row], cuts.start[:-1]) if broken else np.zeros(0)
    assert (np.add.reduceat(cuts.amount, cuts.start[:-1]) == k).all() if broken else True
    assert (bears - cuts.limit >= found.over - 1e-12).all()
    for f, v in enumerate(found.centre):
        its_rows = its.rows[cuts.row[cuts.start[f] : cuts.start[f + 1]]]
        assert cuts.limit[f] == k * max(apart(coded.space, its.rows[v], i) for i in its_rows)
    # lists of near rows tell the same
    everywhere = np.arange(its.rows.size)
    again_found = worst_balls(its, own, 0.0, rows_near(its, everywhere, np.full(everywhere.size, 9.0)))
    assert again_found.centre.tolist() == found.centre.tolist()
    assert again_found.over == pytest.approx(found.over, abs=1e-12)
    assert again_found.radius.tolist() == found.radius.tolist()
    lowered = np.zeros(coded.distinct)
    lowered[its.rows] = lower_in_balls(its, own)[0]
    assert (lowered <= share).all()
    assert lowered == pytest.approx(naive_lowered(coded, share, k), rel=1e-9, abs=1e-12)
    assert max(naive_over(coded, lowered, k)) <= 1e-10
    assert all_balls_bear(coded.space, coded.count, k, lowered, 1e-10)
    for times in (1.001, 1.01, 1.05, 1.2):  # nearly all that some ball may bear
        holds = max(naive_over(coded, times * lowered, k)) <= 1e-10
        assert all_balls_bear(coded.space, coded.count, k, times * lowered, 1e-10) == holds


def test_better_than_growth_and_the_same_on_any_number_of_threads() -> None:
    coded = coded_of(*small_table(6, [300], [3]))
    task = task_of(3)
    grouping = load("cellular").group(coded, task)
    before = numba.get_num_threads()
    found = []
    for threads in (1, before):
        numba.set_num_threads(threads)
        found.append(prove("cellular", coded, task, None, grouping))
    numba.set_num_threads(before)
    one, other = found
    grown = prove("cellular", coded, task)
    assert one is not None
    assert other is not None
    assert grown is not None
    assert one.name == "shares"
    assert one.bound > grown.bound
    assert one.shares is not None
    assert other.shares is not None
    assert one.shares.tolist() == other.shares.tolist()


def test_effort_quick_does_without() -> None:
    coded = coded_of(*small_table(6, [60], [3]))
    task = task_of(3, effort="quick")
    found = prove("cellular", coded, task, None, load("cellular").group(coded, task))
    assert found is not None
    assert found.name in {"growth", "reach"}


def coded_line(places: list[float], copies: list[int], k: int) -> Coded:
    plan = Plan(k=k, quasi=("x",), kinds={"x": "number"}, count="persons(n)")
    return encode(pl.DataFrame({"x": places, "n": copies}), plan)


@pytest.mark.parametrize("many", [10**6, 10**12, 10**15])
def test_records_without_number_leave_sums_as_they_are(many: int) -> None:
    k, share = 5, np.array([0.11, 0.3, 0.21, 0.4, 0.5])
    few = coded_line([0.0, 1.0, 2.0, 3.0, 10.0], [k, 2, k, 2, 3], k)
    coded = coded_line([0.0, 1.0, 2.0, 3.0, 10.0], [many, 2, many, 2, 3], k)
    its = table_of(coded.space, coded.count, k)
    found, over = worst_balls(its, share, 0.0), naive_over(few, share, k)
    assert found.over == pytest.approx([over[v] for v in found.centre], rel=1e-12)
    near = rows_near(its, np.arange(5), np.full(5, 9.0))
    assert worst_balls(its, share, 0.0, near).over == pytest.approx(found.over, rel=1e-12)
    lowered = lower_in_balls(its, share)[0]
    assert lowered == pytest.approx(lower_in_balls(table_of(few.space, few.count, k), share)[0], rel=1e-11)
    assert all_balls_bear(coded.space, coded.count, k, lowered, 1e-10)


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-301])
def test_distances_hardly_above_nothing_are_no_trouble(unit: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        places = (rng.integers(1, 40, 20) * unit).tolist()
        coded = coded_line([*places, 1.0], [*[1] * 20, 4], 4)
        its = table_of(coded.space, coded.count, 4)
        share = rng.integers(0, 40, its.rows.size) * unit
        worst_balls(its, share, 0.0)
        lowered = lower_in_balls(its, share)[0]
        assert (lowered <= share).all()
        assert all_balls_bear(coded.space, coded.count, 4, lowered, 1e-10)
    frame = pl.DataFrame({"x": [*places, *[1.0] * 4]})
    about = shoal.anonymize(frame, k=4, quasi=["x"], kinds={"x": "number"}, method="cellular").certificate
    assert about.bound is not None
    assert about.bound <= about.value


def test_sets_for_which_there_is_no_room_are_not_sought(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = coded_of(*small_table(6, [60], [3]))
    task = task_of(3)
    grouping = load("cellular").group(coded, task)
    for room, names in ((3 * coded.distinct, {"shares"}), (3 * coded.distinct - 1, {"growth", "reach"})):
        monkeypatch.setattr(cellular, "IN_SETS", room)
        found = prove("cellular", coded, task, None, grouping)
        assert found is not None
        assert found.name in names

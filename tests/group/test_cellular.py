"""cellular against every partition and every centre, its duals against every ball, and its errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

import numba
import numpy as np
import polars as pl
import pytest

import naive
import shoal
from naive_cellular import least_cells, most_broken
from shoal.bound import again, prove, value_of
from shoal.encode import encode
from shoal.errors import DataError, PlanError
from shoal.group import cellular, facts, fill_options, load
from shoal.group.centres.opening import owners
from shoal.group.centres.radius import solution_of, survey
from shoal.kernels.centres.duals import raise_duals
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart, apart_each, apart_from
from shoal.kernels.neighbours.box_tree import build_index
from shoal.kernels.neighbours.exact import reach_distances
from shoal.model.plan import Plan
from shoal.model.task import Task, quota
from tables import coded_of, frame_of, plan_of, small_table

NEAR = 1e-9


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tables of a few rows wait for threads longer than they compute."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def random_table(seed: int) -> tuple[naive.Table, int]:
    return small_table(seed, [4, 5, 6, 6, 7, 7, 8, 8], [2, 2, 3, 4])


def judge(seed: int) -> int:
    """One table, with all records and with some withheld; how many groups the best has."""
    table, k = random_table(seed)
    luck = random.Random(-seed)
    records = [row for row, many in enumerate(table.counts) for _ in range(many)]
    distances = [[naive.distance(table, i, j) for j in records] for i in records]
    coded = coded_of(table, k)
    most = 0
    for share in (0.0, luck.choice([0.15, 0.25, 0.34])):
        task = Task(k=k, withhold=quota(share, len(records)), options=fill_options("cellular", {}))
        grouping = load("cellular").group(coded, task)
        best, groups = least_cells(distances, k, withhold=task.withhold)
        held = np.bincount(grouping.distinct, weights=grouping.count, minlength=coded.distinct)
        assert held.tolist() == coded.count.tolist()
        assert (grouping.sizes >= k).all()
        assert grouping.withheld <= task.withhold <= share * len(records) + NEAR
        value = value_of("cellular", coded, grouping)
        factor = 72 if task.withhold else 36
        assert grouping.factor == factor
        assert best <= value + NEAR
        assert value <= factor * best + NEAR
        for proof in (grouping.proof, prove("cellular", coded, task)):
            assert proof.bound <= best + NEAR
            same = again("cellular", coded, task, proof.name, dict(proof.parameters))
            assert same.bound == pytest.approx(proof.bound, abs=1e-12)
        assert again("cellular", coded, task, "reach", dict(grouping.proof.parameters)).bound <= best + NEAR
        published = set(grouping.distinct[grouping.group >= 0].tolist())
        assert published.issuperset(grouping.centre.tolist())
        most = max(most, groups if best > 0 else 0)
    return most


def test_small_tables_against_every_partition() -> None:
    groups = [judge(seed) for seed in range(200)]
    assert sum(many >= 2 for many in groups) >= 60


@pytest.mark.slow
def test_many_small_tables_against_every_partition() -> None:
    groups = [judge(seed) for seed in range(200, 1200)]
    assert sum(many >= 2 for many in groups) >= 300


def feasible(seed: int) -> None:
    """Duals and shares keep to every ball's limit, and every row is stopped by a ball that is full."""
    table, k = random_table(seed)
    luck = random.Random(seed)
    k = luck.choice([1, k])
    coded = coded_of(table, 2)
    records = [row for row, many in enumerate(coded.count) for _ in range(many)]
    space, count = coded.space, coded.count
    distances = [[apart(space, i, j) for j in records] for i in records]
    costs = np.array([luck.choice([0.0, 0.1, 0.5, 2.0]) for _ in range(coded.distinct)]) * (seed % 3 > 0)
    index = build_index(space, count)
    reach = reach_distances(index, space, count, k)
    for top, raised in ((1, k if k > 1 else 0), (k, 0)):
        duals = raise_duals(space, count, reach, costs, top=top, raised=raised)
        share = [float(duals.share[row]) for row in records]
        opening = [float(costs[row]) for row in records]
        assert most_broken(distances, share, k, top=top, raised=raised, opening=opening) <= NEAR
        assert (duals.witness[count > 0] >= 0).all()
        for i in np.flatnonzero(count > 0):
            # a little more for one row breaks the ball that stopped it
            more = [one + 1e-6 * (row == i) for one, row in zip(share, records, strict=True)]
            assert most_broken(distances, more, k, top=top, raised=raised, opening=opening) > NEAR


def test_shares_keep_to_every_ball_and_none_could_rise() -> None:
    for seed in range(200):
        feasible(seed)


@pytest.mark.slow
def test_shares_of_many_tables_keep_to_every_ball() -> None:
    for seed in range(200, 1200):
        feasible(seed)


def test_figure_3_of_the_paper() -> None:
    rows = [(1, 1, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    release = shoal.anonymize(
        frame, k=5, quasi=names, kinds=dict.fromkeys(names, "label"), method="cellular"
    )
    assert frame.row(int(release.groups.centre[0])) == (1, 1, 1, 1)
    assert release.certificate.value == 5  # "a total distortion bound of 5"


def random_costs(seed: int) -> tuple[naive.Table, list[float]]:
    """A table with an opening cost for each of its rows."""
    table, _ = random_table(seed)
    luck = random.Random(seed)
    scale = luck.choice([0.2, 1.0, 12.0])
    return table, [
        luck.choice([0.0 if seed % 4 == 0 else 0.4, 0.5, 1.0, 1.0, 2.0]) * scale for _ in table.counts
    ]


def judge_costs(seed: int) -> int:
    """The first problem: no k, an opening cost per row; how many clusters the best has."""
    table, costs = random_costs(seed)
    records = [row for row, many in enumerate(table.counts) for _ in range(many)]
    distances = [[naive.distance(table, i, j) for j in records] for i in records]
    best, groups = least_cells(distances, 1, opening=[costs[row] for row in records])
    plan = plan_of(table, 2)
    cells = shoal.cellular(frame_of(table), plan, opening=costs)
    assert cells.bound <= best + NEAR
    assert best <= cells.value + NEAR
    assert cells.value <= 3 * best + NEAR
    assert cells.factor == 3
    paid = 0.0
    for c, centre in enumerate(cells.centre.tolist()):
        members = [row for row in records if cells.label[row] == c]
        assert len(members) == cells.size[c] > 0
        radius = max(naive.distance(table, centre, row) for row in members)
        assert cells.radius[c] == pytest.approx(radius, abs=NEAR)
        paid += costs[centre] + len(members) * radius
    assert sum(cells.size.tolist()) == len(records)
    assert cells.value == pytest.approx(paid, abs=NEAR)
    return groups


def test_opening_costs_against_every_partition() -> None:
    groups = [judge_costs(seed) for seed in range(200)]
    assert sum(many >= 2 for many in groups) >= 60
    assert sum(many == 1 for many in groups) >= 20


@pytest.mark.slow
def test_many_opening_costs_against_every_partition() -> None:
    groups = [judge_costs(seed) for seed in range(200, 1200)]
    assert sum(many >= 2 for many in groups) >= 300


def test_the_second_phase_alone_keeps_the_factors() -> None:
    """Without any moves: 3 times the duals without k, 36 and 72 times the best with it."""
    for seed in range(150):
        table, costs = random_costs(seed)
        coded = coded_of(table, 2)
        opening = np.zeros(coded.distinct)
        opening[coded.row] = costs
        index = build_index(coded.space, coded.count)
        nothing = np.zeros(coded.distinct)
        duals = raise_duals(coded.space, coded.count, nothing, opening, top=1, raised=0)
        owner = owners(index, coded.space, coded.count > 0, duals)
        rows = np.flatnonzero(coded.count > 0)
        spent = 0.0
        for c in np.unique(owner[rows]):
            its = rows[owner[rows] == c].astype(np.int32)
            far = apart_each(coded.space, its, np.full_like(its, duals.centre[c])).max()
            # what the proof needs of every row of a cluster, also of one that joined through its witness
            assert far <= 3 * duals.radius[c] + NEAR
            assert (duals.share[its] >= duals.radius[c]).all()
            spent += opening[duals.centre[c]] + coded.count[its].sum() * far
        assert spent <= 3 * float(duals.share @ coded.count) + NEAR
        k = min(3, coded.total)
        records = [row for row, many in enumerate(table.counts) for _ in range(many)]
        distances = [[naive.distance(table, i, j) for j in records] for i in records]
        for withhold, factor in ((0, 36), (1, 72)):
            task = Task(k=k, withhold=min(withhold, coded.total - k), options={})
            about = survey(coded, task)
            duals = cellular._duals(about)
            starts = [cellular._groups_of(about, duals)]
            starts += cellular._filtered(about, float(duals.radius.max()))
            values = []
            for pieces in starts:
                found = solution_of(about, pieces)
                assert (found.size >= k).all()
                assert found.size.sum() >= coded.total - task.withhold
                far = apart_each(coded.space, pieces.row, pieces.centre[pieces.group])
                wide = np.zeros(pieces.centre.size)
                np.maximum.at(wide, pieces.group, far)
                values.append(float(wide[pieces.group] @ pieces.amount))
            best, _ = least_cells(distances, k, withhold=task.withhold)
            assert min(values) <= factor * best + NEAR


def set_cover(sets: list[set[int]], elements: int) -> tuple[list[list[float]], list[float]]:
    """The instance of the paper's Theorem 3.2: sets first, then elements."""
    many = len(sets)
    size = many + elements

    def apart(i: int, j: int) -> float:
        i, j = sorted((i, j))
        if i == j:
            return 0.0
        if j < many:
            return 1.0
        if i < many:
            return 1.0 if j - many in sets[i] else 2.0
        return 2.0 if any({i - many, j - many} <= one for one in sets) else 3.0

    return [[apart(i, j) for j in range(size)] for i in range(size)], [1.0] * many + [100.0] * elements


@pytest.mark.parametrize("seed", range(8))
def test_the_set_cover_of_the_hardness_proof(seed: int) -> None:
    luck = random.Random(seed)
    elements, many = luck.choice([(4, 3), (5, 3), (4, 4)])
    sets = [set(luck.sample(range(elements), luck.choice([2, 2, 3]))) for _ in range(many)]
    for element in range(elements):
        if not any(element in one for one in sets):
            sets[luck.randrange(many)].add(element)
    cover = min(
        size
        for size in range(1, many + 1)
        if any(set().union(*chosen) == set(range(elements)) for chosen in combinations(sets, size))
    )
    distances, costs = set_cover(sets, elements)
    best, _ = least_cells(distances, 1, opening=costs)
    assert best == cover + elements + many
    frame = pl.DataFrame({"who": [f"row {i}" for i in range(len(costs))]})
    cells = shoal.cellular(frame, opening=costs, quasi=["who"], matrix=distances)
    assert cells.bound <= best + NEAR
    assert best <= cells.value + NEAR
    assert cells.value <= 3 * best + NEAR
    assert (cells.centre < many).all()


def test_one_cost_is_the_same_for_all_rows_and_dear_ones_make_one_cluster() -> None:
    frame = pl.DataFrame({"a": [0, 1, 2, 50, 51, 52]})
    one = shoal.cellular(frame, opening=0.1, quasi=["a"])
    assert one.label.tolist() == [0, 0, 0, 1, 1, 1]
    assert one.centre.tolist() == [1, 4]
    assert one.value == pytest.approx(0.2 + 6 / 52)
    assert shoal.cellular(frame, opening=[0.1] * 6, quasi=["a"]).value == one.value
    assert shoal.cellular(frame, opening=1000, quasi=["a"]).centre.size == 1
    free = shoal.cellular(frame, opening=0, quasi=["a"])
    assert (free.value, free.ratio, free.centre.size) == (0, 1, 6)
    assert "6 clusters of 6 rows" in repr(free)


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        ({"opening": -1}, PlanError, "4 of 4 opening costs are below 0 or not finite"),
        ({"opening": [1, 2, float("nan"), 1]}, PlanError, "1 of 4 opening costs"),
        ({"opening": [1, float("inf"), 1, -2]}, PlanError, "2 of 4 opening costs"),
        ({"opening": [1, 2]}, PlanError, "2 opening costs for 4 rows"),
        ({"opening": [[1, 2, 3, 4]]}, PlanError, "1 x 4 opening costs for 4 rows"),
        ({"opening": ["much"] * 4}, PlanError, "are not numbers"),
        ({"opening": None}, PlanError, "not finite"),
        ({"k": 3}, PlanError, "have no k"),
        ({"withhold": 0.1}, PlanError, "have no withhold"),
        ({"colour": "red"}, PlanError, "no option colour"),
        ({"quasi": ["b"]}, DataError, "'b'"),
    ],
)
def test_bad_costs_are_refused(words: dict[str, object], error: type[Exception], what: str) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 99]})
    with pytest.raises(error, match=what):
        shoal.cellular(frame, **{"opening": 1.0, "quasi": ["a"], **words})
    with pytest.raises(DataError, match="at least 2 rows; the table has 1"):
        shoal.cellular(frame.head(1), opening=1.0, quasi=["a"])


@pytest.mark.parametrize("withhold", [0.0, 0.05])
def test_blocks_keep_every_rule_and_the_bound_of_the_whole_table(
    withhold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    luck = random.Random(5)
    frame = pl.DataFrame(
        {
            "a": [int(luck.gauss(40, 15)) for _ in range(600)],
            "b": [luck.choice("uvwxyz") for _ in range(600)],
            "c": [luck.randrange(30) for _ in range(600)],
        }
    )
    plan = shoal.Plan(k=7, quasi=("a", "b", "c"), method="cellular", withhold=withhold)
    whole = shoal.anonymize(frame, plan).certificate
    monkeypatch.setattr(cellular, "EXACT", 100)
    monkeypatch.setattr(cellular, "BLOCK", 80)
    # the blocks' own result: without it the crowds might win
    monkeypatch.setattr(cellular, "_crowds", lambda about: cellular._in_blocks(about, Task(k=7)))
    release = shoal.anonymize(frame, plan)
    said = release.certificate
    assert release.verdict.has_passed
    assert said.factor is None
    assert said.smallest_class >= 7
    assert said.withheld <= int(600 * withhold)
    assert said.bound_name in {"shares", "growth", "reach"}  # not duals, which are of a block
    assert said.bound <= min(said.value, whole.value)
    assert whole.factor == (72 if withhold else 36)
    assert said.value <= 4 * said.bound


@pytest.mark.parametrize("distance", ["euclidean", "great-circle", "matrix"])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_other_distances(distance: str, share: float) -> None:
    luck = random.Random(4)
    for _ in range(8):
        rows = [(luck.randrange(9), luck.randrange(9)) for _ in range(8)]
        frame = pl.DataFrame(rows, schema=["lat", "lon"], orient="row")
        matrix = [[float(max(abs(a - c), abs(b - d))) for c, d in rows] for a, b in rows]
        coded = encode(
            frame,
            Plan(k=2, quasi=("lat", "lon"), distance=distance),
            matrix=matrix if distance == "matrix" else None,
        )
        task = Task(k=2, withhold=quota(share, 8), options={})
        grouping = load("cellular").group(coded, task)
        distances = [[apart(coded.space, i, j) for j in coded.row] for i in coded.row]
        best, _ = least_cells(distances, 2, withhold=task.withhold)
        value = value_of("cellular", coded, grouping)
        assert prove("cellular", coded, task, grouping.proof).bound <= best * (1 + NEAR) + NEAR
        assert best <= value * (1 + NEAR) + NEAR
        assert value <= grouping.factor * best * (1 + NEAR) + NEAR


def test_one_row_against_many_is_measured_as_two_rows_are() -> None:
    for seed in range(40):
        table, _ = random_table(seed)
        space = coded_of(table, 2).space
        rows = np.arange(len(space.codes), dtype=np.int32)
        for short in (True, False):
            starts = short_axes(space)
            if not short:  # as if every axis were long
                starts[:-1] = -1
            out = np.empty(rows.size)
            for i in rows:
                apart_from(space, i, rows, starts, np.empty(starts[-1]), out)
                assert out.tolist() == [apart(space, i, j) for j in rows]


def test_facts_say_what_the_method_takes() -> None:
    assert facts("cellular").centres
    assert "matrix" in facts("cellular").distances
    assert cellular.EXACT >= 5000

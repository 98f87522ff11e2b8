"""gather and centre against every partition and every centre, and by the traps of the paper."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import naive
import shoal
from naive_radius import least_radius
from shoal.bound import again, prove, text_of_shares, value_of
from shoal.encode import encode
from shoal.errors import DataError, PlanError, TooFewRows
from shoal.group import facts, fill_options, load
from shoal.kernels.centres import least_radius as radius_tests
from shoal.kernels.neighbours.box_tree import build_index
from shoal.kernels.neighbours.exact import reach_distances
from shoal.model.plan import Plan
from shoal.model.task import Task, quota
from tables import coded_of, small_table

VARIANTS = ("gather", "gather withheld", "centre", "centre withheld")
NEAR = 1e-9


def judge(seed: int) -> dict[str, tuple[float, int]]:
    """Run all four variants on one table; the optimum and its groups per variant."""
    table, k = small_table(seed, [4, 5, 6, 7, 7, 8, 8, 9, 9], [2, 2, 2, 3])
    luck = random.Random(-seed)
    records = [row for row, many in enumerate(table.counts) for _ in range(many)]
    distances = [[naive.distance(table, i, j) for j in records] for i in records]
    coded = coded_of(table, k)
    found = {}
    for variant in VARIANTS:
        method, _, withheld = variant.partition(" ")
        share = luck.choice([0.15, 0.25, 0.34, 0.5]) if withheld else 0.0
        most = luck.choice([1, 2, 2, 3]) if method == "centre" else 99
        task = Task(
            k=k,
            withhold=quota(share, len(records)),
            options=fill_options(method, {"max_groups": most} if method == "centre" else {}),
        )
        grouping = load(method).group(coded, task)
        best, groups = least_radius(distances, k, withhold=task.withhold, most=most)
        found[variant] = best, groups
        held = np.bincount(grouping.distinct, weights=grouping.count, minlength=coded.distinct)
        assert held.tolist() == coded.count.tolist()
        assert (grouping.sizes >= k).all()
        assert grouping.groups <= most
        assert grouping.withheld <= task.withhold <= share * len(records) + NEAR
        value = value_of("radius", coded, grouping)
        proof = prove("radius", coded, task, grouping.proof)
        factor = {"gather": 3 if task.withhold else 2, "centre": 4 if task.withhold else 2}[method]
        assert grouping.factor == factor
        assert proof.bound <= best + NEAR
        assert best <= value + NEAR
        assert value <= factor * best + NEAR
        assert value <= max(factor, 1) * proof.bound * (1 + 1e-3) + NEAR
        for one in (grouping.proof, prove("radius", coded, task)):
            if one is not None:
                words = dict(one.parameters)
                if one.shares is not None:
                    words["shares"] = text_of_shares(one.shares)
                same = again("radius", coded, task, one.name, words)
                assert same.bound == pytest.approx(one.bound, abs=1e-12)
        # centres are members, and the value is theirs
        for g, centre in enumerate(grouping.centre):
            assert centre in grouping.distinct[grouping.group == g]
    return found


def assert_worth_it(found: list[dict[str, tuple[float, int]]]) -> None:
    """At least half of the tables ask for something."""
    hard = [all(best > 0 for best, _ in one.values()) and one["gather"][1] >= 2 for one in found]
    assert sum(hard) >= len(hard) / 2


def test_small_tables_against_every_partition() -> None:
    assert_worth_it([judge(seed) for seed in range(200)])


@pytest.mark.slow
def test_many_small_tables_against_every_partition() -> None:
    assert_worth_it([judge(seed) for seed in range(200, 2000)])


def test_figure_3_of_the_paper() -> None:
    rows = [(1, 1, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    release = shoal.anonymize(frame, k=5, quasi=names, kinds=dict.fromkeys(names, "label"), method="gather")
    assert frame.row(int(release.groups.centre[0])) == (1, 1, 1, 1)
    assert release.certificate.value == 1


def test_nothing_is_lost_where_pairs_are_alike() -> None:
    frame = pl.DataFrame({"a": [0, 0, 9, 9]})
    release = shoal.anonymize(frame, k=2, quasi=["a"], method="gather")
    assert release.certificate.value == release.certificate.bound == 0
    assert release.certificate.classes == 2


def test_rows_outside_the_filter_still_fill_a_centre() -> None:
    """The trap of section 2.4: three rows in one place and one 1 away, and a chain of three far away."""
    frame = pl.DataFrame({"a": [0, 0, 1, 100, 101, 102]})
    release = shoal.anonymize(frame, k=3, quasi=["a"], method="centre", withhold=0.34, max_groups=2)
    assert release.verdict.has_passed
    assert release.certificate.smallest_class >= 3
    assert release.certificate.withheld <= 2


@pytest.mark.parametrize("distance", ["euclidean", "great-circle", "matrix"])
@pytest.mark.parametrize("method", ["gather", "centre"])
@pytest.mark.parametrize("withhold", [0.0, 0.2])
def test_other_distances(distance: str, method: str, withhold: float) -> None:
    luck = random.Random(4)
    for _ in range(10):
        rows = [(luck.randrange(9), luck.randrange(9)) for _ in range(8)]
        frame = pl.DataFrame(rows, schema=["lat", "lon"], orient="row")
        matrix = [[max(abs(a - c), abs(b - d)) for c, d in rows] for a, b in rows]
        coded = encode(
            frame,
            Plan(k=2, quasi=("lat", "lon"), distance=distance),
            matrix=matrix if distance == "matrix" else None,
        )
        task = Task(
            k=2,
            withhold=quota(withhold, 8),
            options=fill_options(method, {"max_groups": 3} if method == "centre" else {}),
        )
        grouping = load(method).group(coded, task)
        from shoal.kernels.distance.rows import apart

        distances = [[apart(coded.space, i, j) for j in coded.row] for i in coded.row]
        most = 3 if method == "centre" else 99
        best, _ = least_radius(distances, 2, withhold=task.withhold, most=most)
        value = value_of("radius", coded, grouping)
        assert prove("radius", coded, task, grouping.proof).bound <= best * (1 + NEAR) + NEAR
        assert best <= value * (1 + NEAR) + NEAR
        assert value <= grouping.factor * best * (1 + NEAR) + NEAR


def test_rows_counted_within_a_wider_radius_change_no_centre() -> None:
    coded = coded_of(*small_table(3, [60], [3]))
    index = build_index(coded.space, coded.count)
    reach = reach_distances(index, coded.space, coded.count, 3)
    shared = radius_tests.Within(index, coded.space, coded.count.size)
    for t in np.concatenate([np.linspace(2.0, 0.02, 60), np.linspace(0.01, 2.01, 60)]):
        words = (index, coded.space, coded.count, reach, 3, 4, float(t))
        fresh = radius_tests.Within(index, coded.space, coded.count.size)
        found, again_found = (
            radius_tests.test_most(*words, withhold=6, within=one) for one in (shared, fresh)
        )
        assert (found is None) == (again_found is None)
        if found is not None:
            assert all(
                one.tolist() == other.tolist() for one, other in zip(found, again_found, strict=True)
            )


def test_a_larger_table_keeps_its_factor_and_its_bound() -> None:
    luck = random.Random(7)
    frame = pl.DataFrame(
        {
            "a": [int(luck.gauss(40, 15)) for _ in range(3000)],
            "b": [luck.choice("uvwxyz") for _ in range(3000)],
        }
    )
    for withhold in (0.0, 0.02):
        release = shoal.anonymize(frame, k=7, quasi=["a", "b"], method="gather", withhold=withhold)
        assert release.certificate.smallest_class >= 7
        assert release.certificate.ratio <= release.certificate.factor
        assert release.certificate.withheld <= 60


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        ({"k": 9}, TooFewRows, "k = 9 needs at least 9 rows"),
        ({"method": "centre", "max_groups": 0}, PlanError, "max_groups"),
        ({"method": "centre", "max_groups": "many"}, PlanError, "max_groups"),
        ({"withhold": 1.0}, PlanError, "withhold"),
        ({"withhold": -0.1}, PlanError, "withhold"),
        ({"distance": "great-circle"}, DataError, "beyond 90 degrees"),
        ({"matrix": [[0, 1], [1, 0]]}, DataError, "2 x 2"),
        ({"distance": "as the crow flies"}, PlanError, "There is no distance"),
        ({"distance": "euclidean", "method": "mondrian"}, PlanError, "has no distance 'euclidean'"),
    ],
)
def test_bad_input_is_refused(words: dict[str, object], error: type[Exception], what: str) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 99], "b": [1, 2, 3, 4]})
    with pytest.raises(error, match=what):
        shoal.anonymize(frame, **{"k": 2, "quasi": ["a", "b"], "method": "gather", **words})


def test_facts_say_what_the_methods_take() -> None:
    for method in ("gather", "centre"):
        assert facts(method).centres
        assert "matrix" in facts(method).distances

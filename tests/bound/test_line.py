"""One ordered column alone: the bound is the best there is, and so are the groups."""

from __future__ import annotations

import random

import polars as pl
import pytest

import shoal
from naive import Table, assert_sound, group_loss
from naive_stars import least
from shoal.bound import again, value_of
from shoal.bound.line import prove_on_line
from shoal.group.families.line import group_on_line
from shoal.kernels.line import sort_aside
from shoal.model.task import Task
from tables import coded_of


def against_brute_force(tables: int, seed: int) -> None:
    luck = random.Random(seed)
    for _ in range(tables):
        k, rows = luck.choice([2, 2, 3, 4]), luck.randint(4, 10)
        values = [
            luck.choice([luck.randrange(30), int(2 ** (luck.random() * 8)), luck.randrange(4)])
            for _ in range(rows)
        ]
        for _ in range(luck.choice([0, 0, 1, 2, 4])):
            values[luck.randrange(rows)] = None
        if all(value is None for value in values):
            continue
        weight, withhold = luck.choice([1.0, 0.3, 7.0]), luck.choice([0, 0, 1, 2])
        table = Table(cells={"age": values}, kinds={"age": "number"}, weights={"age": weight})
        coded, task = coded_of(table, k), Task(k=k, withhold=withhold)
        proof, grouping = prove_on_line(coded, task), group_on_line(coded, task)
        if proof is None or grouping is None:
            assert coded.metric.most[0] == 0
            continue
        best = least(rows, k, lambda its, table=table: group_loss(table, its), table.weight, withhold)
        assert_sound(grouping, coded, k, withhold)
        assert proof.bound == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert value_of("loss", coded, grouping) == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_bound_and_groups_are_the_best_of_all() -> None:
    against_brute_force(150, seed=1)


@pytest.mark.slow
def test_bound_and_groups_are_the_best_of_all_at_length() -> None:
    against_brute_force(3000, seed=2)


def test_groups_may_lie_around_others() -> None:
    frame = pl.DataFrame({"age": [3, 39, 40, 41, 57]})
    release = shoal.anonymize(frame, k=2, quasi=["age"])
    assert release.receipt.figures.value == pytest.approx(114 / 54)
    assert release.certificate.ratio == 1


def test_copies_go_to_different_groups_where_that_loses_less() -> None:
    frame = pl.DataFrame({"age": [0, 1, 2], "n": [1, 2, 1]})
    release = shoal.anonymize(frame, k=2, quasi=["age"], count="persons(n)")
    assert release.receipt.figures.value == pytest.approx(4 / 2)
    assert release.certificate.ratio == 1


@pytest.mark.parametrize("kind", ["number", "date"])
@pytest.mark.parametrize("withhold", [0.0, 0.01])
@pytest.mark.parametrize("missing", [0, 2, 9])
def test_one_column_in_which_a_value_stands_k_times_is_published_at_its_best(
    kind: str, withhold: float, missing: int
) -> None:
    """The grid of the growth bound had two levels there, and the bound was 0."""
    luck = random.Random(3)
    days = [int(luck.gauss(400, 90)) for _ in range(200)] + [400] * 6 + [None] * missing
    series = pl.Series("age", days, dtype=pl.Int64)
    frame = pl.DataFrame({"age": series.cast(pl.Date) if kind == "date" else series})
    release = shoal.anonymize(frame, k=5, quasi=["age"], withhold=withhold)
    about = release.certificate
    assert about.bound_name == "line"
    if missing == 2 and not withhold:  # a starred group hides values, so that figures are in another unit
        assert 1 <= about.ratio < 1.05
    else:
        assert about.ratio == 1
        assert "this is the best possible" in about.in_words()
    findings = shoal.verify(release.table, about, original=frame)
    assert not [finding.claim for finding in findings if finding.holds is False]
    assert {finding.claim: finding.holds for finding in findings}["bound"]


def test_a_group_around_two_others_makes_the_bound_lie_below() -> None:
    # {0, 100}, {1, 1, 1} and {1.1, 1.1} lose 200: no stretches of fewer than 3k records lose so little
    table = Table(cells={"age": [0, 10, 10, 10, 11, 11, 1000]}, kinds={"age": "number"})
    coded, task = coded_of(table, 2), Task(k=2)
    best = least(7, 2, lambda its: group_loss(table, its))
    proof, grouping = prove_on_line(coded, task), group_on_line(coded, task)
    assert proof is not None
    assert grouping is not None
    assert best == pytest.approx(2.0)
    assert 1.99 <= proof.bound <= best <= value_of("loss", coded, grouping) <= 2.01


def test_the_bound_is_found_again_by_its_name() -> None:
    coded = coded_of(Table(cells={"age": list(range(30))}, kinds={"age": "number"}), 3)
    proof = again("loss", coded, Task(k=3), "line", {})
    assert proof == prove_on_line(coded, Task(k=3))
    assert again("loss", coded, Task(k=3), "line", {"cap": 1.0}) is None


def test_missing_cells_too_few_for_a_group_take_others_along() -> None:
    assert sort_aside(1, 3, 0).lost.tolist() == [float("inf"), float("inf"), 1, 1]
    assert sort_aside(1, 3, 1).lost[0] == 1
    assert sort_aside(5, 3, 0).lost.tolist() == [0, 2, 1, 1]
    assert sort_aside(2, 3, 99).lost.tolist() == [2]

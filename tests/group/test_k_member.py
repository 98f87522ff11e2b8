from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import naive
from naive import Table
from shoal.bound import value_of
from shoal.encode import encode
from shoal.group.k_member import group
from shoal.model.plan import Plan
from shoal.model.task import Task
from tables import coded_of, exact_table


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("missing", [False, True])
def test_groups_are_those_of_the_plain_definition(seed: int, missing: bool) -> None:
    k = 2 + seed % 4
    table = exact_table(31 + seed, seed, missing=missing)
    coded = coded_of(table, k)
    np.testing.assert_array_equal(coded.row, np.arange(table.rows))  # the twin breaks ties by row
    first = int(np.random.default_rng(seed).integers(table.rows))
    expected = {tuple(sorted(rows)) for rows in naive.k_member(table, k, first)}
    grouping = group(coded, Task(k=k, seed=seed))
    found = {tuple(np.flatnonzero(grouping.group == at).tolist()) for at in range(grouping.groups)}
    assert found == expected


def test_copies_are_taken_as_needed_and_the_others_stay() -> None:
    table = Table({"age": [1, 2, 9]}, {"age": "number"}, copies=(4, 3, 5))
    coded = coded_of(table, 4)
    for seed in range(5):
        grouping = group(coded, Task(k=4, seed=seed))
        assert grouping.sizes.tolist() == [4, 4, 4]
        assert grouping.count.sum() == 12


def test_leftovers_join_the_group_where_they_cost_least() -> None:
    table = Table({"age": [0, 1, 2, 40, 41, 90, 91]}, {"age": "number"})
    coded = coded_of(table, 2)
    for seed in range(6):
        grouping = group(coded, Task(k=2, seed=seed))
        assert sorted(grouping.sizes.tolist()) == [2, 2, 3]
        assert naive.total_loss(
            table, [np.flatnonzero(grouping.group == at).tolist() for at in range(3)]
        ) == pytest.approx((2 * 3 + 1 * 2 + 1 * 2) / 91)


@pytest.mark.parametrize("ages", [[0, 0, 0, 1, 1, 1, 100], [0, 0, 0, 50, 50, 50, 51, 90, 90, 100]])
def test_a_leftover_is_withheld_only_where_that_loses_less(ages: list[int]) -> None:
    coded = coded_of(Table({"age": ages}, {"age": "number"}), 3)
    for seed in range(20):
        kept = group(coded, Task(k=3, seed=seed))
        allowed = group(coded, Task(k=3, seed=seed, withhold=1))
        assert kept.withheld == 0
        before, after = (value_of("loss", coded, each) for each in (kept, allowed))
        assert after < before if allowed.withheld else after == before


def test_outliers_left_over_are_withheld() -> None:
    coded = coded_of(Table({"age": [0, 0, 0, 100, 100]}, {"age": "number"}), 3)
    found = [group(coded, Task(k=3, seed=seed, withhold=2)) for seed in range(20)]
    assert {each.withheld for each in found} == {0, 2}  # 0 where the first seed was an outlier
    assert all(each.group.tolist() == [0, -1] for each in found if each.withheld)
    assert not any(group(coded, Task(k=3, seed=seed, withhold=1)).withheld for seed in range(20))


def test_progress_never_goes_back() -> None:
    seen: list[float] = []
    luck = random.Random(1)
    frame = pl.DataFrame({"age": [luck.random() for _ in range(3000)]})
    coded = encode(frame, Plan(k=2, quasi=("age",)))
    group(coded, Task(k=2, progress=lambda _, share: seen.append(share)))
    assert seen == sorted(seen)
    assert len(seen) >= 3
    assert all(0 <= share <= 1 for share in seen)

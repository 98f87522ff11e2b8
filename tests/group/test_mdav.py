from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_squares
from naive import Table
from shoal.bound import value_of
from shoal.bound.squares import squares_share
from shoal.encode import encode
from shoal.group.mdav import group
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task
from tables import coded_of, tables


def members(grouping: Grouping) -> list[list[tuple[int, int]]]:
    groups: list[list[tuple[int, int]]] = [[] for _ in range(grouping.groups)]
    for row, its, count in zip(grouping.distinct, grouping.group, grouping.count, strict=True):
        groups[int(its)].append((int(row), int(count)))
    return groups


def numbers(rows: int, columns: int, seed: int) -> pl.DataFrame:
    luck = random.Random(seed)
    return pl.DataFrame({f"x{a}": [luck.gauss(0, 1 + a) for _ in range(rows)] for a in range(columns)})


def coded_numbers(frame: pl.DataFrame, k: int) -> Coded:
    return encode(frame, Plan(k=k, quasi=tuple(frame.columns)))


@given(table=tables(least=3, most=9, copies=True), cut=st.integers(1, 8))
@settings(max_examples=60)
def test_the_sum_of_squares_is_that_of_all_pairs(table: Table, cut: int) -> None:
    if sum(table.counts) < 2:
        return
    coded = coded_of(table, 2)
    label = (np.arange(coded.distinct) >= min(cut, coded.distinct - 1)).astype(np.int64)
    grouping = Grouping.of_labels(label, coded.count)
    # the twin reads raw rows: those of a distinct row are alike
    first = [int(np.flatnonzero(coded.row == row)[0]) for row in range(coded.distinct)]
    groups = [[(first[row], count) for row, count in its] for its in members(grouping)]
    expected = naive_squares.sum_of_squares(table, groups)
    assert value_of("squares", coded, grouping) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_groups_are_those_of_the_plain_definition(seed: int) -> None:
    k = 2 + seed % 4
    frame = numbers(17 + 3 * seed, 1 + seed % 3, seed)
    coded = coded_numbers(frame, k)
    values = frame.to_numpy()
    points = (values - values.mean(axis=0)) / values.std(axis=0)
    place = np.argsort(coded.row)  # the input row of each distinct row
    expected = naive_squares.mdav(points[place].tolist(), k)
    found = [[row for row, _ in its] for its in members(group(coded, Task(k=k)))]
    assert {tuple(sorted(its)) for its in found} == {tuple(sorted(its)) for its in expected}


@given(table=tables(least=4, most=14, copies=True), k=st.integers(2, 4))
@settings(max_examples=40)
def test_improving_never_raises_the_sum_and_keeps_k(table: Table, k: int) -> None:
    if sum(table.counts) < k:
        return
    coded = coded_of(table, k)
    before, after = (group(coded, Task(k=k, improve=improve)) for improve in (False, True))
    assert after.sizes.min() >= k
    assert after.count.sum() == coded.total
    assert value_of("squares", coded, after) <= value_of("squares", coded, before) + 1e-6


def test_improving_lowers_the_sum_and_more_effort_never_raises_it() -> None:
    coded = coded_numbers(numbers(400, 3, 5), 4)
    before = value_of("squares", coded, group(coded, Task(k=4)))
    found = [
        value_of("squares", coded, group(coded, Task(k=4, improve=True, effort=Effort.parse(f"steps={n}"))))
        for n in (1, 2, 4)
    ]
    assert found[0] < 0.98 * before
    assert found == sorted(found, reverse=True)


def test_copies_left_of_one_tuple_stand_alone() -> None:
    coded = coded_of(Table({"age": [0, 50, 55, 90]}, {"age": "number"}, copies=(1, 40, 2, 1)), 4)
    grouping = group(coded, Task(k=4))
    # 90 takes 55, 55, 50; 0 takes three times 50; all the other copies are one group
    assert sorted(members(grouping)) == [[(0, 1), (1, 3)], [(1, 1), (2, 2), (3, 1)], [(1, 36)]]
    assert 0 < squares_share(coded, grouping) < 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "percent"), [("census", 5.6922), ("tarragona", 16.9326)])
def test_the_figures_of_the_literature(shared, name: str, percent: float) -> None:
    frame = pl.read_csv(shared / "microaggregation" / f"casc_{name}.csv")
    coded = encode(
        frame, Plan(k=3, quasi=tuple(frame.columns), kinds=dict.fromkeys(frame.columns, "number"))
    )
    plain, better = (group(coded, Task(k=3, improve=improve)) for improve in (False, True))
    assert 100 * squares_share(coded, plain) == pytest.approx(percent, abs=1e-3)
    assert squares_share(coded, better) < squares_share(coded, plain)
    assert better.sizes.min() >= 3

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from shoal.bound import value_of
from shoal.bound.neighbour import compares_all, neighbour_bound
from shoal.group import METHODS, facts, fill_options, load
from shoal.model.task import Task
from tables import coded_of, tables


@given(st.data())
@settings(max_examples=60)
def test_no_release_beats_the_bound(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 4))
    table = data.draw(tables(least=k, most=8))
    withhold = data.draw(st.integers(0, 2))
    coded = coded_of(table, k)
    task = Task(k=k, withhold=withhold)
    bound = neighbour_bound(coded, task).bound
    best = naive.least_loss(table, k, withhold)
    assert bound <= best + 1e-9
    for method in METHODS:
        its = facts(method)
        if its.objective != "loss" or not set(table.kinds.values()) <= its.takes:
            continue
        if its.only_k not in {None, k} or (its.most_columns or 99) < len(table.cells):
            continue
        if "generalize" not in its.styles or (withhold and not its.withholds):
            continue
        options = fill_options(method, {})
        grouping = load(method).group(coded, Task(k=k, withhold=withhold, options=options))
        assert best <= value_of("loss", coded, grouping) + 1e-9


@given(st.data())
@settings(max_examples=40)
def test_the_bound_is_the_sum_of_reaches(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 4))
    table = data.draw(tables(least=k, most=10))
    expected = sum(naive.reach(table, row, k) for row in range(table.rows))
    assert neighbour_bound(coded_of(table, k), Task(k=k)).bound == pytest.approx(expected)


def test_withholding_may_save_a_whole_table() -> None:
    table = naive.Table({"age": [0, 0, 100], "size": [1, 1, 9]}, {"age": "number", "size": "number"})
    coded = coded_of(table, 3)
    assert neighbour_bound(coded, Task(k=3)).bound == pytest.approx(6)
    assert neighbour_bound(coded, Task(k=3, withhold=1)).bound <= naive.least_loss(table, 3, 1)


def test_many_columns_are_compared_without_a_tree() -> None:
    cells = {f"number{at}": [at, 3, 9 - at % 5, 7, at % 3, 1, 12] for at in range(20)}
    table = naive.Table(cells, dict.fromkeys(cells, "number"))
    coded = coded_of(table, 2)
    assert compares_all(coded)
    bound = neighbour_bound(coded, Task(k=2)).bound
    expected = sum(naive.reach(table, row, 2) for row in range(table.rows))
    assert (1 - 2e-5) * expected <= bound <= expected
    assert bound <= naive.least_loss(table, 2, 0)

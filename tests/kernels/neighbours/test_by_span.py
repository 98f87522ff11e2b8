from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from naive import Table
from shoal.kernels.neighbours.by_span import build_tree, list_within, reach_distances
from shoal.kernels.neighbours.many_columns import least_reaches
from shoal.model.coded import Coded
from tables import PATHS, coded_of, tables


def large_table(rows: int, seed: int) -> Table:
    """Enough rows for a tree of several levels; a number column too long for a table of distances."""
    luck = random.Random(seed)

    def cells(pool: list[Any], missing: float) -> list[Any]:
        return [None if luck.random() < missing else luck.choice(pool) for _ in range(rows)]

    return Table(
        cells={
            "income": cells(list(range(100_000)), 0.05),
            "age": cells(list(range(9)), 0.0),
            "job": cells([path[0] for path in PATHS], 0.1),
            "town": cells(list("xyz"), 0.1),
            "idle": cells([1, 2], 0.0),
        },
        kinds={"income": "number", "age": "number", "job": "tree", "town": "label", "idle": "number"},
        paths={"job": PATHS},
        weights={"age": 0.5, "idle": 0.0},
        copies=tuple(luck.choice([0, 1, 1, 1, 2, 5]) for _ in range(rows)),
    )


def first_row(coded: Coded, distinct: int) -> int:
    return int(np.flatnonzero(coded.row == distinct)[0])


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[Table, int]:
    """A table and a k that it has records for."""
    table = draw(tables(least=1, most=12, copies=draw(st.booleans())))
    k = draw(st.integers(1, 6))
    assume(sum(table.counts) >= max(k, 2))
    return table, k


@given(small_tables())
@settings(max_examples=60)
def test_reach_is_that_of_the_sorted_distances(drawn: tuple[Table, int]) -> None:
    table, k = drawn
    coded = coded_of(table, 2)
    found = reach_distances(coded.codes, coded.count, coded.metric, k)
    for distinct in range(coded.distinct):
        if coded.count[distinct] > 0:
            assert found[distinct] == pytest.approx(naive.reach(table, first_row(coded, distinct), k))


@pytest.mark.parametrize("k", [2, 7, 60])
def test_reach_through_several_levels_of_the_tree(k: int) -> None:
    table = large_table(700, seed=k)
    coded = coded_of(table, 2)
    found = reach_distances(coded.codes, coded.count, coded.metric, k)
    luck = random.Random(k)
    for distinct in luck.sample(range(coded.distinct), 12):
        if coded.count[distinct] > 0:
            assert found[distinct] == pytest.approx(naive.reach(table, first_row(coded, distinct), k))


@given(small_tables())
@settings(max_examples=60)
def test_reaches_by_comparing_all_are_never_above_the_true_ones(drawn: tuple[Table, int]) -> None:
    table, k = drawn
    coded = coded_of(table, 2)
    found = least_reaches(coded.codes, coded.count, coded.metric, k)
    for distinct in range(coded.distinct):
        true = naive.reach(table, first_row(coded, distinct), k) if coded.count[distinct] > 0 else 0.0
        assert (1 - 2e-5) * true - 1e-12 <= found[distinct] <= true


@pytest.mark.parametrize("k", [2, 7, 60])
def test_reaches_by_comparing_all_through_several_tiles_and_threads(k: int) -> None:
    table = large_table(1500, seed=k)
    coded = coded_of(table, 2)
    found = least_reaches(coded.codes, coded.count, coded.metric, k)
    assert found == pytest.approx(reach_distances(coded.codes, coded.count, coded.metric, k), rel=2e-5)


@given(st.data())
@settings(max_examples=60)
def test_ranges_hold_exactly_the_rows_within(data: st.DataObject) -> None:
    table = data.draw(tables(least=2, most=12, copies=data.draw(st.booleans())))
    assume(sum(table.counts) >= 2)
    coded = coded_of(table, 2)
    asked = data.draw(st.sampled_from(range(table.rows)))
    # between two distances, so that rounding cannot matter
    radius = data.draw(st.floats(0, 4)) + 1e-7
    assume(all(abs(naive.distance(table, asked, other) - radius) > 1e-8 for other in range(table.rows)))
    tree = build_tree(coded.codes, coded.count, coded.metric)
    query = coded.codes[coded.row[[asked]]]
    inside = [row for row in naive.within(table, asked, radius) if table.counts[row] > 0]
    starts, rows = list_within(tree, coded.metric, query, [radius])
    assert starts.tolist() == [0, rows.size]
    with_records = {int(coded.row[row]) for row in inside}
    assert rows.tolist() == sorted(with_records)


def test_ranges_through_several_levels_of_the_tree() -> None:
    table = large_table(600, seed=4)
    coded = coded_of(table, 2)
    tree = build_tree(coded.codes, coded.count, coded.metric)
    asked = list(range(0, 600, 60))
    queries = coded.codes[coded.row[asked]]
    radius = np.linspace(0.01, 1.5, len(asked))
    starts, rows = list_within(tree, coded.metric, queries, radius)
    for at, row in enumerate(asked):
        inside = [i for i in naive.within(table, row, radius[at]) if table.counts[i] > 0]
        expected = sorted({int(coded.row[i]) for i in inside})
        assert rows[starts[at] : starts[at + 1]].tolist() == expected


def test_nothing_within_reach_is_an_empty_list() -> None:
    table = Table({"age": [0, 10]}, {"age": "number"})
    coded = coded_of(table, 2)
    tree = build_tree(coded.codes[1:], coded.count[1:], coded.metric)
    starts, rows = list_within(tree, coded.metric, coded.codes[:1], [0.5])
    assert starts.tolist() == [0, 0]
    assert rows.size == 0


def test_a_thousand_alike_rows_need_no_cut() -> None:
    frame = pl.DataFrame({"age": [3] * 1000})
    table = Table({"age": frame["age"].to_list()}, {"age": "number"})
    coded = coded_of(table, 2)
    assert reach_distances(coded.codes, coded.count, coded.metric, 1000).tolist() == [0.0]

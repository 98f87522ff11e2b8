"""The rules that every method keeps; a method is tested by being listed in METHODS.

What a method declares in FACTS (kinds, most columns, the only k) decides which tables it is given.
"""

from __future__ import annotations

import random
from typing import Any

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from naive import Table, assert_sound, total_loss
from shoal.bound import value_of
from shoal.encode import encode
from shoal.errors import TooFewRows
from shoal.group import METHODS, check_fit, facts, fill_options, load
from shoal.model.coded import Coded
from shoal.model.facts import OBJECTIVES
from shoal.model.grouping import Grouping
from shoal.model.plan import STYLES
from shoal.model.task import Task, quota
from tables import KINDS, PATHS, coded_of, frame_of, plan_of, tables

HEADINGS = ("Problem", "Guarantee", "Method", "Cost", "Reference", "Example")
COLUMNS = ("number", "date", "tree", "label")

every_method = pytest.mark.parametrize("method", METHODS)


def kinds_of(method: str) -> tuple[str, ...]:
    """The kinds among ours that a method takes; those that take none have tests of their own."""
    kinds = tuple(kind for kind in KINDS if kind in facts(method).takes)
    if not kinds:
        pytest.skip("takes none of the plain kinds")
    return kinds


def k_of(method: str, k: int) -> int:
    only = facts(method).only_k
    return k if only is None else only


def style_of(method: str) -> str:
    styles = facts(method).styles
    return "generalize" if "generalize" in styles else sorted(styles)[0]


def columns_of(method: str) -> int:
    most = facts(method).most_columns
    return 3 if most is None else min(3, most)


def run(method: str, coded: Coded, k: int, **more: Any) -> Grouping:
    given_options = more.pop("options", {})
    task = Task(k=k, options=fill_options(method, given_options), **more)
    grouping: Grouping = load(method).group(coded, task)
    return grouping


def random_table(method: str, rows: int, *, missing: float = 0.1, seed: int = 0) -> Table:
    """A table of as many kinds as the method takes, with copies, ties and missing cells."""
    luck = random.Random(seed)
    pools: dict[str, list[Any]] = {
        "number": list(range(40)),
        "date": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 1), eager=True).to_list(),
        "tree": [path[0] for path in PATHS],
        "label": ["red", "green", "blue", "grey", "black"],
    }
    most = facts(method).most_columns
    kinds = kinds_of(method)[: most if most is not None else None]
    cells = {
        kind: [None if luck.random() < missing else luck.choice(pools[kind]) for _ in range(rows)]
        for kind in kinds
    }
    return Table(
        cells=cells,
        kinds={kind: kind for kind in kinds},
        paths={kind: PATHS for kind in kinds if kind == "tree"},
    )


@every_method
def test_docstring_has_the_six_headings(method: str) -> None:
    lines = [line.strip(" :") for line in (load(method).__doc__ or "").splitlines()]
    assert [line for line in lines if line in HEADINGS] == list(HEADINGS)


@every_method
def test_facts_are_complete(method: str) -> None:
    its = facts(method)
    assert its.objective in OBJECTIVES
    assert all([its.title, its.guarantee, its.time, its.paper])
    assert its.takes
    assert its.styles
    assert its.styles <= set(STYLES)
    assert its.most_columns is None or its.most_columns >= 1
    assert its.only_k is None or its.only_k >= 2
    assert all(option.meaning for option in its.options.values())
    assert not its.improves or "search" in its.options  # which switches improvement off
    factor = its.factor(k_of(method, 5), 3)
    assert factor is None or factor >= 1


@every_method
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_every_record_is_in_one_group_of_at_least_k(method: str, data: st.DataObject) -> None:
    kinds = kinds_of(method)
    k = k_of(method, data.draw(st.integers(2, 4)))
    table = data.draw(
        tables(
            least=k, most=14, kinds=kinds, most_columns=columns_of(method), copies=data.draw(st.booleans())
        )
    )
    assume(sum(table.counts) >= k)
    coded = coded_of(table, k, style=style_of(method))
    assert_sound(run(method, coded, k, seed=data.draw(st.integers(0, 3))), coded, k)


@every_method
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_no_more_is_withheld_than_allowed(method: str, data: st.DataObject) -> None:
    if not facts(method).withholds:
        pytest.skip("cannot withhold")
    k = k_of(method, 3)
    table = data.draw(tables(least=k, most=14, kinds=kinds_of(method), most_columns=columns_of(method)))
    coded = coded_of(table, k, style=style_of(method))
    withhold = quota(data.draw(st.floats(0, 0.5)), coded.total)
    assert_sound(run(method, coded, k, withhold=withhold), coded, k, withhold)


@every_method
def test_the_same_seed_gives_the_same_groups_on_any_number_of_threads(method: str) -> None:
    k = k_of(method, 4)
    coded = coded_of(random_table(method, 300), k, style=style_of(method))
    assert_sound(run(method, coded, k, seed=7), coded, k)
    before = numba.get_num_threads()
    found = []
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS), 1):
            numba.set_num_threads(threads)
            found.append(run(method, coded, k, seed=7, threads=threads))
    finally:
        numba.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].distinct, other.distinct)
        np.testing.assert_array_equal(found[0].group, other.group)
        np.testing.assert_array_equal(found[0].count, other.count)


@every_method
def test_fewer_than_k_records_are_refused(method: str) -> None:
    k = k_of(method, 3)
    table = random_table(method, k - 1)
    with pytest.raises(TooFewRows, match=f"k = {k} needs at least {k} rows; the table has {k - 1}"):
        coded_of(table, k, style=style_of(method))


@every_method
def test_rows_that_are_all_alike_lose_nothing(method: str) -> None:
    k = k_of(method, 3)
    kind = kinds_of(method)[0]
    one = random_table(method, 1, missing=0).cells[kind][0]
    table = Table(
        cells={kind: [one] * 8}, kinds={kind: kind}, paths={"tree": PATHS} if kind == "tree" else {}
    )
    coded = coded_of(table, k, style=style_of(method))
    grouping = run(method, coded, k)
    assert_sound(grouping, coded, k)
    if facts(method).objective != "largest":
        assert value_of(facts(method).objective, coded, grouping) == 0


@every_method
def test_exactly_k_records_are_one_group(method: str) -> None:
    k = k_of(method, 5)
    coded = coded_of(random_table(method, k, seed=3), k, style=style_of(method))
    grouping = run(method, coded, k)
    assert_sound(grouping, coded, k)
    assert grouping.groups == 1


@every_method
@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_one_column_of_each_kind(method: str, kind: str, missing: float) -> None:
    if kind not in facts(method).takes:
        pytest.skip(f"does not take a {kind}")
    k = k_of(method, 3)
    whole = Table(
        cells={kind: [None] * 30}
        if missing == 1
        else {
            kind: [
                random.Random(i).choice(pool) if random.Random(-i).random() >= missing else None
                for i, pool in enumerate([_pool(kind)] * 30)
            ]
        },
        kinds={kind: kind},
        paths={"tree": PATHS} if kind == "tree" else {},
    )
    coded = coded_of(whole, k, style=style_of(method))
    assert_sound(run(method, coded, k), coded, k)


def _pool(kind: str) -> list[Any]:
    if kind == "number":
        return list(range(12))
    if kind == "date":
        return pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 20), eager=True).to_list()
    return [path[0] for path in PATHS] if kind == "tree" else list("xyz")


@every_method
def test_columns_of_weight_0_cost_nothing(method: str) -> None:
    if columns_of(method) < 2 or len(kinds_of(method)) < 2:
        pytest.skip("takes one column")
    k = k_of(method, 3)
    table = random_table(method, 40)
    names = list(table.cells)
    light = Table(table.cells, table.kinds, table.paths, weights=dict.fromkeys(names[1:], 0.0))
    coded = coded_of(light, k, style=style_of(method))
    assert_sound(run(method, coded, k), coded, k)


@every_method
def test_rows_without_records_are_in_no_group(method: str) -> None:
    k = k_of(method, 3)
    table = random_table(method, 30)
    counted = Table(table.cells, table.kinds, table.paths, copies=tuple(i % 3 for i in range(30)))
    coded = coded_of(counted, k, style=style_of(method))
    assert_sound(run(method, coded, k), coded, k)
    release = shoal.anonymize(frame_of(counted), plan_of(counted, k, style=style_of(method), method=method))
    faces = [name for name in release.table.columns if name != "n"]
    classes = release.table.group_by(faces).agg(pl.col("n").sum())["n"]
    assert classes.min() >= k
    assert classes.sum() == sum(counted.counts)


@every_method
def test_a_row_of_many_records_may_stand_alone(method: str) -> None:
    k = k_of(method, 5)
    table = random_table(method, 12)
    heavy = Table(table.cells, table.kinds, table.paths, copies=(1000, *(1,) * 11))
    coded = coded_of(heavy, k, style=style_of(method))
    assert_sound(run(method, coded, k), coded, k)


@every_method
def test_shuffled_rows_give_the_same_release(method: str) -> None:
    k = k_of(method, 4)
    table = random_table(method, 120)
    frame = frame_of(table)
    plan = plan_of(table, k, style=style_of(method), method=method, seed=5)
    check_fit(method, plan, encode(frame, plan).columns)
    one = shoal.anonymize(frame, plan)
    other = shoal.anonymize(frame.sample(fraction=1, shuffle=True, seed=1), plan)
    assert one.table.equals(other.table)
    assert one.receipt.figures.value == other.receipt.figures.value


@every_method
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_the_certificate_says_the_loss_that_raw_cells_have(method: str, data: st.DataObject) -> None:
    if facts(method).objective != "loss" or style_of(method) != "generalize":
        pytest.skip("another objective")
    k = k_of(method, 2)
    table = data.draw(tables(least=k, most=10, kinds=kinds_of(method), most_columns=columns_of(method)))
    coded = coded_of(table, k)
    grouping = run(method, coded, k)
    # copies of a distinct row are dealt to its pieces in any order: they look alike
    left = {row: np.flatnonzero(coded.row == row).tolist() for row in range(coded.distinct)}
    groups: dict[int, list[int]] = {}
    for row, group, count in zip(grouping.distinct, grouping.group, grouping.count, strict=True):
        groups.setdefault(int(group), []).extend(left[int(row)].pop() for _ in range(count))
    withheld = groups.pop(-1, [])
    expected = total_loss(table, list(groups.values()), withheld)
    assert value_of("loss", coded, grouping) == pytest.approx(expected)

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.bound import value_of
from shoal.encode import encode
from shoal.group import crowd, mondrian
from shoal.kernels.crowd.leftovers import insert_left
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Task

TREE = Hierarchy.of_paths([(f"{a}{b}{c}", f"{a}{b}", a, "*") for a in "pqr" for b in "stu" for c in "vw"])


def mixed(rows: int, seed: int = 0) -> Coded:
    """Two numbers, a tree, two labels and a count, some of it missing."""
    rng = np.random.default_rng(seed)
    ages = [None if rng.random() < 0.05 else int(age) for age in rng.integers(18, 90, rows)]
    frame = pl.DataFrame(
        {
            "age": ages,
            "pay": rng.integers(0, 500, rows) * 100,
            "job": rng.choice(list(TREE.leaves), rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(list("abcdefg"), rows),
            "n": rng.integers(0, 4, rows),
        }
    )
    quasi = ("age", "pay", "job", "sex", "town")
    return encode(frame, Plan(k=4, quasi=quasi, hierarchies={"job": TREE}, count="n"))


def test_a_row_that_costs_more_in_than_out_is_left_out() -> None:
    frame = pl.DataFrame({"age": [0] * 40 + [1, 100]})
    coded = encode(frame, Plan(k=2, quasi=("age",)))
    kept = crowd.group(coded, Task(k=2))
    assert kept.withheld == 0
    frame = pl.DataFrame({"age": [0] * 40 + [100]})
    coded = encode(frame, Plan(k=2, quasi=("age",)))
    assert crowd.group(coded, Task(k=2)).withheld == 0
    assert crowd.group(coded, Task(k=2, withhold=1)).withheld == 1


def assert_sound(coded: Coded, grouping: Grouping, k: int) -> None:
    held = np.bincount(grouping.distinct, weights=grouping.count, minlength=coded.distinct)
    assert np.array_equal(held, coded.count)
    assert grouping.sizes.min() >= k


def same(one: Grouping, other: Grouping) -> bool:
    return np.array_equal(one.distinct, other.distinct) and np.array_equal(one.group, other.group)


def test_stages_lose_no_more_than_all_boxes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = mixed(400)
    task = Task(k=4)
    staged = crowd.group(coded, task)
    monkeypatch.setattr(crowd, "FIRST_CAP", np.inf)
    whole = crowd.group(coded, task)
    assert_sound(coded, staged, 4)
    assert value_of("loss", coded, staged) <= 1.05 * value_of("loss", coded, whole)


def test_too_many_boxes_are_answered_by_fewer_then_by_growing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coded = mixed(600)
    monkeypatch.setattr(crowd, "count_labels", lambda *_: 0)
    free = crowd.group(coded, Task(k=4))
    monkeypatch.setattr(crowd, "LOOKS", {"quick": 1, "normal": 1, "thorough": 1})
    monkeypatch.setattr(crowd, "LEAST_LOOKS", 100)
    grown = crowd.group(coded, Task(k=4))
    assert_sound(coded, grown, 4)
    assert not same(free, grown)


def test_blocks_are_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = mixed(600)
    monkeypatch.setattr(crowd, "WHOLE", 100)
    monkeypatch.setattr(crowd, "BLOCK", 60)
    one = crowd.group(coded, Task(k=4, threads=1))
    many = crowd.group(coded, Task(k=4, threads=4))
    assert_sound(coded, one, 4)
    assert same(one, many)


def test_with_labels_the_better_of_boxes_and_grown_crowds_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = mixed(400)
    best = value_of("loss", coded, crowd.group(coded, Task(k=4)))
    with monkeypatch.context() as patch:
        patch.setattr(crowd, "count_labels", lambda *_: 0)
        from_boxes = value_of("loss", coded, crowd.group(coded, Task(k=4)))
    monkeypatch.setattr(crowd, "WIDE", 1)
    grown = value_of("loss", coded, crowd.group(coded, Task(k=4)))
    assert best == min(from_boxes, grown)
    assert from_boxes != grown


def test_many_columns_need_no_boxes_and_lose_less_than_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(0, 1, (500, 3))
    columns = {f"n{at}": (10 * (means @ rng.normal(0, 1, 3) + rng.normal(0, 0.3, 500))) for at in range(12)}
    coded = encode(pl.DataFrame(columns), Plan(k=5, quasi=tuple(columns)))
    with monkeypatch.context() as patch:
        patch.setattr(crowd, "build_cube", lambda *_: pytest.fail("no cube is built for many columns"))
        one = crowd.group(coded, Task(k=5, threads=1))
        many = crowd.group(coded, Task(k=5, threads=4))
    assert_sound(coded, one, 5)
    assert same(one, many)
    assert value_of("loss", coded, one) < value_of("loss", coded, mondrian.group(coded, Task(k=5)))


def test_a_row_left_over_joins_the_group_where_it_adds_least() -> None:
    frame = pl.DataFrame({"age": [0, 1, 2, 50, 51, 60, 98, 99, 100], "town": list("aaabbbccc")})
    coded = encode(frame, Plan(k=2, quasi=("age", "town")))
    label = np.array([0, 0, 0, 1, 1, -1, 2, 2, 2], dtype=np.int32)
    assert insert_left(coded.codes, coded.count, coded.metric, label, 2, 0, coded.weight) == 0
    assert label[5] == 1


def test_a_row_dearer_in_than_out_is_withheld_within_the_quota() -> None:
    frame = pl.DataFrame({"age": [0, 0, 0, 0, 100]})
    coded = encode(frame, Plan(k=2, quasi=("age",)))
    count = np.array([40, 1])
    for quota, held in ((1, 1), (0, 0)):
        label = np.array([0, -1], dtype=np.int32)
        found = insert_left(coded.codes, count, coded.metric, label, 2, quota, coded.weight)
        assert found == held
        assert (label[1] == -1) == (held == 1)


def test_many_rows_left_over_beside_few_that_stand_find_room() -> None:
    frame = pl.DataFrame({"age": [0] * 300 + list(range(1, 201))})
    coded = encode(frame, Plan(k=250, quasi=("age",)))
    label = np.full(coded.distinct, -1, dtype=np.int32)
    label[0] = 0
    quota = 120
    held = insert_left(coded.codes, coded.count, coded.metric, label, 250, quota, coded.weight / 1000)
    assert held == quota  # out is cheaper for all of them, and the quota ends it
    assert (label < 0).sum() == quota
    assert set(label.tolist()) == {0, -1}

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import shoal
from naive import Path, Table
from naive_clusters import cluster
from shoal.bound import value_of
from shoal.errors import PlanError
from shoal.group.oka import _cluster, group
from shoal.model.task import Task
from tables import coded_of

PATHS: list[Path] = [(leaf, "pq"[at // 4], "*") for at, leaf in enumerate("abcdefgh")]


def sorted_table(rows: int, seed: int) -> Table:
    """Distinct rows in the order of their codes, ages so many that distances hardly ever tie."""
    luck = random.Random(seed)
    order = sorted((luck.randrange(10**6), luck.choice("abcdefgh")) for _ in range(rows))
    return Table(
        {"age": [line[0] for line in order], "job": [line[1] for line in order]},
        {"age": "number", "job": "tree"},
        {"job": PATHS},
        loss="levels",
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_first_stage_is_that_of_the_plain_definition(seed: int) -> None:
    table = sorted_table(30, seed)
    coded = coded_of(table, 4)
    rows = np.arange(coded.distinct)
    seeds = np.sort(np.random.default_rng(seed).choice(30, size=7, replace=False))
    row, label, many, _ = _cluster(coded, rows, seeds, Task(k=4), 0, 1)
    assert many.tolist() == [1] * 30
    found = {tuple(sorted(row[label == at].tolist())) for at in range(7)}
    assert found == {tuple(sorted(its)) for its in cluster(table, seeds.tolist())}


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_groups_stay_near_k(passes: int) -> None:
    coded = coded_of(sorted_table(50, 1), 4)
    grouping = group(coded, Task(k=4, options={"passes": passes, "small": "fill"}))
    assert grouping.groups == 50 // 4
    assert grouping.sizes.min() >= 4
    assert grouping.withheld == 0
    assert grouping.steps == passes


def test_small_clusters_are_withheld_within_the_quota() -> None:
    luck = random.Random(2)
    ages = [luck.randrange(20) for _ in range(60)] + [500, 700, 900]
    coded = coded_of(Table({"age": ages}, {"age": "number"}), 4)
    some = 0
    for seed in range(10):
        options = {"passes": 1, "small": "withhold"}
        grouping = group(coded, Task(k=4, seed=seed, withhold=9, options=options))
        assert grouping.withheld <= 9
        assert grouping.sizes.min() >= 4
        some += grouping.withheld
        none = group(coded, Task(k=4, seed=seed, options=options))
        assert none.withheld == 0
    assert some > 0


def test_rows_in_random_order_keep_the_rules_and_repeat() -> None:
    coded = coded_of(Table({"x": list(range(60))}, {"x": "number"}), 4)
    tasks = {order: Task(k=4, options={"order": order}) for order in ("sorted", "random")}
    found = {order: group(coded, task) for order, task in tasks.items()}
    for order, grouping in found.items():
        assert grouping.sizes.min() >= 4
        assert grouping.sizes.sum() == 60
        np.testing.assert_array_equal(grouping.group, group(coded, tasks[order]).group)
    assert (found["sorted"].group != found["random"].group).any()


def test_seeds_differ_and_repeat() -> None:
    coded = coded_of(sorted_table(60, 3), 3)
    losses = [value_of("loss", coded, group(coded, Task(k=3, seed=seed))) for seed in (1, 1, 2, 3)]
    assert losses[0] == losses[1]
    assert len(set(losses)) > 1


@pytest.mark.parametrize(
    ("method", "option", "value", "match"),
    [
        ("oka", "passes", "0", "at least 1 pass"),
        ("oka", "passes", "-3", "at least 1 pass"),
        ("oka", "passes", "many", "'passes'"),
        ("oka", "small", "eat", "fill or withhold"),
        ("threshold", "threshold", "0", "above 0"),
        ("threshold", "threshold", "-1", "above 0"),
        ("threshold", "threshold", "nan", "above 0"),
        ("weighted-means", "rounds", "0", "at least 1 round"),
    ],
)
def test_options_that_cannot_be_right(method: str, option: str, value: str, match: str) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    with pytest.raises(PlanError, match=match):
        shoal.anonymize(frame, k=2, quasi=["age"], method=method, options={option: value})

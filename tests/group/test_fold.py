from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import naive_geography as naive
from naive_geography import levels, tiny
from shoal.bound.largest_group import largest_bound
from shoal.encode import encode
from shoal.group.families.packing import order_of
from shoal.group.fold import FACTS, fold, group
from shoal.model.plan import Plan
from shoal.model.task import Task


def against_brute_force(tables: int) -> None:
    random = np.random.default_rng(4)
    for _ in range(tables):
        weight, k = tiny(random)
        best = naive.least_largest(weight.tolist(), k)
        if best is None:
            continue
        assert largest_bound(weight, k) <= best
        for order in ("sorted", "random"):
            found = levels(weight, fold(weight, order_of(weight, order, 7), k))
            assert min(found) >= k
            assert best <= max(found) <= 3 * best
            assert max(found) <= max(k - 1 + weight.max(), 3 * k - 3)


def test_fold_holds_its_factor_against_brute_force() -> None:
    against_brute_force(200)


@pytest.mark.slow
def test_fold_holds_its_factor_against_brute_force_at_length() -> None:
    against_brute_force(1000)


def test_labels_stay_whole_and_missing_is_one_of_them() -> None:
    names = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + [None] * 4
    plan = Plan(k=5, quasi=("name",))
    coded = encode(pl.DataFrame({"name": names}), plan)
    grouping = group(coded, Task(k=5))
    assert grouping.distinct.tolist() == [0, 1, 2, 3]
    assert sorted(grouping.sizes.tolist()) == [7, 7]
    assert FACTS.factor(5, 1) == 3.0

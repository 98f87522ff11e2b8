from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import naive_geography as naive
from naive_geography import levels, tiny
from shoal.encode import encode
from shoal.errors import PlanError
from shoal.group import fill_options
from shoal.group.scheme import group, relaxed_packing
from shoal.model.plan import Plan
from shoal.model.task import Task


def against_brute_force(tables: int) -> None:
    random = np.random.default_rng(8)
    for table in range(tables):
        weight, k = tiny(random)
        best = naive.least_largest(weight.tolist(), k)
        for epsilon in (0.05,) if table % 2 else (0.2,):
            q = k / (1 - 2 * epsilon)
            found = levels(weight, relaxed_packing(weight, k, epsilon))
            assert min(found) >= k
            assert best is not None
            assert best <= max(found)
            strict = naive.least_largest(weight.tolist(), math.ceil(q - 1e-9))
            if strict is not None:
                assert max(found) <= (1 + epsilon) * (strict + epsilon * q) + 1e-6


def test_the_scheme_holds_theorem_9_against_brute_force() -> None:
    against_brute_force(200)


@pytest.mark.slow
def test_the_scheme_holds_theorem_9_against_brute_force_at_length() -> None:
    against_brute_force(1000)


def test_the_scheme_is_never_worse_than_spread() -> None:
    names = [
        name for name, copies in zip("abcdefg", [7, 6, 5, 4, 3, 2, 1], strict=True) for _ in range(copies)
    ]
    coded = encode(pl.DataFrame({"name": names}), Plan(k=9, quasi=("name",)))
    grouping = group(coded, Task(k=9, options={"epsilon": 0.1}))
    assert grouping.sizes.min() >= 9
    assert grouping.sizes.max() <= 2.5 * 10


def test_an_epsilon_out_of_range_is_refused() -> None:
    with pytest.raises(PlanError, match=r"at most 0\.25"):
        fill_options("scheme", {"epsilon": "0.4"})


def test_a_finer_epsilon_than_the_table_allows_is_refused() -> None:
    weight = np.arange(1, 200)
    with pytest.raises(PlanError, match="larger epsilon"):
        relaxed_packing(weight, 500, 0.001)

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import naive_geography as naive
from shoal.bound.largest_group import largest_bound
from shoal.encode import encode
from shoal.group.intervals import group, least_largest
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task


def run(values: list[object], k: int, objective: str = "largest") -> tuple[list[object], Grouping]:
    frame = pl.DataFrame({"value": values})
    coded = encode(frame, Plan(k=k, quasi=("value",)))
    grouping = group(coded, Task(k=k, options={"objective": objective}))
    label = grouping.group[np.searchsorted(grouping.distinct, coded.row)]
    return [
        [v for v, at in zip(values, label, strict=True) if at == g] for g in range(grouping.groups)
    ], grouping


def cost(group_: list[float | None], extent: float) -> float:
    """Records times width; missing mixed with present is all of the column."""
    present = [v for v in group_ if v is not None]
    if len(present) < len(group_):
        return 0.0 if not present else float(len(group_))
    return len(group_) * ((max(present) - min(present)) / extent if extent else 0.0)


def least_cost(values: list[float | None], k: int) -> float:
    """The cheapest runs, by trying all cuts between distinct values; missing comes last."""
    distinct = sorted({v for v in values if v is not None}) + ([None] if None in values else [])
    extent = distinct[-1 if distinct[-1] is not None else -2] - distinct[0]
    best = float("inf")
    for cuts in range(2 ** (len(distinct) - 1)):
        groups: list[list[float | None]] = [[]]
        for at, value in enumerate(distinct):
            groups[-1] += [v for v in values if v == value]
            if cuts >> at & 1 and at + 1 < len(distinct):
                groups.append([])
        if min(map(len, groups)) >= k:
            best = min(best, sum(cost(g, extent) for g in groups))
    return best


def against_brute_force(tables: int) -> None:
    random = np.random.default_rng(9)
    for _ in range(tables):
        weight = random.integers(1, 9, size=random.integers(4, 9))
        k = int(random.integers(2, max(3, weight.sum() // 2)))
        best = naive.least_largest(weight.tolist(), k, naive.are_runs)
        assert best == least_largest(weight, k)
        assert best >= largest_bound(weight, k)
        places = np.cumsum(random.integers(1, 9, size=weight.size))
        values = [float(p) for p, w in zip(places, weight, strict=True) for _ in range(w)]
        if random.random() < 0.3:
            values += [None] * int(random.integers(1, 6))
        groups, grouping = run(values, k, "loss")
        assert min(map(len, groups)) >= k
        present = [v for v in values if v is not None]
        extent = max(present) - min(present)
        assert sum(cost(g, extent) for g in groups) == pytest.approx(least_cost(values, k))
        assert grouping.objective == "loss"
        groups, _ = run(values, k)
        assert min(map(len, groups)) >= k
        counted = np.unique([np.inf if v is None else v for v in values], return_counts=True)[1]
        assert max(map(len, groups)) == least_largest(counted, k)


def test_intervals_are_optimal_against_brute_force() -> None:
    against_brute_force(200)


@pytest.mark.slow
def test_intervals_are_optimal_against_brute_force_at_length() -> None:
    against_brute_force(1000)


def test_ordered_labels_are_cut_into_runs() -> None:
    groups, grouping = run(["a"] * 3 + ["b"] + ["c"] + ["d"] * 3, 4)
    assert sorted(map(sorted, groups)) == [["a", "a", "a", "b"], ["c", "d", "d", "d"]]
    assert grouping.objective == "largest"


def test_among_the_smallest_largest_runs_the_cheapest_are_chosen() -> None:
    # 1 2 | 50 51 or 1 | ...: both ways make two runs of two; gaps decide where three runs could not
    groups, _ = run([1.0, 2.0, 50.0, 51.0, 52.0], 2)
    assert sorted(map(tuple, groups)) == [(1.0, 2.0), (50.0, 51.0, 52.0)]


def test_many_values_are_cut_without_trying_every_pair() -> None:
    values = np.sort(np.random.default_rng(1).random(200_000))
    coded = encode(pl.DataFrame({"value": values}), Plan(k=20_000, quasi=("value",)))
    for objective in ("largest", "loss"):
        sizes = group(coded, Task(k=20_000, options={"objective": objective})).sizes
        assert sizes.min() >= 20_000
    assert sizes.max() < 40_000

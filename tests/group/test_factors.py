"""pairs and triples: the lightest factors, the groups made of them, and their bounds."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import shoal
from naive_stars import (
    EIGHT,
    SECTION_1,
    Rows,
    coded_of,
    groups_of,
    least,
    look_alikes,
    plan_of,
    random_rows,
    stars,
)
from shoal.bound.loss import again
from shoal.errors import PlanError, TooFewRows
from shoal.group import load
from shoal.group.triples import cheapest_cuts
from shoal.kernels.graph_factor import least_weight
from shoal.kernels.graph_factor.least_weight import least_factor, pairs_limits, triples_limits
from shoal.model.grouping import Grouping
from shoal.model.task import Task

METHOD = {2: "pairs", 3: "triples"}
LIMITS = {2: pairs_limits, 3: triples_limits}
both = pytest.mark.parametrize("k", [2, 3])


def found_by(rows: Rows, weights: list[float], k: int) -> tuple[Grouping, float]:
    """The method's groups, and their stars counted by hand."""
    coded = coded_of(rows, weights, k)
    grouping = load(METHOD[k]).group(coded, Task(k=k))
    groups = groups_of(coded, grouping)
    assert min(map(len, groups)) >= k
    return grouping, sum(len(its) * stars(rows, weights, its) for its in groups)


def integer_program(rows: Rows, weights: list[float], k: int) -> float:
    """The lightest factor, one vertex per record, all edges, no cleverness."""
    pairs = list(combinations(range(len(rows)), 2))
    degree = np.zeros((len(rows), len(pairs)))
    for at, (one, other) in enumerate(pairs):
        degree[one, at] = degree[other, at] = 1
    found = milp(
        [stars(rows, weights, pair) for pair in pairs],
        constraints=LinearConstraint(degree, k - 1, 2),
        integrality=np.ones(len(pairs)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return float(found.fun)


def some_weights(luck: random.Random, columns: int) -> list[float]:
    if luck.random() < 0.5:
        return [1.0] * columns
    return [luck.choice([1.0, 2.0, 0.5, 0.0, 0.37]) if at else 1.0 for at in range(columns)]


def against_brute_force(k: int, tables: int, seed: int) -> None:
    luck = random.Random(seed)
    for _ in range(tables):
        n, values = luck.randint(4, 9), luck.choice([2, 2, 3, 4])
        rows = random_rows(luck, n, luck.randint(1, 6), values)
        weights = some_weights(luck, len(rows[0]))
        two_valued = all(len({row[at] for row in rows}) <= 2 for at, weight in enumerate(weights) if weight)
        grouping, found = found_by(rows, weights, k)
        best = least(n, k, lambda its, rows=rows, weights=weights: stars(rows, weights, its))
        proven = {2: (1.5, 2.0), 3: (2.0, 3.0)}[k][not two_valued]
        assert grouping.factor == pytest.approx(proven, rel=1e-5)  # a margin for the solver
        assert best - 1e-9 <= found <= proven * best + 1e-9
        assert grouping.proof is not None
        assert grouping.proof.bound <= best + 1e-9
        share = {2: (2.0, 1.5), 3: (1.5, 1.0)}[k][not two_valued]
        assert grouping.proof.bound == pytest.approx(share * integer_program(rows, weights, k), abs=1e-4)
        assert found <= 3 * grouping.proof.bound / share + 1e-3


@both
def test_guarantee_and_bound_hold_against_brute_force(k: int) -> None:
    against_brute_force(k, 100, seed=k)


@pytest.mark.slow
@both
def test_guarantee_and_bound_hold_against_brute_force_at_length(k: int) -> None:
    against_brute_force(k, 2000, seed=10 + k)


def factors_are_lightest(k: int, instances: int, seed: int) -> None:
    luck = random.Random(seed)
    for _ in range(instances):
        rows = random_rows(luck, luck.randint(20, 60), luck.randint(2, 7), luck.randint(2, 5))
        weights = some_weights(luck, len(rows[0]))
        coded = coded_of(rows, weights, k)
        found = least_factor(coded.codes, coded.count, coded.metric, LIMITS[k](coded.count))
        best = integer_program(rows, weights, k)
        assert found.weight == pytest.approx(best, abs=1e-6)
        assert found.bound == pytest.approx(best, abs=1e-4)
        assert found.bound <= best + 1e-6


@both
@pytest.mark.parametrize("complete", [60, 0])
def test_factors_are_those_of_an_independent_integer_program(
    k: int, complete: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(least_weight, "COMPLETE_UP_TO", complete)
    monkeypatch.setattr(least_weight, "NEAREST", 3)
    factors_are_lightest(k, 6, seed=k)


@pytest.mark.slow
@both
@pytest.mark.parametrize("complete", [60, 0])
def test_factors_are_those_of_an_independent_integer_program_at_length(
    k: int, complete: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(least_weight, "COMPLETE_UP_TO", complete)
    monkeypatch.setattr(least_weight, "NEAREST", 4)
    factors_are_lightest(k, 100, seed=20 + k)


@both
def test_large_tables_are_rounded_and_say_their_gap(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(random.Random(5), 150, 6, 4)
    best = integer_program(rows, [1.0] * 6, k)
    for name, value in {"COMPLETE_UP_TO": 0, "EXACT_UP_TO": 0, "NEAREST": 4}.items():
        monkeypatch.setattr(least_weight, name, value)
    coded = coded_of(rows, [1.0] * 6, k)
    found = least_factor(coded.codes, coded.count, coded.metric, LIMITS[k](coded.count))
    assert found.bound <= best <= found.weight <= 1.05 * best
    grouping, _ = found_by(rows, [1.0] * 6, k)
    assert grouping.factor == pytest.approx({2: 2.0, 3: 3.0}[k] * found.weight / found.bound)


@both
def test_the_papers_first_table(k: int) -> None:
    _, found = found_by(SECTION_1, [1.0] * 4, k)
    assert found == {2: 6, 3: 16}[k]


def test_the_eight_vectors_for_which_lemma_11_is_tight() -> None:
    coded = coded_of(EIGHT, [1.0] * 4, 3)
    found = least_factor(coded.codes, coded.count, coded.metric, triples_limits(coded.count))
    assert found.weight == found.bound == 8
    # one cycle through all, cut into two fours: 3 times its weight, and 2 times the bound
    grouping, lost = found_by(EIGHT, [1.0] * 4, 3)
    assert grouping.proof is not None
    assert grouping.proof.bound == 12
    assert lost <= 24
    ring = [sum(a != b for a, b in zip(EIGHT[at], EIGHT[(at + 3) % 8], strict=True)) for at in range(8)]
    assert set(ring) == {3}  # any four in a row differ in three columns


def test_instances_that_look_alike_as_graphs() -> None:
    for rows, expected in zip(look_alikes(3), (18, 18), strict=True):
        _, found = found_by(rows, [1.0] * len(rows[0]), 3)
        assert found == expected


@both
def test_copies_stand_together(k: int) -> None:
    luck = random.Random(6)
    for _ in range(40):
        kinds = random_rows(luck, luck.randint(2, 6), 3, 3)
        rows = [row for row in kinds for _ in range(luck.choice([1, 1, 2, 3, 4, 7]))]
        if k <= len(rows):
            coded = coded_of(rows, [1.0] * 3, k)
            factor = least_factor(coded.codes, coded.count, coded.metric, LIMITS[k](coded.count))
            assert factor.weight == pytest.approx(integer_program(rows, [1.0] * 3, k))
            _, found = found_by(rows, [1.0] * 3, k)
            assert found <= 3 * factor.weight


def test_a_ring_is_cut_at_its_dearest_edges() -> None:
    luck = np.random.default_rng(7)
    for n in range(3, 14):
        losses = [luck.random(n) if n >= size else np.full(n, np.inf) for size in (3, 4, 5)]
        runs = cheapest_cuts(*losses)
        covered = [at % n for start, stop in runs for at in range(start, stop)]
        assert sorted(covered) == list(range(n))
        found = sum(losses[stop - start - 3][start % n] for start, stop in runs)
        assert found == pytest.approx(_least_cuts(losses, n))


def _least_cuts(losses: list[np.ndarray], n: int) -> float:
    def rest(at: int, left: int) -> float:
        if left == 0:
            return 0.0
        sizes = [size for size in (3, 4, 5) if size <= left]
        return min(
            (losses[size - 3][at % n] + rest(at + size, left - size) for size in sizes), default=np.inf
        )

    return min(rest(first, n) for first in range(n))


@both
def test_the_certificate_is_verified(k: int) -> None:
    rows = random_rows(random.Random(11), 40, 4, 3)
    frame, plan = plan_of(rows, [1.0] * 4, k, method=METHOD[k])
    release = shoal.anonymize(frame, plan)
    about = release.certificate
    cells = sum(int((release.table[name] == "*").sum()) for name in frame.columns)
    assert about.value == pytest.approx(cells)
    assert about.bound is not None
    assert about.bound <= cells + 1e-9
    coded = coded_of(rows, [1.0] * 4, k)
    grouping, _ = found_by(rows, [1.0] * 4, k)
    proof = again(coded, Task(k=k), METHOD[k], {})
    assert proof is not None
    assert grouping.proof is not None
    assert proof.bound == grouping.proof.bound
    assert again(coded, Task(k=k + 1), METHOD[k], {}) is None
    assert again(coded, Task(k=k, withhold=1), METHOD[k], {}) is None
    findings = shoal.verify(release.table, about, original=frame)
    assert not [finding for finding in findings if finding.holds is False]


@both
def test_bad_input_is_refused(k: int) -> None:
    rows = random_rows(random.Random(12), 9, 3, 3)
    frame, plan = plan_of(rows, [1.0] * 3, 4, method=METHOD[k])
    with pytest.raises(PlanError, match=f"works for k = {k}; the plan says k = 4"):
        shoal.anonymize(frame, plan)
    with pytest.raises(PlanError, match="has no style 'generalize'"):
        shoal.anonymize(frame, k=k, quasi=frame.columns, method=METHOD[k])
    with pytest.raises(PlanError, match="cannot withhold rows"):
        shoal.anonymize(frame, k=k, quasi=frame.columns, method=METHOD[k], style="suppress", withhold=0.2)
    with pytest.raises(TooFewRows):
        shoal.anonymize(frame.head(k - 1), k=k, quasi=frame.columns, method=METHOD[k], style="suppress")
    with pytest.raises(PlanError):
        shoal.anonymize(frame, k=k, quasi=[], method=METHOD[k], style="suppress")

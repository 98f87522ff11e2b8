"""What every method claims of small tables with odd weights: bound <= the best there is <= value."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from naive import Table, distance, group_loss
from naive_boxes import least_largest
from naive_cellular import least_cells
from naive_radius import least_radius
from naive_stars import coded_of as stars_of
from naive_stars import least, random_rows, stars
from shoal.bound import hold_below, noise_of
from shoal.errors import PlanError, ShoalError
from shoal.group import METHODS, facts
from shoal.kernels.graph_factor.least_weight import least_factor, pairs_limits, triples_limits
from shoal.model.grouping import Proof
from shoal.model.task import quota
from tables import KINDS, PATHS, frame_of, plan_of

ODD = (1.0, 0.001, 1000.0, 0.3, 0.37, 7.25, 999.9, 0.0123, 0.0, 2 / 3)
NEAR = 1 + 2e-9

every_method = pytest.mark.parametrize(
    "method", [name for name in METHODS if set(KINDS) & facts(name).takes]
)


def odd_table(method: str, luck: random.Random) -> Table:
    its = facts(method)
    rows = luck.randint(6, 8)
    pools: dict[str, list[Any]] = {
        "number": [luck.randrange(30) for _ in range(6)],
        "tree": [path[0] for path in PATHS],
        "label": ["red", "green", "blue"],
    }
    kinds = [kind for kind in pools if kind in its.takes]
    names = [f"{luck.choice(kinds)}{at}" for at in range(min(its.most_columns or 3, luck.randint(1, 3)))]
    kinds_of = {name: name[:-1] for name in names}
    cells = {
        name: [
            luck.choice([*pools[kind], None] if luck.random() < 0.1 else pools[kind]) for _ in range(rows)
        ]
        for name, kind in kinds_of.items()
    }
    weights = {name: luck.choice(ODD) for name in names}
    weights[names[0]] = luck.choice([weight for weight in ODD if weight])
    trees = {name: PATHS for name, kind in kinds_of.items() if kind == "tree"}
    return Table(cells=cells, kinds=kinds_of, paths=trees, weights=weights)


def best_of(objective: str, style: str, table: Table, k: int, withhold: int) -> float | None:
    """The best of all releases, by trying them all; None where methods differ in what they may do."""
    if objective == "loss" and style == "suppress":
        rows = list(zip(*table.cells.values(), strict=True))
        weights = [table.weights[name] for name in table.cells]
        return least(table.rows, k, lambda its: stars(rows, weights, its), table.weight, withhold)
    if objective == "loss":
        return least(table.rows, k, lambda its: group_loss(table, its), table.weight, withhold)
    if objective == "half-perimeter":
        return least_largest(table, k)
    apart = [[distance(table, one, other) for other in range(table.rows)] for one in range(table.rows)]
    if objective == "radius":
        return least_radius(apart, k, withhold=withhold)[0]
    if objective == "cellular":
        return least_cells(apart, k, withhold=withhold)[0]
    return None


def holds(method: str, seed: int) -> None:
    luck = random.Random(f"{method} {seed}")
    its = facts(method)
    table = odd_table(method, luck)
    k = its.only_k or luck.choice([2, 3])
    style = "generalize" if "generalize" in its.styles else min(its.styles)
    fraction = luck.choice([0.0, 0.2]) if its.withholds and its.objective != "half-perimeter" else 0.0
    plan = plan_of(table, k, method=method, style=style, withhold=fraction, effort="quick")
    release = shoal.anonymize(frame_of(table), plan)
    about = release.certificate
    assert release.verdict.has_passed
    assert np.isfinite(about.value)
    if about.bound is not None:
        assert 0 <= about.bound <= about.value
    if about.withheld:  # then the certificate speaks in the unit of what is published
        return
    best = best_of(about.objective, style, table, k, quota(fraction, table.rows))
    if best is not None:
        assert best <= about.value * NEAR + 1e-12
        assert about.bound is None or about.bound <= best * NEAR


@every_method
def test_no_bound_is_above_the_best_and_no_value_below_it(method: str) -> None:
    for seed in range(12):
        holds(method, seed)


@pytest.mark.slow
@every_method
def test_no_bound_is_above_the_best_and_no_value_below_it_at_length(method: str) -> None:
    for seed in range(100, 400):
        holds(method, seed)


@pytest.mark.parametrize(
    "weight", [1e-300, 1e-9, 0.0009, 1000.5, 1e9, 1e308, float("inf"), float("nan"), -1]
)
def test_weights_too_small_or_too_large_are_refused(weight: float) -> None:
    with pytest.raises(PlanError, match=r"A weight is 0 or a number from 0\.001 to 1000"):
        shoal.Plan(k=2, quasi=("age",), weights={"age": weight})


@pytest.mark.parametrize(("k", "limits"), [(2, pairs_limits), (3, triples_limits)])
@pytest.mark.parametrize("scale", [1e-7, 1e-9, 0.1, 1e7])
def test_a_factor_does_not_depend_on_the_scale_of_weights(k: int, limits: Any, scale: float) -> None:
    for seed in range(6):
        rows = random_rows(random.Random(seed), 14, 3, 3)
        coded = stars_of(rows, [1.0, 2.0, 1.0], k)
        small = coded.metric._replace(most=scale * coded.metric.most, data=scale * coded.metric.data)
        one = least_factor(coded.codes, coded.count, coded.metric, limits(coded.count))
        other = least_factor(coded.codes, coded.count, small, limits(coded.count))
        assert other.weight == pytest.approx(scale * one.weight)
        assert other.bound == pytest.approx(scale * one.bound)


def test_a_bound_above_the_value_is_an_error_and_one_that_rounding_lifts_is_the_value() -> None:
    with pytest.raises(ShoalError, match="lies above what the release reaches"):
        hold_below(Proof("growth", 1.0001), 1.0)
    assert hold_below(Proof("growth", 1.0 + 1e-12), 1.0).bound == 1.0
    assert hold_below(Proof("growth", 1.0 - 1e-12), 1.0).bound == 1.0
    assert hold_below(Proof("growth", 0.5), 1.0).bound < 0.5
    assert hold_below(Proof("growth", 0.0), 0.0).bound == 0.0


def test_a_bound_says_nothing_of_what_rounding_alone_may_have_added() -> None:
    assert hold_below(Proof("line", 1.4e-12), 1.3e-12, 1e-12).bound < 0.5e-12
    assert hold_below(Proof("line", 1e-320), 0.0, 1e-12).bound == 0.0
    assert hold_below(Proof("line", 1.0 + 1e-8), 1.0, 1e-8).bound == 1.0
    assert hold_below(Proof("line", 1.0 - 1e-8), 1.0, 1e-8).bound == 1.0
    assert hold_below(Proof("line", 1.0), 1.0, 1e-6).bound == pytest.approx(1 - 1e-6)
    with pytest.raises(ShoalError, match="lies above what the release reaches"):
        hold_below(Proof("line", 1.0001), 1.0, 1e-6)
    assert noise_of("loss", 1000, 2.0, "span") == pytest.approx(2e-12)
    assert noise_of("radius", 1000, 2.0, "span") == pytest.approx(2e-15)
    assert noise_of("radius", 1000, 2.0, "matrix") == noise_of("largest", 1000, 2.0, "span") == 0.0


@pytest.mark.parametrize("width", [3600.0, 60.0, 1.0, 1e-3])
def test_numbers_that_stand_close_far_from_another_are_published(width: float, tmp_path: Path) -> None:
    """Seconds since 1970 and a few zeros: what groups lose is then small beside the rounding of places."""
    for seed in range(8):
        luck = random.Random(seed)
        seen = [0.0] * 5 + [1.7e9 + width * luck.random() for _ in range(40)]
        frame = pl.DataFrame({"at": seen})
        release = shoal.anonymize(frame, k=5, quasi=["at"])
        about = release.certificate
        assert about.bound is not None
        exact = sorted(Fraction(one) for one in seen)
        runs = [Fraction(0)] + [Fraction(10**30)] * len(exact)  # the best of runs: no less than the best
        for end in range(5, len(exact) + 1):
            runs[end] = min(
                runs[start] + (end - start) * (exact[end - 1] - exact[start]) for start in range(end - 4)
            )
        assert about.bound <= float(runs[-1] / (exact[-1] - exact[0])) * (1 + 1e-9)
        files = release.write(tmp_path / f"{seed}.csv")
        found = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
        assert [one.claim for one in found if one.holds is False] == []

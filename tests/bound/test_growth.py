from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import naive
from shoal.bound import loss, value_of
from shoal.bound.boxes import boxes_below, most_boxes
from shoal.bound.growth import again, grid, prove_by_growth, top_share
from shoal.bound.loss import again as loss_again
from shoal.bound.loss import prove
from shoal.bound.smallest_box import prove_by_boxes
from shoal.encode import encode
from shoal.group.crowd import group
from shoal.kernels.bound.shares import grow_shares
from shoal.kernels.crowd.cheapest_first import reach
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task
from small_tables import naive_worst, random_table, starred
from tables import PATHS, coded_of

RATIO = 1.05


def check_one(seed: int) -> tuple[float, float]:
    """Bounds <= optimum <= value for one table; returns growth and optimum."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    withhold = int(rng.choice([0, 0, 1]))
    suppress = bool(rng.random() < 0.2)
    rows = int(rng.integers(k + withhold, 8 if withhold else 10))
    table = random_table(rng, rows=rows, suppress=suppress)
    coded = coded_of(table, k, style="suppress" if suppress else "generalize")
    best = naive.least_loss(starred(table) if suppress else table, k, withhold)
    task = Task(k=k, withhold=withhold)
    cap = top_share(coded, task)
    boxes, _ = most_boxes(coded, k, cap, 10**6)
    grown = prove_by_growth(boxes, k, RATIO)
    for proof in (grown, prove_by_boxes(boxes, k), prove(coded, task)):
        assert proof.bound <= best + 1e-9, proof.name
        found = loss_again(coded, task, proof.name, dict(proof.parameters))
        assert found is not None
        assert found.bound == pytest.approx(proof.bound, rel=1e-12)
    low = boxes_below(coded, k, float(rng.random()) * coded.weight, 10**6)  # with boxes left out
    assert low is not None
    assert prove_by_growth(low, k, RATIO).bound <= best + 1e-9
    assert prove_by_boxes(low, k).bound <= best + 1e-9
    value = value_of("loss", coded, group(coded, task))
    assert best <= value + 1e-9
    return grown.bound, best


def test_no_bound_exceeds_the_optimum_and_no_value_beats_it() -> None:
    shares = [grown / best for grown, best in map(check_one, range(200)) if best > 0]
    assert len(shares) > 100
    assert np.mean(shares) > 0.6  # a bound that says nothing would pass all else


@pytest.mark.slow
def test_no_bound_exceeds_the_optimum_on_many_tables() -> None:
    for seed in range(1000, 3000):
        check_one(seed)


@pytest.mark.parametrize("seed", range(40))
def test_in_every_box_the_k_largest_shares_cost_at_most_the_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, rows=8)
    k = int(rng.integers(2, 4))
    coded = coded_of(table, k)
    boxes, _ = most_boxes(coded, k, coded.weight * k, 10**6)
    value = grid(boxes.floor, boxes.cap, 1.01)
    level = grow_shares(boxes.swept, boxes.cube, k, value, boxes.floor, 3.0)
    of_distinct = np.zeros(coded.distinct)
    of_distinct[boxes.swept.row] = value[level]
    lines = list(zip(*table.cells.values(), strict=True))
    share = {lines[row]: float(of_distinct[coded.row[row]]) for row in range(table.rows)}
    assert naive_worst(table, share, k) <= 1e-9


@pytest.mark.parametrize("look_ahead", [1.0, 1.3, 100.0])
def test_looking_ahead_changes_no_validity(look_ahead: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = random_table(rng, rows=9)
        coded = coded_of(table, 3)
        boxes, _ = most_boxes(coded, 3, coded.weight * 3, 10**6)
        value = grid(boxes.floor, boxes.cap, RATIO)
        level = grow_shares(boxes.swept, boxes.cube, 3, value, boxes.floor, look_ahead)
        assert value[level] @ boxes.swept.held <= naive.least_loss(table, 3) + 1e-9


def small() -> tuple[Coded, Task]:
    table = random_table(np.random.default_rng(5), rows=9)
    return coded_of(table, 2), Task(k=2, effort=Effort.parse("quick"))


def test_a_certificate_cannot_claim_parameters_that_prove_nothing() -> None:
    coded, task = small()
    assert again(coded, task, cap=coded.weight * 3, ratio=1.1) is None
    assert again(coded, task, cap=coded.weight, ratio=1.0) is None
    assert loss_again(coded, task, "growth", {"cap": 1.0}) is None
    assert loss_again(coded, task, "no such bound", {}) is None
    withholding = replace(task, withhold=1)
    assert again(coded, withholding, cap=coded.weight * 2, ratio=1.1) is None


def test_a_room_too_small_for_all_boxes_leaves_the_bound_valid_and_recomputable() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = random_table(rng, rows=9)
        coded = coded_of(table, 2)
        boxes, _ = most_boxes(coded, 2, coded.weight * 2, 12)
        proof = prove_by_growth(boxes, 2, RATIO)
        assert proof.bound <= naive.least_loss(table, 2) + 1e-9
        found = again(coded, Task(k=2), **dict(proof.parameters))
        assert found is not None
        assert found.bound == pytest.approx(proof.bound)


def test_fewer_boxes_for_less_work_leave_the_bound_valid_and_recomputable() -> None:
    fewer = 0
    for seed in range(30):
        table = random_table(np.random.default_rng(seed), rows=9)
        coded = coded_of(table, 2)
        boxes, some = most_boxes(coded, 2, coded.weight * 2, 10**6, 30.0)
        fewer += some is not boxes
        assert some.cap == 0.0 or some.looks <= 30
        proof = prove_by_growth(some, 2, RATIO)
        assert proof.bound <= naive.least_loss(table, 2) + 1e-9
        found = again(coded, Task(k=2), **dict(proof.parameters))
        assert found is not None
        assert found.bound == pytest.approx(proof.bound)
    assert fewer > 3


@pytest.mark.parametrize("seed", range(10))
def test_looks_count_the_rows_of_every_window_up_to_the_cap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    coded = coded_of(random_table(rng, rows=12), 2)
    boxes = boxes_below(coded, 2, float(rng.random()) * coded.weight, 10**6)
    assert boxes is not None
    swept, cube = boxes.swept, boxes.cube
    looks = 0

    def far(first: int, last: int) -> float:
        return reach(swept.place, swept.edge, swept.most, first, last)

    for cell in range(cube.cost.size):
        if boxes.floor[cell] >= boxes.cap:
            continue
        rows = cube.entry[cube.start[cell] : cube.start[cell + 1]].tolist()
        starts = [row for at, row in enumerate(rows) if at == 0 or far(rows[at - 1], row) > 0]
        for start in starts:
            after = [row for row in rows if row >= start]
            looks += sum(cube.cost[cell] + far(start, row) <= boxes.cap for row in after)
    assert boxes.looks == looks


def test_a_cap_that_no_longer_pays_is_not_doubled() -> None:
    rng = np.random.default_rng(0)
    job = rng.choice([path[0] for path in PATHS], 3000)
    frame = pl.DataFrame({"age": rng.random(3000).round(2), "job": job})
    tree = Hierarchy.of_paths(PATHS)
    coded = encode(frame, Plan(k=2, quasi=("age", "job"), hierarchies={"job": tree}))
    all_of_them, _ = most_boxes(coded, 2, coded.weight * 2, 10**6)
    enough, _ = most_boxes(coded, 2, coded.weight * 2, 10 * coded.distinct)  # no room for a try at once
    assert enough.cap < all_of_them.cap
    most, found = (prove_by_growth(boxes, 2, RATIO).bound for boxes in (all_of_them, enough))
    assert found == pytest.approx(most, rel=1e-3)


def test_what_the_cap_stopped_is_a_part_of_the_bound():
    boxes = SimpleNamespace(cap=0.5, swept=SimpleNamespace(held=np.array([1, 2, 4])))
    assert loss._stopped_at_cap(boxes, np.array([0.5, 0.25, 0.5])) == pytest.approx(2.5 / 3.0)
    assert loss._stopped_at_cap(boxes, np.zeros(3)) == 0.0


@pytest.mark.parametrize(("stopped", "asked"), [(0.004, 0), (0.006, 1)])
def test_near_rows_are_asked_where_the_cap_stopped_many_shares(monkeypatch, stopped, asked):
    coded = coded_of(random_table(np.random.default_rng(4), rows=9), 2)
    boxes = boxes_below(coded, 2, 0.1 * coded.weight, 10**6)  # not all there are
    calls = []
    monkeypatch.setattr(loss, "most_boxes", lambda *_: (boxes, boxes))
    monkeypatch.setattr(loss, "left_out", lambda _: 0.0)
    monkeypatch.setattr(loss, "_stopped_at_cap", lambda *_: stopped)
    around = loss.prove_around
    monkeypatch.setattr(loss, "prove_around", lambda *its: calls.append(its) or around(*its))
    prove(coded, Task(k=2, effort=Effort("quick")))
    assert len(calls) == asked

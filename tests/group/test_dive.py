"""Groups from the linear program of a bound: sound, the same on any threads, and a better start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from naive import assert_sound
from shoal.bound import prove, value_of
from shoal.bound.growth import grown_shares
from shoal.encode import encode
from shoal.group import fill_options
from shoal.group.crowd import group
from shoal.group.improve import dive as diving
from shoal.group.improve.cycles import improve
from shoal.group.improve.dive import dive
from shoal.kernels.bound.boxes import Boxes, list_boxes
from shoal.kernels.bound.cuts import CutPool
from shoal.kernels.bound.rest import still_whole, take_sets, without
from shoal.kernels.bound.windows import worst_windows
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Guide, Proof
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task

TREES = {"zip": shoal.prefixes(4, 3, 2, 1), "job": shoal.prefixes(3, 2, 1)}


def people(rows: int, seed: int = 0, *, copies: bool = False) -> Coded:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 30 if copies else 80, rows),
            "zip": [f"{code:04d}" for code in rng.integers(0, 30 if copies else 900, rows)],
            "job": [f"{code:03d}" for code in (rng.random(rows) ** 2 * 60).astype(int)],
        }
    )
    return encode(frame, Plan(k=2, quasi=("age", "zip", "job"), hierarchies=TREES))


def asked(k: int, effort: str = "normal", **more: object) -> Task:
    return Task(k=k, effort=Effort.parse(effort), options=fill_options("crowd", {}), **more)  # type: ignore[arg-type]


def proved(coded: Coded, task: Task) -> tuple[Grouping, Guide]:
    found = group(coded, task)
    proof = prove("loss", coded, task, None, found)
    assert proof is not None
    assert proof.guide is not None
    return replace(found, proof=proof), proof.guide


@pytest.mark.parametrize(("rows", "k", "copies"), [(60, 2, False), (300, 3, True), (1300, 5, False)])
def test_groups_hold_every_record_once_and_at_least_k(rows, k, copies, monkeypatch):
    monkeypatch.setattr(diving, "FEW", 0)
    monkeypatch.setattr(diving, "CLOSE", 1.0)
    coded = people(rows, copies=copies)
    _, guide = proved(coded, asked(k))
    found = dive(coded, guide, asked(k))
    assert found is not None
    assert_sound(found, coded, k, 0)


def test_improvement_leads_further_from_there_and_never_back(monkeypatch):
    coded = people(1500)
    task = asked(5, "steps=4000")
    start, guide = proved(coded, task)
    assert dive(coded, guide, task) is not None
    with_it = value_of("loss", coded, improve(coded, start, task))
    monkeypatch.setattr(diving, "FEW", 10**9)
    without_it = value_of("loss", coded, improve(coded, start, task))
    assert start.proof is not None
    assert start.proof.bound < with_it < without_it < value_of("loss", coded, start)


def test_a_worse_start_leaves_what_there_was(monkeypatch):
    coded = people(1200)
    start, _ = proved(coded, asked(3))
    bad = Grouping.of_labels(np.zeros(coded.distinct, dtype=np.int32), coded.count)
    monkeypatch.setattr("shoal.group.improve.cycles.dive", lambda *_its: bad)
    found = improve(coded, start, asked(3, "steps=1"))
    assert value_of("loss", coded, found) <= value_of("loss", coded, start) + 1e-9


def test_the_number_of_threads_changes_nothing():
    coded = people(1200)
    runs = []
    for threads in (1, 3):
        task = asked(5, "steps=300", threads=threads)
        start, _ = proved(coded, task)
        runs.append(improve(coded, start, task))
    assert (runs[0].distinct == runs[1].distinct).all()
    assert (runs[0].group == runs[1].group).all()
    assert (runs[0].count == runs[1].count).all()


def test_no_dive_without_sets_or_from_shares_that_had_to_fall_far():
    coded = people(1200)
    _, guide = proved(coded, asked(5))
    assert guide.sets is not None
    assert dive(coded, replace(guide, sets=None), asked(5)) is None
    assert dive(coded, replace(guide, gap=0.2), asked(5)) is None
    small = people(200)
    assert dive(small, proved(small, asked(5))[1], asked(5)) is None


def boxes_of(coded: Coded, k: int, count: np.ndarray | None = None) -> Boxes:
    its = coded.count if count is None else count
    found = list_boxes(coded.codes, its, coded.metric, k, coded.weight * k, 10**7)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_has_the_windows_of_a_table_of_its_own(seed):
    k = 3
    coded = people(80, seed, copies=True)
    boxes = boxes_of(coded, k)
    rng = np.random.default_rng(seed)
    left = rng.integers(0, boxes.swept.held + 1)
    rest = np.zeros_like(coded.count)
    rest[boxes.swept.row] = left
    share = grown_shares(boxes, k, 1.05) * rng.uniform(0.9, 1.5, left.size)
    thinner, anew = without(boxes, left), boxes_of(coded, k, rest)
    of_row = np.zeros(coded.distinct)
    of_row[boxes.swept.row] = share
    worst = [
        worst_windows(its, shares, 0.0, np.arange(its.cube.cost.size)).over.max(initial=0.0)
        for its, shares in ((thinner, share), (anew, of_row[anew.swept.row]))
    ]
    assert worst[0] == pytest.approx(worst[1])


def test_sets_are_taken_by_their_part_and_leave_nothing_or_enough():
    start = np.array([0, 2, 4, 6, 8])
    row = np.array([0, 1, 1, 2, 2, 3, 4, 5], dtype=np.int32)
    pool = CutPool(start, row, np.ones(8), np.ones(4), np.array([0.3, 0.95, 0.5, 0.04]))
    left = np.array([1, 1, 1, 1, 1, 1])
    assert take_sets(pool, left, 2, 6).tolist() == [1]  # 0 and 2 lack a row of it, 3 is hardly wanted
    assert left.tolist() == [1, 0, 0, 1, 1, 1]
    assert still_whole(pool, left).start.size == 2
    few = np.array([1, 1, 1, 0, 0, 0])
    assert take_sets(pool, few, 2, 6).size == 0  # one record would be left over
    assert few.tolist() == [1, 1, 1, 0, 0, 0]
    enough = np.array([1, 1, 1, 1, 1, 1])
    assert take_sets(pool._replace(part=np.array([0.3, 0.5, 0.2, 0.2])), enough, 2, 2).tolist() == [1]


def test_an_improvement_that_knows_the_bound_stops_at_once_where_that_is_enough():
    coded = people(1200)
    task = asked(5, "steps=3000", stop_at=2.0)
    start, _ = proved(coded, task)
    assert improve(coded, start, task).steps == 0
    sure = replace(start, proof=Proof("line", value_of("loss", coded, start)))
    assert improve(coded, sure, replace(task, stop_at=1.0)).steps == 0

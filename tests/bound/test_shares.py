"""The bound by shares: never above the optimum, proved again from a receipt, and no forged share passes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import polars as pl
import pytest

import naive
import shoal
from shoal.bound import prove, value_of
from shoal.bound.boxes import Boxes, boxes_below, most_boxes
from shoal.bound.growth import grown_shares, prove_by_growth, top_share
from shoal.bound.loss import again
from shoal.bound.shares import NAME, best_shares, prove_by_shares, shares_of_text, text_of_shares
from shoal.encode import encode
from shoal.group.crowd import group
from shoal.kernels.bound.bears import all_bear
from shoal.kernels.bound.lower import lower_shares
from shoal.kernels.bound.sets import group_cuts
from shoal.kernels.bound.windows import worst_windows
from shoal.kernels.crowd.cheapest_first import reach
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Effort, Task
from small_tables import naive_worst, random_table, starred
from tables import coded_of

WHOLE, RATIO = 10**6, 1.05


def case(seed: int, *, rows: int = 8) -> tuple[naive.Table, Coded, Task, Boxes]:
    rng = np.random.default_rng(seed)
    suppress = rng.random() < 0.2
    table = random_table(rng, rows=rows, suppress=suppress)
    table = starred(table) if suppress else table
    k = int(rng.integers(2, 6)) if rows >= 10 else int(rng.integers(2, 4))
    withhold = int(rng.integers(0, 3)) if rng.random() < 0.3 else 0
    coded = coded_of(table, k)
    task = Task(k=k, withhold=withhold, effort=Effort.parse("quick"), options={"search": True})
    boxes, _ = most_boxes(coded, k, top_share(coded, task), WHOLE)
    return table, coded, task, boxes


def proved(coded: Coded, boxes: Boxes, task: Task) -> Proof:
    proof = prove_by_shares(coded, boxes, task, group(coded, task), 12)
    assert proof is not None
    return proof


def check_one(seed: int) -> tuple[float, float, float]:
    """Growth, shares and optimum of a random table: bound <= optimum <= value."""
    table, coded, task, boxes = case(seed)
    best = naive.least_loss(table, task.k, withhold=task.withhold)
    grouping = group(coded, task)
    value = value_of("loss", coded, grouping)
    grown = prove_by_growth(boxes, task.k, RATIO).bound
    if boxes.cap <= 0.0:
        return 0.0, 0.0, best
    proof = proved(coded, boxes, task)
    assert proof.shares is not None
    assert 0.0 <= proof.bound <= best * (1 + 1e-9) + 1e-9
    assert best <= value + 1e-9
    found = again(coded, task, NAME, dict(proof.parameters) | {"shares": text_of_shares(proof.shares)})
    assert found is not None
    assert found.bound == pytest.approx(proof.bound)
    return grown, proof.bound, best


def test_the_bound_is_mostly_above_growth_and_never_above_the_optimum() -> None:
    found = [one for one in map(check_one, range(120)) if one[2] > 0]
    assert len(found) > 60
    grown, shared = (np.mean([one[at] / one[2] for one in found]) for at in (0, 1))
    assert shared > grown + 0.01


@pytest.mark.slow
def test_the_bound_is_never_above_the_optimum_on_many_tables() -> None:
    for seed in range(1000, 3000):
        check_one(seed)


def naive_overload(boxes: Boxes, k: int, share: np.ndarray) -> float:
    """By how much the k largest shares of a window exceed k times its cost, at worst."""
    swept, cube = boxes.swept, boxes.cube
    worst = -np.inf
    for cell in range(cube.cost.size):
        rows = cube.entry[cube.start[cell] : cube.start[cell + 1]].tolist()
        for first in range(len(rows)):
            for last in range(first, len(rows)):
                its = [s for r in rows[first : last + 1] for s in [share[r]] * int(swept.held[r])]
                if len(its) >= k:
                    run = reach(swept.place, swept.edge, swept.most, rows[first], rows[last])
                    worst = max(worst, sum(sorted(its)[-k:]) - k * (cube.cost[cell] + run))
    return float(worst)


@pytest.mark.parametrize("rows", [11, 40])
@pytest.mark.parametrize("seed", range(25))
def test_search_and_check_see_the_same_windows_as_plain_loops(seed: int, rows: int) -> None:
    _, _, task, boxes = case(seed, rows=rows)
    if boxes.cap <= 0.0:
        return
    k, cells = task.k, np.arange(boxes.cube.cost.size)
    grown = grown_shares(boxes, k, RATIO)
    share = grown * np.random.default_rng(seed).uniform(0.5, 1.6, grown.size)
    worst = naive_overload(boxes, k, share)
    found = worst_windows(boxes, share, 0.0, cells)
    assert found.over.max(initial=0.0) == pytest.approx(max(worst, 0.0), abs=1e-12)
    assert all_bear(boxes.swept, boxes.cube, k, share, 1e-10) == (worst <= 1e-9)
    lowered = lower_shares(boxes, share)
    assert (lowered <= share).all()
    assert naive_overload(boxes, k, lowered) <= 1e-12
    assert all_bear(boxes.swept, boxes.cube, k, lowered, 1e-10)


def people(rows: int = 150) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "zip": [f"{code:04d}" for code in rng.integers(0, 300, rows)],
            "sex": rng.choice(["f", "m"], rows),
        }
    )


WORDS = {
    "k": 2,
    "quasi": ["age", "zip", "sex"],
    "kinds": {"sex": "tree"},
    "hierarchies": {"zip": shoal.prefixes(4, 2, 1), "sex": shoal.prefixes(1)},
}


def test_a_release_names_it_and_the_receipt_proves_it_again(tmp_path: Path) -> None:
    release = shoal.anonymize(people(), **WORDS)
    quick = shoal.anonymize(people(), **WORDS, effort="quick")
    assert (release.certificate.bound_name, quick.certificate.bound_name) == (NAME, "growth")
    files = release.write(tmp_path / "out.csv")
    claims = {
        one.claim: one.holds
        for one in shoal.verify(files.table, files.certificate, original=people(), receipt=files.receipt)
    }
    assert claims["bound"] is True
    assert claims["exact bound"] is True
    assert False not in claims.values()
    alone = shoal.verify(files.table, files.certificate, original=people())
    assert {one.holds for one in alone if one.claim == "bound"} <= {True, None}


def test_the_certificate_holds_no_share(tmp_path: Path) -> None:
    files = shoal.anonymize(people(), **WORDS).write(tmp_path / "out.csv")
    assert json.loads(Path(files.receipt).read_text())["figures"]["bound_shares"]
    assert 'shares"' not in Path(files.certificate).read_text().replace('"bound_name": "shares"', "")


@pytest.mark.parametrize("what", ["raised", "swapped", "cut", "text", "cap", "negative"])
def test_a_forged_share_is_caught(tmp_path: Path, what: str) -> None:
    files = shoal.anonymize(people(), **WORDS).write(tmp_path / "out.csv")
    certificate = json.loads(Path(files.certificate).read_text())
    receipt = json.loads(Path(files.receipt).read_text())
    figures = receipt["figures"]
    share = shares_of_text(figures["bound_shares"], shoal_rows())
    assert share is not None
    certificate["bound"] = certificate["value"]  # as if nothing could be better
    certificate["ratio"] = 1.0
    figures["bound"] = figures["value"]
    factor = np.float32(figures["value"] / (0.99 * figures["bound"]))
    if what == "raised":
        share = share * np.float32(1.2) * factor
    elif what == "swapped":
        share = share[::-1] * factor
    elif what == "cut":
        share = share[:-1]
    elif what == "negative":
        share = share * factor
        share[0] = -share[1:].sum()
    elif what == "cap":
        share = share * 50
        figures["bound_parameters"]["cap"] *= 50
    figures["bound_shares"] = "nonsense" if what == "text" else text_of_shares(share)
    Path(files.certificate).write_text(json.dumps(certificate))
    Path(files.receipt).write_text(json.dumps(receipt))
    claims = {
        one.claim: one.holds
        for one in shoal.verify(files.table, files.certificate, original=people(), receipt=files.receipt)
    }
    assert claims["bound"] is False


def shoal_rows() -> int:
    return int(people().n_unique())


def test_shares_stay_the_same_on_one_thread_and_two() -> None:
    _, coded, task, boxes = case(11, rows=12)
    task = replace(task, withhold=0)
    grouping = group(coded, task)
    grown = grown_shares(boxes, task.k, RATIO)
    pool = group_cuts(boxes, grouping.distinct, grouping.group, grouping.count)
    before = numba.get_num_threads()
    found = []
    for threads in (1, 2):
        numba.set_num_threads(min(threads, before))
        own = pool._replace(part=pool.part.copy())
        found.append(best_shares(coded, boxes, grown, grown, own, 5, lambda _share: None)[0])
    numba.set_num_threads(before)
    assert (found[0] == found[1]).all()


def test_what_a_receipt_keeps_is_read_only_as_it_was_written() -> None:
    share = np.array([0.0, 0.25, 3.5], dtype=np.float32)
    text = text_of_shares(share)
    assert (shares_of_text(text, 3) == share).all()
    assert shares_of_text(text, 2) is None
    assert shares_of_text(text, 4) is None
    assert shares_of_text("é", 3) is None


def test_without_groups_there_is_only_growth() -> None:
    _, coded, task, _ = case(3)
    proof = prove("loss", coded, replace(task, effort=Effort()))
    assert proof is not None
    assert proof.name != NAME


@pytest.mark.parametrize("seed", range(15))
def test_every_set_of_k_rows_bears_its_shares(seed: int) -> None:
    table, coded, task, boxes = case(seed)
    if boxes.cap <= 0.0:
        return
    proof = proved(coded, boxes, task)
    assert proof.shares is not None
    lines = list(zip(*table.cells.values(), strict=True))
    share = {lines[row]: float(proof.shares[coded.row[row]]) for row in range(table.rows)}
    assert naive_worst(table, share, task.k) <= 1e-9


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-301])
def test_lowering_shares_next_to_nothing_comes_to_an_end(unit: float) -> None:
    rng = np.random.default_rng(1)
    tree = shoal.Hierarchy.of_paths([["a", "*"], ["b", "*"]])
    plan = shoal.Plan(k=4, quasi=("x", "t"), kinds={"x": "number"}, hierarchies={"t": tree})
    for _ in range(20):
        places = [*(rng.integers(1, 40, 20) * unit).tolist(), *[1.0] * 4]
        coded = encode(pl.DataFrame({"x": places, "t": ["a"] * 24}), plan)
        boxes = boxes_below(coded, 4, top_share(coded, Task(k=4)), 10**6)
        assert boxes is not None
        share = rng.integers(0, 40, boxes.swept.row.size) * unit
        lowered = lower_shares(boxes, share)
        assert (lowered <= share).all()
        assert all_bear(boxes.swept, boxes.cube, 4, lowered, 1e-10)

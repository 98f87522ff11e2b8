from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from naive import Table, group_loss
from naive_boxes import least_largest, smallest_box
from shoal.bound import half_perimeter, prove, value_of
from shoal.bound.half_perimeter import _boxes
from shoal.encode import encode
from shoal.errors import PlanError
from shoal.group.nng import FACTS, group
from shoal.kernels.neighbours.by_span import reach_distances
from shoal.model.plan import Plan
from shoal.model.task import Task
from tables import coded_of, tables


def small_table(luck: random.Random) -> tuple[Table, int]:
    k = luck.choice([2, 2, 3, 3, 4])
    rows = luck.randint(k, 8)
    columns = luck.randint(1, 3)
    few = luck.choice([4, 9, 1000])
    gone = luck.choice([0.0, 0.0, 0.2])
    cells = {
        f"x{a}": [None if luck.random() < gone else luck.randrange(few) for _ in range(rows)]
        for a in range(columns)
    }
    return Table(cells, dict.fromkeys(cells, "number"), weights={"x0": luck.choice([1.0, 2.0])}), k


def held_to_the_promise(luck: random.Random) -> None:
    table, k = small_table(luck)
    coded = coded_of(table, k)
    grouping = group(coded, Task(k=k))
    assert grouping.sizes.min() >= k
    assert grouping.sizes.max() <= 2 * k - 1
    value = value_of("half-perimeter", coded, grouping)
    best = least_largest(table, k)
    proof = prove("half-perimeter", coded, Task(k=k))
    assert proof is not None
    factor = FACTS.factor(k, len(table.cells))
    assert proof.bound <= best + 1e-9
    assert best <= value + 1e-9
    assert value <= factor * best + 1e-9
    assert value <= factor * proof.bound + 1e-6
    far = max(reach_distances(coded.codes, coded.count, coded.metric, k))
    assert value <= factor * far + 1e-9


@pytest.mark.parametrize("start", range(4))
def test_the_promise_and_the_bound_on_small_tables(start: int) -> None:
    luck = random.Random(start)
    for _ in range(50):
        held_to_the_promise(luck)


@pytest.mark.slow
def test_the_promise_and_the_bound_on_a_thousand_small_tables() -> None:
    luck = random.Random(99)
    for _ in range(1000):
        held_to_the_promise(luck)


@given(table=tables(least=3, most=20, kinds=("number", "date"), copies=True), k=st.integers(2, 5))
@settings(max_examples=60)
def test_groups_hold_k_to_2k_minus_1(table: Table, k: int) -> None:
    if sum(table.counts) < k:
        return
    grouping = group(coded_of(table, k), Task(k=k))
    assert k <= grouping.sizes.min()
    assert grouping.sizes.max() <= 2 * k - 1


def with_copies(luck: random.Random, rows: int) -> Table:
    lines = [tuple(round(luck.gauss(50, 15)) for _ in range(2)) for _ in range(rows)]
    cells = {f"x{a}": [line[a] for line in lines] for a in range(2)}
    return Table(cells, dict.fromkeys(cells, "number"))


@pytest.mark.parametrize("k", [2, 5, 9])
def test_shrinking_never_makes_the_largest_box_larger(k: int) -> None:
    luck = random.Random(k)
    smaller = 0
    for _ in range(12):
        coded = coded_of(with_copies(luck, 80), k)
        plain = group(coded, Task(k=k, options={"shrink": False}))
        shrunk = group(coded, Task(k=k, options={"shrink": True}))
        before, after = (value_of("half-perimeter", coded, its) for its in (plain, shrunk))
        assert after <= before
        smaller += after < before
        assert k <= shrunk.sizes.min()
        assert shrunk.sizes.max() <= 2 * k - 1
        records = np.bincount(shrunk.distinct, weights=shrunk.count, minlength=coded.distinct)
        np.testing.assert_array_equal(records, coded.count)
    assert smaller >= 6


@pytest.mark.parametrize("seed", range(12))
def test_smallest_boxes_are_those_of_all_subsets(seed: int) -> None:
    luck = random.Random(seed)
    k, columns = luck.choice([2, 3, 4, 5]), luck.choice([1, 2, 3])
    lines = sorted({tuple(luck.randrange(30) for _ in range(columns)) for _ in range(13)})
    cells = {f"x{a}": [line[a] for line in lines] for a in range(columns)}
    table = Table(cells, dict.fromkeys(cells, "number"))
    coded = coded_of(table, k)
    share = reach_distances(coded.codes, coded.count, coded.metric, k)
    found = _boxes(coded.codes, coded.count, coded, k, share)
    expected = [smallest_box(table, row, k) for row in range(len(lines))]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_value_is_the_largest_box() -> None:
    table = Table({"age": [0, 1, 2, 40, 41, 90, 91]}, {"age": "number"})
    coded = coded_of(table, 2)
    grouping = group(coded, Task(k=2))
    groups = [np.flatnonzero(grouping.group == at).tolist() for at in range(grouping.groups)]
    expected = max(group_loss(table, rows) for rows in groups)
    assert value_of("half-perimeter", coded, grouping) == pytest.approx(expected)
    assert expected == pytest.approx(2 / 91)


def test_a_large_table_has_the_neighbour_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    luck = random.Random(4)
    frame = pl.DataFrame({a: [luck.random() for _ in range(300)] for a in "xyz"})
    coded = encode(frame, Plan(k=4, quasi=("x", "y", "z")))
    exact = prove("half-perimeter", coded, Task(k=4))
    monkeypatch.setattr(half_perimeter, "SMALL", 10)
    plain = prove("half-perimeter", coded, Task(k=4))
    assert exact is not None
    assert plain is not None
    assert (exact.name, plain.name) == ("smallest-boxes", "neighbour-distance")
    assert 0 < plain.bound <= exact.bound
    value = value_of("half-perimeter", coded, group(coded, Task(k=4)))
    assert exact.bound <= value <= 12 * plain.bound


def test_a_release_is_verified_with_its_bound(tmp_path) -> None:
    luck = random.Random(3)
    frame = pl.DataFrame({a: [luck.randrange(99) for _ in range(60)] for a in "xy"})
    release = shoal.anonymize(frame, k=3, quasi=["x", "y"], method="nng")
    assert release.certificate.factor == 8
    assert release.certificate.ratio is not None
    findings = shoal.verify(release.table, release.certificate, original=frame)
    assert not [each for each in findings if each.holds is False]
    assert [each.holds for each in findings if each.claim == "bound"] == [True]


@pytest.mark.parametrize(("column", "kind"), [("sex", "label"), ("zip", "tree")])
def test_trees_and_labels_are_refused(column: str, kind: str) -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 4, "zip": ["01", "02"] * 4})
    words = {"hierarchies": {"zip": shoal.prefixes(1, 0)}} if kind == "tree" else {}
    with pytest.raises(PlanError, match=f"'nng' cannot take column '{column}', which is a {kind}"):
        shoal.anonymize(frame, k=2, quasi=[column], method="nng", **words)


def test_no_column_is_refused() -> None:
    with pytest.raises(PlanError, match="names no quasi-identifier"):
        shoal.anonymize(pl.DataFrame({"x": [1, 2]}), k=2, quasi=[], method="nng")

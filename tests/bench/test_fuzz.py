"""The fuzzer finds nothing wrong in a few tables, and its judge sees what is broken on purpose."""

from __future__ import annotations

import copy
import signal
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal

BENCH = Path(__file__).parent.parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import fuzz  # noqa: E402
from fuzzing import cases, columns, flow, judge, leaks, optimum, published, run  # noqa: E402
from fuzzing.cells import Labels, Line, Nodes, Tree, counts_in, members_of  # noqa: E402

TABLES = 60


def test_sixty_tables_without_a_fault():
    outcomes = [run.run_seed(seed) for seed in range(TABLES)]
    assert not [(o.seed, o.faults, o.plan) for o in outcomes if o.faults]
    assert sum(o.is_published for o in outcomes) > TABLES * 0.6, [o.refusal for o in outcomes if o.refusal]


def test_a_number_makes_the_same_table_again():
    assert cases.make_case(7).describe() == cases.make_case(7).describe()
    assert [c.cells for c in cases.make_case(7).columns] == [c.cells for c in cases.make_case(7).columns]


def test_every_method_style_cell_and_door_comes_up():
    made = [cases.make_case(seed) for seed in range(1500)]
    assert {case.words["method"] for case in made} == {"auto", *shoal.methods()}
    assert {case.words["style"] for case in made} == {"generalize", "suppress", "centres", "means"}
    assert {case.words["cells"] for case in made} == {"text", "bounds", "middle", "id"}
    assert {case.words["loss"] for case in made} == {"leaves", "levels", "sets"}
    assert {case.words["distance"] for case in made} == {"span", "euclidean", "great-circle", "matrix"}
    assert {case.door for case in made} == {"polars", "pandas", "arrow", "file"}
    assert {case.ending for case in made} == {".csv", ".tsv", ".parquet", ".arrow"}
    assert {one.kind for case in made for one in case.quasi} == {*columns.QUASI}


def test_an_interrupted_run_says_what_it_has_seen(monkeypatch, capsys):
    def some(seeds, processes, seconds):
        yield run.Outcome(seeds[0], "mdav", is_published=True)
        yield run.Outcome(seeds[1], "mdav", faults=[judge.Fault("class below k", "somewhere")])
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(fuzz, "outcomes", some)
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--seed", "10"])
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert fuzz.main() == 2
    finally:
        signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr()
    assert "interrupted after table 11" in said.out
    assert "2 tables, 1 published (50 %), 1 faults" in said.out
    assert "table 11: class below k: somewhere" in said.err


# a release that is broken on purpose


@pytest.fixture
def honest(tmp_path):
    """A small case, its release as published, and the frame it was made from."""
    ages = [20, 21, 30, 31, 40, 41, 50, 51]
    table = [
        columns.Column("age", "quasi", ages, pl.Int64),
        columns.Column("illness", "sensitive", list("abababab"), pl.String),
        columns.Column(
            "name", "identifier", [f"canary identifier {at:012x}" for at in range(8)], pl.String
        ),
    ]
    age = columns.Quasi("age", "number", "number", [float(a) for a in ages], ages, float)
    words = {
        **{"k": 2, "quasi": ("age",), "sensitive": ("illness",), "identifier": ("name",)},
        **{"kinds": {"age": "number"}, "hierarchies": {}, "graphs": {}, "method": "mondrian"},
        **{"style": "generalize", "cells": "text", "rules": ("illness: 2-diverse",)},
    }
    case = cases.Case(1, 8, table, [age], words, "polars", ".csv")
    original = pl.DataFrame({column.name: column.cells for column in table})
    release = shoal.anonymize(original, **words)
    found = published.read_published(release.write(tmp_path / "out.csv"))
    return case, found, original, release.groups.label.tolist()


def faults(honest, **changes):
    case, found, original, labels = honest
    found = copy.deepcopy(found)
    for change in changes.values():
        change(found)
    every = [*judge.judge(case, found, original, labels), *leaks.scan(case, found, found.hay)]
    return {fault.what for fault in every}


def test_an_honest_release_has_no_fault(honest):
    assert faults(honest) == set()


def test_a_class_below_k_is_seen(honest):
    def split(found):
        found.rows[0][0] = "20"

    assert {"class below k", "claim"} <= faults(honest, split=split)


def test_a_lost_row_is_seen(honest):
    assert "row lost" in faults(honest, lose=lambda found: found.rows.pop())


def test_an_invented_row_is_seen(honest):
    def invent(found):
        found.rows[0][found.names.index("illness")] = "c"

    assert {"values changed", "row invented"} <= faults(honest, invent=invent)


def test_a_value_that_moved_to_another_class_is_seen(honest):
    def move(found):
        at = found.names.index("illness")
        found.rows[0][at], found.rows[1][at] = "a", "a"
        found.rows[-1][at], found.rows[-2][at] = "b", "b"

    assert "row invented" in faults(honest, move=move)


def test_a_cell_that_does_not_cover_its_rows_is_seen(honest):
    def shift(found):
        for row in found.rows:
            row[0] = "[40, 41]" if row[0] == "[20, 21]" else row[0]

    assert "row invented" in faults(honest, shift=shift)


def test_a_cell_that_the_column_does_not_have_is_seen(honest):
    def garble(found):
        for row in found.rows:
            row[0] = "[0, 1000]"

    assert "cell unreadable" in faults(honest, garble=garble)


def test_a_broken_rule_is_seen(honest):
    def alike(found):
        for row in found.rows:
            row[found.names.index("illness")] = "a"

    assert "rule broken" in faults(honest, alike=alike)


@pytest.mark.parametrize("figure", ["loss", "loss_percent", "value"])
def test_a_wrong_loss_is_seen(honest, figure):
    assert "wrong loss" in faults(honest, lie=lambda found: found.certificate.update({figure: 0.5}))


def test_a_loss_rounded_up_to_three_digits_is_right_and_down_is_wrong(honest):
    exact = honest[1].certificate["loss"]

    def rounded(loss):
        return lambda found: found.certificate.update(loss=loss)

    assert faults(honest, up=rounded(exact * (1 + 1e-12))) == set()
    assert judge._agrees(1.24, 1.2345)
    assert not judge._agrees(1.23, 1.2345)
    assert not judge._agrees(1.25, 1.2345)
    assert judge._agrees(0.0, 0.0)


def test_a_bound_above_the_value_or_the_optimum_is_seen(honest):
    def raise_bound(to):
        return lambda found: found.certificate.update(bound=to, bound_name="growth")

    value = honest[1].certificate["value"]
    assert "bound above value" in faults(honest, up=raise_bound(value * 1.01))
    assert "bound above optimum" in faults(honest, up=raise_bound(value * 1.01))


@pytest.mark.parametrize("where", ["out.csv", "out.certificate.json"])
def test_a_leaked_canary_is_seen(honest, where):
    def leak(found):
        found.hay[where] += b"canary identifier 000000000003"

    assert "leak" in faults(honest, leak=leak)


def test_a_person_who_fills_a_group_alone_is_seen(honest):
    case, found, original, labels = honest
    case.column("name").cells = ["canary identifier 000000000000"] * 8
    assert "identifier repeats" in {fault.what for fault in judge.judge(case, found, original, labels)}
    lines = list(range(8))
    seen = {fault.what for fault in judge.judge(case, found, original, labels, lines)}
    assert "identifier repeats" in seen


def test_groups_that_look_alike_are_one_class(honest):
    case, found, original, _ = honest
    labels, lines = list(range(8)), list(range(8))
    assert "identifier repeats" in {fault.what for fault in judge.judge(case, found, original, labels)}
    assert not [*judge.judge(case, found, original, labels, lines)]


# its parts, by hand


def test_cells_are_read_by_the_format():
    ages = Line([20.0, 30.0, 60.0, None], is_date=False)
    assert ages.read("[20, 30]").share == pytest.approx(0.25)
    assert ages.read("[20, 30]").covers(30.0)
    assert not ages.read("[20, 30]").covers(None)
    assert ages.read("*").covers(None)
    assert ages.read(None).share == 0.0
    labels = Labels(["a", "b, c", None], ["a", "b, c"])
    assert members_of(r"{a, b\, c, }") == ["a", "b, c", None]
    assert labels.read(r"{a, b\, c}").share == pytest.approx(0.5)
    assert counts_in(r"{flu: 3, a\: b, : 1}") == [("flu", 3), ("a: b", 1), (None, 1)]
    tree = Nodes.of_paths([("a", "x"), ("b", "x"), ("c", "y")])
    assert Tree(["a", "b", "c"], tree, by_levels=False).read("x").share == pytest.approx(0.5)
    assert Tree(["a", "b", "c"], tree, by_levels=True).read("x").share == pytest.approx(0.5)
    assert Tree(["a", "b", "c"], tree, by_levels=True).read("y").share == 0.0


def test_the_optimum_of_four_numbers_is_two_pairs():
    ages = Line([0.0, 1.0, 9.0, 10.0], is_date=False)
    assert optimum.least_loss([(1.0, ages, ages.values)], 2, 0) == pytest.approx(0.4)
    assert optimum.least_loss([(1.0, ages, ages.values)], 3, 0) == pytest.approx(4.0)
    assert optimum.least_loss([(1.0, ages, ages.values)], 3, 1) == pytest.approx(3.7)


def test_records_that_find_no_row_are_counted():
    assert flow.unmatched([1, 1], [1, 1], [{0, 1}, {0}]) == 0
    assert flow.unmatched([1, 1], [1, 1], [{0}, {0}]) == 1
    assert flow.unmatched([3, 2], [2, 3], [{0, 1}, {0}]) == 0
    assert flow.unmatched([3, 2], [2, 2], [{0, 1}, {0}]) == 1

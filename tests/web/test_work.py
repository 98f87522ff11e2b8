"""The hand: every question has its answer, and no error tells a cell."""

from __future__ import annotations

import json
import stat
import subprocess
import sys

import polars as pl
import pytest

import shoal
from shoal.web.deeds import Grip
from shoal.web.form import PlanForm
from shoal.web.pages import ResultPage, as_html
from shoal.web.work import answer

ROWS = 60
CANARIES = ("zqname", "zqcity", "zqill", "7319")


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"zqname{row // 2}" for row in range(ROWS)],
            "age": [731900 + 7 * (row // 2) % 61 for row in range(ROWS)],
            "city": [f"zqcity{'abcde'[row // 2 % 5]}" for row in range(ROWS)],
            "illness": [f"zqill{row % 4}" for row in range(ROWS)],
        }
    )


@pytest.fixture
def hand(tmp_path):
    """Ask the hand, in this process: what it said last, and everything it said."""
    table().write_csv(tmp_path / "in.csv")
    held = Grip(tmp_path)
    said: list[dict] = []

    def ask(do, **words):
        said.clear()
        answer(held, json.dumps({"do": do, "words": words}), said.append)
        json.dumps(said)  # as it is sent
        return said[-1]

    ask.said = said
    ask.folder = tmp_path
    ask.opened = ask("open", path=str(tmp_path / "in.csv"), name="in.csv")["done"]
    return ask


def form_of(hand, **words):
    roles = {"name": "identifier", "age": "quasi", "city": "quasi", "illness": "sensitive"}
    form = PlanForm.of_plain(hand.opened["form"])
    for name, role in roles.items():
        form = form.changed(name, role=role)
    return {**form.to_plain(), "unit": "name", **words}


def test_a_table_is_guessed_and_shown_by_three_cells(hand):
    form = PlanForm.of_plain(hand.opened["form"])
    assert hand.opened["rows"] == ROWS
    assert [column.role for column in form.columns] == ["identifier", "quasi", "quasi", "sensitive"]
    assert all(column.why for column in form.columns)
    assert form.unit == "name"
    assert [len(one["cells"]) for one in hand.opened["columns"]] == [3, 3, 3, 3]


def test_a_run_is_written_into_the_private_folder_and_verifies(hand):
    done = hand("run", form=form_of(hand, effort="quick"), number=1)["done"]
    folder = hand.folder / "run-1"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = done["files"]
    found = shoal.verify(
        folder / files["table"],
        folder / files["certificate"],
        original=hand.folder / "in.csv",
        receipt=folder / files["receipt"],
    )
    assert all(one.holds is not False for one in found)
    assert done["passed"]
    assert done["k"] == 5
    assert sum(size * classes for size, classes in done["size_rows"]) == ROWS
    assert next(row[0] for row in done["risks"]) == "persons alone in their class"
    assert {one["name"] for one in done["profiles"]} == {"age", "city"}
    assert done["fingerprint"] == json.loads((folder / files["certificate"]).read_text())["release"]
    steps = [one for one in hand.said if "what" in one]
    assert steps[0]["what"] == "encoding"
    assert any(one["loss"] is not None for one in steps)
    again = shoal.read_plan(folder / "plan.yaml")
    assert again == PlanForm.of_plain(form_of(hand, effort="quick")).plan()


def test_the_report_of_a_run_holds_no_cell_and_says_what_is_open(hand):
    form = form_of(hand, effort="quick")
    files = hand("run", form=form, number=2)["done"]["files"]
    context = {"purpose": "research", "confirmed": ["quasi", "text"]}
    assert hand("write_report", form=form, number=2, files=files, context=context)["done"]
    page = (hand.folder / "run-2" / "report.html").read_text("utf-8")
    assert page.count("☑") == 2
    assert page.count("☐") == 4
    assert not [canary for canary in CANARIES if canary in page]
    assert not [c for c in CANARIES if c in (hand.folder / "run-2" / files["certificate"]).read_text()]


def test_what_a_release_is_still_good_for_is_measured_without_a_cell(hand):
    form = form_of(hand, effort="quick")
    done = hand("run", form=form, number=3)["done"]
    good, files = done["utility"], done["files"]
    folder = hand.folder / "run-3"
    found = shoal.utility(folder / files["table"], table(), beside=False)
    ours = found.tables[0]
    assert [line[0] for line in good["columns"]] == ["age", "city"]
    assert [line[1] for line in good["columns"]] == [f"{100 * x:.3g} %" for x in ours.told_apart.values()]
    assert [line[2] for line in good["columns"]] == [f"{100 * x:.3g} %" for x in ours.marginals.values()]
    assert (good["pairs"], good["queries"]) == (f"{100 * ours.pairs:.3g} %", found.queries)
    assert not [canary for canary in CANARIES if canary in json.dumps(good)]
    around = {"base": "/x", "file": "in.csv", "rows": ROWS, "last_run": 3, "last_result": 3}
    page = as_html(ResultPage(3, done, "shoal", 1), **around)
    assert "What it is still good for" in page
    assert good["error_high"] in page
    # means say nothing of the values that cells cover
    means = hand("run", form={**form, "style": "means"}, number=4)["done"]
    assert means["utility"] is None
    assert "still good for" not in as_html(ResultPage(4, means, "shoal", 1), **around)


def test_what_each_k_costs(hand):
    done = hand("compare", form=form_of(hand))["done"]
    assert [one["k"] for one in done["trials"]] == [2, 3, 5, 10, 20]
    losses = [one["loss"] for one in done["trials"] if one["loss"] is not None]
    assert losses == sorted(losses)
    assert all(one["least"] <= one["loss"] for one in done["trials"] if one["least"] is not None)
    assert done["curve"].startswith("<svg")


def test_a_hierarchy_is_tried_and_values_without_a_place_are_named(hand):
    tried = hand("try_tree", column="city", text="north\n  zqcitya\n  zqcityb\nsouth\n  zqcityc")["done"]
    assert tried["unplaced"] == ["zqcityd", "zqcitye"]
    assert (tried["without"], tried["rows"]) == (2, 24)
    assert hand("list_values", column="city")["done"]["listed"] == [f"zqcity{sign}" for sign in "abcde"]
    file = hand.folder / "tree.csv"
    file.write_text("zqcitya;north;*\nzqcityb;north;*\n")
    assert hand("read_tree", column="city", path=str(file))["done"]["text"] == "north\n  zqcitya\n  zqcityb"


def test_risk_is_that_of_the_columns_named(hand):
    done = hand("risk", form=form_of(hand))["done"]
    known = shoal.risk(table(), quasi=["age", "city"], unit="name")
    assert done["words"] == known.in_words()
    assert [one[0] for one in done["alone"]] == ["age", "city"]


def test_a_plan_is_saved_and_loaded(hand):
    form = form_of(hand, k="7")
    text = hand("save_plan", form=form)["done"]["text"]
    (hand.folder / "plan.yaml").write_text(text)
    again = hand("load_plan", form=hand.opened["form"], path=str(hand.folder / "plan.yaml"))["done"]["form"]
    assert PlanForm.of_plain(again).plan() == PlanForm.of_plain(form).plan()


WRONG = {
    "an infeasible rule": ("run", {"rule": "9-diverse"}, {}, "rules", "illness"),
    "a number that is none": ("run", {"kind": "number"}, {}, "kinds", "city"),
    "a hierarchy with gaps": ("run", {"tree": "x\n  zqcitya\ny"}, {}, "hierarchies", "city"),
    "too many": ("run", {}, {"k": "61"}, "k", None),
    "nobody said whom": ("run", {}, {"unit": "", "k": "2"}, "unit", "name"),
}


@pytest.mark.parametrize(("do", "column", "words", "field", "name"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_field_and_without_a_cell(hand, do, column, words, field, name):
    form = PlanForm.of_plain(form_of(hand, **words))
    if column:
        form = form.changed(name, **column)
    said = hand(do, form=form.to_plain(), number=9)
    assert said["field"] == field
    assert said["column"] == name
    assert not [canary for canary in CANARIES if canary in said["failed"]]
    assert not (hand.folder / "run-9").exists()


FILES = {
    "damaged.parquet": b"PAR1 zqname",
    "empty.csv": b"",
    "header.csv": b"zqname,b\n",
    "quotes.csv": b'a,b\n"zqname,2\n3,4\n',
    "binary.xlsx": b"\0zqname",
}


@pytest.mark.parametrize(("name", "content"), FILES.items(), ids=FILES)
def test_a_wrong_file_is_told_without_a_cell_or_a_folder(hand, name, content):
    (hand.folder / name).write_bytes(content)
    said = hand("open", path=str(hand.folder / name), name=name)
    assert "zqname1" not in said["failed"]
    assert str(hand.folder) not in said["failed"]
    assert hand("risk", form=form_of(hand))["done"], "the table before is still there"


def test_a_bug_tells_its_type_alone(hand, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("zqname1")

    monkeypatch.setattr("shoal.risk", broken, raising=False)
    said = hand("risk", form=form_of(hand, k="6"))
    assert "RuntimeError" in said["failed"]
    assert "zqname" not in said["failed"]


def test_marks_are_counted_as_missing(tmp_path):
    from shoal.web.deeds import open_table

    path = tmp_path / "in.csv"
    path.write_text("age,weight\n[0-10),?\n[10-20),?\n[0-10),\n[10-20),[50-75)\n")
    seen = open_table(Grip(tmp_path), lambda *_: None, path=str(path), name="in.csv")
    assert [one["missing"] for one in seen["columns"]] == [0, 3]
    assert seen["form"]["missing"] == "?"


def test_what_a_compiled_library_prints_does_not_come_between_answers(tmp_path):
    noisy = """if True:
        import os, sys
        from pathlib import Path
        from shoal.web import work
        work.DEEDS["noise"] = lambda held, say: [os.write(1, b"noise\\n"), print("more"), "quiet"][2]
        work.main(Path(sys.argv[1]))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", noisy, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        process.stdin.write(json.dumps({"do": "noise", "words": {}}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"done": "quiet"}
        process.stdin.close()
        assert process.stdout.read() == ""
        assert "noise" in process.stderr.read()

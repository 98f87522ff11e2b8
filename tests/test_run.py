"""A release from Python: what it is, what it says of itself, and methods side by side."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words

CELLS = {
    "name": ["zqname1", "zqname2", "zqname2", "zqname4", "zqname5", "zqname6"],
    "age": [71023, 71024, 71025, 71043, 71044, 71045],
    "sex": ["m", "f", "m", "m", "f", "f"],
    "ill": ["zqflu", "zqcold", "zqgout", "zqflu", "zqcold", "zqgout"],
    "note": ["zqnote1", "zqnote2", "zqnote3", "zqnote4", "zqnote5", "zqnote6"],
}
WORDS = {
    "k": 3,
    "quasi": ["age", "sex"],
    "sensitive": ["ill"],
    "identifier": ["name"],
    "method": "k-member",
}


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.anonymize(pl.DataFrame(CELLS), **WORDS)


def test_a_release_says_what_it_is_without_a_cell(release):
    for text in (repr(release), str(release)):
        assert "6 of 6 rows published in 2 classes, the smallest of 3." in text
        assert "No release of this table can lose less than" in text
        assert "times what is unavoidable" in text
        assert "zq" not in text
        assert "710" not in text


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.0, ": this is the best possible."),
        (1.0978, "at most 1.10 times what is unavoidable"),
        (1.999, "at most 2.00 times what is unavoidable"),
        (2.0, "at most 2.00 times what is unavoidable"),
        (2.391, "at most 2.40 times what is unavoidable"),
        (None, "is not known"),
    ],
)
def test_a_ratio_in_words_promises_no_more_than_it_is(release, ratio, words):
    assert words in replace(release.certificate, ratio=ratio).in_words()


def test_a_notebook_shows_the_release_and_nothing_of_the_original(release):
    page = release._repr_html_()
    assert "6 of 6 rows published" in page
    assert "age" in page
    assert not any(cell in page for cell in (*CELLS["name"], *CELLS["note"]))


def test_a_notebook_shows_no_cell_of_a_table_that_failed(release):
    failed = replace(
        release, verdict=replace(release.verdict, reasons=("The smallest class has 1 record.",))
    )
    assert "NOT ANONYMOUS" in repr(failed)
    assert "zq" not in failed._repr_html_()


def test_what_was_left_out_guessed_and_repeated(release):
    assert release.left_out == ("note",)
    assert release.guessed == {"age": "number", "sex": "label"}
    (one,) = release.repeats
    assert (one.column, one.values, one.rows, one.most) == ("name", 1, 2, 2)


def test_a_release_of_one_class_is_said_in_the_singular():
    alone = shoal.anonymize(pl.DataFrame(CELLS), **{**WORDS, "k": len(CELLS["age"]), "unit": "rows"})
    assert "published in 1 class, the smallest" in repr(alone)


def test_a_label_that_may_be_a_number_is_said():
    ages = ["71023", "71024", "71025", "71043", "71044", "zqmark"]
    doubted = shoal.anonymize(pl.DataFrame({**CELLS, "age": ages}), **WORDS)
    assert doubted.guessed["age"] == "label"
    assert len(doubted.doubts) == 1
    assert "'age'" in doubted.doubts[0]
    assert "zq" not in doubted.doubts[0]
    told = shoal.anonymize(pl.DataFrame({**CELLS, "age": ages}), missing=["zqmark"], **WORDS)
    assert told.doubts == ()


def test_a_release_is_not_pickled(release):
    with pytest.raises(TypeError, match="write"):
        pickle.dumps(release)
    with pytest.raises(TypeError):
        copy.copy(release)


def test_the_value_is_the_loss_of_the_check(release):
    exact = release.receipt.figures
    assert exact.value == release.verdict.loss
    assert exact.value >= exact.bound
    assert release.certificate.value >= exact.value
    assert release.certificate.bound <= exact.bound


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_the_same_bytes_from_any_kind_of_frame(release, kind, tmp_path):
    release.write(tmp_path / "one.csv")
    other = shoal.anonymize(kind(CELLS), **WORDS)
    other.write(tmp_path / "other.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    expected = pl.DataFrame if kind is pl.LazyFrame else type(kind(CELLS))
    assert isinstance(other.table, expected)


def test_what_was_judged_is_written_whatever_becomes_of_the_table(tmp_path):
    release = shoal.anonymize(pd.DataFrame(CELLS), **WORDS)
    release.table["age"] = CELLS["age"]
    release.write(tmp_path / "out.csv")
    assert "\n71023," not in (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.arrow"])
def test_what_a_user_does_to_the_table_is_never_published(name, tmp_path):
    release = shoal.anonymize(pl.DataFrame(CELLS), **WORDS)
    release.write(tmp_path / name)
    clean = (tmp_path / name).read_bytes()
    release.table.insert_column(0, pl.Series("name", CELLS["name"]))
    release.table[0, "age"] = "71023"
    release.table.drop_in_place("ill")
    assert release.table.columns == ["name", "age", "sex"]  # the table is the user's own
    release.write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == clean
    assert "zqname" not in release._repr_html_()


def test_lookups_are_the_users_own_and_of_the_kind_that_came_in(tmp_path):
    for kind in (pd.DataFrame, pl.DataFrame, pa.table):
        release = shoal.anonymize(kind(CELLS), **{**WORDS, "cells": "id"})
        files = release.write(tmp_path / "out.csv")
        clean = files.lookups[0].read_bytes()
        lookup = release.lookups["sex"]
        assert isinstance(lookup, type(kind(CELLS)))
        if kind is pl.DataFrame:
            lookup.insert_column(0, pl.Series("name", ["zq"] * lookup.height))
        elif kind is pd.DataFrame:
            lookup["name"] = "zq"
        assert release.write(tmp_path / "out.csv").lookups[0].read_bytes() == clean


def test_a_table_that_is_not_the_judged_one_is_not_written(release, tmp_path):
    age = pl.Series("age", [str(age) for age in CELLS["age"]])
    for other in (
        release._published.written.with_columns(age),
        release._published.written.reverse(),
        release._published.written.rename({"ill": "disease"}),
        release._published.written.head(3),
    ):
        changed = replace(release._published, written=other)
        with pytest.raises(shoal.NotAnonymous, match="no longer the one that was judged"):
            replace(release, _published=changed).write(tmp_path / "out.csv")
        with pytest.raises(shoal.NotAnonymous, match="no longer the one that was judged"):
            replace(release, _published=changed).draw_map(tmp_path / "map.html")
    assert list(tmp_path.iterdir()) == []


def test_compare_is_what_anonymize_says(release):
    found = shoal.compare(
        pl.DataFrame(CELLS), ks=[3, 2], methods=["k-member", "mondrian"], **{**WORDS, "k": 2}
    )
    assert [(trial.method, trial.k) for trial in found.trials] == [
        *(("k-member", 2), ("k-member", 3)),
        *(("mondrian", 2), ("mondrian", 3)),
    ]
    assert found.trials[1].loss_percent == release.receipt.figures.loss_percent
    assert found.trials[1].ratio == release.receipt.figures.ratio
    assert all(trial.smallest_class >= trial.k for trial in found.trials)
    assert "k-member" in repr(found)


def test_a_method_that_cannot_take_the_plan_gets_a_note():
    found = shoal.compare(pl.DataFrame(CELLS), ks=[2], **{**WORDS, "k": 2})
    assert {trial.method for trial in found.trials} == set(shoal.methods())
    refused = [trial for trial in found.trials if trial.loss_percent is None]
    assert all(trial.note and trial.seconds is None for trial in refused)
    assert "-" in repr(found)


def test_every_public_name_is_there():
    assert all(getattr(shoal, name) is not None for name in shoal.__all__)
    assert sorted(shoal.__all__) == sorted(dir(shoal))


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda frame: shoal.check_table(frame, quasi=None), "quasi must be a list of names"),
        (lambda frame: shoal.check_table(frame, quasi=[1]), "quasi must be a list of names"),
        (lambda frame: shoal.risk(frame, quasi=3), "quasi must be a list of names"),
        (lambda frame: shoal.attack(frame, frame, match=["age"]), "match must be a mapping"),
        (
            lambda frame: shoal.attack(frame, frame, match={}, hierarchies={"sex": "sex.csv"}),
            "'sex' is none",
        ),
        (lambda frame: shoal.verify(frame, {"k": 3}), "neither a file"),
        (lambda frame: shoal.verify(frame, None), "neither a file"),
        (lambda frame: shoal.compare(frame, quasi=["age"], ks=[3], methods=[5]), "methods must be a list"),
    ],
)
def test_what_is_of_the_wrong_type_is_refused_in_words(ask, match):
    with pytest.raises(shoal.PlanError, match=match):
        ask(pl.DataFrame(CELLS))


def test_one_k_and_one_method_are_enough_to_compare():
    (trial,) = shoal.compare(pl.DataFrame(CELLS), quasi=["age"], ks=3, methods="k-member").trials
    assert (trial.method, trial.k) == ("k-member", 3)


def test_notes_say_what_a_terminal_says_without_a_cell(release):
    notes = " ".join(release.notes)
    assert "Kinds were guessed: age number, sex label." in notes
    assert "Left out, having no role: note." in notes
    assert "Identifier name repeats" in notes
    for shown in (repr(release), release._repr_html_()):
        assert "Left out, having no role: note." in shown
    assert "zq" not in notes
    assert "--" not in notes


def test_means_say_their_squares():
    words = {"k": 3, "quasi": ["age"], "style": "means", "unit": "rows"}
    release = shoal.anonymize(pl.DataFrame({"age": [1.0, 2.0, 3.0, 10.0, 11.0, 12.0]}), **words)
    assert "(SSE)" in " ".join(release.notes)


def test_a_plan_is_given_as_a_file_or_as_it_was_read(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("k: 3\nquasi: [age, sex]\nidentifier: [name]\nunit: rows\n")
    frame = pl.DataFrame(CELLS)
    by_file = shoal.anonymize(frame, path)
    plan = shoal.read_plan(path)
    assert isinstance(plan, shoal.Plan)
    assert (plan.k, plan.quasi, plan.unit) == (3, ("age", "sex"), "rows")
    assert shoal.read_plan(path, k=2, quasi="age").quasi == ("age",)
    assert by_file.plan == shoal.anonymize(frame, plan).plan
    assert by_file.plan == shoal.anonymize(frame, shoal.plan_words(path)).plan
    assert shoal.anonymize(frame, str(path), k=2).plan.k == 2
    with pytest.raises(shoal.PlanError, match=r"The second argument is a shoal\.Plan"):
        shoal.anonymize(frame, 5)


def test_a_plan_file_that_leaves_something_open_is_read_as_words(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("quasi: [age, sex]\n")
    assert shoal.plan_words(path) == {"quasi": ("age", "sex")}
    with pytest.raises(shoal.PlanError, match="Nothing says k") as caught:
        shoal.read_plan(path)
    assert caught.value.field == "k"
    assert shoal.read_plan(path, k=4).k == 4
    with pytest.raises(shoal.PlanError, match="Did you mean 'sensitive'"):
        shoal.read_plan(path, k=4, sensitve="sex")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sensitve", "sensitive"), ("quasis", "quasi"), ("kind", "kinds"), ("rule", "rules")],
)
def test_a_wrong_keyword_is_answered_with_the_right_one(word, meant):
    with pytest.raises(shoal.PlanError, match=f"no keyword '{word}'. Did you mean '{meant}'"):
        shoal.anonymize(pl.DataFrame(CELLS), k=3, quasi=["age"], **{word: ["sex"]})


def test_a_comparison_becomes_a_frame():
    found = shoal.compare(
        pl.DataFrame(CELLS), k=3, quasi=["age"], methods=("mondrian", "mdav"), unit="rows"
    )
    frame = found.to_frame()
    assert frame["method"].to_list() == [trial.method for trial in found.trials]
    assert frame["loss_percent"].to_list() == [trial.loss_percent for trial in found.trials]


def test_groups_tell_who_stands_behind_which_line_of_ids_too():
    jobs = [f"job{at}" for at in range(12)] * 2
    frame = pl.DataFrame({"job": jobs, "row": [str(at) for at in range(24)]})
    release = shoal.anonymize(frame, k=4, quasi=["job"], keep=["row"], cells="id")
    rows = release.table["row"].to_list()
    pairs = zip(release.groups.line.tolist(), release.groups.source.tolist(), strict=True)
    assert all(rows[line] == str(source) for line, source in pairs)
    assert not release.table["job"].is_in(jobs).all(), "some cell is an id"


def test_a_bound_from_rows_that_were_drawn_says_so(release):
    drawn = replace(release.certificate, bound_name="border-drawn")
    assert ", but for a chance of one in 10^12: at most" in drawn.in_words()
    assert "chance" not in release.certificate.in_words()


def test_progress_says_when_a_bound_is_proved_that_the_search_learns_from():
    told = []
    shoal.anonymize(mixed_table(300), **mixed_words(), progress=lambda what, _: told.append(str(what)))
    first = told.index("proving a bound")
    assert told.index("grouping") < first
    assert first < min(at for at, what in enumerate(told) if what.startswith("improving"))
    again = told.index("proving a bound", told.index("recoding") - 1)
    assert again + 1 == told.index("recoding")

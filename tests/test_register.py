"""A register over time: the same bytes, what is kept and refused, what the state tells.

The promises themselves: test_worlds.py.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import shoal
from series_stories import frame_of, make, plan_of, story, told
from shoal.model.register import RegisterState
from shoal.run.whose import persons_of
from silent import said_by


def test_values_permuted_inside_a_school_give_the_same_bytes():
    # rules let values decide who is listed with whom; without them everything is the same
    tables, plan = story(3, people=30, change=0.0), plan_of(3, rules=[])
    first = make(tables, plan)
    again = [dict(table) for table in tables]
    tale = told(first, tables)
    for lives in tale.lists:
        values = [tale.truth[life] for life in lives]
        for (person, _), value in zip(lives, values[1:] + values[:1], strict=True):
            for table in again:
                if person in table:
                    table[person] = (table[person][0], value)
    assert again != tables
    second = make(again, plan)
    assert len(first) == len(second) == 4
    for one, other in zip(first, second, strict=True):
        assert one.table.equals(other.table)
        assert one.lists.equals(other.lists)


def test_order_and_threads_change_no_byte(tmp_path):
    tables = [frame_of(table) for table in story(5, people=40)]
    luck = np.random.default_rng(0)
    written = []
    for name, threads in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        series = shoal.Series(plan_of(3, threads=threads, method="crowd"))
        for at, table in enumerate(tables):
            shuffled = table[pl.Series(luck.permutation(table.height))]
            series.release(shuffled, tmp_path / name / f"q{at}.csv")
        written.append(
            [
                (tmp_path / name / f"q{at}{end}").read_bytes()
                for at in range(4)
                for end in (".csv", ".lists.csv")
            ]
        )
    assert written[0] == written[1]


# what is kept, written, read again and refused


@pytest.fixture(scope="module")
def tables():
    return [frame_of(table) for table in story(11, releases=3, people=40)]


@pytest.fixture
def series(tables, tmp_path):
    made = shoal.Series(plan_of(3))
    made.release(tables[0], tmp_path / "q1.csv")
    return made


def refuses(tmp_path, kind, words, act):
    """An error that says `words` and nothing of a person, after which all files are as they were."""
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(kind) as error:
        act()
    assert words in said_by(error.value, "canary")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    return error.value


def test_a_state_is_private_and_a_release_is_whole(series, tmp_path):
    names = {"q1.csv", "q1.lists.csv", "q1.state", "q1.certificate.json", "q1.receipt.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert os.stat(tmp_path / "q1.state").st_mode & 0o777 == 0o600
    state = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    assert state.release == hashlib.sha256((tmp_path / "q1.csv").read_bytes()).hexdigest()
    said = json.loads((tmp_path / "q1.certificate.json").read_text())["series"]
    assert said["register"]["lists"] == hashlib.sha256((tmp_path / "q1.lists.csv").read_bytes()).hexdigest()


def test_a_state_that_was_followed_is_not_followed_again(series, tables, tmp_path):
    first = series.after
    series.release(tables[1], tmp_path / "q2.csv")
    again = shoal.Series(plan_of(3), after=first)
    refuses(
        tmp_path,
        shoal.DataError,
        "already made after this state",
        lambda: again.release(tables[2], tmp_path / "q3.csv"),
    )
    again.release(tables[2], tmp_path / "q2.csv", redo=True)
    assert shoal.Certificate.of_json((tmp_path / "q2.certificate.json").read_text()).series.number == 2


def test_a_copied_older_state_is_seen_beside_the_newer(series, tables, tmp_path):
    copy = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    first = series.after
    series.release(tables[1], tmp_path / "q2.csv")
    (tmp_path / "q1.state").write_bytes(copy["q1.state"])
    again = shoal.Series(plan_of(3), after=first)
    refuses(
        tmp_path,
        shoal.PlanError,
        "Release 2 of this series is there",
        lambda: again.release(tables[2], tmp_path / "q3.csv"),
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"rules": []}, "rules"),
        ({"quasi": ["x"], "kinds": {"x": "number"}}, "quasi"),
        ({"missing": ["?"]}, "missing"),
        ({"cells": "bounds"}, "cells"),
    ],
)
def test_another_plan_does_not_follow(series, tables, tmp_path, words, named):
    other = shoal.Series(plan_of(3, **words), after=series.after)
    error = refuses(tmp_path, shoal.PlanError, named, lambda: other.release(tables[1], tmp_path / "q2.csv"))
    assert error.field is not None


def test_one_person_twice_or_without_a_name_is_refused(series, tables, tmp_path):
    twice = pl.concat([tables[1], tables[1][:2]])
    refuses(
        tmp_path,
        shoal.DataError,
        "names 2 persons twice",
        lambda: series.release(twice, tmp_path / "q2.csv"),
    )
    nobody = tables[1].with_columns(who=pl.Series([None, *tables[1]["who"].to_list()[1:]]))
    refuses(
        tmp_path,
        shoal.DataError,
        "does not say who 1 rows",
        lambda: series.release(nobody, tmp_path / "q2.csv"),
    )


def test_a_second_series_of_the_same_persons_is_refused(series, tables, tmp_path):
    second = shoal.Series(plan_of(3))
    refuses(
        tmp_path,
        shoal.PlanError,
        "A second series of the same persons",
        lambda: second.release(tables[1], tmp_path / "z.csv"),
    )


def test_a_release_of_a_series_is_not_written_over_another(series, tables, tmp_path):
    refuses(
        tmp_path,
        shoal.PlanError,
        "a name of its own",
        lambda: series.release(tables[1], tmp_path / "q1.csv"),
    )


def test_a_first_release_that_was_never_finished_is_made_once_its_state_is_removed(
    series, tables, tmp_path
):
    (tmp_path / "q1.csv").unlink()  # as a kill leaves it
    refuses(
        tmp_path,
        shoal.PlanError,
        "remove 'q1.state' if that one was never finished",
        lambda: shoal.Series(plan_of(3)).release(tables[0], tmp_path / "q1.csv"),
    )
    (tmp_path / "q1.state").unlink()
    shoal.Series(plan_of(3)).release(tables[0], tmp_path / "q1.csv")


@pytest.mark.parametrize("name", ["q1.csv", "q1.lists.csv", "q1.certificate.json", "q1.state"])
def test_files_that_do_not_belong_together_are_refused(series, tables, tmp_path, name):
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content.replace(b"1", b"2") if name != "q1.state" else content[:-30])
    refuses(tmp_path, shoal.DataError, "", lambda: series.release(tables[1], tmp_path / "q2.csv"))
    (tmp_path / name).unlink()
    refuses(tmp_path, shoal.DataError, "", lambda: series.release(tables[1], tmp_path / "q2.csv"))


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"unit": None}, "unit"),
        ({"unit": "rows"}, "unit"),
        ({"count": "n"}, "count"),
        ({"style": "means"}, "style"),
        ({"cells": "middle"}, "cells"),
        ({"withhold": 0.1}, "withhold"),
        ({"distance": "euclidean"}, "distance"),
        ({"loss": "sets"}, "loss"),
        ({"sensitive": [], "rules": []}, "sensitive"),
        ({"kinds": {"x": "label"}}, "hierarchies"),
        ({"keep": ["school"]}, "series"),
    ],
)
def test_a_plan_that_no_register_can_keep_is_refused(words, field):
    with pytest.raises(shoal.PlanError) as error:
        plan_of(3, **words)
    assert error.value.field == field


def test_a_label_that_was_guessed_is_refused(tables, tmp_path):
    plan = plan_of(3, quasi=["x", "z"], kinds={"x": "number"})
    frame = tables[0].with_columns(
        z=pl.Series(["canary-a", "canary-b"] * tables[0].height)[: tables[0].height]
    )
    refuses(
        tmp_path, shoal.PlanError, "flat()", lambda: shoal.Series(plan).release(frame, tmp_path / "q1.csv")
    )


def test_dates_that_become_moments_are_refused(tmp_path):
    """Days and moments are not compared: all cells shown would be forgotten."""
    born = [datetime(1980, 1, 1) + timedelta(days=7 * at) for at in range(40)]
    first = pl.DataFrame({"who": range(40), "born": born, "ill": ["a", "b", "c", "d"] * 10})
    noon = first.with_columns(born=pl.Series([born[0] + timedelta(hours=12), *born[1:]]))
    for begins, goes_on in ((first, noon), (noon, first)):
        folder = tmp_path / str(begins is noon)
        folder.mkdir()
        series = shoal.Series(plan_of(3, quasi=["born"], kinds={"born": "date"}, rules=[]))
        series.release(begins, folder / "q1.csv")
        wrong = lambda: series.release(goes_on, folder / "q2.csv")  # noqa: B023, E731
        refuses(folder, shoal.DataError, "What was shown of persons could not be compared", wrong)
        assert series.release(begins, folder / "q2.csv").certificate.series.register.moved == 0


def test_those_who_are_forgotten_are_not_in_the_state(series, tables, tmp_path):
    gone = tables[0]["who"].to_list()[:3]
    before = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    staying = tables[1].filter(~pl.col("who").is_in(gone))
    release = series.release(staying, tmp_path / "q2.csv", forget=gone)
    after = RegisterState.of_bytes((tmp_path / "q2.state").read_bytes())
    asked = persons_of(pl.Series(gone), before.key)
    assert (before.find(asked) >= 0).all()
    assert (after.find(asked) < 0).all()
    assert release.forgotten == 3
    assert release.lists.filter(pl.col("since") == 1).height == tables[0].height


def test_nobody_is_forgotten_who_is_in_the_table(series, tables, tmp_path):
    gone = tables[1]["who"].to_list()[:2]
    error = refuses(
        tmp_path,
        shoal.DataError,
        "2 of those to be forgotten are in the table",
        lambda: series.release(tables[1], tmp_path / "q2.csv", forget=[*gone, "canary-nobody"]),
    )
    assert error.field == "forget"


def test_a_register_verifies_from_its_files(series, tables, tmp_path):
    series.release(tables[1], tmp_path / "q2.csv")
    files = series.files
    found = shoal.verify(files.table, files.certificate, before=[tmp_path / "q1.csv"])
    assert {one.claim for one in found if one.holds} >= {
        "release 1",
        "series",
        "lists",
        "schools",
        "k",
        "loss",
    }
    assert not [one for one in found if one.holds is False]
    with_original = shoal.verify(
        files.table,
        files.certificate,
        original=tables[1],
        receipt=files.receipt,
        before=[tmp_path / "q1.csv"],
    )
    assert not [one for one in with_original if one.holds is False]
    text = files.lists.read_text()
    for change in (
        text.replace("canary-flu", "canary-cold", 1),
        "\n".join(text.splitlines()[:-1]) + "\n",
        text + text.splitlines()[-1] + "\n",
        text.replace("\n1,", "\n2,", 1),
    ):
        files.lists.write_text(change)
        found = shoal.verify(files.table, files.certificate, before=[tmp_path / "q1.csv"])
        assert [one.claim for one in found if one.holds is False]
        assert "canary" not in " ".join(one.detail for one in found)


def test_a_register_is_not_written_to_a_database(tables, tmp_path):
    release = shoal.anonymize(tables[0], plan_of(3))
    address = f"sqlite:///{tmp_path / 'out.db'}::q1"
    refuses(tmp_path, shoal.PlanError, "Write it to a file", lambda: release.write_database(address))


def test_the_report_says_which_release_this_is_and_how_lists_are_mixed(series, tables, tmp_path):
    series.release(tables[1], tmp_path / "q2.csv")
    files = series.files
    made = shoal.report(files.table, files.certificate, tmp_path / "r.html", original=tables[1])
    page = (tmp_path / "r.html").read_text()
    assert "Release 2 of a register. It follows release 1." in page
    assert "canary" not in page
    (mixed,) = made.mixed
    assert mixed.name == "ill"
    assert mixed.distinct >= 2
    assert mixed.certain == 0


def test_a_damaged_state_is_an_error_and_no_crash(series, tmp_path):
    content = (tmp_path / "q1.state").read_bytes()
    luck = np.random.default_rng(0)
    refused = 0
    for at in range(400):
        damaged = bytearray(content[: luck.integers(len(content))] if at % 8 == 0 else content)
        for place in luck.integers(0, max(len(damaged), 1), 4):
            damaged[place : place + 1] = bytes([luck.integers(256)])
        try:
            RegisterState.of_bytes(bytes(damaged))  # some bytes of a zip file tell nothing
        except shoal.DataError:
            refused += 1
    assert refused > 300


def test_a_state_of_an_older_format_is_refused(series, tmp_path, monkeypatch):
    """Format 1.0 does not tell who moved."""
    state = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    with monkeypatch.context() as then:
        then.setattr("shoal.model.register.FORMAT", "1.0")
        older = state.to_bytes()
    with pytest.raises(shoal.DataError, match="another version"):
        RegisterState.of_bytes(older)


@pytest.mark.parametrize("value", [None, -1, 2.5, [], {"canary": 1}, 10**30])
@pytest.mark.parametrize(
    "name", ["series", "number", "release", "certificate", "marks", "kinds", "followed"]
)
def test_a_state_whose_head_was_changed_is_refused(series, tmp_path, name, value):
    state = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    with pytest.raises(shoal.DataError, match="it was changed"):
        RegisterState.of_bytes(replace(state, **{name: value}).to_bytes())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cut", lambda its: its + 1000),
        ("cut", lambda its: its[:, :1]),
        ("school", lambda its: its[1:]),
        ("since", lambda its: its + 9),
        ("stay", lambda its: its - 5),
        ("point", lambda its: its[:, 1:]),
        ("point", lambda its: its.astype(np.int32)),
        ("past", lambda its: np.array([[10_000, 1]], np.int32)),
        ("person", lambda its: its[::-1]),
        ("number", lambda its: 0),
    ],
)
def test_a_state_that_was_changed_is_refused(series, tables, tmp_path, name, change):
    state = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    changed = replace(state, **{name: change(getattr(state, name))})
    (tmp_path / "q1.state").write_bytes(changed.to_bytes())
    refuses(
        tmp_path,
        shoal.DataError,
        "it was changed",
        lambda: series.release(tables[1], tmp_path / "q2.csv"),
    )

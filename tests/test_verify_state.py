"""What a register's private state proves when a release is verified: by whom, and of what it is."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from series_stories import TREE, frame_of, plan_of, story
from shoal.model.register import RegisterState
from shoal.run import register
from silent import said_by

PLANS = {
    "numbers": ({}, 0.0),
    "trees and missing cells": ({"hierarchies": {"y": TREE}}, 0.15),
    "bounds": ({"cells": "bounds", "method": "crowd"}, 0.15),
}


def release_all(folder, tables, plan):
    """A series on disk; its files by release."""
    series, files = shoal.Series(plan), []
    for number, table in enumerate(tables, 1):
        series.release(table, folder / f"q{number}.csv")
        files.append(series.files)
    return files


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A series of three releases: its tables, plan, and folder."""
    plan = plan_of(3)
    tables = [frame_of(table) for table in story(8, releases=3, people=40, change=0.3, restless=0.2)]
    folder = tmp_path_factory.mktemp("series")
    release_all(folder, tables, plan)
    return tables, folder


@pytest.fixture
def there(made, tmp_path):
    """The same in a folder of its own."""
    shutil.copytree(made[1], tmp_path, dirs_exist_ok=True)
    return made[0], tmp_path


def findings(tables, folder, number=3, **words):
    given = {
        "state": folder / f"q{number}.state",
        "before": [folder / f"q{one}.csv" for one in range(1, number)],
        "original": tables[number - 1],
    }
    found = shoal.verify(folder / f"q{number}.csv", folder / f"q{number}.certificate.json", **given | words)
    assert "canary" not in " ".join(f"{one.claim} {one.detail}" for one in found)
    return {one.claim: one for one in found}


@pytest.mark.parametrize("name", PLANS)
def test_everybody_of_a_series_is_judged_again(tmp_path, name):
    words, missing = PLANS[name]
    plan = plan_of(3, **words)
    series = story(31, releases=3, people=36, missing=missing)
    tables = [frame_of(table, plan) for table in series]
    release_all(tmp_path, tables, plan)
    for number in (1, 2, 3):
        found = findings(tables, tmp_path, number, hierarchies=dict(plan.hierarchies))
        assert not [one for one in found.values() if one.holds is False]
        assert all(found[claim].holds for claim in ("state", "rows", "persons"))
        assert ("former state" in found) == (number > 1)


def test_bounds_may_hide_what_was_missing_in_a_former_release(tmp_path):
    """Somebody's cell was missing once; those who were hidden with him stay so when he has left."""
    plan = plan_of(2, cells="bounds", method="crowd")
    series = story(1005, people=8, missing=0.1)
    tables = [frame_of(table, plan) for table in series]
    release_all(tmp_path, tables, plan)
    last = pl.read_csv(tmp_path / "q4.csv")
    assert last["x_low"].null_count() > 0
    assert tables[3]["x"].null_count() == 0
    found = findings(tables, tmp_path, 4, receipt=tmp_path / "q4.receipt.json")
    assert not [one for one in found.values() if one.holds is False]
    assert found["persons"].holds


def test_what_is_not_given_is_asked_for(made):
    tables, folder = made
    found = findings(tables, folder, state=None)
    assert found["rows"].needs == ("state",)
    found = findings(tables, folder, original=None)
    assert found["state"].holds
    assert found["former state"].holds
    assert "original" in found["rows"].needs
    found = findings(tables, folder, before=[])
    assert found["former state"].needs == found["rows"].needs == ("before",)


def test_a_former_state_is_looked_for_beside_its_release(there):
    tables, folder = there
    (folder / "q2.state").unlink()
    found = findings(tables, folder)
    assert found["former state"].holds is None
    assert "'q2.state'" in found["former state"].detail
    assert found["rows"].holds is None


def test_a_state_of_another_release_or_series_does_not_fit(made, tmp_path):
    tables, folder = made
    said = findings(tables, folder, state=folder / "q2.state")["state"]
    assert said.holds is False
    assert "is of release 2; this is release 3" in said.detail
    assert findings(tables, folder, 2, state=folder / "q3.state")["state"].holds is False
    release_all(tmp_path, tables, plan_of(3))
    other = findings(tables, folder, state=tmp_path / "q3.state")["state"]
    assert other.holds is False
    assert "of another series" in other.detail


def test_a_former_state_of_another_series_does_not_fit(there, tmp_path_factory):
    tables, folder = there
    other = tmp_path_factory.mktemp("other")
    release_all(other, tables, plan_of(3))
    (folder / "q2.state").write_bytes((other / "q2.state").read_bytes())
    said = findings(tables, folder)["former state"]
    assert said.holds is False
    assert "does not belong to its own release" in said.detail


def test_a_release_without_a_state_has_none(tmp_path, made):
    alone = shoal.anonymize(made[0][0], replace(plan_of(3), series=None)).write(tmp_path / "a.csv")
    found = shoal.verify(alone.table, alone.certificate, state=made[1] / "q1.state")
    assert [one.detail for one in found if one.claim == "state"] == [
        "The certificate is of no register: no state belongs to it."
    ]


@pytest.mark.parametrize("content", [b"", b"canary", None, 7])
def test_a_state_that_is_none_is_an_error(made, tmp_path, content):
    path = tmp_path / "q.state"
    if isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(shoal.ShoalError) as error:
        findings(*made, state=content if isinstance(content, int) else path)
    assert error.value.field == "state"
    said_by(error.value, "canary")


def test_the_original_of_another_release_is_not_that_of_the_state(made):
    tables, folder = made
    said = findings(tables, folder, original=tables[1])["rows"]
    assert said.holds is False
    assert "not those whom the state knows" in said.detail
    twice = pl.concat([tables[2], tables[2][:1]])
    assert findings(tables, folder, original=twice)["rows"].holds is False
    tables = [*tables[:2], tables[2].with_columns(x=pl.col("x").reverse())]
    said = findings(tables, folder)["rows"]
    assert said.holds is False
    assert "nobody can stand" in said.detail


def forge(folder, number, **changed):
    """A state with other arrays, as the keeper of all files could write it."""
    path = folder / f"q{number}.state"
    state = RegisterState.of_bytes(path.read_bytes())
    arrays = {name: change(state, getattr(state, name)) for name, change in changed.items()}
    path.write_bytes(replace(state, **arrays).to_bytes())


def with_one(line, value):
    def change(state, lines):
        lines = lines.copy()
        lines[line(state)] = value
        return lines

    return change


def there_now(state):
    return int(np.flatnonzero(state.stay > 0)[0])


def not_in_the_first(state):
    return int(np.flatnonzero((state.stay > 0) & (state.school != 1))[0])


def gone(state):
    return int(np.flatnonzero(state.stay == 0)[0])


def wider(state, sides):
    return tuple(side + np.array([-1, 1]) for side in sides)


def narrower(state, sides):
    return tuple(np.stack([side[:, 1], side[:, 1]], axis=1) for side in sides)


def stay_of_then(state, stay):
    """Whoever moved inside his cells is said to be where he was."""
    at = np.flatnonzero((stay == 3) & (state.since < 3))[0]
    stay = stay.copy()
    stay[at] = state.since[at]
    return stay


FORGED = {
    "one who left is there": ({"stay": with_one(gone, 1)}, "persons who are there"),
    "one who is there has left": ({"stay": with_one(there_now, 0)}, "persons who are there"),
    "another school": ({"school": with_one(not_in_the_first, 1)}, "other schools than the table"),
    "a school without a list": ({"school": with_one(gone, 999)}, "a school without a list"),
    "nothing shown": ({"cut": with_one(there_now, -1)}, "nothing was shown"),
    "longer there": ({"stay": lambda s, its: np.where(its > 0, 1, 0).astype(np.int32)}, "without a move"),
    "moved and not told": ({"stay": stay_of_then}, "without a move"),
    "another point": ({"point": lambda s, its: its ^ 1}, "without a move"),
    "a point of one who left": ({"point": with_one(gone, 1)}, "what was not shown"),
    "cells that count later": ({"since": with_one(gone, 3)}, "since when somebody's cells count"),
    "a school that nobody left": (
        {"past": lambda s, its: np.concatenate([its, np.array([[0, 1]], np.int32)])},
        "with more persons than its list has entries",
    ),
    "a school that was left is forgotten": ({"past": lambda s, its: its[:-1]}, "forgets a school"),
    "wider sides": ({"sides": wider}, "what was not shown"),
    "narrower sides": ({"sides": narrower}, "what was not shown"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_state_that_was_changed_is_found_out_by_those_around_it(there, name):
    tables, folder = there
    changed, says = FORGED[name]
    forge(folder, 3, **changed)
    found = findings(tables, folder, original=None)
    wrong = " ".join(one.detail for one in found.values() if one.holds is False)
    assert says in wrong


def test_sides_of_those_who_are_there_are_held_against_their_lines(there):
    """With a side of their own for those who are there, only the original tells."""
    tables, folder = there

    def own(state, cut):
        cut = cut.copy()
        cut[state.stay > 0, 0] += len(state.sides[0])
        return cut

    def doubled(state, sides):
        narrow = np.stack([sides[0][:, 0], sides[0][:, 0]], axis=1)
        return np.concatenate([sides[0], narrow]), sides[1]

    forge(folder, 3, cut=own, sides=doubled)
    found = findings(tables, folder)
    assert found["former state"].holds
    assert found["rows"].holds is False
    assert "persons" not in found


def test_a_former_state_that_was_changed_is_found_out(there):
    tables, folder = there
    forge(folder, 2, stay=lambda state, its: its * 0)
    found = findings(tables, folder)
    assert False in {one.holds for one in found.values()}


def test_those_who_were_forgotten_are_counted(tmp_path, made):
    tables = made[0]
    series = shoal.Series(plan_of(3))
    series.release(tables[0], tmp_path / "q1.csv")
    gone = tables[0]["who"].to_list()[:3]
    tables = [tables[0], tables[1].filter(~pl.col("who").is_in(gone))]
    series.release(tables[1], tmp_path / "q2.csv", forget=gone)
    found = findings(tables, tmp_path, 2)
    assert "3 persons were forgotten" in found["former state"].detail
    assert all(found[claim].holds for claim in ("state", "former state", "rows", "persons"))


def test_a_series_that_no_judge_saw_is_refused_by_its_state(tmp_path, monkeypatch):
    """Cells made as if nothing had been shown before, by a run that skipped its own judge."""
    monkeypatch.setattr(register, "judge_register", lambda *given: ())
    real = register.show

    def as_if_new(ground, label, since, stay, k):
        everybody = np.ones_like(ground.is_free)
        return real(replace(ground, is_free=everybody), label, since, stay, k)

    monkeypatch.setattr(register, "show", as_if_new)
    told = []
    for seed in range(4):
        tables = [frame_of(table) for table in story(seed, releases=3, people=24, change=0.0)]
        folder = tmp_path / str(seed)
        folder.mkdir()
        release_all(folder, tables, plan_of(3, rules=[]))
        found = findings(tables, folder)
        assert found["rows"].holds
        told += [found["persons"].detail] if found["persons"].holds is False else []
    assert told
    assert all("were there as long" in one for one in told)


def test_a_finer_cell_is_found_out_though_all_papers_say_so(there):
    """Whoever writes table, certificate and state anew is still held to k who share what is told."""
    tables, folder = there
    third = pl.read_csv(folder / "q3.csv", infer_schema=False)
    state = RegisterState.of_bytes((folder / "q3.state").read_bytes())
    row = next(at for at, cell in enumerate(third["x"].to_list()) if cell.startswith("["))
    cells = third["x"].to_list()
    cells[row] = cells[row][1:-1].split(", ")[0]
    third.with_columns(x=pl.Series(cells)).write_csv(folder / "q3.csv")
    raw = json.loads((folder / "q3.certificate.json").read_text())
    paper = shoal.Certificate.of_json(json.dumps(raw))
    sealed = paper.sealed(release=_sha(folder / "q3.csv"), original=paper.original)
    (folder / "q3.certificate.json").write_text(sealed.to_json())
    changed = replace(state, release=sealed.release, certificate=sealed.digest)
    (folder / "q3.state").write_bytes(changed.to_bytes())
    found = findings(tables, folder)
    assert found["state"].holds
    assert found["rows"].holds is False


def _sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()

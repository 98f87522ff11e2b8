"""The files of a register change together: whatever happens, state and release are of one number."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from dying import Died, interrupted, let_go
from series_stories import frame_of, plan_of, story
from shoal.model.register import RegisterState
from shoal.run.keep import before_of

KILLS = Path(__file__).parent.parent.parent / "bench" / "kill_register.py"
ENDS = (".csv", ".lists.csv", ".certificate.json", ".receipt.json", ".state")
SCENES = ("again", "elsewhere")
"""Release 2 over an older release 2 that reached nobody, or in a folder of its own."""


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with release 1, one with an older release 2 besides, and releases 2 and 3 to be written."""
    root = tmp_path_factory.mktemp("made")
    tables = [frame_of(table) for table in story(8, releases=3, people=24)]
    (root / "new").mkdir()
    shoal.Series(plan_of(3)).release(tables[0], root / "new" / "q1.csv")
    shutil.copytree(root / "new", root / "again")
    shutil.copytree(root / "new", root / "elsewhere")
    older = shoal.Series(plan_of(3), after=root / "again" / "q1.state")
    older.release(tables[2], root / "again" / "q2.csv")
    second = shoal.anonymize(tables[1], plan_of(3), after=root / "new" / "q1.state")
    return root, second


def target_of(folder, scene):
    (folder / "out").mkdir(exist_ok=True)
    return folder / ("out/q2.csv" if scene == "elsewhere" else "q2.csv")


def write(release, folder, scene, *, redo=False):
    """Publish release 2 into a folder that holds release 1."""
    register = replace(release._register, after=folder / "q1.state", redo=redo or scene == "again")
    return replace(release, _register=register).write(target_of(folder, scene))


def files_in(folder):
    """The bytes of all files below a folder, by their names."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_followed(folder):
    return RegisterState.of_bytes((folder / "q1.state").read_bytes()).followed


def judge(folder, scene, before, whole):
    """What lies in a folder: `old`, `absent` or `new`; whatever else it is fails."""
    now, table = files_in(folder), target_of(folder, scene)
    first = [f"q1{end}" for end in ENDS[:-1]]
    assert all(now[name] == before[name] for name in first), "the release before is untouched"
    kept = RegisterState.of_bytes((folder / "q1.state").read_bytes())
    was = RegisterState.of_bytes(before["q1.state"])
    assert replace(kept, followed=was.followed).to_bytes() == before["q1.state"]
    if not table.exists():
        return "absent"
    mine = {name: now[name] for name in (f"q2{end}" for end in ENDS)}
    if any(mine[name] != whole[name] for name in mine) and any(mine[n] != before.get(n) for n in mine):
        paper, state = table.with_name("q2.certificate.json"), table.with_name("q2.state")
        found = shoal.verify(table, paper, before=[folder / "q1.csv"], state=state)
        assert not [one for one in found if one.holds is False]
    if mine["q2.csv"] == before.get("q2.csv"):
        assert mine["q2.state"] == before["q2.state"]
        return "old"
    assert mine["q2.csv"] == whole["q2.csv"]
    assert mine["q2.state"] == whole["q2.state"]
    assert is_followed(folder)
    return "new"


@pytest.mark.parametrize("scene", SCENES)
def test_a_kill_at_every_file_call_leaves_state_and_release_of_one_number(
    made, tmp_path, monkeypatch, scene
):
    root, second = made
    shutil.copytree(root / scene, tmp_path / "whole")
    write(second, tmp_path / "whole", scene)
    whole = files_in(tmp_path / "whole")
    dead, seen, step, done = let_go(monkeypatch), set(), 0, False

    def act(_):
        raise Died

    while not done:
        folder = tmp_path / str(step)
        shutil.copytree(root / scene, folder)
        before = files_in(folder)
        with monkeypatch.context() as patch:
            calls = interrupted(patch, step, act)
            with contextlib.suppress(Died):
                write(second, folder, scene)
            done = calls() <= step
        dead()
        found = judge(folder, scene, before, whole)
        seen.add(found)
        if found == "new" and scene != "again":
            with pytest.raises(shoal.ShoalError, match="redo"):
                write(second, folder, scene)
            with pytest.raises(shoal.DataError, match="already made after this state"):
                before_of(folder / "q1.state", redo=False)
        write(second, folder, scene, redo=True)
        assert files_in(folder) == whole, step
        shutil.rmtree(folder)
        step += 1
    assert step >= 50
    assert seen == ({"old", "absent", "new"} if scene == "again" else {"absent", "new"})


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_all_or_nothing(made, tmp_path, monkeypatch, kind):
    root, second = made
    scene = "again"
    shutil.copytree(root / scene, tmp_path / "whole")
    write(second, tmp_path / "whole", scene)
    whole = files_in(tmp_path / "whole")
    dead, step, done = let_go(monkeypatch), 0, False

    def act(number):
        if number == 1:
            raise kind(5, "Input/output error") if kind is OSError else kind

    while not done:
        folder = tmp_path / str(step)
        shutil.copytree(root / scene, folder)
        before = files_in(folder)
        with monkeypatch.context() as patch:
            calls = interrupted(patch, step, act)
            with contextlib.suppress(shoal.ShoalError if kind is OSError else kind):
                write(second, folder, scene)
            done = calls() <= step
        dead()
        after = files_in(folder)
        assert after == before or judge(folder, scene, before, whole) == "new", step
        shutil.rmtree(folder)
        step += 1


def test_a_release_that_was_followed_is_not_made_again(made, tmp_path):
    """Release 3 follows it; whoever makes release 2 again must take that one back first."""
    root, second = made
    shutil.copytree(root / "new", tmp_path, dirs_exist_ok=True)
    write(second, tmp_path, "new")
    tables = [frame_of(table) for table in story(8, releases=3, people=24)]
    shoal.Series(plan_of(3), after=tmp_path / "q2.state").release(tables[2], tmp_path / "q3.csv")
    before = files_in(tmp_path)
    with pytest.raises(shoal.PlanError, match="Only the latest one is made again"):
        write(second, tmp_path, "new", redo=True)
    assert files_in(tmp_path) == before


def test_of_two_who_follow_one_state_the_second_is_refused(made, tmp_path):
    """Both were made before either was written."""
    root, second = made
    shutil.copytree(root / "elsewhere", tmp_path, dirs_exist_ok=True)
    write(second, tmp_path, "elsewhere")
    with pytest.raises(shoal.DataError, match="already made after this state"):
        write(second, tmp_path, "new")
    assert not (tmp_path / "q2.csv").exists()


@pytest.mark.slow
def test_real_kills_leave_state_and_release_of_one_number(tmp_path):
    run = subprocess.run(
        [sys.executable, str(KILLS), "--random", "20", "--keep", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr

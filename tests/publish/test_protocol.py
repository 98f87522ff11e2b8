"""The files of a release change together: all or none, whatever happens at whatever step."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import shoal
from dying import Died, interrupted, let_go
from shoal.model.receipt import Receipt
from shoal.publish import alone, atomic
from shoal.publish.alone import alone_in
from shoal.publish.atomic import Drafts, hash_of
from shoal.publish.map import draw_map

KILLS = Path(__file__).parent.parent.parent / "bench" / "kills.py"


def two_lookups(k: int = 3) -> shoal.Release:
    frame = pl.DataFrame({"job": list("abcdef") * 2, "town": list("uvwxyz") * 2, "ill": list("mnop") * 3})
    return shoal.anonymize(
        frame, k=k, quasi=["job", "town"], sensitive=["ill"], cells="id", method="k-member"
    )


def drawn(k: int) -> shoal.Release:
    nodes = pl.DataFrame({"id": list("abcdef"), "lat": [float(i) for i in range(6)], "lon": [5.0] * 6})
    graph = shoal.read_graph([*zip("abcde", "bcdef", strict=True)], nodes)
    frame = pl.DataFrame({"zip": list("abcdef") * 4})
    return shoal.anonymize(frame, k=k, quasi=["zip"], graphs={"zip": graph}, method="regions", cells="id")


def write(release: shoal.Release, folder: Path) -> shoal.Files:
    return release.write(folder / "out.csv", map_to=folder / "map.html")


@pytest.fixture(scope="module")
def pair() -> tuple[shoal.Release, shoal.Release]:
    """An older release and the one that replaces it, with maps; their lookup tables differ."""
    return drawn(8), drawn(12)


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def is_verified(folder: Path) -> bool:
    """Whether the table has its certificate, receipt and lookups, and a map that is its own or none."""
    table = folder / "out.csv"
    findings = shoal.verify(table, folder / "out.certificate.json")
    receipt = Receipt.of_json((folder / "out.receipt.json").read_text(), release=hash_of(table))
    return receipt.release == hash_of(table) and all(finding.holds is not False for finding in findings)


def steps(
    pair, tmp_path: Path, monkeypatch, *, old: bool, act: Callable[[int], None], caught: type[BaseException]
) -> Iterator[tuple[Path, dict[str, bytes]]]:
    """Folders after a run that met with `act` at each of its file calls, with what they held before."""
    step, done = 0, False
    dead = let_go(monkeypatch)
    while not done:
        folder = tmp_path / str(step)
        folder.mkdir()
        if old:
            write(pair[0], folder)
        before = listing(folder)
        with monkeypatch.context() as patch:
            made = interrupted(patch, step, act)
            with contextlib.suppress(caught):
                write(pair[1], folder)
            done = made() <= step
        dead()
        step += 1
        yield folder, before
    assert step > 40


@pytest.mark.parametrize("old", [False, True])
def test_a_kill_at_every_file_call_leaves_absent_old_or_whole(pair, tmp_path, monkeypatch, old):
    def act(_: int) -> None:
        raise Died

    whole = [tmp_path / name for name in ("old", "new")]
    for release, folder in zip(pair, whole, strict=True):
        folder.mkdir()
        write(release, folder)
    seen = set()
    for folder, _ in steps(pair, tmp_path, monkeypatch, old=old, act=act, caught=Died):
        table, drawing = folder / "out.csv", folder / "map.html"
        found = "absent"
        if table.exists():
            (found,) = (one.name for one in whole if hash_of(one / "out.csv") == hash_of(table))
            assert is_verified(folder), folder
        if drawing.exists():
            assert drawing.read_bytes() == (tmp_path / found / "map.html").read_bytes()
        seen.add(found)
        assert all(name.startswith((".shoal-", "out.", "map.")) for name in listing(folder))
        write(pair[1], folder)
        assert sorted(listing(folder)) == sorted(listing(whole[1])), folder
    assert seen == ({"old", "new"} if old else {"absent", "new"})


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_an_interruption_at_every_file_call_leaves_all_or_nothing(pair, tmp_path, monkeypatch, kind, old):
    """One Ctrl-C, or one failing call: everything is as it was, or the release is whole; no temporaries."""

    def act(number: int) -> None:
        if number == 1:
            raise kind(5, "Input/output error") if kind is OSError else kind

    (tmp_path / "new").mkdir()
    write(pair[1], tmp_path / "new")
    whole = sorted(listing(tmp_path / "new"))
    caught = shoal.ShoalError if kind is OSError else kind
    for folder, before in steps(pair, tmp_path, monkeypatch, old=old, act=act, caught=caught):
        after = listing(folder)
        if after == before:
            continue
        assert after["out.csv"] == (tmp_path / "new" / "out.csv").read_bytes(), folder
        assert is_verified(folder), folder
        assert set(after) - {"map.html"} == set(whole) - {"map.html"} or kind is OSError, folder
        assert not [name for name in after if name.startswith(".")] or kind is OSError


def test_a_failing_file_call_never_claims_that_nothing_was_published_when_it_was(
    pair, tmp_path, monkeypatch
):
    def fail(step: int) -> str:
        folder = tmp_path / str(step)
        folder.mkdir()

        def act(number: int) -> None:
            if number == 1:
                raise OSError(5, "Input/output error")

        with monkeypatch.context() as patch:
            interrupted(patch, step, act)
            try:
                write(pair[1], folder)
            except shoal.ShoalError as error:
                said = str(error)
                assert ("othing was published" in said) != (folder / "out.csv").exists(), said
                return said
        return ""

    said = [fail(step) for step in range(200)]
    assert any("is published, but the system could not finish" in sentence for sentence in said)
    assert any("Nothing was published" in sentence for sentence in said)


def test_an_error_in_the_second_lookup_leaves_the_first_as_it_was(tmp_path, monkeypatch):
    two_lookups(3).write(tmp_path / "out.csv")
    before = listing(tmp_path)
    replace, placed = os.replace, []

    def failing(source, target):
        if ".town-" in Path(target).name:
            raise OSError(28, "No space left on device")
        placed.append(Path(target).name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(shoal.DataError, match=r"No space left on device\. Nothing was published"):
        two_lookups(6).write(tmp_path / "out.csv")
    assert any(name.startswith("out.job-") for name in placed)
    assert listing(tmp_path) == before
    assert is_verified(tmp_path)


@pytest.mark.slow
def test_real_kills_signals_and_rivals_leave_absent_old_or_whole(tmp_path):
    run = subprocess.run(
        [sys.executable, str(KILLS), "--random", "30", "--pairs", "30", "--keep", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_writers_of_one_target_take_turns(pair, tmp_path):
    """Threads are rivals like processes: each opens the folder anew."""
    failed: list[BaseException] = []

    def repeatedly(release: shoal.Release) -> None:
        try:
            for _ in range(15):
                write(release, tmp_path)
        except BaseException as error:
            failed.append(error)

    rivals = [threading.Thread(target=repeatedly, args=(release,)) for release in pair]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join()
    assert not failed
    assert is_verified(tmp_path)
    assert len(listing(tmp_path)) == 5
    assert not [name for name in listing(tmp_path) if name.startswith(".")]


def test_whoever_waits_too_long_is_told_so(tmp_path, monkeypatch):
    release = two_lookups()
    monkeypatch.setattr(alone, "WAIT", 0.05)
    with alone_in(tmp_path), pytest.raises(shoal.DataError, match="Another run is publishing"):
        release.write(tmp_path / "out.csv")
    assert not listing(tmp_path)
    release.write(tmp_path / "out.csv")


def test_where_folders_cannot_be_locked_a_file_stands_for_it(tmp_path, monkeypatch):
    release = two_lookups()
    monkeypatch.setattr(alone, "WAIT", 0.05)
    real = alone.fcntl.flock

    def flock(handle, how):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(95, "Operation not supported")
        real(handle, how)

    monkeypatch.setattr(alone.fcntl, "flock", flock)
    release.write(tmp_path / "out.csv")
    assert ".shoal.lock" not in listing(tmp_path)
    (tmp_path / ".shoal.lock").touch()
    with pytest.raises(shoal.DataError, match=r"\.shoal\.lock' says .* If none is, remove it"):
        release.write(tmp_path / "out.csv")
    assert is_verified(tmp_path)


def test_a_later_run_sweeps_what_a_killed_one_left(tmp_path):
    target = tmp_path / "out.csv"
    with Drafts(target) as drafts, Drafts(tmp_path / "other.csv") as others:
        living, other = drafts.new(target), others.new(tmp_path / "other.csv")
        dead = drafts.hidden(target)
        dead.write_text("of a killed run: nobody holds a lock on it")
        two_lookups().write(target)
        assert not dead.exists()
        assert living.path.exists()
        assert other.path.exists()


def test_a_draft_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    target, swept = tmp_path / "out.csv", []
    real = atomic.fcntl.flock

    def flock(handle, how):
        if not swept:
            swept.extend(tmp_path.glob(".shoal-*"))
            swept[0].unlink()
        real(handle, how)

    monkeypatch.setattr(atomic.fcntl, "flock", flock)
    with Drafts(target) as drafts:
        draft = drafts.new(target)
        assert draft.path.exists()
        assert draft.path not in swept
        draft.write("x")
        draft.place()
    assert listing(tmp_path) == {"out.csv": b"x"}


def test_an_input_is_not_removed_though_an_old_certificate_names_it(tmp_path):
    old = two_lookups(3).write(tmp_path / "out.csv")
    two_lookups(6).write(tmp_path / "out.csv", inputs=[old.lookups[0]])
    assert old.lookups[0].exists()
    assert not old.lookups[1].exists()


def test_a_lookup_that_was_tampered_with_is_made_right(tmp_path):
    release = two_lookups()
    files = release.write(tmp_path / "out.csv")
    files.lookups[0].write_text("tampered")
    release.write(tmp_path / "out.csv")
    assert is_verified(tmp_path)


NAMES = [
    "x" * 300,
    "é" * 200,
    "😀" * 90,
    "a\nb",
    "/",
    "..",
    "../../up",
    "group",
    ".",
    "CON",
    "a\\b",
    '"',
    "a b",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_column_name_gets_a_lookup_with_a_safe_name(tmp_path, name):
    frame = pl.DataFrame({name: list("abcd") * 3})
    folder = tmp_path / "in"
    folder.mkdir()
    release = shoal.anonymize(frame, k=6, quasi=[name], cells="id", method="fold")
    files = release.write(folder / "out.csv")
    (lookup,) = files.lookups
    assert lookup.parent == folder
    assert len(os.fsencode(lookup.name)) <= 100
    assert not set(lookup.name) & set('\n/\\"*^ ')
    assert sorted(listing(tmp_path / "in")) == sorted(
        path.name for path in (*files.lookups, *files_of(files))
    )
    findings = shoal.verify(files.table, files.certificate)
    assert all(finding.holds is not False for finding in findings)


def files_of(files: shoal.Files) -> tuple[Path, Path, Path]:
    return files.table, files.certificate, files.receipt


def test_columns_whose_names_differ_in_signs_alone_have_lookups_of_their_own(tmp_path):
    names = ("a b", "a_b", "a.b", "A_b")
    frame = pl.DataFrame({name: list("abcd") * 2 for name in names})
    release = shoal.anonymize(frame, k=8, quasi=names, cells="id", method="k-member")
    files = release.write(tmp_path / "out.csv")
    assert len({path.name.casefold() for path in files.lookups}) == len(names)
    assert is_verified(tmp_path)


@pytest.mark.parametrize("length", [251, 243])
def test_a_name_that_the_file_system_refuses_is_said_before_any_work(tmp_path, length):
    with pytest.raises(shoal.PlanError, match=r"cannot have the name .* File name too long"):
        shoal.check_target(tmp_path / f"{'x' * (length - 4)}.csv")
    with pytest.raises(shoal.PlanError, match="cannot have the name"):
        shoal.check_map(tmp_path / f"{'x' * 260}.html")
    assert not listing(tmp_path)


def test_the_longest_possible_names_work(tmp_path):
    stem = "x" * (255 - len(".certificate.json"))
    files = two_lookups().write(tmp_path / f"{stem}.csv")
    assert all(len(path.name) <= 255 for path in files.lookups)
    findings = shoal.verify(files.table, files.certificate)
    assert all(finding.holds is not False for finding in findings)


def test_a_name_that_is_no_text_works(tmp_path):
    name = os.fsdecode(b"out\xff.csv")
    files = two_lookups().write(tmp_path / name)
    assert files.table.exists()
    assert len(files.lookups) == 2


def special(path: Path, kind: str) -> None:
    if kind == "symlink":
        (path.parent / "elsewhere").write_text("precious")
        path.symlink_to("elsewhere")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        rival = socket.socket(socket.AF_UNIX)
        rival.bind(str(path))
        rival.close()


@pytest.mark.parametrize("kind", ["symlink", "dangling", "pipe", "socket"])
@pytest.mark.parametrize("name", ["out.csv", "out.certificate.json", "out.receipt.json"])
def test_links_pipes_and_devices_are_no_targets(tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    special(Path(name), kind)
    before = sorted(os.listdir())
    what = "a pipe, a device or the like" if kind in {"pipe", "socket"} else "a symbolic link"
    with pytest.raises(shoal.PlanError, match=f"'{name}' is {what}"):
        shoal.check_target("out.csv")
    assert sorted(os.listdir()) == before
    if kind == "symlink":
        assert Path(name).is_symlink()
        assert Path("elsewhere").read_text() == "precious"


@pytest.mark.parametrize("kind", ["symlink", "pipe"])
def test_links_and_pipes_are_no_maps_or_plots(tmp_path, kind):
    for name, check in (("m.html", shoal.check_map), ("p.png", shoal.check_plot)):
        special(tmp_path / name, kind)
        with pytest.raises(shoal.PlanError, match="symbolic link" if kind == "symlink" else "is a pipe"):
            check(tmp_path / name)


def test_a_map_appears_with_its_release_or_not_at_all(tmp_path):
    release = drawn(8)
    (tmp_path / "other").mkdir()
    drawing = tmp_path / "other" / "map.html"
    with pytest.raises(shoal.DataError):
        release.write(tmp_path / "absent" / "out.csv", map_to=drawing)
    assert not listing(tmp_path / "other")
    files = release.write(tmp_path / "out.csv", map_to=drawing)
    assert files.map == drawing
    assert drawing.read_bytes() == release.draw_map(tmp_path / "alone.html").read_bytes()
    assert sorted(listing(tmp_path / "other")) == ["map.html"]


@pytest.mark.parametrize("name", ["*", "^z.*$", "$a_", "$\\frac$", "x" * 300, "a\nb"])
def test_a_map_is_drawn_whatever_its_column_is_called(tmp_path, name):
    release = drawn(8)
    plan = replace(release.plan, quasi=(name,), graphs={name: release.plan.graphs["zip"]})
    table = shoal.anonymize(
        pl.DataFrame({"zip": list("abcdef") * 4}),
        k=8,
        quasi=["zip"],
        graphs={"zip": release.plan.graphs["zip"]},
        method="regions",
    ).table.rename({"zip": name})
    for ending in ("html", "png"):
        assert draw_map(table, plan, release.verdict, tmp_path / f"map.{ending}").stat().st_size > 0

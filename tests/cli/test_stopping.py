"""Signals end a run in order: the right code, true words, no temporaries, all of a release or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli.stopping import Stopped, listen, told

BASE = (
    "anonymize",
    "in.csv",
    "-k",
    "3",
    "-q",
    "age,sex",
    "-s",
    "ill",
    "--method",
    "mondrian",
    "-o",
    "out.csv",
)
WHOLE = ["in.csv", "out.certificate.json", "out.csv", "out.receipt.json"]
CODE = """
import os, signal, sys
from shoal.cli import main
function, name, number, ignored = sys.argv[1:5]
sys.argv[1:] = sys.argv[5:]
if ignored == "ignored":
    signal.signal(int(number), signal.SIG_IGN)
elif int(number) == signal.SIGINT:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
else:
    signal.signal(int(number), signal.SIG_DFL)  # nohup ignores one of them
real = getattr(os, function)
def call(*args):
    result = real(*args)
    if name in str(args[-1]):
        os.kill(os.getpid(), int(number))
        os.kill(os.getpid(), int(number))
    return result
setattr(os, function, call)
main()
"""


def run(
    folder: Path, number: int, *, after: str, ignored: bool = False
) -> subprocess.CompletedProcess[str]:
    """A run that gets a signal twice when it has replaced the file `after`."""
    words = ("replace", after, str(int(number)), "ignored" if ignored else "heard")
    return subprocess.run(
        [sys.executable, "-c", CODE, *words, *BASE],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        text=True,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("number", "code", "name"),
    [
        (signal.SIGINT, 130, "Ctrl-C"),
        (signal.SIGTERM, 143, "SIGTERM"),
        (signal.SIGHUP, 129, "SIGHUP"),
    ],
)
def test_a_signal_before_the_table_is_placed_leaves_nothing(folder, number, code, name):
    ran = run(folder, number, after="out.certificate.json")
    assert ran.returncode == code, ran.stderr
    assert ran.stderr == f"Stopped by {name}. Nothing was published.\n"
    assert not ran.stdout
    assert names(folder) == ["in.csv"]


def test_a_signal_after_the_table_is_placed_leaves_the_whole_release_and_says_so(folder):
    ran = run(folder, signal.SIGTERM, after="out.csv")
    assert ran.returncode == 143, ran.stderr
    assert ran.stderr == "Stopped by SIGTERM. The release 'out.csv' is published and whole.\n"
    assert names(folder) == WHOLE
    findings = shoal.verify(folder / "out.csv", folder / "out.certificate.json")
    assert all(finding.holds is not False for finding in findings)


def test_a_signal_that_the_caller_ignores_stays_ignored(folder):
    ran = run(folder, signal.SIGHUP, after="out.certificate.json", ignored=True)
    assert ran.returncode == 0, ran.stderr
    assert names(folder) == WHOLE


def test_only_the_first_of_many_signals_is_raised():
    heard = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in heard}
    try:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)  # nohup ignores one of them
        listen()
        with pytest.raises(Stopped):
            os.kill(os.getpid(), signal.SIGHUP)
        for number in heard:
            os.kill(os.getpid(), number)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_release_that_was_there_before_is_not_said_to_be_published(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(KeyboardInterrupt) as caught, told(tmp_path / "out.csv"):
        raise KeyboardInterrupt
    assert not hasattr(caught.value, "__notes__")


def test_a_map_is_not_left_behind_when_the_run_ends_with_exit_2(folder):
    from shoal.cli import main

    frame = pl.DataFrame({"lat": [1.0, 2.0] * 3, "lon": [5.0, 6.0] * 3, "visits": [[1]] * 6})
    frame.write_parquet(folder / "in.parquet")
    before = names(folder)
    words = ["-q", "home", "--kind", "home=place(lat,lon)", "--keep", "visits", "--method", "rectangles"]
    with pytest.raises(SystemExit) as end:
        main(["anonymize", "in.parquet", "-k", "3", *words, "--map", "map.html", "-o", "out.csv"])
    assert end.value.code == 2
    assert names(folder) == before


@pytest.mark.parametrize("option", ["-o", "--map"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_as_targets_end_with_exit_2_before_any_work(
    folder, monkeypatch, capfd, option, kind
):
    from shoal.cli import main

    def never(*_args, **_words):
        raise AssertionError("no work is done")

    monkeypatch.setattr(shoal, "read_table", never, raising=False)
    target = folder / ("x.csv" if option == "-o" else "x.html")
    if kind == "pipe":
        os.mkfifo(target)
    else:
        target.symlink_to("in.csv.old")
    with pytest.raises(SystemExit) as end:
        main([*BASE, option, str(target)])
    assert end.value.code == 2
    assert ("symbolic link" if kind == "link" else "a pipe") in capfd.readouterr().err
    assert names(folder) == sorted(["in.csv", target.name])

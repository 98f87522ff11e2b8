"""A worker or the driver of Spark that is killed: done again, or nothing is there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java"),
]
WORDS = (
    "--engine spark --method mondrian --part 200 -k 4 -q income,birth,town -s ill --scratch scratch -o out/"
)


KILLED = """
import importlib, os, signal, sys
from shoal.cli import main
module = importlib.import_module(sys.argv[1])
real = getattr(module, sys.argv[2])
def kill(*given, **more):
    found = real(*given, **more)
    os.write(2, b"reached")
    os.kill(os.getpid(), signal.SIGKILL)
    return found
setattr(module, sys.argv[2], kill)
main(sys.argv[3:])
"""
"""A driver that is killed when it has done something."""


def start(folder: Path, master: str, *killed: str) -> subprocess.Popen[str]:
    (folder / "scratch").mkdir()
    mixed_table(700).write_parquet(folder / "in.parquet")
    return subprocess.Popen(
        [
            *(
                sys.executable,
                "-W",
                "ignore",
                *(("-c", KILLED, *killed) if killed else ("-m", "shoal.cli")),
            ),
            *("anonymize", "in.parquet"),
            *(*WORDS.split(), "--master", master),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_below(process: int) -> list[int]:
    """Python's workers that a process started: children of a daemon of PySpark."""
    parent, words = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{name}/stat").read_text()
            words[int(name)] = Path(f"/proc/{name}/cmdline").read_text()
        except OSError:
            continue
        parent[int(name)] = int(stat.rsplit(")", 1)[1].split()[1])

    def is_below(one: int) -> bool:
        while one and one != process:
            one = parent.get(one, 0)
        return bool(one)

    daemons = {one for one, said in words.items() if "pyspark.daemon" in said and is_below(one)}
    return sorted(one for one in daemons if parent[one] in daemons)


def wait_for_workers(process: subprocess.Popen[str]) -> list[int]:
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        found = workers_below(process.pid)
        if found:
            time.sleep(1.0)  # in the midst of its work
            return found
        time.sleep(0.05)
    raise AssertionError("no worker was seen")


def test_what_a_killed_worker_did_is_done_again(tmp_path: Path) -> None:
    process = start(tmp_path, "local[2,4]")
    os.kill(wait_for_workers(process)[0], signal.SIGKILL)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    words = {"k": 4, "quasi": ("income", "birth", "town"), "sensitive": ("ill",)}
    known = shoal.anonymize(mixed_table(700), engine="stream", method="mondrian", part=200, **words)  # type: ignore[arg-type]
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(known.table.collect())


@pytest.mark.parametrize(
    "killed",
    [
        (),
        ("shoal.engines.spark", "judge_frame"),
        ("shoal.engines.spark.write", "content_of"),
    ],
    ids=["grouping", "checking", "writing"],
)
def test_a_killed_driver_leaves_no_release_and_no_rows(tmp_path: Path, killed: tuple[str, ...]) -> None:
    process = start(tmp_path, "local[2]", *killed)
    if not killed:
        wait_for_workers(process)
        process.kill()
    _, said = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL
    assert not killed or "reached" in said
    end = time.monotonic() + 60  # the Java machine ends when its driver is gone, and tidies
    while time.monotonic() < end and any(path.is_file() for path in (tmp_path / "scratch").rglob("*")):
        time.sleep(0.5)
    there = sorted(path.name for path in tmp_path.iterdir() if path.name[0] != ".")  # hidden ones are swept
    assert there == ["in.parquet", "scratch"]
    assert not [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()]

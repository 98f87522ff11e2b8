"""A stream that may not have more memory than it says: two million rows in a process with a limit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.engines.stream.under_way import Hands, resident, under_way

ROWS, BATCH = 2_000_000, 250_000
MEMORY = 1_000_000_000
"""The run takes 0.85 GB, and 0.96 where kernels are compiled first."""
ADDRESSES = 6 << 30
"""Libraries reserve more addresses than they use memory; a run that held the table several times over would
need more than these."""
QUASI = ["birth", "town", "age", "income"]
LIMITED = """
import atexit, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
status = Path("/proc/self/status")
atexit.register(lambda: Path("status.txt").write_text(status.read_text()))
from shoal.cli import main
main(sys.argv[2:])
"""
"""What `wait4` tells of a child's memory is that of its parent, where that held more before it began."""


def make(path: Path) -> None:
    """A table of nearly distinct rows, a batch at a time."""
    towns = pa.array([f"town {at:04d}" for at in range(4000)])
    ills = pa.array([f"ill {at}" for at in range(30)])
    writer = None
    for number in range(ROWS // BATCH):
        luck = np.random.default_rng(number)
        age = luck.integers(0, 100, BATCH)
        table = pa.table(
            {
                "birth": pa.array((36_500 - 365 * age + luck.integers(0, 365, BATCH)).astype(np.int32)),
                "town": towns.take(pa.array((4000 * luck.beta(1, 3, BATCH)).astype(np.int32))),
                "age": pa.array(age),
                "income": pa.array(luck.integers(0, 90_000, BATCH)),
                "ill": ills.take(pa.array(luck.integers(0, 30, BATCH))),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system tells no process's memory")
def test_two_million_rows_in_little_memory(tmp_path: Path) -> None:
    make(tmp_path / "in.parquet")
    (tmp_path / "scratch").mkdir()
    words = f"--engine stream --effort quick -k 5 -q {','.join(QUASI)} -s ill"
    words += f" --memory {MEMORY} --part 250000 --scratch scratch -o out.parquet --threads 2"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(ADDRESSES), "anonymize", "in.parquet", *words.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = dict(line.split(":", 1) for line in (tmp_path / "status.txt").read_text().splitlines())
    assert int(told["VmHWM"].split()[0]) * 1024 <= MEMORY
    assert list((tmp_path / "scratch").iterdir()) == []
    counted = pl.scan_parquet(tmp_path / "out.parquet").group_by(QUASI).len()
    least, rows = counted.select(pl.col("len").min(), pl.col("len").sum().alias("n")).collect().row(0)
    assert least >= 5
    assert rows == ROWS


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_is_begun_above_the_limit(workers: int) -> None:
    begun: list[int] = []
    assert list(under_way(abs, range(5), Hands(workers, 2 * resident() + 1))) == [0, 1, 2, 3, 4]
    with pytest.raises(shoal.PlanError, match="Allow more memory, or smaller parts") as error:
        list(under_way(begun.append, range(5), Hands(workers, 1000)))
    assert error.value.field == "memory"
    assert begun == []


def test_what_is_under_way_ends_before_more_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[int] = []
    most = 0

    def work(item: int) -> int:
        nonlocal most
        at_work.append(item)
        most = max(most, len(at_work))
        at_work.remove(item)
        return item

    monkeypatch.setattr(sys.modules[under_way.__module__], "resident", lambda: 90)
    assert list(under_way(work, range(9), Hands(4, 100))) == list(range(9))
    assert most == 1


def test_values_that_do_not_fit_are_named_by_their_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.engines.stream.survey.TOGETHER", 0)
    monkeypatch.setattr("shoal.engines.stream.survey.COPIES", 10**9)
    frame = mixed_table(500).with_columns(pl.int_range(pl.len()).cast(pl.String).alias("ill"))
    with pytest.raises(shoal.PlanError, match="Allow more memory, or leave the column out") as error:
        shoal.anonymize(frame, engine="stream", scratch=str(tmp_path), **mixed_words())
    assert (error.value.field, error.value.column) == ("memory", "ill")
    assert list(tmp_path.iterdir()) == []


def test_the_size_of_scratch_is_said_before_rows_are_put_aside(tmp_path: Path) -> None:
    said: list[str] = []
    words = mixed_words(method="mondrian", part=200, engine="stream", scratch=str(tmp_path))
    shoal.anonymize(mixed_table(800), progress=lambda what, _share: said.append(str(what)), **words)
    size = next(at for at, what in enumerate(said) if what.startswith("scratch files of about"))
    assert size < next(at for at, what in enumerate(said) if what.startswith("putting row"))


@pytest.mark.parametrize(("room", "together"), [(10, 1), (25, 2), (None, 3)])
def test_items_that_do_not_fit_beside_one_another_wait(room: int | None, together: int) -> None:
    lock, at_work, most = threading.Lock(), [0], [0]

    def work(item: int) -> int:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        time.sleep(0.05)
        with lock:
            at_work[0] -= 1
        return item

    done = list(under_way(work, range(6), Hands(3, room=room), lambda _item: 10))
    assert done == [0, 1, 2, 3, 4, 5]
    assert most[0] <= together
    assert room is None or most[0] == together

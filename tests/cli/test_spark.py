"""`shoal anonymize --engine spark`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table
from shoal.cli import main

WORDS = "--engine spark --method mondrian --part 200 -k 4 -q income,birth,town -s ill"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "shoal.cli", "anonymize", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.spark
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="PySpark is not installed")
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java")
def test_files_become_a_folder_in_a_quiet_spark_of_its_own(tmp_path: Path) -> None:
    frame = mixed_table(700)
    (tmp_path / "data").mkdir()
    (tmp_path / "scratch").mkdir()
    frame[:300].write_parquet(tmp_path / "data" / "a.parquet")
    frame[300:].write_parquet(tmp_path / "data" / "b.parquet")
    done = run(
        tmp_path,
        "data/*.parquet",
        *WORDS.split(),
        "--master",
        "local[2]",
        "--scratch",
        "scratch",
        "-o",
        "out/",
    )
    assert done.returncode == 0, done.stderr
    assert "WARN" not in done.stderr
    assert "700 of 700 rows published" in done.stdout
    words = {"k": 4, "quasi": ("income", "birth", "town"), "sensitive": ("ill",)}
    known = shoal.anonymize(frame, engine="stream", method="mondrian", part=200, **words)  # type: ignore[arg-type]
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(known.table.collect())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("data", "out", "out.certificate.json", "out.receipt.json", "scratch"),
    ]
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*WORDS.split(), "-o", "in.parquet"), "is there already"),
        (
            ("--master", "local[2]", "-k", "4", "-q", "income", "-o", "out.csv"),
            "A master is for the engine",
        ),
        ((*WORDS.split(), "-o", "postgresql://host/db#t"), "reads and writes files, no databases"),
    ],
)
def test_what_cannot_be_written_is_said_before_spark_starts(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    mixed_table(50).write_parquet("in.parquet")
    with pytest.raises(SystemExit) as end:
        main(["anonymize", "in.parquet", *words])
    assert end.value.code == 2
    assert said in " ".join(capfd.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]

"""Frames of Spark Connect, which has neither RDD nor Java machine, in a process of its own."""

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
from mixed_tables import mixed_table, mixed_words

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        importlib.util.find_spec("grpc_status") is None, reason="pyspark[connect] is not here"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java"),
]
CONNECTED = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
import polars as pl
from pyspark.sql import SparkSession
import shoal
from mixed_tables import mixed_table, mixed_words
session = SparkSession.builder.remote("local[2]").getOrCreate()
session.conf.set("spark.sql.shuffle.partitions", "3")
frame = session.createDataFrame(mixed_table(400).to_arrow())
release = shoal.anonymize(frame, method="mondrian", part=150, **mixed_words())
assert type(release.table).__module__.startswith("pyspark.sql.connect")
files = release.write(os.path.abspath("far/out"))
assert files.address is not None
session.stop()
"""


def test_frames_of_spark_connect_give_the_same_release(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONNECTED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    frame = mixed_table(400)
    known = shoal.anonymize(frame, engine="stream", method="mondrian", part=150, **mixed_words())
    assert pl.read_parquet(tmp_path / "far" / "out" / "*.parquet").equals(known.table.collect())
    found = shoal.verify(
        tmp_path / "far" / "out",
        tmp_path / "out.certificate.json",
        original=frame,
        receipt=tmp_path / "out.receipt.json",
        hierarchies=mixed_words()["hierarchies"],
    )
    assert [one for one in found if one.holds is not True] == []

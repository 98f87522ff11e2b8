"""Tables by a Spark of our own, for those who have none: quiet, private, and gone with the process.

Spark says much on the way: in logs, on a page of its own, in a log of events. Rows may be quoted in all of
them, so they are off, and nothing of the Java machine reaches the terminal. What it keeps on disks lies in
a private folder and is encrypted with a key that is in memory alone.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shoal.errors import DataError, MissingExtra, PlanError
from shoal.model.size import bytes_of
from shoal.read.large import PARQUET, TEXT
from shoal.read.nameless import folder_of

__all__ = ["close_spark", "limit_batches", "read_spark"]

HEAP = "2GB"
"""Memory of the Java machine if nobody says how much."""
LIMIT, NARROW, WIDE = "spark.sql.execution.arrow.maxBytesPerBatch", "2147483647b", "64MB"
"""How large batches may be that go to workers. One number means any size; by all others Spark measures the
batch again at every row, which takes longer than adding the row."""
_own: dict[int, str] = {}
"""The private folders of sessions of our own."""


def read_spark(
    path: str | os.PathLike[str],
    *,
    master: str | None = None,
    memory: str | None = None,
    scratch: str | None = None,
    delimiter: str | None = None,
) -> Any:
    """Open Parquet or CSV files as a frame of Spark, in a quiet session of our own.

    In a notebook or a cluster that has a session, open the table as you always do, and give
    `shoal.anonymize` the frame.

    Args:
        path: A file, a folder, or a pattern such as `data/*.parquet`; also an address that Spark knows.
        master: Where Spark runs: `local[4]` for four cores of this machine, or the address of a cluster;
            all cores of this machine if not given.
        memory: Of the Java machine, such as 4GB; Python's workers take theirs besides.
        scratch: A folder for what Spark keeps on disk; the system's own if not given.
        delimiter: Between the cells of a text; a comma if not given.

    Example:
        >>> import shoal
        >>> frame = shoal.read_spark("data/*.parquet", master="local[4]")  # doctest: +SKIP

    """
    ending = Path(path).suffix.lower()
    if ending in TEXT and delimiter is None:
        delimiter = "\t" if ending.startswith(".ts") else ","
    session = _session(master or "local[*]", memory or HEAP, scratch)
    try:
        if ending in TEXT:
            reader = session.read.options(header=True, sep=delimiter, multiLine=True, escape='"')
            return reader.option("mode", "FAILFAST").csv(os.fspath(path))
        return session.read.parquet(os.fspath(path))
    except Exception as error:
        close_spark(session)
        kinds = ", ".join((*PARQUET, *TEXT))
        raise DataError(
            f"{os.fspath(path)} cannot be read by Spark ({type(error).__name__}). Give a file or a folder "
            f"of one of: {kinds}."
        ) from None


def close_spark(of: Any) -> None:
    """End the session of a frame, and remove what it kept, if it is one of our own."""
    session = getattr(of, "sparkSession", of)
    folder = _own.pop(id(session), None)
    if folder is not None:
        with _nothing_said(), suppress(Exception):  # the Java machine may be gone: what it kept goes, too
            session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def limit_batches(session: Any, *, narrow: bool) -> None:
    """Batches of narrow rows are limited by their number alone, if the session is one of our own."""
    if id(session) in _own:
        session.conf.set(LIMIT, NARROW if narrow else WIDE)


def _session(master: str, memory: str, scratch: str | None) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "pyspark", extra="spark") from None
    there = SparkSession.getActiveSession()
    if there is not None:
        return there
    here = master.startswith("local")
    folder = tempfile.mkdtemp(prefix="shoal-spark-", dir=folder_of(scratch))
    words = {
        "spark.app.name": "shoal",
        "spark.local.dir": folder,
        "spark.driver.memory": f"{max(bytes_of(memory) // 2**20, 512)}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "false",
        "spark.log.level": "OFF",
        "spark.io.encryption.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        LIMIT: WIDE,
        **{f"spark.executorEnv.{word}": "1" for word in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS")},
    }
    if here:
        words |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master)
    for word, value in words.items():
        builder = builder.config(word, value)
    try:
        with _nothing_said():
            session = builder.getOrCreate()
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise PlanError(
            f"Spark cannot be started at {master!r} ({type(error).__name__}). It needs Java 17 or newer "
            "(JAVA_HOME, or java among the programs), and a master that is there.",
            field="master",
        ) from None
    _own[id(session)] = folder
    return session


@contextmanager
def _nothing_said() -> Iterator[None]:
    """Whatever is started here has no standard error: the Java machine would write to it all along."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)

"""The finished table written by Spark, and read again before it is published."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shoal.engines.spark.ask import collected, in_own_words, is_connected, row_hash
from shoal.engines.spark.values import OnSpark
from shoal.errors import NotAnonymous
from shoal.model.certificate import Certificate
from shoal.model.files import Files
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.folder import is_elsewhere, write_elsewhere, write_folder

__all__ = ["content_of", "write_published"]

LINES = 4_000_000
"""Lines of a file, at most: files are read whole to be recognised."""
SPARE = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "true", "compression": "zstd"}


def content_of(frame: Any, names: Sequence[str]) -> list[int]:
    """What the rows of a table are recognised by, in any order: how many, and sums of their hashes."""
    from pyspark.sql import functions as f

    hashed = frame.select(row_hash(names).alias("h"))
    low, high = f.col("h").bitwiseAND(f.lit(0xFFFFFFFF)), f.shiftrightunsigned("h", 32)
    asked = hashed.agg(f.count(f.lit(1)), f.sum(low), f.sum(high))
    found = collected(asked, "reading the finished table")
    return [int(one[0].as_py() or 0) for one in found.columns]


def write_published(
    published: OnSpark,
    verdict: Verdict,
    certificate: Certificate,
    receipt: Receipt,
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Files:
    """To a folder of this machine, or wherever the address leads."""
    session = published.rows.frame.sparkSession
    write = partial(_write, published)
    if is_connected(published.rows.frame) or is_elsewhere(path) or not _runs_here(session):
        address = os.fspath(path)
        marks = partial(_marks, session, address)
        return write_elsewhere(write, marks, verdict, certificate, receipt, address, inputs=inputs)
    return write_folder(
        lambda place: write(Path(place).resolve().as_uri()),
        verdict,
        certificate,
        receipt,
        path,
        inputs=inputs,
    )


def _runs_here(session: Any) -> bool:
    """Whether all of Spark is this machine, whose folders it then sees as we do."""
    return str(session.conf.get("spark.master", "")).startswith("local")


def _write(published: OnSpark, address: str) -> None:
    with in_own_words("writing the finished table"):
        writer = published.frame().write.mode("error").options(**SPARE)
        writer.option("maxRecordsPerFile", LINES).parquet(address)
        again = published.rows.frame.sparkSession.read.parquet(address)
    if tuple(again.columns) != published.names or content_of(again, published.names) != published.content:
        raise NotAnonymous(
            "The table that was written is not the one that was judged, so it is not published. Anonymize "
            "again."
        )


def _marks(session: Any, address: str) -> list[str]:
    from pyspark.sql import functions as f

    files = session.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(address)
    found = collected(
        files.select("path", f.sha2("content", 256).alias("mark")), "reading the finished table"
    )
    return [one["mark"] for one in sorted(found.to_pylist(), key=lambda one: str(one["path"]))]

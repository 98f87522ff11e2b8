"""A session of Spark for all tests of its engine, and the release that they look at from all sides."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from spark_tables import CUTS, lacking, on


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session for all tests."""
    reason = lacking()
    if reason is not None:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    words = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[2]")
    for word, value in words.items():
        builder = builder.config(word, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def frame() -> pl.DataFrame:
    """A table of all kinds of columns."""
    return mixed_table(1200)


@pytest.fixture(scope="session")
def known(frame: pl.DataFrame) -> pl.DataFrame:
    """Its release as a stream gives it."""
    return shoal.anonymize(frame, engine="stream", **CUTS, **mixed_words()).table.collect()


@pytest.fixture(scope="session")
def release(spark: Any, frame: pl.DataFrame) -> shoal.Release:
    """Its release on Spark."""
    return shoal.anonymize(on(spark, frame), **CUTS, **mixed_words())

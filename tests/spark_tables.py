"""Tables on a real Spark, for the tests of its engine: what they need, and how rows come and go."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import Any

import numpy as np
import polars as pl

from mixed_tables import mixed_table, mixed_words

__all__ = ["CUTS", "QUASI", "counted", "home", "lacking", "on", "persons", "skewed"]

CUTS = {"method": "mondrian", "part": 200}
QUASI = list(mixed_words()["quasi"])


def lacking() -> str | None:
    """What a test with a real Spark lacks here."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'shoal[spark]'"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java: install a Java runtime, 17 or newer"
    return None


def on(spark: Any, frame: pl.DataFrame, partitions: int = 3) -> Any:
    """A frame of Spark with these rows."""
    return spark.createDataFrame(frame.to_arrow()).repartition(partitions)


def home(table: Any) -> pl.DataFrame:
    """The rows of a frame of Spark."""
    frame: Any = pl.from_arrow(table.toArrow())
    return frame


def skewed(name: str) -> pl.DataFrame:
    """A table whose rows are spread unevenly, by what a test calls it."""
    frame = mixed_table(900, seed=2)
    if name == "half of all rows are one tuple":
        one = pl.concat([frame[:1]] * 900)
        return pl.concat([frame, one.with_columns(frame["ill"], frame["cost"])])
    if name == "a heavy tuple of different rows":
        one = pl.concat([frame[:1]] * 900)
        return pl.concat([frame, one.with_columns(pl.int_range(900).cast(pl.String).alias("ill"))])
    if name == "all rows are alike":
        return pl.concat([frame[3:4]] * 300)
    if name == "a column of very many texts":
        return frame.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("ill"))
    return frame


def persons(frame: pl.DataFrame) -> pl.DataFrame:
    """Persons whose rows are anywhere in the table, three of them on average."""
    who = np.random.default_rng(0).integers(0, frame.height // 3, frame.height)
    return frame.with_columns(pl.Series("who", [f" p{one}" if one else "?" for one in who]))


def counted(rows: int, most: int = 6) -> pl.DataFrame:
    """Rows that stand for none to a few records each."""
    numbers = np.random.default_rng(1).integers(0, most, rows)
    return persons(mixed_table(rows, seed=6)).with_columns(pl.Series("n", numbers))

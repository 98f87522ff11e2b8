"""What workers of Spark say of cells, and what of a frame is refused: without a Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.engines import spark
from shoal.engines.spark.survey import N, _records, _rows_counted, _ToCount, count_cells, open_frame
from shoal.engines.spark.values import SparkTable
from shoal.errors import DataError
from shoal.model.marks import mark_of_rows, marked_columns, sum_of_rows
from shoal.model.plain import counts_of
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt
from shoal.read import spark as own_spark
from shoal.run.findings import Whole, original_finding


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series("n", [123456792.0, 16777216.0, 3.0], dtype=pl.Float32),
        pl.Series("n", ["2", "3.0", "1e3"]),
        pl.Series("n", [0, 7], dtype=pl.UInt8),
    ],
)
def test_workers_count_the_records_that_the_driver_reads(cells: pl.Series) -> None:
    assert _records(cells).to_list() == counts_of(cells).tolist()


@pytest.mark.parametrize("quasi", [0, 1])
def test_texts_that_are_not_utf_8_are_refused_in_our_own_words(quasi: int) -> None:
    ends = np.array([0, 2, 3], dtype=np.int32)
    cells = pa.Array.from_buffers(pa.utf8(), 2, [None, pa.py_buffer(ends), pa.py_buffer(b"a\xffb")])
    about = _ToCount(("town",), {"town": pl.String()}, quasi, 1, ("town",), "00", None)
    with pytest.raises(DataError, match="'town' has texts that are not UTF-8"):
        list(count_cells(about, iter([pa.RecordBatch.from_arrays([cells], names=["c0"])])))


@pytest.mark.parametrize("words", [{"quasi": ("town",)}, {"quasi": ("age",), "sensitive": ("town",)}])
def test_texts_that_spark_takes_for_one_are_refused(words: dict[str, Any]) -> None:
    types = pytest.importorskip("pyspark.sql.types")
    if not hasattr(types.StringType(), "collation"):
        pytest.skip("this Spark has no collations")
    fields = [
        types.StructField("age", types.LongType()),
        types.StructField("town", types.StringType("UTF8_LCASE")),
    ]
    frame = SimpleNamespace(columns=["age", "town"], schema=types.StructType(fields))
    with pytest.raises(DataError, match="'town' has a collation"):
        open_frame(frame, Plan(k=2, **words))


@pytest.mark.parametrize(
    ("cell", "words"), [(-1, "4 of 7 of its values"), (2**51, "counts 2\\^53 records and more")]
)
def test_messages_on_counts_tell_rows_and_not_different_cells(cell: int, words: str) -> None:
    counts = pl.DataFrame({"n": [2, cell], N: [3, 4]})
    with pytest.raises(DataError, match=words):
        _rows_counted(counts, "n", Plan(k=2, quasi=("age",), count="n"))


def test_workers_add_rows_up_to_the_mark_that_verify_makes() -> None:
    cells = pl.DataFrame({"age": [3, None, 5] * 40, "town": ["a", "b\n" * 90, None] * 40})
    about = _ToCount(("age", "town"), dict(cells.schema), 2, 2, ("age", "town"), "ab" * 32, None)
    table = cells.rename({"age": "c0", "town": "c1"}).to_arrow()
    lines = list(count_cells(about, iter(table.to_batches(max_chunksize=50))))
    assert lines[-1].column("mark")[0].as_py() == sum_of_rows(cells, "ab" * 32).astype("<u8").tobytes()


@pytest.mark.parametrize("words", [{"count": "persons(n)"}, {"count": "n", "unit": "who"}])
def test_verify_marks_the_columns_that_count_whom_a_plan_counts(words: dict[str, Any]) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "n": [2, 2, 3, 2], "who": ["a", "b", "c", "d"]})
    certificate = shoal.anonymize(frame, k=2, quasi=["age"], **words).certificate
    names = marked_columns(frame, ["age", *Plan(k=2, quasi=("age",), **words).whom.columns])
    salt = "ab" * 32
    mark = mark_of_rows(sum_of_rows(frame.select(names), salt), names, 4, salt)
    said = original_finding(certificate, Whole(frame), Receipt(salt, mark))
    assert said.holds is True
    other = frame.with_columns(n=pl.Series([2, 2, 3, 3]))
    assert original_finding(certificate, Whole(other), Receipt(salt, mark)).holds is False


class _Frame:
    """A frame of Spark as far as the engine looks, whose session notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.sparkSession = SimpleNamespace(conf=SimpleNamespace(set=lambda *told: self.told.append(told)))


_Frame.__module__ = "pyspark.sql.dataframe"


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ({}, own_spark.NARROW),
        ({"keep": ("since",)}, own_spark.NARROW),
        ({"sensitive": ("town",)}, own_spark.NARROW),
        ({"identifier": ("since",)}, own_spark.NARROW),
        ({"keep": ("town",)}, own_spark.WIDE),
        ({"identifier": ("town",)}, own_spark.WIDE),  # a note that goes, and is marked before it does
    ],
)
def test_batches_are_measured_where_texts_may_be_long(
    words: dict[str, Any], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = _Frame()
    like = pl.DataFrame(schema={"age": pl.Int64, "town": pl.String, "since": pl.Int64})
    monkeypatch.setattr(spark, "open_frame", lambda frame, _: SparkTable(frame, like))
    plan = Plan(k=2, quasi=("age",), **words)
    spark.ENGINE.open(frame, plan)
    assert not frame.told  # the session of somebody else
    monkeypatch.setitem(own_spark._own, id(frame.sparkSession), "")
    spark.ENGINE.open(frame, plan)
    assert frame.told == [(own_spark.LIMIT, limit)]

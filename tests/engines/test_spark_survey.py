"""What workers of Spark say of cells, and what of a frame is refused: without a Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from shoal.engines.spark.survey import N, _records, _rows_counted, _ToCount, count_cells, open_frame
from shoal.errors import DataError
from shoal.model.plain import counts_of
from shoal.model.plan import Plan


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

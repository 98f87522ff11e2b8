"""What Spark refuses, and in whose words: without a cell."""

from __future__ import annotations

import os
from typing import Any

import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from silent import said_by
from spark_tables import on

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"style": "means"}, "style"),
        ({"method": "forest"}, "method"),
    ],
)
def test_what_spark_cannot_do_is_refused(spark: Any, more: dict[str, Any], field: str) -> None:
    with pytest.raises(shoal.PlanError) as error:
        shoal.anonymize(on(spark, mixed_table(50)), **{**mixed_words(), **more})
    assert error.value.field == field


def test_other_frames_and_columns_are_refused(spark: Any) -> None:
    few = mixed_table(50)
    with pytest.raises(shoal.DataError, match="takes frames of Spark"):
        shoal.anonymize(few, engine="spark", **mixed_words())
    with pytest.raises(shoal.DataError, match="no column 'town'"):
        shoal.anonymize(on(spark, few.drop("town")), **mixed_words())
    with pytest.raises(shoal.TooFewRows):
        shoal.anonymize(on(spark, few[:3]), **mixed_words())
    named = few.with_columns((pl.int_range(pl.len()) // 2).cast(pl.String).alias("who"))
    with pytest.raises(shoal.DataError, match="'who' is an identifier that repeats: 25"):
        shoal.anonymize(on(spark, named), identifier=("who",), **mixed_words())


def test_a_list_tells_nobody_apart_and_its_column_is_named(spark: Any) -> None:
    frame = mixed_table(60).with_columns(pl.Series("who", [["zqcanary", "ann"]] * 60))
    with pytest.raises(shoal.DataError, match="Column 'who' is of the type List") as error:
        shoal.anonymize(on(spark, frame), **mixed_words(unit="who"))
    assert error.value.column == "who"
    said_by(error.value, "zqcanary")


def test_a_failing_worker_says_no_cell(
    spark: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import cloudpickle

    from shoal.engines.spark import send, survey

    def fail_with_cells(batch: Any) -> Any:
        """What a library would do: quote a row, also on standard error."""
        row = str(batch.to_pylist()[:3])
        os.write(2, row.encode())
        raise ValueError(row)

    canary = "zqcanary"
    frame = mixed_table(60).with_columns(pl.lit(canary).alias("town"))
    fails = send.of_batches
    monkeypatch.setattr(send, "_packed", cloudpickle.dumps)
    monkeypatch.setattr(survey, "of_batches", lambda _work, _about: fails(map, fail_with_cells))
    with pytest.raises(shoal.DataError, match=r"failed while counting the cells .*\(ValueError\)") as error:
        shoal.anonymize(on(spark, frame), **mixed_words())
    said_by(error.value, canary)
    shown = capfd.readouterr()
    assert canary not in shown.out + shown.err


def test_a_zero_byte_in_a_kept_text_is_refused_without_it(spark: Any) -> None:
    frame = mixed_table(60).with_columns(pl.lit("zq\0canary").alias("ill"))
    with pytest.raises(shoal.DataError, match="zero byte") as error:
        shoal.anonymize(on(spark, frame), **mixed_words())
    assert error.value.column == "ill"
    said_by(error.value, "canary")

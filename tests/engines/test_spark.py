"""Tables on Spark: the same release as a stream gives, and the same promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal import engines
from spark_tables import CUTS, QUASI, home, lacking, on, skewed

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def test_spark_gives_the_release_of_a_stream(known: pl.DataFrame, release: shoal.Release) -> None:
    table = home(release.table)
    assert release.plan.engine == "spark"
    assert table.equals(known)
    assert table.schema == known.schema
    assert release.verdict.has_passed
    assert table.group_by(QUASI).len()["len"].min() >= 4
    figures = release.receipt.figures
    assert figures is not None
    lost = sum(column.loss * column.weight for column in figures.columns)  # type: ignore[operator]
    assert figures.value == pytest.approx(lost * 1200)
    assert release.groups.label.size == 0
    expected = shoal.anonymize(mixed_table(1200), engine="stream", **CUTS, **mixed_words()).certificate
    assert release.certificate.bound_name == "border"
    assert (release.certificate.bound, release.certificate.ratio) == (expected.bound, expected.ratio)
    assert "<table" in release._repr_html_()


@pytest.mark.parametrize("partitions", [2, 8])
def test_partitions_and_order_change_nothing(
    spark: Any, frame: pl.DataFrame, known: pl.DataFrame, partitions: int
) -> None:
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=partitions)
    found = shoal.anonymize(on(spark, shuffled, partitions), **CUTS, **mixed_words())
    assert home(found.table).equals(known)


def test_partitions_without_rows_change_nothing(
    spark: Any, frame: pl.DataFrame, known: pl.DataFrame
) -> None:
    some = on(spark, frame, 2)
    nobody = on(spark, frame, 3).where("income < -1e9")
    found = shoal.anonymize(nobody.unionByName(some).unionByName(nobody), **CUTS, **mixed_words())
    assert home(found.table).equals(known)


def test_few_tuples_are_grouped_as_in_memory(spark: Any) -> None:
    frame = mixed_table(300, seed=5)
    frame = pl.concat([frame, frame[:200], frame[:90], frame[:90]])
    words = mixed_words(method="crowd", effort="quick", withhold=0.02)
    expected = shoal.anonymize(frame, **words)
    found = shoal.anonymize(on(spark, frame), **words)
    assert home(found.table).equals(expected.table)
    for name in ("value", "bound", "loss_percent", "columns", "classes", "withheld"):
        assert getattr(found.certificate, name) == getattr(expected.certificate, name), name


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("half of all rows are one tuple", {"part": 100}),
        ("a heavy tuple of different rows", {"part": 100, "withhold": 0.05}),
        ("all rows are alike", {"part": 100}),
        ("a column of very many texts", {"part": 200}),
        ("k is larger than a part", {"part": 20, "k": 200}),
        ("parts of a handful of rows", {"part": 10}),
    ],
)
def test_skewed_tables_are_those_of_a_stream(spark: Any, name: str, more: dict[str, Any]) -> None:
    frame = skewed(name)
    words = mixed_words(method="mondrian", **more)
    expected = shoal.anonymize(frame, engine="stream", **words).table.collect()
    found = shoal.anonymize(on(spark, frame), **words)
    table = home(found.table)
    assert found.verdict.has_passed
    assert table.group_by(QUASI).len()["len"].min() >= words["k"]
    assert table.equals(expected)


def test_a_column_of_texts_that_are_all_different(spark: Any) -> None:
    rows = 50_000
    luck = np.random.default_rng(rows)
    note = pl.Series("note", luck.permutation(rows)).cast(pl.String) + " was written of somebody"
    frame = pl.DataFrame(
        {"age": luck.integers(0, 90, rows), "income": luck.integers(0, 9000, rows), "note": note}
    )
    words = {"k": 5, "quasi": ["age", "income"], "keep": ["note"], "effort": "quick", "part": 10_000}
    found = shoal.anonymize(on(spark, frame), **words)
    assert found.verdict.has_passed
    assert home(found.table).equals(shoal.anonymize(frame, engine="stream", **words).table.collect())


def test_ends_are_coded_as_in_a_stream(spark: Any, frame: pl.DataFrame) -> None:
    words = {"k": 4, "quasi": ["cost", "town"], "hierarchies": {"cost": "top(30) + bottom(4) + bins(5)"}}
    table = home(shoal.anonymize(on(spark, frame), **CUTS, **words).table)
    assert table.equals(shoal.anonymize(frame, engine="stream", **CUTS, **words).table.collect())
    cells = {cell for cell in table["cost"].to_list() if cell is not None}
    assert {">= 30", "<= 4"} <= cells
    assert all(4 < int(cell) < 30 for cell in cells if cell.isdigit())


def test_the_engine_refuses_in_its_own_name() -> None:
    reason = lacking()
    if reason is not None:
        pytest.skip(reason)
    plan = shoal.Plan(**mixed_words())
    assert engines.load("spark").settle(plan) == plan

"""Whom k counts on Spark, and what rules hold: as in a stream."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.model.hierarchy import Hierarchy
from silent import said_by
from spark_tables import CUTS, QUASI, counted, home, on, persons

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
ILLS = Hierarchy.of_paths([[f"ill {at}", f"kind {at // 3}", "*"] for at in range(12)])


@pytest.mark.parametrize(
    "more",
    [
        {
            "rules": ("ill: 3-diverse", "ill: 0.6-close by hierarchy", "cost: ordered 0.4-close"),
            "part": 150,
        },
        {"unit": "who", "part": 150, "missing": ("?",)},
        {"unit": "who", "rules": ("ill: 2-diverse",), "part": 60, "withhold": 0.02},
        {"unit": "who", "rules": ("ill: 3-diverse",), "part": 10**6},
    ],
    ids=["rules", "unit", "both", "few"],
)
def test_rules_and_persons_are_those_of_a_stream(spark: Any, more: dict[str, Any]) -> None:
    frame = persons(mixed_table(700, seed=4))
    if more["part"] > 700:
        frame = pl.concat([frame[:300], frame[:200], frame[:90]])
    by_tree = any("hierarchy" in rule for rule in more.get("rules", ()))
    trees = {**mixed_words()["hierarchies"], **({"ill": ILLS} if by_tree else {})}
    words = mixed_words(method="mondrian", sensitive=("ill", "cost"), keep=(), hierarchies=trees, **more)
    expected = shoal.anonymize(frame, engine="stream", **words)
    found = shoal.anonymize(on(spark, frame), **words)
    table = home(found.table)
    assert table.equals(expected.table.collect())
    assert "who" not in table.columns
    assert found.verdict.has_passed
    assert found.verdict.rules == expected.verdict.rules
    assert found.verdict.risk == expected.verdict.risk
    assert found.verdict.persons == expected.verdict.persons
    for name in ("value", "classes", "withheld", "rules"):
        assert getattr(found.certificate, name) == getattr(expected.certificate, name), name


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("parts", {"part": 150}),
        ("few", {"part": 10**6, "withhold": 0.02}),
        ("few, split", {"part": 10**6, "method": "crowd", "effort": "quick"}),
        ("a heavy tuple", {"part": 150}),
        ("rules", {"part": 150, "rules": ("ill: 3-diverse", "cost: ordered 0.5-close")}),
        ("few with rules", {"part": 10**6, "rules": ("ill: 3-diverse",)}),
        ("persons", {"part": 150, "unit": "who", "count": "n"}),
    ],
)
def test_rows_that_stand_for_records_are_those_of_a_stream(
    spark: Any, name: str, more: dict[str, Any]
) -> None:
    frame = counted(800)
    if name == "few, split":
        frame = pl.concat([counted(120, 90), counted(120, 3)])
    if name == "a heavy tuple":
        one = pl.concat([frame[:1]] * 900)
        frame = pl.concat([frame, one.with_columns(pl.int_range(900).cast(pl.String).alias("ill"))])
        frame = frame.with_columns(pl.col("n").cast(pl.String))
    words = mixed_words(
        **{"method": "mondrian", "sensitive": ("ill", "cost"), "keep": (), "count": "persons(n)", **more}
    )
    expected = shoal.anonymize(frame, engine="stream", **words)
    found = shoal.anonymize(on(spark, frame), **words)
    table = home(found.table)
    assert table.equals(expected.table.collect())
    assert found.verdict.has_passed
    assert table["n"].min() >= 1
    assert table.group_by(QUASI).agg(pl.col("n").sum())["n"].min() >= 4
    assert table["n"].sum() + found.certificate.withheld == frame["n"].cast(pl.Int64).sum()
    for one in ("value", "bound", "classes", "records", "withheld", "rules"):
        assert getattr(found.certificate, one) == getattr(expected.certificate, one), one
    if name in {"few", "few, split"}:
        assert table.equals(shoal.anonymize(frame, **words).table)


@pytest.mark.parametrize("part", [150, 10**6])
def test_a_weight_is_no_count(spark: Any, part: int) -> None:
    frame = counted(300).with_columns(n=pl.lit(3))
    words = mixed_words(method="mondrian", count="n", part=part)
    told = []
    for engine in ("spark", "stream"):
        table = on(spark, frame) if engine == "spark" else frame
        with pytest.raises(shoal.UncertainCount) as error:
            shoal.anonymize(table, engine=engine, **words)
        told.append((error.value.field, error.value.classes, error.value.failing, error.value.fewest))
    assert told[0] == told[1]
    rows = frame.with_columns(n=pl.lit(1))
    expected = shoal.anonymize(rows, engine="stream", **words).table.collect()
    assert home(shoal.anonymize(on(spark, rows), **words).table).equals(expected)


@pytest.mark.parametrize("cell", [-1.0, None])
def test_counts_must_be_whole_numbers(spark: Any, cell: float | None) -> None:
    frame = mixed_table(60).with_columns(n=pl.Series([cell, *[1.0] * 59]))
    with pytest.raises(shoal.DataError, match="Column 'n' counts records") as error:
        shoal.anonymize(on(spark, frame), **mixed_words(method="mondrian", count="n"))
    assert error.value.field == "count"
    assert str(cell) not in str(error.value)


def test_rules_that_cannot_be_obeyed_are_refused(spark: Any) -> None:
    frame = mixed_table(300).with_columns(ill=pl.lit("zqcanary"), who=pl.int_range(pl.len()) % 3)
    with pytest.raises(shoal.DataError, match="No release can obey 'ill: 2-diverse'") as error:
        shoal.anonymize(on(spark, frame), **mixed_words(rules=("ill: 2-diverse",), **CUTS))
    said_by(error.value, "zqcanary")
    with pytest.raises(shoal.DataError, match="4 persons are needed in every class"):
        shoal.anonymize(on(spark, frame), **mixed_words(unit="who", **CUTS))

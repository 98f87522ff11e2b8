"""Tables on Spark: the same release as a stream gives, and the same promises."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal import engines
from shoal.model.hierarchy import Hierarchy
from silent import said_by

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
CUTS = {"method": "mondrian", "part": 200}
QUASI = list(mixed_words()["quasi"])
ILLS = Hierarchy.of_paths([[f"ill {at}", f"kind {at // 3}", "*"] for at in range(12)])


def lacking() -> str | None:
    """What a test with a real Spark lacks here."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'shoal[spark]'"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java: install a Java runtime, 17 or newer"
    return None


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


def on(spark: Any, frame: pl.DataFrame, partitions: int = 3) -> Any:
    """A frame of Spark with these rows."""
    return spark.createDataFrame(frame.to_arrow()).repartition(partitions)


def home(table: Any) -> pl.DataFrame:
    frame: Any = pl.from_arrow(table.toArrow())
    return frame


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return mixed_table(1200)


@pytest.fixture(scope="module")
def known(frame: pl.DataFrame) -> pl.DataFrame:
    return shoal.anonymize(frame, engine="stream", **CUTS, **mixed_words()).table.collect()


@pytest.fixture(scope="module")
def release(spark: Any, frame: pl.DataFrame) -> shoal.Release:
    return shoal.anonymize(on(spark, frame), **CUTS, **mixed_words())


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


def test_few_tuples_are_grouped_as_in_memory(spark: Any) -> None:
    frame = mixed_table(300, seed=5)
    frame = pl.concat([frame, frame[:200], frame[:90], frame[:90]])
    words = mixed_words(method="crowd", effort="quick", withhold=0.02)
    expected = shoal.anonymize(frame, **words)
    found = shoal.anonymize(on(spark, frame), **words)
    assert home(found.table).equals(expected.table)
    for name in ("value", "bound", "loss_percent", "columns", "classes", "withheld"):
        assert getattr(found.certificate, name) == getattr(expected.certificate, name), name


def skewed(name: str) -> pl.DataFrame:
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


def persons(frame: pl.DataFrame) -> pl.DataFrame:
    """Persons whose rows are anywhere in the table, three of them on average."""
    who = np.random.default_rng(0).integers(0, frame.height // 3, frame.height)
    return frame.with_columns(pl.Series("who", [f" p{one}" if one else "?" for one in who]))


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


def counted(rows: int, most: int = 6) -> pl.DataFrame:
    """Rows that stand for none to a few records each."""
    numbers = np.random.default_rng(1).integers(0, most, rows)
    return persons(mixed_table(rows, seed=6)).with_columns(pl.Series("n", numbers))


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


def test_partitions_without_rows_change_nothing(
    spark: Any, frame: pl.DataFrame, known: pl.DataFrame
) -> None:
    some = on(spark, frame, 2)
    nobody = on(spark, frame, 3).where("income < -1e9")
    found = shoal.anonymize(nobody.unionByName(some).unionByName(nobody), **CUTS, **mixed_words())
    assert home(found.table).equals(known)


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


def test_a_folder_is_written_and_verified(
    frame: pl.DataFrame, known: pl.DataFrame, release: shoal.Release, tmp_path: Path
) -> None:
    files = release.write(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out",
        "out.certificate.json",
        "out.receipt.json",
    ]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names[0] == "_SUCCESS"
    assert all(name.endswith(".parquet") for name in names[1:])
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(known)
    found = shoal.verify(
        files.table,
        files.certificate,
        original=frame.sample(fraction=1.0, shuffle=True, seed=1),
        receipt=files.receipt,
        hierarchies=mixed_words()["hierarchies"],
    )
    assert [one for one in found if one.holds is not True] == []
    with pytest.raises(shoal.PlanError, match="is there already"):
        release.write(tmp_path / "out")
    other = frame.with_columns(pl.col("cost").fill_null(7))
    found = shoal.verify(files.table, files.certificate, original=other, receipt=files.receipt)
    assert [one.holds for one in found if one.claim == "original"] == [False]
    shutil.copy(tmp_path / "out" / "part-00000.parquet", tmp_path / "out" / "part-99999.parquet")
    assert any(one.holds is False for one in shoal.verify(files.table, files.certificate))


def test_what_fails_the_check_or_changed_is_not_written(release: shoal.Release, tmp_path: Path) -> None:
    bad = replace(release, verdict=replace(release.verdict, reasons=("The smallest class has 1 record.",)))
    with pytest.raises(shoal.NotAnonymous):
        bad.write(tmp_path / "out")
    content = [*release._published.content]  # type: ignore[attr-defined]
    changed = replace(release._published, content=[content[0], content[1] + 1, *content[2:]])  # type: ignore[type-var]
    with pytest.raises(shoal.NotAnonymous, match="is not the one that was judged"):
        replace(release, _published=changed).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_class_in_two_places_does_not_pass(spark: Any, frame: pl.DataFrame, known: pl.DataFrame) -> None:
    from shoal.encode import encode
    from shoal.engines.spark.judge import judge_frame
    from shoal.engines.spark.write import content_of

    plan = shoal.Plan(**mixed_words())
    columns = encode(frame, plan).columns

    def judged(*parts: pl.DataFrame) -> tuple[Any, list[int], Any]:
        lines = pl.concat([one.with_columns(task=pl.lit(at)) for at, one in enumerate(parts)])
        rows = spark.createDataFrame(lines.with_row_index("row").cast({"row": pl.Int64}).to_arrow())
        table = (
            rows.repartitionById(len(parts), rows["task"]).sortWithinPartitions("row").drop("row", "task")
        )
        verdict, content = judge_frame(table, known.columns, plan, columns, withheld=0)
        return verdict, content, content_of(table, known.columns)

    heads = known.select(pl.struct(QUASI).rle_id()).to_series()
    cut = int((heads < 100).sum())
    verdict, content, again = judged(known[cut:], known[:cut])  # whole classes, in any order of tasks
    assert verdict.has_passed
    assert content == again
    inside = int(np.flatnonzero(np.diff(heads.to_numpy()) == 0)[200]) + 1
    for parts in (
        (known[:inside], known[inside:]),  # a class of which each holds some
        (known[:cut:2], known[1:cut:2], known[cut:]),
        (known.reverse(),),
    ):
        verdict, other, again = judged(*parts)
        assert not verdict.has_passed
        assert "The lines do not stand in the order" in " ".join(verdict.reasons)
        assert other == again == content  # the same rows in another order
    blank = known.with_columns(
        ill=known["cost"].cast(pl.String), cost=known["ill"].str.len_bytes().cast(pl.Int64)
    )
    assert judged(blank)[1] != content


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


def test_the_engine_refuses_in_its_own_name() -> None:
    reason = lacking()
    if reason is not None:
        pytest.skip(reason)
    plan = shoal.Plan(**mixed_words())
    assert engines.load("spark").settle(plan) == plan


def test_ends_are_coded_as_in_a_stream(spark: Any, frame: pl.DataFrame) -> None:
    words = {"k": 4, "quasi": ["cost", "town"], "hierarchies": {"cost": "top(30) + bottom(4) + bins(5)"}}
    table = home(shoal.anonymize(on(spark, frame), **CUTS, **words).table)
    assert table.equals(shoal.anonymize(frame, engine="stream", **CUTS, **words).table.collect())
    cells = {cell for cell in table["cost"].to_list() if cell is not None}
    assert {">= 30", "<= 4"} <= cells
    assert all(4 < int(cell) < 30 for cell in cells if cell.isdigit())

"""Rules, persons and counts in tables that are grouped part by part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.group.parts.rules import joined_until
from shoal.model.hierarchy import Hierarchy

QUASI = ("income", "height", "birth", "job", "town")
IN_PARTS = {"engine": "stream", "part": 200}
ILLS = Hierarchy.of_paths([[f"ill {at}", f"kind {at // 3}", "*"] for at in range(9)])


def classes(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    yield from table.partition_by(QUASI)


def persons_of(frame: pl.DataFrame, each: int, seed: int = 0) -> pl.Series:
    """Persons whose rows are anywhere in the table, `each` of them on average."""
    return pl.Series("who", np.random.default_rng(seed).integers(0, frame.height // each, frame.height))


@pytest.mark.parametrize("method", ["mondrian", "crowd"])
@pytest.mark.parametrize("rule", ["ill: 3-diverse", "ill: at most 50%", "ill: entropy 2.5-diverse"])
def test_every_class_of_every_part_obeys(method: str, rule: str) -> None:
    frame = mixed_table(2000)
    found = shoal.anonymize(frame, **mixed_words(method=method, effort="quick", rules=(rule,)), **IN_PARTS)
    assert found.verdict.has_passed
    assert found.certificate.rules[0].holds
    table = found.table.collect()
    assert table["ill"].sort().equals(frame["ill"].sort())
    for one in classes(table):
        counts = one["ill"].value_counts()["count"].to_numpy()
        share = counts / counts.sum()
        assert one.height >= 4
        if "3-diverse" in rule:
            assert counts.size >= 3
        elif "50%" in rule:
            assert share.max() <= 0.5
        else:
            assert np.exp(-(share * np.log(share)).sum()) >= 2.5 - 1e-9


@pytest.mark.parametrize(
    "how", ["ill: 0.3-close", "cost: ordered 0.15-close", "ill: 0.2-close by hierarchy"]
)
def test_closeness_is_measured_against_the_whole_table(how: str) -> None:
    # what is ill depends on the town, so that no part is like the whole
    frame = mixed_table(1500, missing=0.0)
    place = frame["town"].str.slice(7).cast(pl.Int64).to_numpy()
    luck = np.random.default_rng(5).integers(0, 4, frame.height)
    frame = frame.with_columns(
        ill=pl.Series([f"ill {at}" for at in (place + luck) % 9]), cost=pl.Series(5 * place + luck)
    )
    trees = {**mixed_words()["hierarchies"], **({"ill": ILLS} if "hierarchy" in how else {})}
    words = mixed_words(
        rules=(how,),
        sensitive=("ill", "cost"),
        keep=(),
        hierarchies=trees,
        method="mondrian",
        withhold=0.05,
    )
    found = shoal.anonymize(frame, **words, **IN_PARTS)
    assert found.verdict.has_passed
    assert found.certificate.withheld == 0
    known = shoal.anonymize(frame, **words)
    # parts that are not like the whole were joined, not refused
    assert found.certificate.classes >= known.certificate.classes / 4
    table = found.table.collect()
    whole = dict(frame["ill"].value_counts(normalize=True).iter_rows())
    if how == "ill: 0.3-close":
        for one in classes(table):
            its = dict(one["ill"].value_counts(normalize=True).iter_rows())
            far = sum(abs(its.get(ill, 0.0) - whole[ill]) for ill in whole) / 2
            assert far <= 0.3 + 1e-9


@pytest.mark.parametrize("part", [200, 10**6])
def test_values_of_no_record_do_not_stretch_an_order(part: int) -> None:
    # a hundred costs that nobody has would make every class look close
    luck = np.random.default_rng(3)
    frame = mixed_table(800, missing=0.0).with_columns(
        cost=pl.Series(luck.integers(0, 4, 800)), n=pl.Series(luck.integers(1, 3, 800))
    )
    nobody = frame[:100].with_columns(cost=pl.int_range(10, 110).cast(pl.Int64), n=pl.lit(0, pl.Int64))
    words = mixed_words(
        rules=("cost: ordered 0.12-close",), sensitive=("cost",), keep=(), method="mondrian"
    )
    words |= {"count": "persons(n)", "engine": "stream", "part": part}
    known = shoal.anonymize(frame, **words)
    found = shoal.anonymize(pl.concat([frame, nobody]), **words)
    assert found.verdict.has_passed
    assert found.verdict.rules == known.verdict.rules
    assert found.table.collect().equals(known.table.collect())


def test_few_tuples_with_rules_are_grouped_as_in_memory() -> None:
    frame = mixed_table(200, seed=5)
    frame = pl.concat([frame, frame[:150], frame[:90], frame[:90]])
    words = mixed_words(method="crowd", effort="quick", rules=("ill: 3-diverse",))
    known = shoal.anonymize(frame, **words)
    found = shoal.anonymize(frame, engine="stream", **words)
    assert found.table.collect().equals(known.table)
    for name in ("value", "bound", "loss_percent", "classes", "rules", "factor"):
        assert getattr(found.certificate, name) == getattr(known.certificate, name), name


def test_a_rule_that_the_whole_table_breaks_is_refused() -> None:
    frame = mixed_table(1500).with_columns(ill=pl.lit("ill 1"))
    with pytest.raises(shoal.DataError, match="No release can obey 'ill: 2-diverse'") as error:
        shoal.anonymize(frame, **mixed_words(rules=("ill: 2-diverse",), method="mondrian"), **IN_PARTS)
    assert error.value.field == "rules"


@pytest.mark.parametrize("part", [200, 10**6])
@pytest.mark.parametrize("kind", ["whole number", "text", "date", "duration", "bytes"])
def test_persons_spread_over_parts_are_counted_once(part: int, kind: str) -> None:
    frame = mixed_table(2000)
    who = persons_of(frame, 3)
    if kind == "text":  # blanks do not make another person
        blank = pl.Series(["", " ", "  "] * 666 + ["", ""])
        who = (blank + who.cast(pl.String) + blank).alias("who")
    elif kind == "bytes":
        who = pl.Series("who", [b"\xff\xfe%d" % one for one in who.to_list()])
    elif kind != "whole number":
        who = who.cast(pl.Date if kind == "date" else pl.Duration("us"))
    named = frame.with_columns(who, at=pl.int_range(pl.len()))
    words = mixed_words(method="mondrian", unit="who", keep=("at",))
    found = shoal.anonymize(named, engine="stream", part=part, **words)
    assert found.verdict.has_passed
    assert found.verdict.persons is not None
    table = found.table.collect()
    assert "who" not in table.columns
    clean = named.select("at", pl.col("who").str.strip_chars() if kind == "text" else "who")
    table = table.join(clean, on="at")
    assert table.height == named.height
    assert min(one["who"].n_unique() for one in classes(table)) >= 4
    shuffled = named.sample(fraction=1.0, shuffle=True, seed=3)
    again = shoal.anonymize(shuffled, engine="stream", part=part, **words)
    assert again.table.collect().equals(found.table.collect())


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_list_tells_nobody_apart_and_its_column_is_named(engine: str) -> None:
    who = pl.Series("who", [["zqcanary", "ann"]] * 100)
    named = mixed_table(100).with_columns(who)
    with pytest.raises(shoal.DataError, match="Column 'who' is of the type List") as error:
        shoal.anonymize(named, engine=engine, **mixed_words(method="mondrian", unit="who"))
    assert error.value.column == "who"
    assert "zqcanary" not in str(error.value)


def test_missing_persons_may_all_be_one() -> None:
    frame = mixed_table(1000)
    who = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("?")).otherwise(pl.int_range(pl.len()))
    named = frame.with_columns(who.cast(pl.String).alias("who"), at=pl.int_range(pl.len()))
    words = mixed_words(method="mondrian", unit="who", keep=("at",), missing=("?",))
    found = shoal.anonymize(named, **words, **IN_PARTS)
    assert found.verdict.has_passed
    for one in classes(found.table.collect()):
        assert sum(at % 2 for at in one["at"]) + any(at % 2 == 0 for at in one["at"]) >= 4


def test_too_few_persons_in_all_are_refused() -> None:
    named = mixed_table(1500).with_columns(who=pl.int_range(pl.len()) % 3)
    with pytest.raises(shoal.DataError, match="4 persons are needed in every class") as error:
        shoal.anonymize(named, **mixed_words(method="mondrian", unit="who"), **IN_PARTS)
    assert error.value.field == "k"


@pytest.mark.parametrize("part", [200, 10**6])
def test_rows_that_stand_for_records(part: int) -> None:
    frame = mixed_table(1000).with_columns(n=pl.Series(np.random.default_rng(1).integers(0, 6, 1000)))
    words = mixed_words(method="mondrian", count="persons(n)")
    found = shoal.anonymize(frame, engine="stream", part=part, **words)
    assert found.verdict.has_passed
    table = found.table.collect()
    assert table["n"].sum() == frame["n"].sum() == found.certificate.records
    assert table["n"].min() >= 1
    assert min(one["n"].sum() for one in classes(table)) >= 4
    both = pl.concat([table.select("ill", "n"), frame.select("ill", -pl.col("n"))])
    assert both.group_by("ill").agg(pl.col("n").sum())["n"].to_list().count(0) == both["ill"].n_unique()
    assert table.equals(table.sort(pl.all(), nulls_last=True))
    if part > frame.height:
        assert table.equals(shoal.anonymize(frame, **words).table)


@pytest.mark.parametrize("weight", [2, 900])
def test_a_weight_is_no_count(weight: int) -> None:
    frame = mixed_table(1000).with_columns(n=pl.lit(weight))
    for engine in ("memory", "stream"):
        with pytest.raises(shoal.UncertainCount) as error:
            shoal.anonymize(frame, **mixed_words(method="mondrian", count="n", engine=engine, part=200))
        assert error.value.field == "count"
        assert error.value.failing > 0
        assert 0 < error.value.fewest < error.value.k


def test_a_row_in_parts_is_one_row() -> None:
    # all rows are alike, so all pieces of the one with the large count stand in one class
    frame = pl.DataFrame({"age": [30] * 1000 + [40] * 4, "n": [1] * 1000 + [1, 1, 1, 40]})
    words = {"k": 5, "quasi": ["age"], "kinds": {"age": "number"}, "method": "mondrian", "count": "n"}
    for engine in ("memory", "stream"):
        with pytest.raises(shoal.UncertainCount) as error:
            shoal.anonymize(frame, engine=engine, part=200, **words)
        assert (error.value.failing, error.value.fewest) == (1, 4)


@pytest.mark.parametrize("cell", [-1, 2**53, 1.5])
def test_counts_must_be_whole_numbers(cell: Any) -> None:
    frame = mixed_table(300).with_columns(n=pl.Series([cell, *[1] * 299], strict=False))
    with pytest.raises(shoal.DataError) as error:
        shoal.anonymize(frame, **mixed_words(method="mondrian", count="n"), **IN_PARTS)
    assert error.value.field == "count"
    assert str(cell) not in str(error.value)


def test_parts_join_the_next_until_they_suffice() -> None:
    def suffices(some: list[int]) -> bool:
        return sum(some) >= 4

    assert list(joined_until([5, 1, 2, 9, 2], suffices)) == [[5], [1, 2, 9, 2]]
    assert list(joined_until([1, 1, 1], suffices)) == [[1, 1, 1]]
    assert list(joined_until([], suffices)) == []
    assert list(joined_until([4, 0, 4], suffices)) == [[4], [0, 4]]


def with_bytes(rows: int = 600) -> pl.DataFrame:
    """People whose key is no text: some bytes, the same of every two rows."""
    return mixed_table(rows).with_columns(
        key=pl.Series([b"\xff\xfe-zqcanary-%d" % (row // 2) for row in range(rows)])
    )


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("role", ["quasi", "count", "csv"])
def test_bytes_that_cannot_be_told_name_their_column_and_write_nothing(
    role: str, engine: str, tmp_path: Path
) -> None:
    words = mixed_words(method="mondrian", engine=engine)
    if role == "quasi":
        words["quasi"] = [*words["quasi"], "key"]
    elif role == "count":
        words["count"] = "key"
    else:
        words["keep"] = ["key"]
    with pytest.raises(shoal.DataError) as error:
        shoal.anonymize(with_bytes(), **words).write(tmp_path / "out.csv")
    assert error.value.column == "key"
    assert "'key'" in str(error.value)
    assert "zqcanary" not in str(error.value)
    assert [*tmp_path.iterdir()] == []

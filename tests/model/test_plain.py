"""Columns of every type, in every role: published, or refused in words; never a traceback."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import DataError
from shoal.model.plain import counts_of

CANARY = "zqcanary"
COLUMNS = {
    "text": pl.Series([CANARY, "b", "a", None, "b", "a"]),
    "number": pl.Series([1, 2, 3, 4, None, 6]),
    "decimal": pl.Series([Decimal("1.10"), None, *[Decimal("2.20")] * 4]),
    "boolean": pl.Series([True, False, None] * 2),
    "date": pl.Series([date(2020, 1, 1), None, date(2020, 1, 2)] * 2),
    "moment": pl.Series([datetime(2020, 1, 1, 1), None, datetime(2020, 1, 2)] * 2),
    "time": pl.Series([time(1), None, time(2)] * 2),
    "category": pl.Series(["a", "b", None] * 2, dtype=pl.Categorical),
    "enum": pl.Series(["a", "b", None] * 2, dtype=pl.Enum(["b", "a", CANARY])),
    "null": pl.Series([None] * 6),
    "binary": pl.Series([b"a", CANARY.encode(), None] * 2),
    "duration": pl.Series([timedelta(1), None, timedelta(2)] * 2),
    "list": pl.Series([[CANARY], ["b"], None] * 2),
    "struct": pl.Series([{"a": CANARY}, {"a": "b"}, None] * 2),
    "object": pl.Series([CANARY, 2, None] * 2, dtype=pl.Object),
    "period": pl.from_pandas(pd.Series(pd.period_range("2020-01", periods=6, freq="M"))),
}
NO_TEXT = {"binary", "duration"}
NESTED = {"list", "struct"}
NOT_PLAIN = {*NESTED, "object", "period"}


def table(name: str) -> pl.DataFrame:
    return pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "x": COLUMNS[name]})


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("role", ["sensitive", "keep", "identifier", "left out"])
def test_any_type_beside_the_quasi_identifiers(name, role, tmp_path):
    words = {"unit": "rows"} if role == "left out" else {role: ["x"], "unit": "rows"}
    if name in NOT_PLAIN and (role == "sensitive" or (role == "keep" and name not in NESTED)):
        with pytest.raises(shoal.DataError, match=r"'x'.*plain type") as caught:
            shoal.anonymize(table(name), k=2, quasi=["age"], method="k-member", **words)
        assert CANARY not in str(caught.value)
        return
    release = shoal.anonymize(table(name), k=2, quasi=["age"], method="k-member", **words)
    files = release.write(tmp_path / "out.parquet")
    assert pl.read_parquet(files.table).equals(release.table)
    if role == "keep" and name in NESTED:  # which cannot be compared with the original's
        return
    findings = shoal.verify(files.table, files.certificate, original=table(name), receipt=files.receipt)
    assert [finding.claim for finding in findings if finding.holds is False] == []
    if role == "left out":
        assert release.left_out == ("x",)
    elif role != "identifier":
        # of categories, only those that stand in the table remain
        expected = {"category": pl.String(), "enum": pl.Enum(["b", "a"])}.get(name, COLUMNS[name].dtype)
        assert release.table.schema["x"] == expected
        assert sorted(map(str, release.table["x"].to_list())) == sorted(map(str, COLUMNS[name].to_list()))


@pytest.mark.parametrize("name", sorted(NO_TEXT | NESTED))
def test_what_has_no_text_is_not_written_to_csv(name, tmp_path):
    release = shoal.anonymize(table(name), k=2, quasi=["age"], keep=["x"], method="k-member")
    with pytest.raises(shoal.DataError, match="which CSV cannot hold"):
        release.write(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("style", ["generalize", "suppress"])
def test_any_type_as_a_quasi_identifier(name, style):
    if name in NOT_PLAIN | NO_TEXT:
        with pytest.raises(shoal.DataError, match="'x' is of the type") as caught:
            shoal.anonymize(table(name), k=2, quasi=["x"], method="k-member", style=style)
        assert CANARY not in str(caught.value)
        return
    release = shoal.anonymize(table(name), k=2, quasi=["x"], method="k-member", style=style)
    assert release.table.height == 6


@pytest.mark.parametrize("name", COLUMNS)
def test_any_type_before_the_judges_and_in_a_first_plan(name):
    assert "age" in shoal.guess_plan(table(name))
    for ask in (shoal.check_table, shoal.risk):
        if name in NOT_PLAIN:
            with pytest.raises(shoal.DataError, match="'x' is of the type") as caught:
                ask(table(name), quasi=["x"])
            assert CANARY not in str(caught.value)
        else:
            assert ask(table(name), quasi=["x"]).records == 6


@pytest.mark.parametrize("cell", ["4.99999999999999999999", "2.00000000000000000001"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Decimal(38, 24)])
def test_a_count_with_a_fraction_that_no_float_holds_is_refused(cell, dtype):
    with pytest.raises(DataError, match="1 of 2 of its values are not whole"):
        counts_of(pl.Series("n", ["3.0", cell]).cast(dtype))


def test_counts_are_whole_numbers_however_they_are_written():
    assert counts_of(pl.Series("n", ["3.000", "1.5e1", "0"])).tolist() == [3, 15, 0]

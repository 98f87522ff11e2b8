"""Sensitive and kept values come back as they went in, or their column is refused by name."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from silent import said_by

CANARY = "zqcanary"
BIG = 2**60 + 1
DAY, NEXT = date(2020, 1, 1), date(2020, 1, 2)
MOMENTS = ["2020-01-01 01:02:03", "2020-01-02 00:00:00", None, None]
WORDS = {"k": 2, "quasi": ["age"], "method": "k-member"}


def objects(*cells: object) -> pd.Series:
    return pd.Series(cells, dtype=object)


PANDAS = {
    "nullable": pd.array([BIG, None, 3, -BIG], dtype="Int64"),
    "nullable small": pd.array([1, None, 3, 4], dtype="UInt8"),
    "nullable float": pd.array([0.1, None, 3, 4], dtype="Float32"),
    "nullable flag": pd.array([True, None, False, True], dtype="boolean"),
    "whole": np.array([BIG, 2, 3, 4]),
    "small": np.array([1, 2, 3, 4], dtype="int8"),
    "float": np.array([0.1, np.nan, 3, 4]),
    "half": np.array([0.5, np.nan, 3, 4], dtype="float16"),
    "flag": np.array([True, False, True, False]),
    "text": pd.Series(["a", None, "b", "a"]),
    "string": pd.array(["a", None, "b", "a"], dtype="string"),
    "text objects": objects("a", None, "b", "a"),
    "dates": objects(DAY, None, NEXT, DAY),
    "times": objects(time(1), None, time(2), time(1, 2, 3, 4)),
    "moments": objects(datetime(2020, 1, 1, 1), None, datetime(2020, 1, 2), None),
    "waits": objects(timedelta(1), None, timedelta(2), None),
    "decimals": objects(Decimal("1.10"), None, Decimal("2.25"), Decimal("-3.00")),
    "whole decimals": objects(Decimal(12), None, Decimal(7), Decimal(8)),
    "bytes": objects(b"a", None, b"b", b"c"),
    "flags": objects(True, None, False, True),
    "numbers": objects(BIG, None, 2, 3),
    "seconds": pd.to_datetime(pd.Series(MOMENTS)).astype("datetime64[s]"),
    "nanoseconds": pd.to_datetime(pd.Series(MOMENTS)).astype("datetime64[ns]"),
    "zoned": pd.to_datetime(pd.Series(MOMENTS)).dt.tz_localize("Europe/Paris"),
    "spans": pd.to_timedelta(pd.Series([1, 2, None, 4]), unit="s"),
    "arrow text": pd.array(["a", None, "b", "a"], dtype=pd.ArrowDtype(pa.string())),
    "arrow date": pd.array([DAY, None, NEXT, DAY], dtype=pd.ArrowDtype(pa.date32())),
    "arrow decimal": pd.array([Decimal("1.10")] * 4, dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "arrow list": pd.array([[1], None, [2, 3], []], dtype=pd.ArrowDtype(pa.list_(pa.int32()))),
    "category": pd.Categorical(["b", "a", None, "b"], categories=["a", "b"]),
    "whole category": pd.Categorical([3, 1, None, 3], categories=[1, 3]),
    "ordered": pd.Categorical(["b", "a", None, "b"], categories=["b", "a"], ordered=True),
    "ordered numbers": pd.Categorical([3, 1, None, 3], categories=[3, 1], ordered=True),
    "moment category": pd.Categorical(pd.to_datetime(pd.Series(MOMENTS))),
}


@pytest.mark.parametrize("role", ["keep", "sensitive"])
@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_come_back_as_they_went_in(name, role):
    if name == "arrow list" and role == "sensitive":  # which cannot be compared
        return
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "x": PANDAS[name], "row": [1, 2, 3, 4]})
    words = {"keep": ["x", "row"]} if role == "keep" else {"sensitive": ["x"], "keep": ["row"]}
    table = shoal.anonymize(frame, **WORDS, **words).table.sort_values("row", ignore_index=True)
    pd.testing.assert_series_equal(table["x"], frame["x"], check_exact=True)
    assert list(map(type, table["x"])) == list(map(type, frame["x"]))
    assert list(map(str, table["x"])) == list(map(str, frame["x"]))


def test_unused_categories_do_not_come_back():
    values = pd.Categorical(["b", "a", None, "b"], categories=[CANARY, "b", "a"])
    for ordered, expected in ((False, ["a", "b"]), (True, ["b", "a"])):
        frame = pd.DataFrame({"age": [1, 2, 3, 4], "x": values.set_ordered(ordered)})
        table = shoal.anonymize(frame, keep=["x"], **WORDS).table
        assert list(table["x"].cat.categories) == expected
        assert table["x"].cat.ordered == ordered


def test_whole_numbers_with_a_mark_for_missing_become_nullable():
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "x": [BIG, -9, BIG + 2, -9], "y": [True, False, True, True]})
    table = shoal.anonymize(frame, keep=["x", "y"], missing=["-9"], **WORDS).table
    assert table["x"].dtype == pd.Int64Dtype()
    assert sorted(table["x"].dropna()) == [BIG, BIG + 2]
    assert table["y"].dtype == bool


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table, pl.DataFrame])
def test_columns_that_are_made_here_have_types_of_their_own(kind):
    cells = {"age": [1, 2, 3, 4], "cost": [7, 7, 8, 9], "group": [1, 2, 3, 4], "sex": list("mfmf")}
    words = {**WORDS, "quasi": ["age", "sex"], "keep": ["cost", "group"]}
    by_id = shoal.anonymize(kind(cells), cells="id", **{**words, "quasi": ["sex"], "k": 4})
    assert len(by_id.lookups["sex"]) == 2  # whose column of ids is also called group
    counted = shoal.anonymize(kind(cells), style="centres", **{**words, "method": "centre"}).table
    assert str(counted["cost"][0]).startswith("{")


def test_nothing_but_columns_comes_back_from_pandas():
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "x": list("abcd")}, index=[CANARY, "b", "c", "d"])
    frame.attrs["secret"] = CANARY
    frame.columns.name = CANARY
    table = shoal.anonymize(frame, keep=["x"], **WORDS).table
    assert table.attrs == {}
    assert table.index.equals(pd.RangeIndex(4))
    assert table.columns.name is None
    assert list(table.columns) == ["age", "x"]


@pytest.mark.parametrize(
    "cells",
    [
        objects(Decimal("1.5"), Decimal("2.25"), Decimal("3.25"), None),
        objects(1, 2.5, 3, None),
        objects(pd.Timestamp("2020-01-01 00:00:00.000000001"), None, None, None),
        objects((1, 2), (3, 4), None, None),
        objects({"a": 2.25}, {"b": 2.5}, None, None),
        objects([{"a": 2.25}], [{"b": 2.5}], None, None),
        objects(
            datetime(2020, 1, 1, tzinfo=UTC),
            datetime(2020, 1, 1, tzinfo=timezone(timedelta(1 / 12))),
            None,
            None,
        ),
    ],
    ids=["scales", "mixed", "timestamps", "tuples", "keys", "keys inside", "zones"],
)
def test_objects_that_would_come_back_changed_are_refused_by_name(cells):
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "x": cells})
    with pytest.raises(shoal.DataError, match=r"'x' holds .* not come back as it went in") as caught:
        shoal.anonymize(frame, keep=["x"], **WORDS)
    said_by(caught.value, "2.25", "2.5")
    assert shoal.anonymize(frame, **WORDS).table.shape == (4, 1)  # left out, it does not matter


ARROW = {
    "text": pa.array(["a", None, "b", "a"]),
    "large text": pa.array(["a", None, "b", "a"], pa.large_string()),
    "text view": pa.array(["a", None, "b", "a"], pa.string_view()),
    "number": pa.array([BIG, None, 3, 4]),
    "small": pa.array([1, None, 3, 4], pa.uint8()),
    "half": pa.array(np.array([1, 2, 3, 4], dtype="float16")),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("2.25"), None], pa.decimal128(10, 2)),
    "date": pa.array([DAY, None, NEXT, DAY]),
    "date in ms": pa.array([DAY, None, NEXT, DAY], pa.date64()),
    "time": pa.array([time(1), None, time(2), time(3)], pa.time32("s")),
    "seconds": pa.array([datetime(2020, 1, 1), None, None, None], pa.timestamp("s")),
    "zoned": pa.array([datetime(2020, 1, 1), None, None, None], pa.timestamp("us", "Europe/Paris")),
    "offset": pa.array([datetime(2020, 1, 1), None, None, None], pa.timestamp("us", "+02:00")),
    "wait": pa.array([timedelta(1), None, None, None], pa.duration("s")),
    "bytes": pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2)),
    "flag": pa.array([True, None, False, True]),
    "nothing": pa.nulls(4),
    "list": pa.array([["a"], None, [], [None]], pa.list_(pa.string())),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 2, "b": None}]),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "dictionary of numbers": pa.array([1, None, 3, 1]).dictionary_encode(),
    "ordered": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1, 0], pa.int8()), ["b", "a"], ordered=True
    ),
    "ordered, a value twice": pa.DictionaryArray.from_arrays(
        pa.array([0, 2, 1, 0]), ["b", "b", "a"], ordered=True
    ),
    "ordered, with nothing": pa.DictionaryArray.from_arrays(
        pa.array([0, 2, 1, 0]), ["b", None, "a"], ordered=True
    ),
}


@pytest.mark.parametrize("name", ARROW)
def test_arrow_columns_come_back_as_they_went_in(name):
    frame = pa.table({"age": [1, 2, 3, 4], "x": ARROW[name], "row": [1, 2, 3, 4]})
    frame = frame.replace_schema_metadata({"secret": CANARY})
    table = shoal.anonymize(frame, keep=["x", "row"], **WORDS).table
    assert table["x"].type == ARROW[name].type
    cells = dict(zip(table["row"].to_pylist(), table["x"].to_pylist(), strict=True))
    assert [cells[row] for row in (1, 2, 3, 4)] == ARROW[name].to_pylist()
    assert table.schema.metadata is None


def test_an_arrow_type_without_a_way_back_is_refused_by_name():
    pairs = pa.array([[("a", 1)], None, [], None], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(shoal.DataError, match="'x' is of the type"):
        shoal.anonymize(pa.table({"age": [1, 2, 3, 4], "x": pairs}), keep=["x"], **WORDS)


def test_ordered_categories_stay_ordered_in_files(tmp_path):
    values = pd.Categorical(["low", "high", None, "low"], categories=["low", CANARY, "high"], ordered=True)
    release = shoal.anonymize(pd.DataFrame({"age": [1, 2, 3, 4], "x": values}), keep=["x"], **WORDS)
    for name in ("out.parquet", "out.arrow"):
        table = shoal.read_table(release.write(tmp_path / name.replace("out", name[-5:])).table).frame
        assert table.schema["x"] == pl.Enum(["low", "high"])

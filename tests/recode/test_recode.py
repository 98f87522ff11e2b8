"""Each published cell covers its rows, copies are dealt fairly, and types survive."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import Table
from shoal.encode import encode
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode import recode
from tables import PATHS, frame_of, plan_of, tables


def covers(kind: str, loss: str, cell: str | None, value: object) -> bool:
    """Whether a published text covers a value, read the obvious way."""
    if cell == "*":
        return True
    if cell is None or value is None:
        in_set = cell is not None and cell.startswith("{") and (", }" in cell or cell.startswith("{,"))
        return (cell is None and value is None) or (value is None and in_set)
    if kind in {"number", "date"}:
        low, high = cell[1:-1].split(", ") if cell.startswith("[") else (cell, cell)
        if kind == "date":
            return date.fromisoformat(low) <= value <= date.fromisoformat(high)
        return int(low) <= value <= int(high)
    if kind == "label" or loss == "sets":
        members = cell[1:-1].split(", ") if cell.startswith("{") else [cell]
        return value in members
    return cell in next(path for path in PATHS if path[0] == value)


@settings(deadline=None, max_examples=80)
@given(table=tables(least=2, most=9, most_columns=4), data=st.data())
def test_every_published_cell_covers_the_value_of_its_row(table: Table, data: st.DataObject) -> None:
    frame = frame_of(table).with_columns(pl.Series("id", range(table.rows)))
    plan = plan_of(table, 2, keep=("id",))
    coded = encode(frame, plan)
    labels = data.draw(
        st.lists(st.integers(-1, 3), min_size=coded.distinct, max_size=coded.distinct).filter(
            lambda drawn: max(drawn) >= 0
        )
    )
    grouping = Grouping.of_labels(np.array(labels), coded.count)
    published, groups = recode(frame, coded, grouping, plan)
    lines = {line["id"]: line for line in published.iter_rows(named=True)}
    kept = {row for row in range(table.rows) if labels[coded.row[row]] >= 0}
    assert set(lines) == kept == set(np.flatnonzero(groups.label >= 0).tolist())
    for row, line in lines.items():
        for name, kind in table.kinds.items():
            assert covers(kind, table.loss, line[name], table.cells[name][row])
    # rows of one group look alike
    faces = {}
    for row, line in lines.items():
        face = tuple(line[name] for name in table.kinds)
        assert faces.setdefault(int(groups.label[row]), face) == face


def test_the_judge_of_these_tests_can_say_no():
    assert not covers("number", "leaves", "[1, 3]", 4)
    assert not covers("tree", "leaves", "ab", "c")
    assert not covers("label", "leaves", "{red, blue}", "green")
    assert not covers("label", "leaves", None, "green")
    assert not covers("date", "leaves", "2020-01-01", date(2020, 1, 2))


def split_table(order: list[int], seed: int = 0, **words: object) -> pl.DataFrame:
    """Twelve alike rows and one other, in some order, over groups of 5, 4 and 4."""
    frame = pl.DataFrame(
        {
            "age": [30] * 12 + [31],
            "ill": [f"v{i % 7}" for i in range(13)],
            "times": [1 + i % 3 for i in range(13)],
        }
    )[order]
    plan = Plan(k=2, quasi=("age",), sensitive=("ill",), seed=seed, **words)
    coded = encode(frame, plan)
    if words.get("count"):
        first = int(coded.count[0])
        distinct, group, count = [0, 0, 0, 1], [0, 1, 2, 2], [5, 4, first - 9, int(coded.count[1])]
    else:
        distinct, group, count = [0, 0, 0, 1], [0, 1, 2, 2], [5, 4, 3, 1]
    grouping = Grouping.of_pieces(np.array(distinct), np.array(group), np.array(count))
    return recode(frame, coded, grouping, plan)[0]


@settings(deadline=None, max_examples=30)
@given(order=st.permutations(range(13)), counted=st.booleans())
def test_split_copies_do_not_depend_on_the_order_of_the_input(order, counted):
    words = {"count": "times"} if counted else {}
    assert split_table(order, **words).equals(split_table(list(range(13)), **words))


def test_split_copies_depend_on_the_seed():
    plain = list(range(13))
    tables_by_seed = [split_table(plain, seed=seed) for seed in range(8)]
    assert any(not table.equals(tables_by_seed[0]) for table in tables_by_seed)


def test_copies_that_are_split_keep_every_sensitive_value_once():
    table = split_table(list(range(13)))
    assert Counter(table["ill"]) == Counter(f"v{i % 7}" for i in range(13))
    assert Counter(table["age"]) == {"30": 9, "[30, 31]": 4}


def test_a_count_column_is_split_with_its_rows():
    table = split_table(list(range(13)), count="times")
    expected = Counter()
    for i in range(13):
        expected[f"v{i % 7}"] += 1 + i % 3
    found = Counter()
    by_face = Counter()
    for line in table.iter_rows(named=True):
        assert line["times"] > 0
        found[line["ill"]] += line["times"]
        by_face[line["age"]] += line["times"]
    assert found == expected
    assert by_face["30"] == 9
    assert sum(by_face.values()) == sum(1 + i % 3 for i in range(13))


TYPED = [
    (pl.Series("x", [1, 3, 10, 11]), pl.Int64, [1, 10], [3, 11], pl.Float64, [2.0, 10.5]),
    (pl.Series("x", [1.5, 3.5, 10.0, 11.0]), pl.Float64, [1.5, 10.0], [3.5, 11.0], pl.Float64, [2.5, 10.5]),
    (
        pl.Series("x", [date(2020, 1, 1), date(2020, 1, 4), date(2021, 1, 1), date(2021, 1, 3)]),
        pl.Date,
        [date(2020, 1, 1), date(2021, 1, 1)],
        [date(2020, 1, 4), date(2021, 1, 3)],
        pl.Date,
        [date(2020, 1, 2), date(2021, 1, 2)],
    ),
    (
        pl.Series("x", [datetime(2020, 1, 1, hour) for hour in (1, 3, 10, 12)]),
        pl.Datetime("us"),
        [datetime(2020, 1, 1, 1), datetime(2020, 1, 1, 10)],
        [datetime(2020, 1, 1, 3), datetime(2020, 1, 1, 12)],
        pl.Datetime("us"),
        [datetime(2020, 1, 1, 2), datetime(2020, 1, 1, 11)],
    ),
]


@pytest.mark.parametrize(("series", "kind", "low", "high", "middle_kind", "middle"), TYPED)
def test_typed_cells_keep_their_types(series, kind, low, high, middle_kind, middle):
    frame = series.to_frame()
    for cells in ("bounds", "middle"):
        plan = Plan(k=2, quasi=("x",), cells=cells)
        coded = encode(frame, plan)
        grouping = Grouping.of_labels(np.array([0, 0, 1, 1]), coded.count)
        table = recode(frame, coded, grouping, plan)[0]
        if cells == "bounds":
            assert table.schema == {"x_low": kind, "x_high": kind}
            assert table["x_low"].unique().sort().to_list() == low
            assert table["x_high"].unique().sort().to_list() == high
        else:
            assert table.schema == {"x": middle_kind}
            assert table["x"].unique().sort().to_list() == middle


@pytest.mark.parametrize(("few", "most"), [(10_000, 2**62), (0, 2**62), (10_000, 100)])
def test_rows_stand_in_the_order_of_all_their_published_values(
    few: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.recode.FEW", few)
    monkeypatch.setattr("shoal.recode.MOST", most)
    luck = np.random.default_rng(3)
    some = ["b", "a", "ä", "", "Z", None, "a b"]
    frame = pl.DataFrame(
        {
            "age": luck.integers(0, 9, 300),
            "zip": [some[at] for at in luck.integers(0, 7, 300)],
            "ill": [some[at] for at in luck.integers(0, 7, 300)],
            "cost": [None if one < 0.2 else round(one, 1) for one in luck.random(300)],
            "n": luck.integers(1, 3, 300),
        }
    )
    plan = Plan(
        k=5, quasi=("age", "zip"), sensitive=("ill", "cost"), count="persons(n)", kinds={"zip": "label"}
    )
    coded = encode(frame, plan)
    grouping = Grouping.of_labels(np.arange(coded.distinct) // 4, coded.count)
    table, groups = recode(frame, coded, grouping, plan)
    assert table.equals(table.sort(table.columns, nulls_last=True))
    assert table["n"].sum() == frame["n"].sum()
    assert groups.source is not None
    for name in ("ill", "cost"):
        behind = frame[name][pl.Series(groups.source)]
        behind = behind.replace("", None) if name == "ill" else behind
        assert table[name].equals(behind, null_equal=True)

"""Very wide and very small tables: an answer or a clear error, and work that does not grow with pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.check import attack, exposure

ROWS = 30


def wide(columns: int) -> pl.DataFrame:
    """Columns of few to many values: later ones single out more."""
    rows = np.arange(ROWS)
    return pl.DataFrame({f"c{at}": rows % (1 + at % ROWS) for at in range(columns)})


def asks(frame: pl.DataFrame, quasi: list[str]) -> dict:
    return {
        "check": lambda: shoal.check_table(frame, quasi=quasi, k=2),
        "risk": lambda: shoal.risk(frame, quasi=quasi),
        "attack": lambda: shoal.attack(frame, frame, match={name: name for name in quasi}),
        "nearest": lambda: shoal.attack(frame, frame, match={name: name for name in quasi}, nearest=True),
    }


@pytest.mark.parametrize("columns", [200, 3000])
@pytest.mark.parametrize("ask", ["check", "risk", "attack", "nearest"])
def test_hundreds_and_thousands_of_columns_are_answered(ask, columns):
    frame = wide(columns)
    found = asks(frame, frame.columns)[ask]()
    assert found.records == ROWS
    assert found.classes == ROWS


@pytest.mark.parametrize("columns", [5, 20, 21, 200])
def test_the_work_of_risk_does_not_grow_with_pairs(columns, monkeypatch):
    counted = []
    real = exposure.standing_of
    monkeypatch.setattr(exposure, "standing_of", lambda *words: counted.append(1) or real(*words))
    found = shoal.risk(wide(columns), quasi=[f"c{at}" for at in range(columns)])
    near = min(columns, 20)
    assert len(counted) == columns + near * (near - 1) // 2 + near + 1
    assert found.not_paired == columns - near
    assert len(found.columns) == columns
    assert len(found.without) == near


def test_columns_left_out_of_pairs_are_those_that_single_out_least():
    frame = wide(60)
    found = shoal.risk(frame, quasi=frame.columns)
    looked = {one.columns[0] for one in found.without}
    least = min(one.uniques for one in found.columns if one.columns[0] in looked)
    assert all(one.uniques <= least for one in found.columns if one.columns[0] not in looked)


def test_what_is_left_without_a_column_counts_the_columns_that_were_not_paired():
    # only the last column, which alone says little, keeps the two halves apart
    frame = pl.DataFrame({f"c{at}": [at, at, 0, 1, 2, 3] for at in range(24)} | {"z": [0, 1, 1, 1, 1, 1]})
    found = shoal.risk(frame, quasi=frame.columns)
    assert found.uniques == 6
    for one in found.without:
        rest = [name for name in frame.columns if name != one.columns[0]]
        assert one.uniques == int((frame.group_by(rest).len()["len"] == 1).sum())


def test_few_columns_are_looked_at_in_every_pair():
    frame = wide(6).select("c1", "c2", "c3", "c5")
    found = shoal.risk(frame, quasi=frame.columns)
    assert {one.columns for one in found.pairs} == set(combinations(frame.columns, 2))
    for one in (*found.columns, *found.pairs):
        sizes = frame.group_by(one.columns).len()["len"]
        assert one.uniques == int((sizes == 1).sum())
        assert one.at_risk == int(sizes.filter(sizes < 5).sum())


EMPTY = pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Int64, "b": pl.String})


@pytest.mark.parametrize(
    ("frame", "size"),
    [
        (pl.DataFrame({"a": [1], "b": ["x"]}), 1),
        (pl.DataFrame({"a": [None] * 4, "b": [None] * 4}), 4),
        (pl.DataFrame({"a": [""] * 4, "b": [None] * 4}, schema={"a": pl.String, "b": pl.String}), 4),
        (pl.DataFrame({"a": [7] * 4, "b": ["x"] * 4}), 4),
        (pl.DataFrame({"a": [float("nan")] * 4, "b": ["x"] * 4}), 4),
    ],
    ids=["one row", "all null", "all empty", "all alike", "not a number"],
)
@pytest.mark.parametrize("ask", ["check", "risk", "attack", "nearest"])
def test_tables_of_next_to_nothing_are_one_class(ask, frame, size):
    found = asks(frame, ["a", "b"])[ask]()
    assert (found.records, found.classes) == (size, 1)
    if ask == "check":
        assert found.has_passed is (size >= 2)
    if ask == "risk":
        assert found.prosecutor_highest == 1 / size
    if ask in {"attack", "nearest"}:
        assert found.fewest == size


def test_no_rows_are_said():
    asked = asks(EMPTY, ["a", "b"])
    assert asked["check"]().reasons == ("The table holds no records.",)
    for ask in ("risk", "attack"):
        with pytest.raises(shoal.DataError, match=r"no records|no rows"):
            asked[ask]()
    with pytest.raises(shoal.DataError, match="The release holds no records"):
        shoal.attack(EMPTY, wide(2), match={"a": "c0"})


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_unit_of_nothing_is_one_person(unit):
    frame = pl.DataFrame(
        {"a": [1, 1, 1], "who": [None, "", None]}, schema={"a": pl.Int64, "who": pl.String}
    )
    verdict = shoal.check_table(frame, quasi=["a"], k=2, unit=unit)
    assert verdict.has_passed is (unit is None)


def test_the_nearest_of_very_many_are_refused_in_numbers(monkeypatch):
    monkeypatch.setattr(attack, "MOST_DISTANCES", 100)
    frame = wide(10)
    strangers = frame.select(pl.all() + 1000)
    with pytest.raises(shoal.DataError, match=r"9,000 distances; 100 are allowed. Match fewer columns"):
        shoal.attack(frame, strangers, match={name: name for name in frame.columns}, nearest=True)


@pytest.mark.parametrize("chunk", [1, 7, 50])
def test_pairs_are_the_same_in_chunks_of_any_size(chunk, monkeypatch):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"a": rng.integers(0, 5, 60), "b": rng.integers(0, 9, 60), "s": rng.integers(0, 2, 60)}
    )
    frame = frame.with_columns(pl.Series("who", rng.integers(0, 12, 60)))
    known = pl.DataFrame({"a": rng.integers(0, 5, 40), "b": rng.integers(-2, 9, 40)})
    words = {"match": {"a": "a", "b": "b"}, "sensitive": "s", "nearest": True}
    for unit in ("rows", "who"):
        whole = shoal.attack(frame, known, unit=unit, **words)
        with monkeypatch.context() as patch:
            patch.setattr(attack, "CHUNK", chunk)
            assert shoal.attack(frame, known, unit=unit, **words) == whole


def test_the_screen_says_what_was_left_out(tmp_path, capsys):
    from shoal.cli import main

    wide(40).write_csv(tmp_path / "wide.csv")
    with pytest.raises(SystemExit):
        main(["risk", str(tmp_path / "wide.csv"), "-q", ",".join(f"c{at}" for at in range(40))])
    said = " ".join(capsys.readouterr().out.split())
    assert "and 20 columns that single out less" in said
    assert "only of the 20 columns that single out most by themselves; 20 others were left out" in said

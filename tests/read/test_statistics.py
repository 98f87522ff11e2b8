"""Stata, SPSS and SAS files as their users see them; nothing of a cell in what is said of bad ones."""

from __future__ import annotations

import sys
from datetime import date, datetime

import polars as pl
import pytest

from shoal.errors import DataError, MissingExtra, PlanError
from shoal.read.table import read_table
from silent import said_by

pyreadstat = pytest.importorskip("pyreadstat")

CANARY = "zqcanary"
ENDINGS = [".dta", ".sav", ".sas7bdat", ".xpt"]
FRAME = pl.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, 1.0],
        "age": [30.0, 99.0, 41.0, None],
        "size": [1.5, 2.0, None, 3.0],
        "name": ["Zoë", "漢", "", "x"],
        "born": [date(1950, 1, 1), None, date(1582, 12, 31), date(2020, 2, 29)],
        "seen": [datetime(2020, 1, 1, 3, 4, 5, 678000), None, datetime(1950, 1, 1), datetime(2030, 1, 1)],
    }
)
LABELS = {"sex": {9.0: "refused", 2.0: "female", 1.0: "male"}, "age": {99.0: "99 and more"}}


def test_spss_labels_are_values_and_missing_marks_are_missing(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(FRAME, path, variable_value_labels=LABELS, missing_ranges={"sex": [9.0]})
    table = read_table(path)
    assert table.frame["sex"].to_list() == ["male", "female", None, "male"]
    assert table.frame["sex"].dtype == pl.Enum(["male", "female"])
    assert table.frame["age"].to_list() == [30, 99, 41, None]  # whole numbers are whole
    assert table.frame["size"].to_list() == [1.5, 2.0, None, 3.0]
    assert table.frame["name"].to_list() == ["Zoë", "漢", None, "x"]
    assert table.frame["born"].equals(FRAME["born"])
    assert table.frame["seen"].equals(FRAME["seen"])
    assert table.said == (
        "value labels read as the values of 1 column (sex)",
        "value labels left out in 1 column (age): not every value has one",
    )


def test_spss_texts_have_labels_and_missing_marks_too(tmp_path):
    path = tmp_path / "t.sav"
    frame = pl.DataFrame({"sex": ["m", "f", "x", None]})
    pyreadstat.write_sav(
        frame,
        path,
        variable_value_labels={"sex": {"m": "male", "f": "female"}},
        missing_ranges={"sex": ["x"]},
    )
    assert read_table(path).frame["sex"].to_list() == ["male", "female", None, None]


def test_a_range_of_missing_marks_is_missing(tmp_path):
    path = tmp_path / "t.sav"
    frame = pl.DataFrame({"a": [1.0, 97.0, 98.0, 99.0]})
    pyreadstat.write_sav(frame, path, missing_ranges={"a": [{"lo": 97.0, "hi": 99.0}]})
    assert read_table(path).frame["a"].to_list() == [1, None, None, None]


def test_stata_labels_are_values_and_missing_marks_are_missing(tmp_path):
    path = tmp_path / "t.dta"
    frame = pl.DataFrame(
        {"sex": ["a", 1, 2, 1], "age": ["b", 30, 40, 50]}, schema=dict.fromkeys(["sex", "age"], pl.Object)
    )
    pyreadstat.write_dta(
        frame,
        path,
        variable_value_labels={"sex": {"a": "refused", 2: "female", 1: "male"}},
        missing_user_values={"sex": ["a"], "age": ["b"]},
    )
    table = read_table(path)
    assert table.frame["sex"].to_list() == [None, "male", "female", "male"]
    assert table.frame["age"].to_list() == [None, 30, 40, 50]
    pyreadstat.write_dta(FRAME, path)
    found = read_table(path).frame
    assert found["born"].equals(FRAME["born"])
    assert found["seen"].equals(FRAME["seen"])
    assert found["name"].to_list() == ["Zoë", "漢", None, "x"]


def test_codes_of_one_label_are_one_value(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        pl.DataFrame({"a": [1.0, 2.0, 3.0]}),
        path,
        variable_value_labels={"a": {1.0: "x", 2.0: "x", 3.0: "y"}},
    )
    assert read_table(path).frame["a"].to_list() == ["x", "x", "y"]


def test_sas_transport_files_are_read(tmp_path):
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(
        FRAME.select("sex", "size", "born", name=pl.lit("Zoe")), path, file_format_version=8
    )
    found = read_table(path).frame
    assert found["sex"].to_list() == [1, 2, 9, 1]
    assert found["size"].to_list() == [1.5, 2.0, None, 3.0]
    assert found["born"].equals(FRAME["born"])
    assert found["name"].to_list() == ["Zoe"] * 4


def test_an_encoding_is_passed_on(tmp_path):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pl.DataFrame({"a": ["Zoe~~"]}), path, version=10)  # of a time before Unicode
    path.write_bytes(path.read_bytes().replace(b"~~", "ë€".encode("cp1252")))
    assert read_table(path, encoding="cp1252").frame["a"].to_list() == ["Zoeë€"]
    with pytest.raises(DataError, match="encoding 'no-such'") as caught:
        read_table(path, encoding="no-such")
    said_by(caught.value, "Zoe")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_of_another_kind_is_refused_without_a_cell(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    for content in (
        CANARY.encode() * 999,
        b"\0" * 4096,
        b"$FL2@(#)" + CANARY.encode() * 99,
        b"<stata_dta>",
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read") as caught:
            read_table(path)
        said_by(caught.value, CANARY)


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_a_file_cut_short_is_refused_without_a_cell(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    write = pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav
    write(pl.DataFrame({"a": [CANARY] * 50, "b": [1.0] * 50}), path)
    whole = path.read_bytes()
    for share in (0.1, 0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError) as caught:
            read_table(path)
        said_by(caught.value, CANARY)


@pytest.mark.parametrize(
    ("place", "byte"), [(180, 9), (181, 127), (183, 5), (184, 9), (188, 77), (212, 12)]
)
def test_a_damaged_width_of_a_column_is_found_before_it_is_believed(place, byte, tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pl.DataFrame({"a": [CANARY] * 50, "b": [1.0] * 50}), path)
    content = bytearray(path.read_bytes())
    content[place] = byte
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged") as caught:
        read_table(path)
    said_by(caught.value, CANARY)


def test_labels_of_a_column_that_is_not_there_are_found(tmp_path):
    path = tmp_path / "t.sav"
    frame = pl.DataFrame({"b": [1.0, 2.0]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"b": {1.0: "one", 2.0: "two"}})
    content = path.read_bytes()
    place = content.index(b"\4\0\0\0\1\0\0\0\1\0\0\0") + 8
    for wrong in (0, 2, 127):
        path.write_bytes(content[:place] + bytes([wrong]) + content[place + 1 :])
        with pytest.raises(DataError, match="damaged"):
            read_table(path)


def test_long_labels_and_texts_of_spss_are_sound(tmp_path):
    path = tmp_path / "t.sav"
    frame = pl.DataFrame({"a": ["x" * 700, "y"], "b": [1.0, 99.0], "c": ["z", "w"]})
    labels = {"a": "l" * 250, "b": "m", "c": "öäü"}
    pyreadstat.write_sav(frame, path, column_labels=labels, missing_ranges={"b": [{"lo": 9, "hi": 99}]})
    assert read_table(path).frame.rows() == [("x" * 700, 1, "z"), ("y", None, "w")]


@pytest.mark.parametrize("ending", ENDINGS)
def test_without_its_package_the_extra_is_named(ending, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"x")
    with pytest.raises(MissingExtra, match=r"pip install 'shoal\[statistics\]'"):
        read_table(path)


def test_a_sheet_is_for_excel_alone(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(FRAME, path)
    with pytest.raises(PlanError, match=r"no \.xlsx file"):
        read_table(path, sheet="one")

"""Sheets of an Excel file, by name."""

from __future__ import annotations

from datetime import date, datetime

import polars as pl
import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError
from shoal.read.table import read_table
from silent import said_by

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")

CANARY = "zqcanary"


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as made:
        day = made.add_format({"num_format": "yyyy-mm-dd"})
        moment = made.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        first = made.add_worksheet("people")
        first.write_row(0, 0, ["age", "code", "born", "seen"])
        for row in range(1, 2001):
            first.write_number(row, 0, row)
            first.write(row, 1, row if row < 1999 else CANARY)
            first.write_datetime(row, 2, datetime(2020, 1, 1), day)
            first.write_datetime(row, 3, datetime(2020, 1, 1, 12), moment)
        second = made.add_worksheet("other table")
        second.write_row(0, 0, ["zip", "n"])
        second.write_row(1, 0, ["01234", 5])
        made.add_worksheet("empty")
    return path


def test_a_sheet_is_read_by_its_name(book):
    assert read_table(book, sheet="other table").frame.rows() == [("01234", 5)]
    table = read_table(book)
    assert table.said == ("sheet 'people', the first of 3",)
    assert table.frame.height == 2000
    assert read_table(book, sheet="people").said == ()


def test_dates_of_a_sheet_are_dates(book):
    frame = read_table(book).frame
    assert frame["born"].to_list()[0] == date(2020, 1, 1)
    assert frame["seen"].to_list()[0] == datetime(2020, 1, 1, 12)


def test_a_text_far_down_is_not_lost_to_the_type_of_the_first_rows(book):
    codes = read_table(book).frame["code"]
    assert codes.dtype == pl.String
    assert codes.null_count() == 0
    assert codes[-1] == CANARY


def test_a_wrong_sheet_is_answered_with_the_right_ones(book):
    with pytest.raises(
        DataError, match=r"no sheet 'none'\. Choose one of: empty, other table, people"
    ) as caught:
        read_table(book, sheet="none")
    said_by(caught.value, CANARY)
    with pytest.raises(DataError, match="no table on its sheet 'empty'"):
        read_table(book, sheet="empty")


def test_the_command_line_takes_a_sheet(book, capsys):
    with pytest.raises(SystemExit) as end:
        main(["check", str(book), "--sheet", "other table", "-q", "zip"])
    assert not end.value.code
    with pytest.raises(SystemExit) as end:
        main(["check", str(book), "--sheet", "none", "-q", "zip"])
    assert end.value.code == 2
    assert "Choose one of" in capsys.readouterr().err


def test_an_empty_text_is_missing_and_an_empty_column_is_not_warned_of(tmp_path, capfd):
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet()
        sheet.write_row(0, 0, ["code", "n", "nothing"])
        sheet.write_row(1, 0, ["a", 1])
        sheet.write_string(2, 0, "")
        sheet.write_string(2, 1, "")
    assert read_table(path).frame.rows() == [("a", 1, None), (None, None, None)]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("words", [{"style": "means", "method": "mdav"}, {}, {"style": "suppress"}])
@pytest.mark.parametrize("keep", [[], ["b"]])
def test_a_sheet_that_ends_with_missing_cells_is_verified(words, keep, tmp_path):
    frame = pl.DataFrame({"a": [1.5, 2.5, 3.5, *[None] * 3], "b": [2.25, 3.0, 4.0, *[None] * 3]})
    release = shoal.anonymize(frame, k=3, quasi=["a"], keep=keep, **words)
    files = release.write(tmp_path / "out.xlsx")
    assert read_table(files.table).frame.height == 6
    findings = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert [finding.claim for finding in findings if finding.holds is False] == []


@pytest.mark.parametrize("hour", [0, 12])
@pytest.mark.parametrize("kind", [pl.Datetime("ms"), pl.Date])
def test_moments_at_midnight_are_dates_on_a_sheet_and_are_verified(kind, hour, tmp_path):
    first = [datetime(1990, month, 1) for month in range(1, 8)]
    frame = pl.DataFrame({"born": [*first, datetime(1991, 1, 1, hour)]}).cast(kind)
    release = shoal.anonymize(frame, k=2, quasi=["born"], cells="bounds")
    files = release.write(tmp_path / "out.xlsx")
    for given in ({}, {"original": frame, "receipt": files.receipt}):
        findings = shoal.verify(files.table, files.certificate, **given)
        assert [finding.claim for finding in findings if finding.holds is False] == []


def test_moments_of_a_zone_keep_their_clock(tmp_path):
    first = [datetime(1990, month, 1, 12) for month in range(1, 9)]
    frame = pl.DataFrame({"born": first}).cast(pl.Datetime("ns", "Europe/Berlin"))
    files = shoal.anonymize(frame, k=2, quasi=["born"], cells="bounds").write(tmp_path / "out.parquet")
    findings = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert [finding.claim for finding in findings if finding.holds is False] == []


def test_merged_cells_are_pointed_out(tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "in.xlsx")
    sheet = book.add_worksheet("people")
    for row, cells in enumerate([("name", "zip"), *((f"zq{at}", str(at)) for at in range(9))]):
        sheet.write_row(row, 0, cells[: 1 if row in {4, 5} else 2])
    sheet.merge_range(3, 1, 5, 1, "2")
    book.close()
    read = read_table(tmp_path / "in.xlsx")
    assert read.frame["zip"].null_count() == 2
    assert "1 merged cells, of which only the first of each has a value (fill the others)" in read.said

"""A CSV for Excel: known by its first bytes, decimals as asked, and the same table to a reader."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.cli import main

PEOPLE = pl.DataFrame(
    {
        "age": [20, 21, 40, 41],
        "Größe": ["1.70", "1.82", "1.65", "1.9"],
        "band": ["10-12", "10-12", "3/4", "SEPT2"],
        "cost": [1.5, 2.25, None, -3.0],
    }
)


def release() -> shoal.Release:
    return shoal.anonymize(
        PEOPLE, k=2, quasi=["age"], keep=["Größe", "band", "cost"], unit="rows", method="mondrian"
    )


def test_decimal_commas_stand_between_semicolons_and_verify(tmp_path):
    files = release().write(tmp_path / "out.csv", for_excel="comma")
    raw = files.table.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfage;")
    lines = raw.decode("utf-8-sig").splitlines()
    assert lines[0] == "age;Größe;band;cost"
    assert {line.split(";")[1] for line in lines[1:]} == {"1,70", "1,82", "1,65", "1,9"}
    assert {line.split(";")[3] for line in lines[1:]} == {"1,5", "2,25", "", "-3,0"}
    findings = shoal.verify(files.table, files.certificate, original=PEOPLE, receipt=files.receipt)
    assert [one.claim for one in findings if one.holds is False] == []
    assert files.dates == {"band": 4}


def test_decimal_points_stand_between_commas(tmp_path):
    files = release().write(tmp_path / "out.csv", for_excel="point")
    text = files.table.read_bytes().decode("utf-8-sig")
    assert text.splitlines()[0] == "age,Größe,band,cost"
    assert "1.82" in text


@pytest.mark.parametrize(("name", "decimals"), [("out.parquet", "comma"), ("out.csv", "semicolon")])
def test_what_cannot_be_written_for_excel_is_refused_before_anything_is(tmp_path, name, decimals):
    with pytest.raises(shoal.PlanError, match="Excel"):
        release().write(tmp_path / name, for_excel=decimals)
    assert not list(tmp_path.iterdir())


def test_lookup_tables_are_not_for_excel(tmp_path):
    made = shoal.anonymize(PEOPLE, k=2, quasi=["band"], unit="rows", cells="id", method="mondrian")
    with pytest.raises(shoal.PlanError, match="For Excel"):
        made.write(tmp_path / "out.csv", for_excel="comma")
    assert not list(tmp_path.iterdir())


def test_the_command_line_writes_for_excel_and_points_out_dates(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("in.csv")
    words = ["anonymize", "in.csv", "-k", "2", "-q", "age", "--keep", "band,cost", "-o", "out.csv"]
    with pytest.raises(SystemExit) as end:
        main([*words, "--for-excel", "comma"])
    assert not end.value.code
    said = " ".join(capfd.readouterr().out.split())
    assert "Texts that spreadsheets turn into dates (10-12, 3/4, SEPT2), by column: band 4." in said
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    with pytest.raises(SystemExit) as end:
        main([*words[:-1], "other.parquet", "--for-excel", "comma"])
    assert end.value.code == 2
    assert not (tmp_path / "other.parquet").exists()


def test_whole_dates_and_plain_words_are_not_counted():
    from shoal.publish.formulas import count_dates

    cells = ["2020-01-31", "31.12.2020", "[10, 12]", "marriage", "10-12-2020", "1.5", "may be", None]
    cells += ["60-69", "20-29", "0-9", "13-14", "32.1."]
    assert count_dates(pl.DataFrame({"x": cells})) == {}


def test_days_and_months_are_counted():
    from shoal.publish.formulas import count_dates

    cells = ["1-12", "10-14", "31-12", "3/4", "12-69", "1.12.", "SEPT2"]
    assert count_dates(pl.DataFrame({"x": cells})) == {"x": len(cells)}

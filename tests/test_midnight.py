"""Moments that are all at midnight are dates: no 00:00:00 is published, and every door reads them so."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pandas as pd
import polars as pl
import pytest

import shoal

ROWS = 60
DAYS = [date(1960, 1, 1) + timedelta(days=37 * (row % 29)) for row in range(ROWS)]
MIDNIGHTS = [datetime(day.year, day.month, day.day) for day in DAYS]
SENSITIVE = ["x", "y", "z"] * (ROWS // 3)
WORDS = {"k": 5, "quasi": ["born"], "sensitive": ["said"], "unit": "rows", "method": "mondrian"}


def table(born) -> pl.DataFrame:
    return pl.DataFrame({"born": born, "said": SENSITIVE})


FORMS = {
    "microseconds": lambda: table(MIDNIGHTS),
    "nanoseconds": lambda: table(pl.Series(MIDNIGHTS).dt.cast_time_unit("ns")),
    "zone": lambda: table(pl.Series(MIDNIGHTS).dt.replace_time_zone("Europe/Berlin")),
    "text": lambda: table([f"{day} 00:00:00" for day in DAYS]),
    "pandas": lambda: pd.DataFrame({"born": pd.to_datetime(pd.Series(MIDNIGHTS)), "said": SENSITIVE}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("words", [{}, {"cells": "bounds"}, {"cells": "middle"}, {"style": "suppress"}])
def test_the_release_is_that_of_dates(form, words):
    if form == "text" and "style" in words:
        return  # a value that is not hidden stands as it was written
    made = shoal.anonymize(FORMS[form](), **WORDS, **words).table
    wanted = shoal.anonymize(table(DAYS), **WORDS, **words).table
    if form == "pandas":
        wanted = wanted.to_pandas()
        assert made.astype(str).equals(wanted.astype(str))
        return
    assert made.equals(wanted)


def test_one_time_of_day_makes_moments_of_all():
    moments = [*MIDNIGHTS[1:], datetime(1960, 1, 1, 8, 30)]
    made = shoal.anonymize(table(moments), **WORDS, cells="bounds").table
    assert made.schema["born_low"] == pl.Datetime("us")
    cells = shoal.anonymize(table(moments), **WORDS).table["born"]
    assert cells.str.contains("00:00:00").all()


def test_missing_cells_do_not_bring_midnight_back():
    made = shoal.anonymize(table([*MIDNIGHTS[5:], *[None] * 5]), **WORDS).table
    assert not made["born"].str.contains(":").any()


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("cells", ["text", "bounds"])
def test_the_release_verifies_against_moments(tmp_path, cells, ending):
    frame = table(MIDNIGHTS)
    files = shoal.anonymize(frame, **WORDS, cells=cells).write(tmp_path / f"out.{ending}")
    found = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert all(one.holds is not False for one in found)
    assert any(one.claim == "rows" and one.holds for one in found)
    both = (shoal.utility(files.table, one, beside=False).tables for one in (frame, table(DAYS)))
    assert next(both) == next(both)


@pytest.mark.parametrize("cells", ["text", "bounds"])
def test_a_register_of_moments_finds_whom_a_register_of_dates_finds(cells):
    release = shoal.anonymize(table(DAYS), **WORDS, cells=cells).table
    late = [moment + timedelta(hours=13) for moment in MIDNIGHTS]
    by_days = shoal.attack(release, table(DAYS), match={"born": "born"}, sensitive=["said"], k=5)
    assert by_days.found == ROWS
    for known in (MIDNIGHTS, late, [str(moment) for moment in late]):
        found = shoal.attack(release, table(known), match={"born": "born"}, sensitive=["said"], k=5)
        assert found == by_days


def test_a_register_of_dates_finds_persons_in_a_release_of_moments():
    moments = [moment + timedelta(hours=8) for moment in MIDNIGHTS]
    release = shoal.anonymize(table(moments), **WORDS).table
    found = shoal.attack(release, table(DAYS), match={"born": "born"}, sensitive=["said"], k=5)
    assert found.found == ROWS


def test_a_column_before_and_after_is_counted_by_days():
    release = shoal.anonymize(table(MIDNIGHTS), **WORDS)
    words = repr(shoal.profile(table(MIDNIGHTS), release, "born"))
    assert words == repr(shoal.profile(table(DAYS), release, "born"))


def test_a_stream_publishes_dates_too(tmp_path):
    pl.concat([table(MIDNIGHTS)] * 2).write_parquet(tmp_path / "in.parquet")
    scan = shoal.scan_table(tmp_path / "in.parquet", scratch=tmp_path)
    files = shoal.anonymize(scan, **WORDS, engine="stream").write(tmp_path / "out.csv")
    assert "00:00" not in files.table.read_text("utf-8")

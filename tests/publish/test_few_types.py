"""Stata, SPSS and Excel files: what is judged is what their readers see, made anew, byte for byte."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from xml.etree import ElementTree

import polars as pl
import pytest

import shoal
from shoal.publish.formats import WRITERS
from silent import said_by

pyreadstat = pytest.importorskip("pyreadstat")
pytest.importorskip("xlsxwriter")
fastexcel = pytest.importorskip("fastexcel")

CANARY = "zqcanary"
ENDINGS = [".dta", ".sav", ".xlsx"]
STATISTICS = [".dta", ".sav"]
FORMULAS = ["=1+1", "+1+2", "-2+3", "@SUM(A1)", "=HYPERLINK(0)", "\t=1", "{=1}", "http://a.b"]
EVERY = pl.DataFrame(
    {
        "text": ["a,b", 'say "x"', "two\nlines", " before", "ü漢\U0001f40b", None],
        "formulas": FORMULAS[:6],
        "signs": ["a\rb", "_x0041_", "<a>&amp;", "\x01", "]]>", "'x"],
        "extent": ["x" * 2000, "ü" * 1000, "y", None, None, None],
        "numbers": [0, -1, 2**52, None, 5, 6],
        "small_numbers": pl.Series([0, -1, 127, None, 5, 6], dtype=pl.Int8),
        "unsigned": pl.Series([2_147_483_647, 1, 4_000_000_000, None, 5, 6], dtype=pl.UInt32),
        "floats": [0.1 + 0.2, 1e300, -5e-300, 1 / 3, -2.5, None],
        "singles": pl.Series([0.1, 1e30, 1 / 3, None, 0.0, 1.0], dtype=pl.Float32),
        "decimals": [Decimal("1.10"), None, *[Decimal("2.20")] * 4],
        "flags": [True, False, None] * 2,
        "dates": [date(1900, 3, 1), date(9999, 12, 31), None] * 2,
        "moments": pl.Series([0, 1, None] * 2).cast(pl.Datetime("ms")).dt.cast_time_unit("ns"),
        "enums": pl.Series(["b", "ä", None] * 2, dtype=pl.Enum(["b", "ä"])),
        "wordy": pl.Series(["w" * 1000, "v", None] * 2, dtype=pl.Enum(["w" * 1000, "v"])),
        "nothing": [None] * 6,
    },
    strict=False,
)  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_type_reads_as_it_was_written(ending, tmp_path):
    WRITERS[ending](EVERY, tmp_path / "t.part", ",")
    WRITERS[ending](EVERY.select("text").reverse(), tmp_path / "t.part", ",")
    for column in EVERY:
        WRITERS[ending](column.to_frame(), tmp_path / "t.part", ",")
        WRITERS[ending](column.to_frame().reverse(), tmp_path / "t.part", ",")


@pytest.mark.parametrize("ending", STATISTICS)
def test_times_of_day_are_held_by_statistics_files(ending, tmp_path):
    times = pl.DataFrame({"t": [time(1), time(23, 59, 59, 999000), None, time(0)]})
    WRITERS[ending](times, tmp_path / "t.part", ",")


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_moments_and_numbers_come_back_to_the_last_digit(ending, tmp_path):
    draw = Random(1)
    span = (date(9999, 1, 1) - date(1900, 3, 1)).days * 86_400_000
    table = pl.DataFrame(
        {
            "moment": [
                datetime(1900, 3, 1) + timedelta(milliseconds=draw.randrange(span)) for _ in range(1000)
            ],
            "number": [draw.random() * 10.0 ** draw.randint(-290, 290) for _ in range(1000)],
        }
    )
    WRITERS[ending](table, tmp_path / "t.part", ",")


REFUSED = {
    "a big whole number": ({"a": [1, 2**53]}, ENDINGS),
    "an infinite number": ({"a": [1.0, float("inf")]}, ENDINGS),
    "a long decimal": ({"a": [Decimal("12345678901234567890.12"), None]}, ENDINGS),
    "a microsecond": ({"a": [datetime(2020, 1, 1, 1, 1, 1, 1), None]}, ENDINGS),
    "a moment with a zone": ({"a": [datetime(2020, 1, 1, tzinfo=UTC), None]}, ENDINGS),
    "a duration": ({"a": [timedelta(1), None]}, ENDINGS),
    "bytes": ({"a": [CANARY.encode(), None]}, ENDINGS),
    "an old date": ({"a": [date(99, 1, 1), None]}, ENDINGS),
    "a date before sheets": ({"a": [date(1900, 2, 28), None]}, [".xlsx"]),
    "a date before SPSS": ({"a": [date(1582, 10, 14), None]}, [".sav"]),
    "a time in a sheet": ({"a": [time(1), None]}, [".xlsx"]),
    "a text too long": ({"a": [CANARY * 5000, "b"]}, ENDINGS),
    "a text too long for Stata": ({"a": [CANARY * 256, "b"]}, [".dta"]),
    "a blank at the end": ({"a": [CANARY + " ", "b"]}, [".sav"]),
    "a name with a blank": ({"the a": [1, 2]}, STATISTICS),
    "a name that begins with a digit": ({"1a": [1, 2]}, STATISTICS),
    "a word of Stata's": ({"long": [1, 2]}, [".dta"]),
    "a type of Stata's": ({"str12": [1, 2]}, [".dta"]),
    "a word of SPSS's": ({"By": [1, 2]}, [".sav"]),
    "a long name": ({"a" * 33: [1, 2]}, [".dta"]),
    "a longer name": ({"a" * 65: [1, 2]}, STATISTICS),
    "names that differ in capitals": ({"a": [1, 2], "A": [1, 2]}, [".sav"]),
}


@pytest.mark.parametrize(
    ("cells", "ending"),
    [pytest.param(cells, e, id=f"{what}, {e}") for what, (cells, es) in REFUSED.items() for e in es],
)
def test_what_a_format_cannot_hold_is_refused_by_its_column(cells, ending, tmp_path):
    with pytest.raises(shoal.DataError) as caught:
        WRITERS[ending](pl.DataFrame(cells), tmp_path / "t.part", ",")
    assert repr(next(iter(cells))) in said_by(caught.value, CANARY)
    assert list(tmp_path.iterdir()) == []


def test_a_table_larger_than_a_sheet_is_refused(tmp_path):
    with pytest.raises(shoal.DataError, match="a sheet holds 1,048,575"):
        WRITERS[".xlsx"](pl.DataFrame({"a": pl.zeros(1_048_576, eager=True)}), tmp_path / "t.part", ",")


@pytest.fixture
def survey(tmp_path):
    """A file of SPSS with labels, missing marks, dates, and much that nobody is to see."""
    draw = Random(3)
    rows = range(200)
    frame = pl.DataFrame(
        {
            "id": [f"{CANARY}{row}" for row in rows],
            "age": [float(draw.randint(18, 90)) for _ in rows],
            "sex": [draw.choice([1.0, 2.0, 9.0]) for _ in rows],
            "born": [date(1950, 1, 1) + timedelta(draw.randrange(20_000)) for _ in rows],
            "ill": [draw.choice([1.0, 2.0, 3.0]) for _ in rows],
            "cost": [float(draw.randint(1, 50)) for _ in rows],
            "rate": [draw.choice([0.1, 1 / 3, 0.5, None]) for _ in rows],
            "note": [draw.choice([*FORMULAS, "ü漢", None]) for _ in rows],
            "seen": [datetime(2020, 1, 1, 3, 4, 5, 678000)] * len(rows),
            "day": [date(2020, 1, 1 + draw.randrange(9)) for _ in rows],
        }
    )
    pyreadstat.write_sav(
        frame,
        tmp_path / "in.sav",
        file_label=f"{CANARY} file",
        note=f"{CANARY} note",
        column_labels={"age": f"{CANARY} column"},
        variable_value_labels={
            "sex": {1.0: "male", 2.0: "female", 9.0: f"{CANARY} refused"},
            "ill": {3.0: "flu", 1.0: "angina", 2.0: "none", 4.0: f"{CANARY} unused"},
        },
        missing_ranges={"sex": [9.0]},
    )
    return tmp_path / "in.sav"


PLANS = {
    "text": {},
    "bounds": {"cells": "bounds"},
    "middle": {"cells": "middle"},
    "id": {"cells": "id"},
    "suppress": {"style": "suppress"},
    "means": {"style": "means", "quasi": ["age", "born"]},
}


def release_of(frame, **words):
    plan = {
        "k": 5,
        "quasi": ["age", "sex", "born"],
        "sensitive": ["ill"],
        "keep": ["cost", "rate", "note", "seen", "day"],
        "identifier": ["id"],
        "method": "mondrian",
    }
    return shoal.anonymize(frame, **{**plan, **words})


@pytest.mark.parametrize("words", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_release_reads_as_judged_verifies_and_holds_nothing_else(ending, words, survey, tmp_path):
    frame = shoal.read_table(survey).frame
    release = release_of(frame, **words)
    files = release.write(tmp_path / f"out{ending}")
    read = shoal.read_table(files.table).frame
    assert read.columns == release.table.columns
    assert read["ill"].cast(pl.String).equals(release.table["ill"].cast(pl.String))
    for name in ("cost", "rate", "note", "day"):
        assert read[name].equals(release.table[name], null_equal=True), name
    assert read["seen"].cast(pl.Datetime("us")).equals(release.table["seen"])
    findings = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
    assert [finding.claim for finding in findings if finding.holds is False] == []
    assert {finding.claim for finding in findings if finding.holds} >= {"release", "original"}
    # floats where the file has whole numbers, and moments where it has dates
    other = frame.with_columns(pl.col("cost").cast(pl.Float64), pl.col("day").cast(pl.Datetime("us")))
    findings = shoal.verify(files.table, files.certificate, original=other)
    assert "rows" not in {finding.claim for finding in findings if finding.holds is False}
    again = release.write(tmp_path / f"again{ending}")
    assert again.table.read_bytes() == files.table.read_bytes()
    assert CANARY.encode() not in unpacked(files.table)
    assert files.formulas == {}


def unpacked(path) -> bytes:
    if path.suffix != ".xlsx":
        return path.read_bytes()
    with zipfile.ZipFile(path) as book:
        return b"".join(name.encode() + book.read(name) for name in book.namelist())


@pytest.mark.parametrize("ending", STATISTICS)
def test_labels_go_from_file_to_file_in_the_order_of_their_codes(ending, survey, tmp_path):
    files = release_of(shoal.read_table(survey).frame).write(tmp_path / f"out{ending}")
    read = pyreadstat.read_dta if ending == ".dta" else pyreadstat.read_sav
    found, about = read(files.table, output_format="polars")
    assert list(about.variable_value_labels) == ["ill"]
    assert list(about.variable_value_labels["ill"].values()) == ["angina", "none", "flu"]
    assert set(found["ill"].unique()) == {1, 2, 3}
    assert about.file_label in {None, ""}
    assert about.notes in (None, [])
    assert set(about.column_labels) <= {None, ""}
    assert about.creation_time == datetime(2000, 1, 1)


def test_truth_values_are_labelled_numbers(tmp_path):
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "flag": [True, False, True, None]})
    release = shoal.anonymize(frame, k=2, quasi=["age"], keep=["flag"], method="mondrian")
    for ending in STATISTICS:
        files = release.write(tmp_path / f"flags_{ending[1:]}{ending}")
        read = shoal.read_table(files.table).frame["flag"]
        assert sorted(read.cast(pl.String).drop_nulls()) == ["false", "true", "true"]
        findings = shoal.verify(files.table, files.certificate, original=frame, receipt=files.receipt)
        assert [finding.claim for finding in findings if finding.holds is False] == []


def test_a_sheet_has_no_formula_and_its_dates_are_dates(survey, tmp_path):
    files = release_of(shoal.read_table(survey).frame).write(tmp_path / "out.xlsx")
    with zipfile.ZipFile(files.table) as book:
        sheets = [book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/")]
        texts = book.read("xl/sharedStrings.xml")
        core = book.read("docProps/core.xml")
        assert {part.date_time for part in book.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert not any("calcChain" in name or "external" in name for name in book.namelist())
    assert len(sheets) == 2
    assert not any(re.search(rb"<f[\s/>]", sheet) or b"hyperlink" in sheet for sheet in sheets)
    assert b"=HYPERLINK(0)" in texts
    assert core.count(b"2000-01-01T00:00:00Z") == 2
    assert b"<dc:creator></dc:creator>" in core
    table = shoal.read_table(files.table)
    assert table.said[0] == "sheet 'release', the first of 2"
    assert table.frame["day"].dtype == pl.Date


def test_names_of_columns_are_never_formulas(tmp_path):
    frame = pl.DataFrame({"=1+1": [1, 1, 2, 2], "@b": ["x"] * 4})
    release = shoal.anonymize(frame, k=2, quasi=["=1+1"], keep=["@b"], method="mondrian")
    files = release.write(tmp_path / "out.xlsx")
    assert b"<f>" not in unpacked(files.table)
    assert shoal.read_table(files.table).frame.columns == ["=1+1", "@b"]


def test_the_second_sheet_tells_what_the_certificate_tells(survey, tmp_path):
    release = release_of(shoal.read_table(survey).frame)
    files = release.write(tmp_path / "out.xlsx")
    assert fastexcel.read_excel(files.table).sheet_names == ["release", "lost"]
    sheet = fastexcel.read_excel(files.table).load_sheet("lost", header_row=None, column_names=["a", "b"])
    lost = dict(sheet.to_polars().rows())
    said = shoal.Certificate.of_json(files.certificate.read_text())
    for column in said.columns:
        assert float(lost[column.name]) == pytest.approx(100 * column.loss)
    assert float(lost["all columns"]) == said.loss_percent
    assert (lost["k"], lost["published"]) == ("5", "200")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_reads_otherwise_is_not_published(ending, tmp_path, monkeypatch):
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "c", CANARY]})
    release = shoal.anonymize(frame, k=2, quasi=["age"], sensitive=["ill"], method="k-member")
    from shoal.publish import statistics, workbook

    room = workbook if ending == ".xlsx" else statistics
    prepared = room._prepared
    for change, said in (
        (lambda table: table.with_columns(ill=pl.lit("other")), "column 'ill'"),
        (lambda table: table.head(3), "other columns or rows"),
        (lambda table: table.rename({"ill": CANARY}), "other columns or rows"),
    ):
        monkeypatch.setattr(
            room, "_prepared", lambda table, *more, change=change: prepared(change(table), *more)
        )
        with pytest.raises(shoal.NotAnonymous, match=said) as caught:
            release.write(tmp_path / f"out{ending}")
        said_by(caught.value, CANARY)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ending", "package", "extra"),
    [
        (".dta", "pyreadstat", "statistics"),
        (".sav", "pyreadstat", "statistics"),
        (".xlsx", "xlsxwriter", "excel"),
        (".xlsx", "fastexcel", "excel"),
    ],
)
def test_a_missing_package_is_told_before_any_work(ending, package, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(shoal.MissingExtra, match=rf"pip install 'shoal\[{extra}\]'"):
        shoal.check_target(tmp_path / f"out{ending}")
    assert list(tmp_path.iterdir()) == []


def test_the_writers_errors_stay_inside(tmp_path, monkeypatch):
    def refuse(*_words, **_more):
        raise ValueError(CANARY)

    monkeypatch.setattr(pyreadstat, "write_dta", refuse)
    with pytest.raises(shoal.DataError, match="Write another format") as caught:
        WRITERS[".dta"](pl.DataFrame({"a": [CANARY]}), tmp_path / "t.part", ",")
    said_by(caught.value, CANARY)


def as_libreoffice_has_it(path, folder):
    """The first sheet, opened and saved by LibreOffice: a list of (type, value, formula) for each row."""
    done = subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation=file://{folder}/office",
            "--headless",
            "--convert-to",
            "fods",
            "--outdir",
            folder / "opened",
            path,
        ],
        check=False,
        capture_output=True,
        timeout=240,
    )
    opened = folder / "opened" / f"{path.stem}.fods"
    assert opened.exists(), done.stderr
    office, sheet, text = (
        f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "table", "text")
    )
    rows = []
    for row in ElementTree.parse(opened).getroot().find(f".//{sheet}table").iter(f"{sheet}table-row"):
        cells = []
        for cell in row.iter(f"{sheet}table-cell"):
            kind = cell.get(f"{office}value-type")
            said = "\n".join("".join(line.itertext()) for line in cell.iter(f"{text}p"))
            value = cell.get(f"{office}{'date-value' if kind == 'date' else 'value'}", said)
            again = int(cell.get(f"{sheet}number-columns-repeated", "1"))
            cells += [(kind, value, cell.get(f"{sheet}formula"))] * again
        rows += [cells] * int(row.get(f"{sheet}number-rows-repeated", "1"))
    return rows


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize("cells", ["text", "bounds"])
def test_libreoffice_opens_the_sheet_and_runs_nothing(cells, survey, tmp_path):
    """No formula ran, dates are dates, numbers are numbers, and missing cells are empty."""
    release = release_of(shoal.read_table(survey).frame, cells=cells)
    table = release.table
    header, *rows = as_libreoffice_has_it(release.write(tmp_path / "out.xlsx").table, tmp_path)
    assert [name for _, name, _ in header[: table.width]] == table.columns
    rows = rows[: table.height]
    assert not any(formula for row in rows for _, _, formula in row)
    for at, name in enumerate(table.columns):
        column = [(None, "", None) if at >= len(row) else row[at] for row in rows]
        for (kind, value, _), cell in zip(column, table[name].to_list(), strict=True):
            if cell is None:
                assert kind is None
            elif isinstance(cell, datetime):
                assert (kind, value[:19]) == ("date", cell.isoformat()[:19])
            elif isinstance(cell, date):
                assert (kind, value) == ("date", cell.isoformat())
            elif isinstance(cell, str):
                assert (kind, value.split()) == ("string", cell.split())
            else:
                assert kind == "float"
                assert float(value) == pytest.approx(cell, rel=1e-14)  # it saves 15 digits
    assert any(cell.startswith("=") for cell in table["note"].drop_nulls())

"""Files that are small outside and large inside, and what is no file: a clear error, and soon."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.read import unpack
from shoal.read.table import read_table

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}"><sheets><sheet name="S" sheetId="1" '
    'r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATED}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
SHEET = "xl/worksheets/sheet1.xml"


def cell(text: str, place: str = "") -> str:
    return f'<c{place} t="inlineStr"><is><t>{text}</t></is></c>'


def row(number: int, **cells: str) -> str:
    inside = "".join(cell(text, f' r="{name}{number}"') for name, text in cells.items())
    return f'<row r="{number}">{inside}</row>'


ROWS = row(1, A="age", B="sex") + row(2, A="30", B="m") + row(3, A="31", B="f")


@pytest.fixture
def book(tmp_path):
    """Write a sheet of some rows as the smallest book there is."""
    pytest.importorskip("fastexcel")

    def call(rows: str, **parts: str) -> Path:
        path = tmp_path / "book.xlsx"
        sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in {**PARTS, SHEET: sheet, **parts}.items():
                file.writestr(name, text)
        return path

    return call


def refusal(path: Path) -> str:
    with pytest.raises(shoal.DataError) as caught:
        read_table(path)
    return str(caught.value)


def test_the_smallest_book_is_read(book):
    expected = pl.DataFrame({"age": ["30", "31"], "sex": ["m", "f"]})
    assert read_table(book(ROWS)).frame.equals(expected)
    without = ROWS.replace(' r="A', ' x="A').replace(' r="B', ' x="B')
    assert read_table(book(without)).frame.equals(expected)


@pytest.mark.parametrize(
    "far",
    [
        row(1048576, XFD="x"),
        row(99999999, ZZZZ="x"),
        row(4, XFD="x") + row(1048576, A="x"),
        row(1048576, XFD="x").replace("<c ", '<c s=">" ').replace('"XFD', "'XFD").replace('6" t', "6' t"),
        f'<row r="4">{cell("x") * 20_000}</row><row r="1048576">{cell("x")}</row>',
    ],
    ids=["corner", "beyond", "apart", "odd quotes", "without places"],
)
def test_a_book_with_a_cell_far_away_is_refused_before_its_parser_ends_us(book, far):
    path = book(ROWS + far)
    assert path.stat().st_size < 5000
    assert "50,000,000 cells are the most" in refusal(path)


def test_a_book_that_fills_a_memory_is_refused(book, monkeypatch):
    monkeypatch.setattr(unpack, "FREE", 2**20)
    path = book(ROWS, **{"xl/sharedStrings.xml": " " * 30_000_000})
    assert "unpacks to more than 200 times its size" in refusal(path)


def test_a_book_that_lies_of_its_size_is_refused(book, monkeypatch):
    monkeypatch.setattr(unpack, "FREE", 2**20)
    path = book(ROWS, **{"xl/sharedStrings.xml": " " * 30_000_000})
    size = (30_000_000).to_bytes(4, "little")
    raw = path.read_bytes()
    assert raw.count(size) == 2
    path.write_bytes(raw.replace(size, (100).to_bytes(4, "little")))
    assert "unpacks to more than 200 times its size" in refusal(path)


def packed(path: Path, text: bytes) -> Path:
    path.write_bytes(gzip.compress(text))
    return path


def test_a_packed_text_that_fills_a_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "FREE", 2**20)
    path = packed(tmp_path / "in.csv.gz", b"age,sex\n" + b"30,m\n" * 1_000_000)
    assert path.stat().st_size < 2**20
    assert "in.csv.gz unpacks to more than 200 times its size" in refusal(path)
    monkeypatch.setenv("SHOAL_UNPACK_GB", "1")
    assert read_table(path).frame.height == 1_000_000
    monkeypatch.setenv("SHOAL_UNPACK_GB", "0.001")
    assert "more than the 0.001 GB of SHOAL_UNPACK_GB" in refusal(path)
    monkeypatch.setenv("SHOAL_UNPACK_GB", "much")
    with pytest.raises(shoal.PlanError, match="'much', which is no number"):
        read_table(path)


def test_no_more_is_unpacked_than_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "FREE", 2**20)
    path = packed(tmp_path / "in.csv.gz", b"x" * 50_000_000)
    read = 0
    real = gzip.GzipFile.read

    def counting(self, size=-1):
        nonlocal read
        piece = real(self, size)
        read += len(piece)
        return piece

    monkeypatch.setattr(gzip.GzipFile, "read", counting)
    refusal(path)
    assert read < 15_000_000


def test_hierarchies_and_registers_have_the_same_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "FREE", 2**20)
    path = tmp_path / "zip.csv"
    packed(path, b"a;b;*\n" * 1_000_000)
    with pytest.raises(shoal.PlanError, match="unpacks to more than 200 times"):
        shoal.read_hierarchy(path, column="zip")
    with pytest.raises(shoal.PlanError, match="unpacks to more than 200 times"):
        shoal.read_graph(path)


def test_a_plan_of_many_megabytes_is_none(tmp_path):
    path = tmp_path / "plan.yaml"
    with path.open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(shoal.PlanError, match="larger than 64 MB"):
        shoal.plan_words(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files here")
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    path = tmp_path / "in.csv"
    os.mkfifo(path)
    assert "is a pipe, a device or a socket" in refusal(path)
    assert "is a pipe, a device or a socket" in refusal(Path("/dev/null"))
    with pytest.raises(shoal.PlanError):
        shoal.read_hierarchy(path, column="zip")
    with pytest.raises(shoal.PlanError):
        shoal.plan_words(path)
    assert "is a folder" in refusal(tmp_path)


def test_a_damaged_packed_text_is_said(tmp_path):
    path = packed(tmp_path / "in.csv.gz", b"age,sex\n" + os.urandom(10_000))
    path.write_bytes(path.read_bytes()[:-100])
    assert "cannot be unpacked" in refusal(path)
    buffer = io.BytesIO(path.read_bytes())
    buffer.seek(500)
    buffer.write(b"\xff" * 50)
    path.write_bytes(buffer.getvalue())
    refusal(path)

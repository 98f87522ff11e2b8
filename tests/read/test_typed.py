"""Files whose cells have types: sheets, Arrow and Parquet; and folders of any name."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import shoal
from refused_files import CANARY, refusal
from shoal.read.table import read_table


def sheet(path, rows) -> None:
    """The least workbook there is: text cells in place, numbers as numbers."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    space = "http://schemas.openxmlformats.org/"
    main, links = f"{space}spreadsheetml/2006/main", f"{space}officeDocument/2006/relationships"
    packed = f"{space}package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{packed}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{packed}/relationships"><Relationship Id="rId1" '
        f'Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
        '<sheet name="people" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{packed}/relationships"><Relationship '
        f'Id="rId1" Type="{links}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)


def test_a_sheet_keeps_its_types(tmp_path):
    pytest.importorskip("fastexcel")
    sheet(tmp_path / "t.xlsx", [("zip", "age"), ("01234", 30), ("00501", 4)])
    frame = read_table(tmp_path / "t.xlsx").frame
    assert frame["zip"].to_list() == ["01234", "00501"]
    assert frame["age"].to_list() == [30, 4]
    sheet(tmp_path / "t.xlsx", [("zip", "age")])
    assert "no rows" in refusal(tmp_path / "t.xlsx")
    sheet(tmp_path / "t.xlsx", [("zip", "zip"), (CANARY, "x")])
    assert "one name to several columns: 1 and 2" in refusal(tmp_path / "t.xlsx")
    sheet(tmp_path / "t.xlsx", [("zip", ""), (CANARY, "x")])
    assert "1 of 2 columns without a name" in refusal(tmp_path / "t.xlsx")
    sheet(tmp_path / "t.xlsx", [("zip", ""), ("01234", "")])
    assert read_table(tmp_path / "t.xlsx").frame.columns == ["zip"]
    sheet(tmp_path / "t.xlsx", [(" zip ", 7), (CANARY, "x")])
    assert read_table(tmp_path / "t.xlsx").frame.columns == ["zip", "7"]


def test_what_a_sheet_leaves_behind_is_said(tmp_path):
    pytest.importorskip("fastexcel")
    sheet(
        tmp_path / "t.xlsx", [("zip", "age", ""), ("01234", 3, ""), ("", "", ""), ("", 4, ""), ("", "", "")]
    )
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame.columns == ["zip", "age"]
    assert table.frame.height == 4
    assert table.said[0] == "1 column without name and cells left out"
    assert table.said[1].startswith("2 lines without any cell count as rows")


def test_whole_numbers_of_a_sheet_stay_whole(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [("age", "size", "id", "nothing"), (34, 1.5, 2**60, ""), ("", 2, 7, ""), (36, 3, 8, "")]
    sheet(tmp_path / "t.xlsx", rows)
    frame = read_table(tmp_path / "t.xlsx").frame
    assert frame["age"].to_list() == [34, None, 36]
    assert frame["age"].dtype == pl.Int64
    assert frame["size"].dtype == pl.Float64
    assert frame["id"].dtype == pl.Float64  # a sheet has no such whole number


@pytest.mark.parametrize("ending", ["arrow", "feather"])
def test_an_arrow_file_that_claims_more_than_a_memory_holds_is_refused(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    pl.DataFrame({"name": [CANARY * 50] * 100}).write_ipc(path, compression="zstd")
    content = path.read_bytes()
    start = content.index(b"\x28\xb5\x2f\xfd") - 8  # the length of a packed buffer stands before it
    path.write_bytes(content[:start] + (2**61).to_bytes(8, "little") + content[start + 8 :])
    _is_refused(path)


@pytest.mark.skipif(int(pa.__version__.partition(".")[0]) < 25, reason="older Arrow does not see it either")
def test_a_stream_of_arrow_with_a_wrong_length_is_refused(tmp_path):
    path = tmp_path / "t.arrow"
    names = [CANARY * 10] * 50
    pl.DataFrame({"name": names}).write_ipc_stream(path, compression="uncompressed")
    length = len("".join(names)).to_bytes(8, "little")
    content = path.read_bytes()
    assert content.count(length) == 1
    path.write_bytes(content.replace(length, (2**59).to_bytes(8, "little")))
    _is_refused(path)


def test_a_parquet_file_with_fewer_than_no_values_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"name": [CANARY * 20] * 50})
    frame.write_parquet(path, compression="uncompressed", statistics=False)
    content = path.read_bytes()
    header = b"\x2c\x15\x64"  # of a page: its field 5 begins with the number of values, twice 50
    assert content.count(header) == 1
    path.write_bytes(content.replace(header, b"\x2c\x15\x01"))  # -1
    _is_refused(path)


def _is_refused(path):
    program = "import sys, shoal\ntry: shoal.read_table(sys.argv[1])\nexcept shoal.DataError as e: print(e)"
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, "it ended the process"
    assert "is damaged" in done.stdout
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("folder", ["data[1]", "a*", "year=2020"])
def test_a_folder_whose_name_looks_like_a_pattern(folder: str, ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": ["1", "2"]})
    for at in (folder, "ab"):
        (tmp_path / at).mkdir()
        path = tmp_path / at / f"in.{ending}"
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[ending](path)
    assert shoal.read_table(tmp_path / folder / f"in.{ending}").frame.shape == (2, 1)

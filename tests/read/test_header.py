"""A first line that is a row is no line of names."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.errors import DataError
from shoal.read.header import check_header
from shoal.read.table import read_table

ROWS = """Ada Zyxwvut,34,02139,f,1990-01-05,flu
Bob,36,02138,m,1988-03-01,cold
Cyd,35,02139,f,1989-07-21,flu
Dan,61,90210,m,1963-02-11,gout
"""


def refusal(tmp_path: Path, text: str) -> str:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_table(path)
    said = str(caught.value).replace(str(tmp_path), "")  # its number may be that of a cell
    cells = {cell for line in text.splitlines() for cell in line.split(",")} - {"f", "m", "b", "age"}
    assert not any(cell in said for cell in cells)
    return said


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        ROWS.replace(",", ";"),
        "34\n35\n36\n",
        "34.5,f\n35.5,f\n36,m\n",
        "05.01.1990,zq1\n01.03.1988,zq2\n07.07.1980,zq1\n",
        "zq1,zq2\nzq1,zq3\nzq4,zq2\nzq1,zq2\nzq3,zq3\n",
    ],
)
def test_a_table_without_names_is_refused_without_a_cell(tmp_path, text):
    assert "no line of column names" in refusal(tmp_path, text) or "again among the rows" in refusal(
        tmp_path, text
    )


def test_names_that_stand_again_among_the_rows_are_counted(tmp_path):
    said = refusal(tmp_path, "age,b\n34561,zq1\nage,b\n34562,zq2\nage,b\n")
    assert "again among the rows, 2 times" in said
    assert "again among the rows, once" in refusal(tmp_path, "age,b\n34561,zq1\nage,b\n")


def test_a_single_line_is_spoken_of_as_one(tmp_path):
    assert "its first line looks like the lines below" in refusal(tmp_path, "34\n35\n36\n")


@pytest.mark.parametrize(
    "text",
    [
        "age,sex\n34,f\n35,m\n",
        "region,2019,2020,2021\nnorth,5,2020,7\nsouth,2019,9,2021\n",
        "region,2019,2022,2025\nnorth,5,6,7\nsouth,8,9,10\n",
        "0,1,2\n5,6,7\n0,1,9\n",
        "1\n5\n7\n",
        "id,apples,pears\n1,apples,\n2,,pears\n3,apples,pears\n",
        "answer,A,question\nx,A,C\ny,B,B\nz,C,A\nx,A,B\n",
        "a,b\na,1\nc,2\nd,3\n",
    ],
)
def test_names_are_taken_for_names(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert read_table(path).frame.columns == text.splitlines()[0].split(",")


def test_typed_columns_are_looked_at_too():
    frame = pl.DataFrame(
        {"34": [35, 36], "1990-01-05": pl.Series(["1988-03-01", "1989-07-21"]).str.to_date()}
    )
    with pytest.raises(DataError, match="2 of the 2 cells"):
        check_header(frame, Path("table.xlsx"))


def test_the_example_has_names():
    path = Path(__file__).parent.parent.parent / "examples" / "hospital.csv"
    assert read_table(path).frame.width > 5

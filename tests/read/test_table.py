from __future__ import annotations

import csv
import gzip
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from refused_files import CANARY, refusal
from shoal.errors import DataError, MissingExtra, PlanError
from shoal.read.table import read_table


@pytest.fixture
def write(tmp_path):
    def put(content: bytes | str, name: str = "table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def test_every_column_is_text_so_codes_keep_their_zeros(write):
    table = read_table(write("zip,age,day\n01234,30,2020-01-02\n00501,4.50,2020-02-03\n"))
    assert table.frame.rows() == [("01234", "30", "2020-01-02"), ("00501", "4.50", "2020-02-03")]
    assert table.frame.dtypes == [pl.String] * 3


def test_empty_cells_are_null_quoted_or_not_and_blanks_stay(write):
    frame = read_table(write('a,b\n, x \n"",y\n')).frame
    assert frame.rows() == [(None, " x "), (None, "y")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_guessed_and_said(write, delimiter):
    lines = [["a", "b", "c"], ["1", '"x, y; z"', "2"], ["3", "w", "4"]]
    table = read_table(write("\n".join(delimiter.join(line) for line in lines)))
    assert table.delimiter == delimiter
    assert table.frame.rows() == [("1", "x, y; z", "2"), ("3", "w", "4")]
    assert f"delimiter {'tab' if delimiter == chr(9) else repr(delimiter)}" in table.said


def test_a_given_delimiter_is_used_and_not_said(write):
    table = read_table(write("a;b\n1;2\n"), delimiter=",")
    assert table.frame.columns == ["a;b"]
    assert not any("delimiter" in word for word in table.said)
    assert read_table(write("a\tb\n1\t2\n"), delimiter="tab").frame.width == 2


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "ü"])
def test_a_delimiter_is_one_plain_character(write, delimiter):
    with pytest.raises(PlanError, match="delimiter"):
        read_table(write("a,b\n1,2\n"), delimiter=delimiter)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_encoding_is_guessed_and_said(write, encoding):
    table = read_table(write("größe,ort\n1,Köln\n2,Łódź\n".encode(encoding)))
    assert table.frame.columns == ["größe", "ort"]
    assert table.frame["ort"].to_list() == ["Köln", "Łódź"]
    assert (table.encoding, f"encoding {encoding}" in table.said) == (encoding, True)


def test_western_encodings_are_used_only_where_named(write):
    path = write(f"ort,wer\nKöln,{CANARY}\n".encode("cp1252"))
    assert "not written in UTF-8. Name its encoding, such as cp1252" in refusal(path)
    assert read_table(path, encoding="cp1252").frame["ort"].to_list() == ["Köln"]
    assert read_table(path, encoding="latin-1").frame["ort"].to_list() == ["Köln"]


def test_a_wrong_or_unknown_encoding_is_refused(write):
    path = write(f"a,b\nß,{CANARY}\n")
    assert "utf-16" in refusal(path, encoding="utf-16")
    assert "ascii" in refusal(path, encoding="ascii")
    latin = write("größe;ort\n1;Köln\n22;Ulm\n".encode("latin-1"))
    for wrong in ("utf-16-be", "utf-16-le", "cp037"):
        with pytest.raises(DataError, match=f"in the encoding {wrong}") as caught:
            read_table(latin, encoding=wrong)
        assert caught.value.field == "encoding"
    for unknown in ("klingon", "rot13"):
        with pytest.raises(PlanError, match="no encoding"):
            read_table(path, encoding=unknown)
    assert "zero bytes" in refusal(write("a,b\n1,2\n".encode("utf-16-le")))


def test_packed_and_tabbed_files_are_read(write):
    assert read_table(write(gzip.compress(b"a,b\n1,2\n"), "t.csv.gz")).frame.rows() == [("1", "2")]
    assert read_table(write("a\tb\n1\t2,3\n", "t.tsv")).delimiter == "\t"
    assert read_table(write("a|b\n1|2\n", "T.TXT")).delimiter == "|"
    assert "unpacked" in refusal(write(gzip.compress(b"a,b\n1,2\n" * 99)[:-20], "t.csv.gz"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_is_read(write, end):
    assert read_table(write(end.join(["a,b", "1,2", "3,4", ""]))).frame.rows() == [("1", "2"), ("3", "4")]


def test_blank_lines_are_no_rows(write):
    frame = read_table(write('\n\na,b\n1,"x,y"\n\n3,\n,\n\n\n')).frame
    assert frame.rows() == [("1", "x,y"), ("3", None), (None, None)]
    assert read_table(write("a,b\r\n1,2\r\n\r\n3,4\r\n\r\n")).frame.height == 2


def test_lines_of_delimiters_alone_are_said_since_they_may_be_nobody(write):
    table = read_table(write('a;b;c\n;;\n1;2;\n;;3\n; ;\n"";;""\n4;5;6\n;;\n'))
    assert table.frame.height == 7
    assert "4 lines without any cell count as rows (take them out if they are nobody)" in table.said
    assert any(
        word.startswith("1 line without any cell counts")
        for word in read_table(write("a,b\n1,2\n,\n")).said
    )
    for text in ("a,b\n1,\n,2\n", "a\n1\n\n2\n"):
        assert not any("without any cell" in word for word in read_table(write(text)).said)


def test_a_release_with_rows_of_missing_cells_is_read_whole(tmp_path):
    frame = pl.DataFrame({"a": ["x", None] * 3, "b": ["y", None] * 3, "name": list("uvwxyz")})
    shoal.anonymize(frame, k=3, quasi=["a"], sensitive=["b"], method="k-member").write(tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv").frame.height == 6
    findings = shoal.verify(tmp_path / "out.csv", tmp_path / "out.certificate.json")
    assert not any(finding.holds is False for finding in findings)


def test_a_blank_line_of_a_single_column_is_a_missing_cell(write):
    assert read_table(write("a\n1\n\n2\n")).frame["a"].to_list() == ["1", None, "2"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a,b,c\n1,2,3\n{CANARY},5\n6,7,8\n", "1 line has fewer cells, the first on line 3."),
        (f"a,b,c\n1,2,3\n{CANARY},5,6,7\n1,2,3,4\n", "2 lines have more cells, the first on line 3."),
        (
            f'\n\na,b,c\n"1\n1",2,3\n\n{CANARY},"5\n5",6,7\n1\n',
            "1 line has fewer cells and 1 line has more cells, the first on line 7.",
        ),
        (f'sep=,\na,b\n"x,y",1\n{CANARY}\n', "1 line has fewer cells, the first on line 4."),
    ],
)
def test_ragged_lines_are_counted_and_the_first_is_told(write, text, found):
    assert f" columns, but {found} Mend" in refusal(write(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'a,b\n1,"{CANARY}\n2,y\n', 2),
        (f'a,b,c\n1,"{CANARY},3\n4,5,6\n7,8,9\n', 2),
        (f'a,b\n3,4\n1,"{CANARY}"z\n2,y\n', 3),
        (f'\na,b\n1,"{CANARY}" \n2,y\n', 3),
        (f'a,b,c\n1,"{CANARY} "Red, y" Doe",3\n4,5,6\n', 2),
        pytest.param(
            f'a,b,c\n"1\n2",3,4\n{CANARY}2",3,4\n',
            4,
            marks=pytest.mark.skipif(pl.__version__ < "2", reason="Polars 1 reads this cell as it stands"),
        ),
        (f'a,b,c\n1,2,"{CANARY}\n', 2),
        (f'"{CANARY},b,c\n1,2,3\n4,5,6\n', 1),
    ],
)
def test_broken_quotes_are_told_by_their_line_and_without_the_cell(write, text, line):
    message = refusal(write(text))
    assert f"quotes in the row that begins on line {line} that" in message
    assert "ragged" not in message


def test_quotes_that_would_be_dropped_from_a_quoted_cell_are_refused(write):
    for cell in ('"Jo "Red" Doe"', '"x"y"z"', '"x" "y"'):
        assert "quotes in the row that begins on line 3" in refusal(write(f"a,b\n1,2\n3,{cell}\n"))
    frame = read_table(write('a,b\n1,Jo "Red" Doe\n2,"Jo ""Red"" Doe"\n3,"""x"" y"\n')).frame
    assert frame["b"].to_list() == ['Jo "Red" Doe', 'Jo "Red" Doe', '"x" y']


def test_a_wrong_delimiter_is_thought_of(write):
    assert "delimiter (it was read with ','" in refusal(write(f"a,b\n1,2\n{CANARY};3\n"))


def test_a_blank_before_a_quote_is_pointed_out_where_it_cuts_a_cell(write):
    message = refusal(write(f'a,b,c\n1,2,3\n4, "{CANARY}, y",6\n'))
    assert "1 line has more cells, the first on line 3" in message
    assert "Line 3 has a quote inside a cell" in message


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "\nsep=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_by_which_excel_is_told_the_delimiter_is_no_row(write, first, end):
    text = end.join([first, "a;b,c", "1;2,3,4", "3;4", ""])
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        table = read_table(write(text.encode(encoding)), decimal=".")
        assert table.frame.columns == ["a", "b,c"]
        assert table.frame.rows() == [("1", "2,3,4"), ("3", "4")]
        assert "delimiter ';', as its first line says" in table.said
    assert read_table(write(text), delimiter="|").frame.columns == ["a;b,c"]


def test_a_separator_line_names_any_sign_but_is_no_table(write):
    assert read_table(write("sep=^\na^b\n1^2\n")).frame.rows() == [("1", "2")]
    assert read_table(write("sep=\t\na\tb\n1\t2\n")).delimiter == "\t"
    assert "is empty" in refusal(write("sep=;\n\n"))
    assert read_table(write("sep=,b\n1,2\n")).frame.columns == ["sep=", "b"]


def test_a_line_break_in_a_quoted_cell_is_part_of_it(write):
    assert read_table(write('a,b\n"1\n2",3\n')).frame.rows() == [("1\n2", "3")]


def test_what_is_not_a_table_is_refused(write, tmp_path):
    assert "is a folder" in refusal(tmp_path)
    assert "no file" in refusal(tmp_path / "absent.csv")
    assert "is empty" in refusal(write(""))
    assert "is empty" in refusal(write("\n \n"))
    assert "no rows" in refusal(write("a,b\n"))
    assert "one name to several columns: 1 and 3, counted" in refusal(write(f"a,b,a\n1,2,{CANARY}\n"))
    assert "one name to several columns: 1 and 2, counted" in refusal(write("a, a\n1,2\n"))
    assert "1 of 3 columns without a name: 2, counted" in refusal(write("a,,b\n1,2,3\n"))
    assert "of no kind" in refusal(write("a,b\n1,2\n", "table.doc"))
    for name in ("t.parquet", "t.arrow", "t.feather"):
        assert "cannot be read" in refusal(write(f"{CANARY},2\n" * 9, name))


@pytest.mark.parametrize("text", ["a;b;;\n1;2;;\n3;4; ;\n", ";a;;b\n;1;;2\n;3;;4\n"])
def test_columns_with_neither_name_nor_cell_are_left_out_and_said(write, text):
    table = read_table(write(text))
    assert table.frame.rows() == [("1", "2"), ("3", "4")]
    assert table.frame.columns == ["a", "b"]
    assert "2 columns without name and cells left out" in table.said
    assert "blanks around column names removed" not in table.said
    message = refusal(write(text.replace("3;4; ;", f"3;4; ;{CANARY}").replace(";3;;4", f"{CANARY};3;;4")))
    assert f"1 of 4 columns without a name: {1 if text.startswith(';') else 4}, counted" in message


def test_a_title_above_the_names_is_thought_of(write):
    message = refusal(write(f"Report;;\n;;\na;b;c\n{CANARY};2;3\n"))
    assert "2 of 3 columns without a name: 2, 3, counted" in message
    assert "if a title stands above" in message
    assert "row numbers" in refusal(write(f";a;b\n1;{CANARY};3\n"))


def test_doubled_names_are_told_by_number_since_they_may_be_cells(write):
    message = refusal(write(f"{CANARY},1,{CANARY},0,1,0,0\nx,0,y,1,1,0,0\n"))
    assert "several columns: 1 and 3; 2 and 5; 4 and 6 and 7, counted from the left" in message
    flags = refusal(write(",".join([CANARY] * 500) + "\n" + ",".join("x" * 500) + "\n"))
    assert "several columns: 1 and 2 and 3 and 4 and more, counted from" in flags


def test_a_file_one_may_not_open_is_refused(write, monkeypatch):
    path = write("a,b\n1,2\n")

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", closed)
    assert "Permission denied" in refusal(path)


def test_blanks_around_column_names_are_removed_and_said(write):
    table = read_table(write("a, b ,c\n1,2,3\n"))
    assert table.frame.columns == ["a", "b", "c"]
    assert "blanks around column names removed" in table.said


def test_decimal_commas_become_points_in_number_columns_alone(write):
    table = read_table(write("size;name;note;n\n3,5;a;1,2 or 3;7\n-1.234,25;b;x;8\n;c;;9\n?;d;;10\n"))
    assert table.frame["size"].to_list() == ["3.5", "-1234.25", None, "?"]
    assert table.frame["note"].to_list() == ["1,2 or 3", "x", None, None]
    assert table.decimal == ","
    assert "decimal ',' in columns size" in table.said


def test_commas_that_may_be_thousands_stay_unless_the_decimal_sign_is_named(write):
    path = write("a;b\n1,500;x\n2;y\n")
    guessed = read_table(path)
    assert guessed.frame["a"].to_list() == ["1,500", "2"]
    assert any("thousands" in word for word in guessed.said)
    assert read_table(path, decimal=",").frame["a"].to_list() == ["1.500", "2"]
    assert read_table(write("a;b\n1,5;x\n"), decimal=".").frame["a"].to_list() == ["1,5"]
    with pytest.raises(PlanError, match="decimal sign"):
        read_table(path, decimal="x")


def test_a_slip_among_decimal_commas_is_told_and_spoils_no_other_cell(write):
    cells = [f"{number},5" for number in range(20)]
    path = write("size;b\n" + "".join(f"{cell};x\n" for cell in [*cells, "ca. 7,5"]))
    guessed = read_table(path)
    assert guessed.frame["size"].to_list() == [*cells, "ca. 7,5"]
    assert any("columns size: some cells are no numbers" in word for word in guessed.said)
    named = read_table(path, decimal=",").frame["size"].to_list()
    assert named == [*(cell.replace(",", ".") for cell in cells), "ca. 7,5"]


def test_columns_that_disagree_about_the_decimal_sign_stay_as_they_are(write):
    table = read_table(write("a;b\n1,5;2.5\n2,5;3.5\n"))
    assert table.frame.rows() == [("1,5", "2.5"), ("2,5", "3.5")]
    assert any("decimal points" in word for word in table.said)


def test_typed_files_keep_their_types(tmp_path):
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    for name, put in (("t.parquet", frame.write_parquet), ("t.feather", frame.write_ipc)):
        put(tmp_path / name)
        table = read_table(tmp_path / name)
        assert table.frame.equals(frame)
        assert (table.said, table.delimiter) == ((), None)
    frame.write_ipc_stream(tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.arrow").frame.equals(frame)
    frame.clear().write_parquet(tmp_path / "t.parquet")
    assert "no rows" in refusal(tmp_path / "t.parquet")
    frame.rename({"b": ""}).write_parquet(tmp_path / "t.parquet")
    assert "without a name" in refusal(tmp_path / "t.parquet")


def test_excel_without_its_package_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(MissingExtra, match=r"shoal\[excel\]"):
        read_table(write("x", "t.xlsx"))


def test_a_damaged_sheet_is_refused(write):
    pytest.importorskip("fastexcel")
    assert "cannot be read" in refusal(write(CANARY * 9, "t.xlsx"))


@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.text('ab0 ,;"\n\t|ü', max_size=6), min_size=width, max_size=width),
            min_size=1,
            max_size=8,
        )
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_another_program_wrote_comes_back_whole(rows, delimiter, quoting, end):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)
            writer.writerow([f"c{at}" for at in range(len(rows[0]))])
            writer.writerows(rows)
        table = read_table(path, delimiter=delimiter, decimal=".")
    assert [[cell or "" for cell in row] for row in table.frame.rows()] == rows


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_lines_of_another_length_never_pass(widths, quoted, end):
    cell = '"x,y"' if quoted else "x"
    lines = [",".join([cell] * width) for width in widths]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text(end.join(["a,b,c", *lines, ""]), encoding="utf-8", newline="")
        if {*widths} <= {0, 3} and 3 in widths:
            assert read_table(path, delimiter=",").frame.height == widths.count(3)
            return
        with pytest.raises(DataError) as caught:
            read_table(path, delimiter=",")
    short, long = sum(0 < width < 3 for width in widths), sum(width > 3 for width in widths)
    for count, than in ((short, "fewer"), (long, "more")):
        said = f"1 line has {than}" if count == 1 else f"{count} lines have {than}"
        assert (said in str(caught.value)) == (count > 0)


def test_a_line_of_totals_is_pointed_out_and_a_name_that_repeats_is_none(write):
    people = "".join(f"zq{at},{20 + at},{at}\n" for at in range(8))
    said = read_table(write(f"name,age,cost\n{people}Summe,,36\n")).said
    assert "1 of the last lines looks like totals and counts as a row (take it out if it is nobody)" in said
    assert not any("zq" in word for word in said)
    for text in (people, f"{people}Sum,3,1\nSum,4,2\n", f"Total,1,1\n{people}"):
        assert not any("totals" in word for word in read_table(write(f"name,age,cost\n{text}")).said)

from __future__ import annotations

import csv
import os

import polars as pl
import pytest

import shoal
from shoal.errors import PlanError
from shoal.model.hierarchy import Hierarchy
from shoal.read.hierarchy import parse_builder, read_hierarchies, read_hierarchy
from silent import said_by

LAND = Hierarchy.of_paths(
    [("China", "Asia", "*"), ("Japan", "Asia", "*"), ("France", "Europe", "*"), ("Malta", "*")]
).fingerprint


@pytest.fixture
def write(tmp_path):
    def put(text: str, name: str = "land.csv", encoding: str = "utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return put


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("China;Asia;*\nJapan;Asia;*\nFrance;Europe;*\nMalta;*;\n", "a.csv"),
        ("China;Asia;*\r\nJapan;Asia;*\r\n\r\nFrance;Europe;*\r\nMalta;*;*\r\n", "a.csv"),
        ("China;Asia\nJapan;Asia\nFrance;Europe\nMalta\n", "a.csv"),
        ("level0,level1,level2\nChina,Asia,*\nJapan,Asia,*\nFrance,Europe,*\nMalta,*,\n", "a.csv"),
        ('Level 0,Level 1\n"China",Asia\nJapan,"Asia"\nFrance,Europe\nMalta,\n', "a.csv"),
        ("China\tAsia\nJapan\tAsia\nFrance\tEurope\nMalta\n", "a.tsv"),
        ("Asia: [China, Japan]\nEurope: [France]\nMalta:\n", "a.yaml"),
        ("Asia:\n  - China\n  - Japan\nEurope: {France: }\nMalta: ~\n", "a.yml"),
        ("- Asia: [China, Japan]\n- Europe: France\n- Malta\n", "a.yaml"),
        ('"*":\n  Asia: [China, Japan]\n  Europe: [France]\n  Malta:\n', "a.yaml"),
    ],
)
def test_every_form_spells_the_same_tree(write, text, name):
    assert read_hierarchy(write(text, name), column="land").fingerprint == LAND


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_of_the_encoding_is_no_part_of_the_first_value(write, encoding):
    text = "Ångström;Nord;*\nB;Nord;*\n"
    assert read_hierarchy(write(text, encoding=encoding)).leaves == ("Ångström", "B")


def test_the_line_by_which_excel_is_told_the_delimiter_is_no_value(write):
    tree = read_hierarchy(write("sep=;\n1,2;low;*\n9;high;*\n", "size.csv"))
    assert set(tree.leaves) == {"1,2", "9"}
    bare = read_hierarchy(write("sep=,\n1;low,*\n9,*\n", "size.csv"))
    assert set(bare.leaves) == {"1;low", "9"}


def test_commas_inside_arx_ranges_do_not_part_cells(write):
    tree = read_hierarchy(write("1;[0, 5[;[0, 10[;*\n7;[5, 10[;[0, 10[;*\n12;[10, 15[;[10, 20[;*\n"))
    assert tree.leaves == ("1", "7", "12")
    assert tree.nodes()["[0, 10["][:2] == (0, 1)


def test_values_in_yaml_stay_as_they_are_written(write):
    tree = read_hierarchy(
        write("codes: [007, 1e3, no, null_, 2020-01-01, '1_0', 0x1F]\nmore: [true]\n", "c.yaml")
    )
    assert tree.leaves == ("007", "1e3", "no", "null_", "2020-01-01", "1_0", "0x1F", "true")


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "a.csv", "is empty"),
        ("level0,level1\n", "a.csv", "is empty"),
        ('China;"Asia\n', "a.csv", "not closed"),
        ("a;A\na;B\n", "a.csv", "two paths"),
        ("a;X;A\nb;X;B\n", "a.csv", "under both"),
        ("", "a.yaml", "is empty"),
        ("a: [b\n", "a.yaml", "not YAML: there is a mistake in line"),
        ("A: [a]\nA: [b]\n", "a.yaml", "stands twice"),
        ("A: &x [a]\nB: *x\n", "a.yaml", "references"),
        ("A: ['']\n", "a.yaml", "empty name"),
        ("A: [a, b]\nB: [a]\n", "a.yaml", "two paths"),
        ("? [a, b]\n: c\n", "a.yaml", "plain name"),
        ("[" * 150 + "]" * 150, "a.yaml", "deep"),
        ("!!python/object/apply:os.getcwd []", "a.yaml", "is empty"),
        ("a;b", "a.xlsx", "of no kind"),
    ],
)
def test_files_that_spell_no_tree_are_refused(write, text, name, words):
    with pytest.raises(PlanError, match=words):
        read_hierarchy(write(text, name), column="land")


@pytest.mark.parametrize(
    "text",
    [
        "zqcanary1,zqcanary2\nzqcanary1,zqcanary3\n",
        "a,zqcanary1,zqcanary2\nb,zqcanary1,zqcanary3\n",
        "zqcanary1,x\nb,zqcanary1,x\n",
    ],
)
def test_a_table_given_as_a_hierarchy_is_refused_without_its_cells(write, text):
    with pytest.raises(PlanError, match=r"(number|paths|path) [12] ") as caught:
        read_hierarchy(write(text, "table.csv"), column="land")
    said_by(caught.value, "zqcanary")


def test_absent_and_unreadable_files_are_refused(write, tmp_path):
    with pytest.raises(PlanError, match="no file"):
        read_hierarchy(tmp_path / "absent.csv", column="land")
    with pytest.raises(PlanError, match="no file"):
        read_hierarchy(tmp_path, column="land")
    for name in ("a.csv", "a.yaml"):
        with pytest.raises(PlanError, match="UTF-8"):
            read_hierarchy(write("Köln;West;*\n", name, encoding="latin-1"))


def test_an_unclosed_quote_shows_nothing_of_the_file(write):
    with pytest.raises(PlanError) as caught:
        read_hierarchy(write('a: "Zyxwvut73\n', "a.yaml"))
    assert "Zyxwvut73" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_folder_holds_a_file_per_column(write, tmp_path):
    write("China;Asia\n", "land.csv")
    write("m: [male]\n", "sex.yaml")
    write("1;low\n", "adult_hierarchy_age.csv")
    write("nothing", "README.md")
    write("a;b", ".hidden.csv")
    (tmp_path / "folder.csv").mkdir()
    assert set(read_hierarchies(tmp_path)) == {"land", "sex", "age"}
    assert set(read_hierarchies(tmp_path, only=["age", "other"])) == {"age"}
    write("a;A\na;B\n", "broken.csv")
    assert set(read_hierarchies(tmp_path, only=["land"])) == {"land"}
    with pytest.raises(PlanError, match="'broken'"):
        read_hierarchies(tmp_path)


def test_two_files_for_one_column_are_refused(write, tmp_path):
    write("1;low\n", "age.csv")
    write("1;low\n", "x_hierarchy_age.csv")
    with pytest.raises(PlanError, match="two hierarchies"):
        read_hierarchies(tmp_path)
    with pytest.raises(PlanError, match="no folder"):
        read_hierarchies(tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("prefixes(5,3,0)", "prefixes(5, 3, 0)"),
        (" prefixes ( 5 , 3 ) ", "prefixes(5, 3)"),
        ("bins(5, 10, 50)", "bins(5, 10, 50)"),
        ("bins(0.25, 1e0)", "bins(0.25, 1)"),
        ("calendar(month, 'year')", "calendar(month, year)"),
        ("flat()", "flat()"),
        ("flat", "flat()"),
    ],
)
def test_builders_are_read_and_printed_alike(text, printed):
    assert parse_builder(text).text == printed
    assert parse_builder(printed).text == printed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("suffixes(3)", "bins, bottom, calendar, countries, flat"),
        ("__import__('os').system('true')", "bins, bottom, calendar, countries, flat"),
        ("", "bins, bottom, calendar, countries, flat"),
        ("prefixes", "falling lengths"),
        ("prefixes(a)", "takes numbers"),
        ("prefixes(5.5)", "takes numbers"),
        ("prefixes(len('x'))", "takes numbers"),
        ("bins(x)", "takes numbers"),
        ("bins(nan)", "above 0"),
        ("calendar(week)", "month"),
        ("flat(3)", "nothing in its brackets"),
    ],
)
def test_what_is_no_builder_is_answered_with_what_is(text, words):
    with pytest.raises(PlanError, match=words):
        parse_builder(text)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["hierarchies_arx", "hierarchies_qiyuangong"])
def test_every_adult_hierarchy_is_its_file(shared, source):
    trees = read_hierarchies(shared / "adult" / source)
    assert len(trees) == {"hierarchies_arx": 9, "hierarchies_qiyuangong": 7}[source]
    for column, tree in trees.items():
        with (shared / "adult" / source / f"{column}.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))[1:]
        assert set(tree.leaves) == {line[0] for line in lines}
        runs = {
            frozenset(tree.leaves[low : high + 1]): name for name, (low, high, _) in tree.nodes().items()
        }
        for level in range(1, len(lines[0])):
            for name in {line[level] for line in lines} - {"", "*"}:
                below = {line[0] for line in lines if line[level] == name}
                # a chain of only children goes by its lowest name
                chain = {
                    line[at]
                    for line in lines
                    for at in range(level + 1)
                    if {other[0] for other in lines if other[at] == line[at]} == below
                }
                assert runs[frozenset(below)] in chain


@pytest.mark.parametrize(
    "text",
    [
        "job,sector\nnurse,care\ncook,food\n",
        "JOB;sector;all\nnurse;care;*\ncook;food;*\n",
        "value;sector;top\nnurse;care;*\ncook;food;*\n",
        "level0,level1,records\nnurse,care,12\ncook,food,3\n",
    ],
)
def test_a_header_is_noticed_and_is_no_value(text, tmp_path):
    (tmp_path / "job.csv").write_text(text)
    tree = shoal.read_hierarchy(tmp_path / "job.csv", column="job")
    assert set(tree.leaves) == {"nurse", "cook"}
    assert set(tree.nodes()) <= {"nurse", "cook", "care", "food", "*"}


def test_a_first_line_that_fits_the_others_is_a_value(tmp_path):
    (tmp_path / "job.csv").write_text("job,care\nnurse,care\ncook,food\n")
    assert "job" in shoal.read_hierarchy(tmp_path / "job.csv", column="job").leaves
    (tmp_path / "job.csv").write_text("nurse;care\ncook;food\n")
    assert set(shoal.read_hierarchy(tmp_path / "job.csv", column="job").leaves) == {"nurse", "cook"}


@pytest.mark.parametrize(
    "given",
    [
        {"nurse": "care", "carer": "care", "cook": "food"},
        {"care": ["nurse", "carer"], "food": ["cook"]},
        {"*": {"care": {"nurse": None, "carer": None}, "food": ("cook",)}},
        pl.DataFrame({"a": ["nurse", "carer", "cook"], "b": ["care", "care", "food"]}),
        "job.csv",
    ],
    ids=["parents", "lists", "nested", "frame", "path"],
)
def test_a_hierarchy_is_made_of_whatever_says_one(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.csv").write_text("nurse,care\ncarer,care\ncook,food\n")
    frame = pl.DataFrame({"job": ["nurse", "carer", "cook", "cook"]})
    release = shoal.anonymize(frame, k=2, quasi=["job"], hierarchies={"job": given})
    assert release.table["job"].to_list() == ["care", "care", "cook", "cook"]


def test_what_says_no_hierarchy_is_refused():
    frame = pl.DataFrame({"job": ["a", "b"], "zip": ["02139", "02138"]})
    with pytest.raises(shoal.PlanError, match="'job' is none"):
        shoal.anonymize(frame, k=2, quasi=["job"], hierarchies={"job": 7})
    release = shoal.anonymize(frame, k=2, quasi=["zip"], hierarchies={"zip": "prefixes(5, 3)"})
    assert release.table["zip"].to_list() == ["021**", "021**"]


def test_the_values_of_a_column_become_a_private_file_that_can_be_filled_in(tmp_path):
    frame = pl.DataFrame({"job": ["zqnurse"] * 3 + ["zqcook", "zqcook", "?", None]})
    made = shoal.write_skeleton(frame, "job", tmp_path / "job.csv", missing=["?"])
    assert (made.values, made.records) == (2, 5)
    assert "zq" not in repr(made)
    text = made.path.read_text()
    assert text == "level0,level1,level2,records\nzqnurse,,,3\nzqcook,,,2\n"
    assert made.path.stat().st_mode & 0o077 == 0 or os.name == "nt"
    made.path.write_text(text.replace("nurse,,", "nurse,care,").replace("cook,,", "cook,food,"))
    tree = shoal.read_hierarchy(made.path)
    assert set(tree.nodes()) == {"zqnurse", "zqcook", "*"}  # chains of one child have one name
    more = pl.concat([frame, pl.DataFrame({"job": ["zqclerk"]})])
    lacking = shoal.write_skeleton(
        more, "job", tmp_path / "lacking.csv", missing_from=made.path, missing=["?"]
    )
    assert lacking.path.read_text().splitlines()[1:] == ["zqclerk,,,1"]
    with pytest.raises(shoal.ShoalError, match="'jop'"):
        shoal.write_skeleton(frame, "jop", tmp_path / "no.csv")
    assert not (tmp_path / "no.csv").exists()

"""Builders for codes of illnesses and countries, for ages, and for bands with edges of one's own."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest

import shoal


def lines_of(name: str) -> list[tuple[str, list[str]]]:
    text = files("shoal.model").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    lines = [line.split(": ") for line in text.splitlines() if not line.startswith("#")]
    return [(before, behind.split("; " if name == "lands" else " ")) for before, behind in lines]


@pytest.mark.parametrize(
    ("value", "chapter"),
    [
        ("1", "001-139"),
        ("38", "001-139"),
        ("139.8", "001-139"),
        ("140", "140-239"),
        ("250.83", "240-279"),
        ("799.9", "780-799"),
        ("999", "800-999"),
        ("V45", "V01-V91"),
        ("E885", "E000-E999"),
    ],
)
def test_every_icd9_code_has_its_chapter(value, chapter):
    assert shoal.icd9().path(value)[-1].startswith(chapter)


@pytest.mark.parametrize(
    ("value", "chapter"),
    [
        ("A00.0", "A00-B99"),
        ("B99", "A00-B99"),
        ("D49", "C00-D49"),
        ("D50.1", "D50-D90"),
        ("H59", "H00-H59"),
        ("H60", "H60-H95"),
        ("T98", "S00-T98"),
        ("U07.1", "U00-U99"),
        ("Y98", "V00-Y99"),
        ("Z51", "Z00-Z99"),
        ("e119", "E00-E90"),
    ],
)
def test_every_icd10_code_has_its_chapter(value, chapter):
    assert shoal.icd10().path(value)[-1].startswith(chapter)


@pytest.mark.parametrize("value", ["", "zq", "0", "2500", "V1", "250.123"])
def test_what_is_no_icd9_code_has_no_place_and_is_not_shown(value):
    with pytest.raises(shoal.DataError, match="1 distinct values that icd9") as caught:
        shoal.icd9().build([value], column="diag")
    assert "zq" not in str(caught.value)


def test_codes_become_a_tree_of_categories_blocks_and_chapters():
    tree = shoal.parse_builder("icd9()").build(["250", "250.1", "250.2", "255", "401"], column="diag")
    nodes = tree.nodes()
    assert nodes["250.-"][:2] == (0, 2), "a category that is a value itself is one beside its parts"
    assert nodes["249-259"][:2] == (0, 3)
    assert tree.height == 4
    assert shoal.icd9().path("250")[2] == "240-279 endocrine, nutrition, metabolism, immunity"
    few = shoal.parse_builder("icd9(chapter)").build(["250", "250.1", "401"], column="diag")
    assert few.height == 2
    for wrong in ("icd9(chapter, block)", "icd10(3)", "icd10(block, block)"):
        with pytest.raises(shoal.PlanError, match="category, block and chapter"):
            shoal.parse_builder(wrong)


@pytest.mark.parametrize(
    ("builder", "value", "block"),
    [
        ("icd9", "8.45", "001-009"),
        ("icd9", "042", "042-042"),
        ("icd9", "250.83", "249-259"),
        ("icd9", "428", "420-429"),
        ("icd9", "996", "996-999"),
        ("icd9", "V58", "V50-V59"),
        ("icd9", "E932", "E930-E949"),
        ("icd10", "A09.0", "A00-A09"),
        ("icd10", "D48.9", "D37-D48"),
        ("icd10", "E11.9", "E08-E14"),
        ("icd10", "I21.4", "I20-I25"),
        ("icd10", "J44.1", "J40-J4A"),
        ("icd10", "M1A.0", "M05-M14"),
        ("icd10", "D3A.0", "D10-D36"),
        ("icd10", "O9A.1", "O94-O9A"),
        ("icd10", "U07.1", "U00-U49"),
        ("icd10", "Y09", "X85-Y09"),
        ("icd10", "Z38.0", "Z30-Z3A"),
    ],
)
def test_codes_have_their_block(builder, value, block):
    assert getattr(shoal, builder)().path(value)[1] == block


@pytest.mark.parametrize("name", ["icd9", "icd10"])
def test_blocks_rise_without_overlap_and_fill_their_chapter_from_end_to_end(name):
    chapters = lines_of(name)
    ends = [tuple(block.split("-")) for _, blocks in chapters for block in blocks]
    assert all(low <= high for low, high in ends)
    assert all(before[1] < after[0] for before, after in pairwise(ends))
    for chapter, blocks in chapters:
        low, high = chapter.split()[0].split("-")
        assert blocks[0].startswith(f"{low}-")
        assert blocks[-1].endswith(f"-{high}")


def test_countries_are_known_by_code_and_by_name():
    listed = lines_of("lands")
    lands = [land for _, those in listed for land in those]
    two, three = zip(*(land.split(" ")[:2] for land in lands), strict=True)
    assert len(set(two)) == len(set(three)) == len(lands) == 250  # 249 of ISO 3166-1, and Kosovo
    assert all(len(code) == 2 and code.isupper() for code in two)
    assert all(len(code) == 3 and code.isupper() for code in three)
    assert len(listed) == 23  # the 22 regions of M49, and Antarctica
    path = shoal.countries().path
    for names in (("CI", "CIV", "Côte d'Ivoire", "ivory coast", "COTE D`IVOIRE"), ("US", "usa", "U.S.A.")):
        assert len({tuple(path(name)) for name in names}) == 1
    assert path("The Gambia") == ["Western Africa", "Africa"]
    assert path("AQ") == ["Antarctica", "Antarctica"]
    tree = shoal.parse_builder("countries()").build(["DE", "AT", "FR", "US", "AQ"], column="land")
    assert tree.nodes()["Western Europe"][2] == 1
    with pytest.raises(shoal.DataError, match="1 distinct values that countries") as caught:
        shoal.countries().build(["DE", "zqland"], column="land")
    assert "zq" not in str(caught.value)


def test_ages_are_full_years_on_a_day():
    path = shoal.ages("2025-06-30", 5, 10).path
    assert [path(born)[0] for born in ("1980-06-30", "1980-07-01", "01.07.1980", "2025-06-30")] == [
        *("45 years", "44 years", "44 years", "0 years")
    ]
    assert path("2004-02-29") == ["21 years", "20-24 years", "20-29 years"]
    tree = shoal.parse_builder("ages(2025-06-30, 5, 10)").build(
        ["1980-06-30", "1980-07-01", "1999-01-01"], column="born"
    )
    assert tree.leaves == ("1980-06-30", "1980-07-01", "1999-01-01")
    assert tree.nodes()["40-49 years"][:2] == (0, 1)
    assert shoal.parse_builder("ages(30.6.2025)").text == "ages(2025-06-30)"
    with pytest.raises(shoal.DataError, match="1 distinct values that ages"):
        shoal.ages("2025-06-30").build(["2025-07-01"], column="born")
    for wrong in (
        "ages()",
        "ages(5)",
        "ages(2025-06-30, 10, 5)",
        "ages(2025-06-30, 1)",
        "ages(2025-06-30, x)",
    ):
        with pytest.raises(shoal.PlanError):
            shoal.parse_builder(wrong)


def test_days_with_dots_have_a_calendar_and_slashes_that_mean_two_days_do_not():
    assert shoal.calendar("month", "year").path("31.12.1999") == ["1999-12", "1999"]
    assert shoal.calendar("year").path("1999/12/31") == ["1999"]
    with pytest.raises(shoal.DataError, match="cannot place"):
        shoal.calendar("year").build(["01/02/1999"], column="day")


def test_nuts_and_zip_codes_are_prefixes():
    tree = shoal.prefixes(5, 4, 3, 2).build(["DE212", "DE21H", "DE254", "DE111", "AT130"], column="nuts")
    nodes = tree.nodes()
    assert [nodes[name][:2] for name in ("DE21*", "DE2**", "DE***")] == [(2, 3), (2, 4), (1, 4)]


def test_bands_have_the_edges_that_were_given():
    tree = shoal.parse_builder("bands(18, 65)").build(["3", "17", "18", "64.5", "65", "90"], column="age")
    assert tree.leaves == ("3", "17", "18", "64.5", "65", "90")
    assert {name for name, (a, b, _) in tree.nodes().items() if a < b} == {"< 18", "[18, 65)", ">= 65", "*"}
    for wrong in ((), (3, 3), (5, 2), (float("nan"),)):
        with pytest.raises(shoal.PlanError, match="rising edges"):
            shoal.bands(*wrong)
    with pytest.raises(shoal.PlanError, match="takes nothing"):
        shoal.parse_builder("countries(3)")

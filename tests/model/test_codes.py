"""Builders for ICD codes, and for bands with edges of one's own."""

from __future__ import annotations

import pytest

import shoal


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
        ("D50.1", "D50-D89"),
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


def test_codes_become_a_tree_of_categories_and_chapters():
    tree = shoal.parse_builder("icd9()").build(["250.1", "250.2", "255", "401"], column="diag")
    nodes = tree.nodes()
    assert nodes["250"][:2] == (0, 1)
    assert nodes["240-279 endocrine, nutrition, metabolism, immunity"][:2] == (0, 2)


def test_bands_have_the_edges_that_were_given():
    tree = shoal.parse_builder("bands(18, 65)").build(["3", "17", "18", "64.5", "65", "90"], column="age")
    assert tree.leaves == ("3", "17", "18", "64.5", "65", "90")
    assert {name for name, (a, b, _) in tree.nodes().items() if a < b} == {"< 18", "[18, 65)", ">= 65", "*"}
    for wrong in ((), (3, 3), (5, 2), (float("nan"),)):
        with pytest.raises(shoal.PlanError, match="rising edges"):
            shoal.bands(*wrong)
    with pytest.raises(shoal.PlanError, match="takes nothing"):
        shoal.parse_builder("icd10(3)")

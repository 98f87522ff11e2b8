"""Bands written as text are read, and `bins` builds a tree over them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.errors import DataError
from shoal.model.bands import Band, usual_width
from shoal.model.hierarchy import bins


@pytest.mark.parametrize(
    ("text", "low", "high", "width"),
    [
        ("[50-60)", 50, 60, 10),
        ("50-59", 50, 59, 10),
        ("50 to 59", 50, 59, 10),
        ("50\u201359", 50, 59, 10),
        ("[0.5, 1.5)", Fraction(1, 2), Fraction(3, 2), 1),
        ("-10-0", -10, 0, 11),
        ("80+", 80, None, None),
        (">200", 200, None, None),
        ("<18", None, 18, None),
    ],
)
def test_a_band_is_read(text, low, high, width):
    band = Band.parse(text)
    assert (band.low, band.high, band.width) == (low, high, width)


@pytest.mark.parametrize("text", ["", "50", "fifty", "60-50", "1-2-3", "2020-01-31", "[50]"])
def test_what_is_no_band_is_none(text):
    assert Band.parse(text) is None


def test_bins_hold_whole_bands_and_open_ones_stand_below_the_root():
    ages = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
    tree = bins(20, 40).build([*ages, ">100"], column="age")
    nodes = tree.nodes()
    assert tree.leaves[:2] == (">100", "[0-10)") or tree.leaves[0] == "[0-10)"
    assert nodes["[40, 60)"][1] - nodes["[40, 60)"][0] == 1
    assert nodes["[40, 80)"][1] - nodes["[40, 80)"][0] == 3
    assert nodes[">100"][2] == 0


def test_bins_narrower_than_a_band_are_left_out_and_crossed_edges_are_refused():
    assert "[0, 5)" not in bins(5, 20).build(["0-9", "10-19"], column="age").nodes()
    with pytest.raises(DataError, match="1 distinct values that bins"):
        bins(10, 20).build(["0-9", "5-14"], column="age")


def test_numbers_and_bands_stand_in_one_tree_in_their_order():
    tree = bins(10).build(["9", "10-19", "2", "21"], column="age")
    assert tree.leaves == ("2", "9", "10-19", "21")


def test_the_usual_width_is_the_commonest():
    assert usual_width(["0-9", "10-19", "20-39", "40+"]) == 10
    assert usual_width(["0-9", "ten"]) is None
    assert usual_width(["40+", "<40"]) is None

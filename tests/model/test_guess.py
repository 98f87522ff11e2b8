from __future__ import annotations

from datetime import date, datetime

import polars as pl
import pytest

from shoal.model.guess import doubt_label, guess_kind


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2, None], "number"),
        ([1.5, None], "number"),
        ([date(2020, 1, 1)], "date"),
        ([datetime(2020, 1, 1, 12)], "date"),
        ([True, False], "label"),
        (["1", "20", "-3"], "number"),
        (["1.5", "20", "+3", "1e3", ".5"], "number"),
        ([" 1", "20 "], "number"),
        (["1,5", "2,5"], "label"),
        (["01234", "90210"], "label"),
        (["0", "7", "10"], "number"),
        (["0.5", "0.25"], "number"),
        (["-01", "3"], "label"),
        (["90210", "10115"], "label"),
        (["902101", "10115"], "number"),
        (["1990", "2005"], "number"),
        (["1990", "7005"], "label"),
        (["123", "456"], "number"),
        (["2020-01-31", "1999-12-01"], "date"),
        (["2020-01-31T10:00:00", "1999-12-01 11:30"], "date"),
        (["31.01.2020"], "date(%d.%m.%Y)"),
        (["31.01.2020 10:30"], "date(%d.%m.%Y %H:%M)"),
        (["01/31/2020"], "date(%m/%d/%Y)"),
        (["01/02/2020"], "label"),
        (["31.02.2020"], "label"),
        (["2020-01-31", "unknown"], "label"),
        (["1", "x"], "label"),
        (["nan", "1"], "label"),
        (["a", "b"], "label"),
    ],
)
def test_kinds_are_guessed_as_the_design_says(cells, kind):
    assert guess_kind(pl.Series("x", cells)) == kind


def test_a_column_of_missing_cells_is_a_label():
    assert guess_kind(pl.Series("x", [None, None], dtype=pl.String)) == "label"
    assert guess_kind(pl.Series("x", [], dtype=pl.String)) == "label"
    assert guess_kind(pl.Series("x", [None], dtype=pl.Null)) == "label"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1", "2", "3", "4", "NA"], "1 of its 5 cells is no number."),
        (["1"] * 90 + ["zqcanary"] * 10 + [None, " "], "10 of its 100 cells are no numbers."),
        (["1", "2", "3", "4", "?", "NA", "NA", "NA"], ""),
        (["1", "2", "zqcanary"], ""),
        (["03.04.1980", "1.2.1981"], "look like dates"),
        (["03/04/80", "12/31/81", None], "look like dates"),
        (["1980/04/03"], "look like dates"),
        (["1980-04-03T10:00:00Z", "1980-04-03T10:00:00+02:00"], "look like dates"),
        (["1980-04-03T10:00:00Z", "zqcanary"], ""),
        (["a", "b"], ""),
        (["01/02/2020"], "date(%d/%m/%Y) or date(%m/%d/%Y)"),
        (["10:30", "9:15"], "look like times of day"),
        ([None, " "], "all of its cells are missing."),
        ([1, 2], ""),
        (["01234", "90210"], ""),
    ],
)
def test_labels_that_may_be_something_else_are_doubted_without_a_cell(cells, said):
    doubt = doubt_label(pl.Series("x", cells))
    assert said in doubt
    assert bool(said) == bool(doubt)
    assert "zq" not in doubt


def test_missing_marks_are_no_reason_to_doubt():
    assert doubt_label(pl.Series("x", ["1", "2", "3", "4", "NA"]), missing=["NA"]) == ""
    assert "all of its cells" in doubt_label(pl.Series("x", ["NA"]), missing=["NA"])

"""A wrong name is answered with the right ones, and never with cells."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.errors import DataError
from shoal.model.names import check_named


def refusal(named, columns) -> str:
    with pytest.raises(DataError) as caught:
        check_named(named, columns)
    return str(caught.value)


def test_where_some_names_fit_all_columns_are_shown():
    said = refusal(["age", "zipp"], ["age", "zip", "sex"])
    assert said == "The table has no column 'zipp'. Did you mean 'zip'? Its columns are: age, zip, sex."


def test_where_none_fits_only_what_resembles_a_name_is_shown():
    said = refusal(["agee", "zipp"], ["age", "zip", "Ada Zyxwvut"])
    assert "Did you mean 'age', 'zip'?" in said
    assert "3 columns" in said
    assert "Zyxwvut" not in said


def test_capitals_do_not_hide_what_was_meant():
    assert "Did you mean 'PLZ', 'Beruf'?" in refusal(["plz", "beruf"], ["PLZ", "Beruf", "Ada Zyxwvut"])
    assert "Did you mean 'zip'? It has 1 column:" in refusal(["ZIP"], ["zip"])


def test_a_row_in_place_of_names_is_not_shown():
    row = pl.DataFrame({"Ada Zyxwvut": ["Bob"], "34": [1], "flu": ["cold"]})
    for ask in (
        lambda: shoal.anonymize(row, k=2, quasi=["age"], sensitive=["disease"]),
        lambda: shoal.check_table(row, quasi=["age"], sensitive=["disease"]),
        lambda: shoal.compare(row, k=2, quasi=["age"], methods="k-member"),
    ):
        with pytest.raises(DataError) as caught:
            ask()
        assert not any(name in str(caught.value) for name in row.columns)

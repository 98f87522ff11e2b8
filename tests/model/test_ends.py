"""Top and bottom coding and rounding, as hierarchies."""

from __future__ import annotations

import random

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, PlanError
from shoal.read.hierarchy import parse_builder


@pytest.mark.parametrize(
    ("text", "value", "path"),
    [
        ("top(90)", "89.99", []),
        ("top(90)", "90", []),
        ("top(90, 80)", "85", [">= 80"]),
        ("top(90, 80)", "1e3", [">= 80"]),
        ("bottom(18)", "18", []),
        ("bottom(18)", "18.01", []),
        ("bottom(-1.5, 0)", "-2", ["<= 0"]),
        ("round(10)", "45", ["~50"]),
        ("round(10)", "44.999", ["~40"]),
        ("round(10)", "-5", ["~0"]),
        ("round(0.25)", "0.37", ["~0.25"]),
        ("round(0.25)", "0.375", ["~0.5"]),
    ],
)
def test_where_a_number_stands(text: str, value: str, path: list[str]) -> None:
    builder = parse_builder(text)
    assert builder.text == text
    assert list(builder.path(value)) == path


@pytest.mark.parametrize(
    ("text", "value", "leaf"),
    [
        ("top(90)", "89.99", "89.99"),
        ("top(90)", "90", ">= 90"),
        ("top(90, 80)", "85", "85"),
        ("top(90, 80)", "1e3", ">= 90"),
        ("bottom(18)", "18.0", "<= 18"),
        ("bottom(-1.5, 0)", "-2", "<= -1.5"),
        ("round(10)", "45", "45"),
    ],
)
def test_which_leaf_stands_for_a_number(text: str, value: str, leaf: str) -> None:
    assert parse_builder(text).leaf(value) == leaf


@pytest.mark.parametrize(
    "text",
    [
        "top()",
        "bottom()",
        "round()",
        "top(80, 90)",
        "bottom(25, 18)",
        "top(90, 90)",
        "round(0)",
        "round(-1)",
    ],
)
def test_what_cannot_be_meant(text: str) -> None:
    with pytest.raises(PlanError):
        parse_builder(text)


def test_a_value_that_is_no_number_is_counted_and_not_shown() -> None:
    with pytest.raises(DataError, match=r"1 distinct values that top\(90\) cannot place") as caught:
        shoal.top(90).build(["1", "canary"], column="age")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("text", ["top(60, 40)", "bottom(20, 30)", "round(7)"])
@pytest.mark.parametrize("method", ["levels", "crowd"])
def test_a_release_shows_values_nodes_or_stars(text: str, method: str) -> None:
    luck = random.Random(1)
    frame = pl.DataFrame({"age": [luck.randint(10, 70) for _ in range(300)]})
    release = shoal.anonymize(
        frame, k=4, quasi=["age"], hierarchies={"age": parse_builder(text)}, method=method, withhold=0.1
    )
    assert release.verdict.has_passed
    nodes = {"top": {">= 60", ">= 40"}, "bottom": {"<= 20", "<= 30"}}.get(text.partition("(")[0], set())
    for cell in release.table["age"].unique().to_list():
        assert cell in {"*", *nodes} or cell.isdigit() or cell.startswith("~")

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import shoal
from naive import Table
from shoal.group import METHODS, facts
from shoal.model.hierarchy import Hierarchy
from tables import PATHS, frame_of, plan_of, tables


def publish(frame: pl.DataFrame, **words) -> shoal.Release:
    return shoal.anonymize(
        frame, k=2, quasi=[name for name in frame.columns if name != "ill"], style="means", **words
    )


def test_each_kind_is_published_typed() -> None:
    frame = pl.DataFrame(
        {
            "age": [1, 4, 80, 90],
            "born": [date(2020, 1, 1), date(2020, 1, 4), date(1950, 6, 1), date(1950, 6, 3)],
            "job": ["a", "b", "d", "f"],
            "eye": ["blue", "blue", "grey", "brown"],
            "ill": ["x", "y", "z", "w"],
        }
    )
    release = publish(
        frame,
        sensitive=["ill"],
        method="mdav",
        hierarchies={"job": Hierarchy.of_paths(PATHS)},
    )
    table = release.table.sort("ill")
    assert table["age"].to_list() == [85.0, 2.5, 2.5, 85.0]
    assert table["born"].to_list() == [
        date(1950, 6, 2),
        date(2020, 1, 2),
        date(2020, 1, 2),
        date(1950, 6, 2),
    ]
    assert table["job"].to_list() == ["right", "ab", "ab", "right"]
    assert table["eye"].to_list() == ["brown", "blue", "blue", "brown"]  # of equals the first by name
    assert release.verdict.has_passed
    assert release.verdict.loss is None
    assert release.verdict.classes == 2


def test_missing_cells_take_no_part_in_a_mean() -> None:
    frame = pl.DataFrame({"age": [10.0, 20.0, None, None, None, None], "eye": [*"aaa", None, None, "b"]})
    release = publish(frame, method="mdav")
    assert set(release.table["age"].to_list()) <= {None, 15.0}
    assert release.verdict.smallest_class >= 2


@pytest.mark.parametrize("present", [0, 1, 2, 3, 4])
def test_a_mean_of_fewer_than_k_present_values_is_missing(present: int) -> None:
    """One present value among missing ones was published as it is, to the last digit."""
    lacking = [None] * (4 - present)
    frame = pl.DataFrame(
        {
            "age": pl.Series([41.25, 7.5, 9.0, 11.0][:present] + lacking, dtype=pl.Float64),
            "born": pl.Series([date(2020, 1, day) for day in (1, 3, 5, 9)][:present] + lacking),
            "lat": pl.Series([1.5, 2.0, 3.0, 4.0][:present] + lacking, dtype=pl.Float64),
            "lon": pl.Series([5.5, 6.0, 7.0, 8.0][:present] + lacking, dtype=pl.Float64),
            "eye": pl.Series(["red"] * present + lacking, dtype=pl.String),
        },
        schema_overrides={"born": pl.Date},
    )
    release = shoal.anonymize(
        frame,
        k=3,
        quasi=["age", "born", "home", "eye"],
        kinds={"age": "number", "born": "date", "home": "place(lat, lon)", "eye": "label"},
        style="means",
        method="k-member",
    )
    assert release.verdict.has_passed
    published = release.table.select("age", "born", "lat", "lon", "eye").row(0)
    assert all(cell is None for cell in published) == (present < 3)
    assert present < 3 or None not in published


def test_a_mean_needs_k_persons_where_the_plan_names_whom_to_count() -> None:
    frame = pl.DataFrame({"age": [10.0, 20.0, 30.0, None, None], "who": ["a", "a", "a", "b", "c"]})
    words = {"k": 3, "quasi": ["age"], "style": "means", "method": "k-member"}
    assert set(shoal.anonymize(frame.drop("who"), **words).table["age"].to_list()) == {20.0}
    assert set(shoal.anonymize(frame, unit="who", **words).table["age"].to_list()) == {None}


def test_a_place_is_the_mean_of_its_two_columns() -> None:
    frame = pl.DataFrame({"lat": [1.0, 2.0, 50.0, 51.0], "lon": [5.0, 6.0, 7.0, 9.0]})
    release = shoal.anonymize(
        frame, k=2, quasi=["home"], kinds={"home": "place(lat, lon)"}, style="means", method="mdav"
    )
    assert sorted(release.table.rows()) == [(1.5, 5.5), (1.5, 5.5), (50.5, 8.0), (50.5, 8.0)]
    assert release.verdict.has_passed
    findings = shoal.verify(release.table, release.certificate, original=frame)
    assert not [each for each in findings if each.holds is False]


def test_alike_values_have_themselves_as_mean() -> None:
    frame = pl.DataFrame({"x": [0.1] * 3 + [0.7] * 7})
    assert set(publish(frame, method="mdav").table["x"].to_list()) == {0.1, 0.7}


def test_the_certificate_says_sse_and_sst() -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, 9.0, 10.0]})
    about = publish(frame, method="mdav").receipt.figures
    values = np.array([0.0, 1.0, 9.0, 10.0])
    share = 1.0 / ((values - 5) ** 2).sum()
    assert about.more["sse_share"] == pytest.approx(share)
    assert about.more["sst"] == pytest.approx(4)  # one column of variance 1
    assert about.value == pytest.approx(about.more["sse"])
    assert "sse" not in shoal.anonymize(frame, k=2, quasi=["x"], method="k-member").certificate.more


@pytest.mark.slow  # compiles every method
@pytest.mark.parametrize("method", [m for m in METHODS if {"number", "label"} & facts(m).takes])
def test_every_grouping_can_be_published_as_means(method: str) -> None:
    its = facts(method)
    if "means" not in its.styles or its.only_k not in {None, 2}:
        pytest.skip("has no such style")
    column = [3, 3, 9, 9, 4, 4] if "number" in its.takes else [*"aabbcc"]
    release = publish(pl.DataFrame({"x": column}), method=method)
    assert release.verdict.has_passed
    assert release.verdict.smallest_class >= 2


@given(table=tables(least=4, most=12))
@settings(max_examples=8)
def test_classes_hold_k_records_whatever_the_table(table: Table) -> None:
    release = shoal.anonymize(frame_of(table), plan_of(table, 3, style="means", method="k-member"))
    counts = release.table.group_by(release.table.columns).len()["len"]
    assert counts.min() >= 3
    findings = shoal.verify(
        release.table,
        release.certificate,
        original=frame_of(table),
        hierarchies=plan_of(table, 3).hierarchies,
    )
    assert not [each for each in findings if each.holds is False]

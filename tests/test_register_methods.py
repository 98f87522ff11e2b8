"""Every method groups a register, or says why it cannot; what a plan may ask for besides."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from series_stories import TREE, frame_of, plan_of, story
from shoal.group import METHODS

WORDS = {"intervals": {"quasi": ["x"], "kinds": {"x": "number"}}}
UNFIT = {
    "fold": "method",
    "pairs": "k",
    "rectangles": "method",
    "regions": "method",
    "scheme": "method",
    "spread": "method",
    "triples": "style",
}
"""Methods for tables that no register has, and the field that the error names."""


@pytest.fixture(scope="module")
def tables():
    return [frame_of(table) for table in story(21, releases=3, people=36)]


@pytest.mark.parametrize("method", sorted({*METHODS} - {*UNFIT}))
def test_a_method_makes_the_groups_of_a_register(tables, tmp_path, method):
    series = shoal.Series(plan_of(3, method=method, **WORDS.get(method, {})))
    for at, table in enumerate(tables):
        release = series.release(table, tmp_path / f"q{at}.csv")
        assert release.verdict.has_passed
        assert release.table.height == table.height


@pytest.mark.parametrize("method", sorted(UNFIT))
def test_a_method_for_other_tables_is_refused(tables, tmp_path, method):
    with pytest.raises(shoal.PlanError) as error:
        shoal.Series(plan_of(3, method=method)).release(tables[0], tmp_path / "q1.csv")
    assert error.value.field == UNFIT[method]
    assert "canary" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_weights_missing_cells_kept_columns_and_bounds(tmp_path):
    plan = plan_of(3, weights={"x": 3.0}, keep=["note"], cells="bounds", missing=["?"])
    series = shoal.Series(plan)
    for at, table in enumerate(story(22, releases=3, people=36, missing=0.15)):
        frame = frame_of(table)
        frame = frame.with_columns(note=pl.Series(range(frame.height)))
        release = series.release(frame, tmp_path / f"q{at}.csv")
        assert release.verdict.has_passed
        assert "note" in release.lists.columns
        assert release.table.columns == ["x_low", "x_high", "y_low", "y_high", "school"]


def test_columns_need_not_be_in_the_order_of_their_names(tmp_path):
    plan = plan_of(3, quasi=["y", "x"], hierarchies={"y": TREE})
    tables = [frame_of(table, plan) for table in story(4, releases=3, people=30)]
    series = shoal.Series(plan)
    for number, table in enumerate(tables, 1):
        series.release(table, tmp_path / f"q{number}.csv")
    found = shoal.verify(
        *(tmp_path / "q3.csv", tmp_path / "q3.certificate.json"),
        before=[tmp_path / "q1.csv", tmp_path / "q2.csv"],
        state=tmp_path / "q3.state",
    )
    assert [one.claim for one in found if one.claim in ("state", "former state") and one.holds]
    assert not [one for one in found if one.holds is False]

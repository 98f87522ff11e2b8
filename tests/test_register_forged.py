"""A state that was changed by hand, or persons who are named otherwise: refused, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from series_stories import frame_of, plan_of, story
from shoal.model.register import RegisterState


@pytest.fixture(scope="module")
def tables():
    return [frame_of(table) for table in story(8, releases=2, people=30)]


@pytest.fixture
def series(tables, tmp_path):
    made = shoal.Series(plan_of(3))
    made.release(tables[0], tmp_path / "q1.csv")
    return made


def ranges(low, high):
    return lambda its: tuple(np.tile([low, high], (len(one), 1)).astype(float) for one in its)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("key", lambda its: its * 3),
        ("key", lambda its: b""),
        ("number", lambda its: 2**31 - 1),
        ("number", lambda its: its + 1),
        ("school", lambda its: its + 1000),
        ("school", lambda its: its * 0),
        ("school", lambda its: np.full_like(its, -5)),
        ("school", lambda its: np.full_like(its, 1)),
        ("past", lambda its: np.array([[0, 9999]], np.int32)),
        ("past", lambda its: np.array([[0, -7]], np.int32)),
        ("since", lambda its: its * 0),
        ("stay", lambda its: its * 0),
        ("cut", lambda its: np.full_like(its, -1)),
        ("sides", ranges(np.inf, np.inf)),
        ("sides", ranges(-np.inf, 0.0)),
        ("sides", ranges(0.0, np.nan)),
        ("sides", lambda its: tuple(one[:, ::-1].copy() - [0, 1] for one in its)),
    ],
)
def test_a_state_that_does_not_say_what_was_published_is_not_followed(
    series, tables, tmp_path, name, change
):
    state = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    changed = replace(state, **{name: change(getattr(state, name))})
    (tmp_path / "q1.state").write_bytes(changed.to_bytes())
    with pytest.raises(shoal.DataError, match=r"The state .* changed|The state is not"):
        series.release(tables[1], tmp_path / "q2.csv")
    assert not (tmp_path / "q2.csv").exists()


def test_a_state_without_those_who_are_there_is_not_followed(series, tables, tmp_path):
    state = RegisterState.of_bytes((tmp_path / "q1.state").read_bytes())
    (tmp_path / "q1.state").write_bytes(state.without(state.person[::2])[0].to_bytes())
    with pytest.raises(shoal.DataError, match="The state is not"):
        series.release(tables[1], tmp_path / "q2.csv")


def test_persons_who_are_all_named_otherwise_are_refused(series, tables, tmp_path):
    """They would be listed again as if they were new."""
    otherwise = tables[1].with_columns(who="0" + pl.col("who"))
    with pytest.raises(shoal.DataError, match="Nobody in the table was in a release before") as caught:
        series.release(otherwise, tmp_path / "q2.csv")
    assert caught.value.column == "who"
    assert "canary" not in str(caught.value)


def test_whoever_was_there_long_ago_is_known(series, tables, tmp_path):
    """Nearly all leave; they return once the others have left, and nobody is listed twice."""
    stays = tables[0][:1]
    others = pl.concat([stays, tables[0][1:].with_columns(who="new-" + pl.col("who"))])
    series.release(others, tmp_path / "q2.csv")
    release = series.release(tables[0], tmp_path / "q3.csv")
    said = release.certificate.series.register
    assert (said.returned, said.new, said.unlisted) == (tables[0].height - 1, 0, 0)


WRITTEN = {
    "as floats": lambda ill: ill.cast(pl.Float64),
    "as texts of floats": lambda ill: ill.cast(pl.Float64).cast(pl.String),
    "as days at midnight": lambda ill: pl.date(2020, 1, 1 + ill).cast(pl.Datetime),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_values_that_are_only_written_otherwise_have_not_changed(tables, tmp_path, written):
    """Listed anew, they would stand in two lists that both hold what they have."""
    ill = pl.int_range(pl.len()) % 7
    first = tables[0].with_columns(ill=pl.date(2020, 1, 1 + ill) if "days" in written else ill)
    new = tables[0].with_columns(who="new-" + pl.col("who"))
    second = pl.concat([tables[0], new]).with_columns(ill=WRITTEN[written](ill))
    series = shoal.Series(plan_of(3))
    series.release(first, tmp_path / "q1.csv")
    second = second.join(first.select("who", was=ill), on="who", how="left")
    second = second.with_columns(ill=WRITTEN[written](pl.coalesce("was", ill))).drop("was")
    release = series.release(second, tmp_path / "q2.csv")
    assert release.certificate.series.register.outdated == 0
    assert len(release._register.state.past) == 0


def test_the_judge_sees_that_a_value_is_only_written_otherwise(tables, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.run.listing.as_compared", lambda values: values.cast(pl.String))
    first = tables[0].with_columns(ill=pl.int_range(pl.len()) % 7)
    second = pl.concat([first, first.with_columns(who="new-" + pl.col("who"), ill=pl.col("ill") + 7)])
    series = shoal.Series(plan_of(3))
    series.release(first, tmp_path / "q1.csv")
    with pytest.raises(shoal.NotAnonymous, match="listed anew with values of an older list"):
        series.release(second.with_columns(pl.col("ill").cast(pl.Float64)), tmp_path / "q2.csv")


@pytest.mark.parametrize("ids", [int, float, str])
def test_whoever_is_to_be_forgotten_is_named_as_in_the_table(tables, tmp_path, ids):
    table = tables[0].with_columns(who=pl.int_range(pl.len()))
    series = shoal.Series(plan_of(3))
    series.release(table, tmp_path / "q1.csv")
    release = series.release(table[4:], tmp_path / "q2.csv", forget=[*map(ids, range(4)), None, " "])
    assert release.forgotten == 4

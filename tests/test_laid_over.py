"""Several releases laid over one another: what an outsider learns who keeps them all."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from series_stories import frame_of, plan_of, story, wander
from shoal.cli.app import app_of


def table(rows):
    return pl.DataFrame(rows, schema=["x", "ill"], orient="row")


FIRST = table([("[1, 4]", "a"), ("[1, 4]", "b"), ("[5, 9]", "a"), ("[5, 9]", "c")])
SECOND = table([("[1, 2]", "a"), ("[1, 2]", "c"), ("[3, 9]", "b"), ("[3, 9]", "a")])
REGISTER = pl.DataFrame({"who": ["p", "q", "r", "s"], "x": [1, 3, 5, 9]})


def test_what_two_releases_allow_is_cut():
    found = shoal.attack_series(
        [FIRST, SECOND], [REGISTER, REGISTER], unit="who", match={"x": "x"}, sensitive=["ill"], k=2
    )
    (left,) = found.left
    # p: {a, b} and {a, c}: a. q: {a, b} and {a, b}. r and s: {a, c} and {a, b}: a.
    assert (left.certain, left.below_three, left.none) == (3, 4, 0)
    # p: [1, 2], alone. q: [3, 4], alone. r and s: [5, 9].
    assert (found.one_class, found.cut_alone, found.cut_few) == (4, 2, 2)
    assert "3 of 4 persons" in found.in_words()


def test_a_register_tells_less_than_releases_by_themselves(tmp_path):
    tables = [frame_of(one) for one in story(2, releases=4, people=60, change=0.0)]
    plan = plan_of(3, rules=["ill: 3-diverse"])
    series = shoal.Series(plan)
    ours, lists, naive = [], [], []
    for at, frame in enumerate(tables):
        release = series.release(frame, tmp_path / f"q{at}.csv")
        ours.append(release.table)
        lists.append(release.lists)
        naive.append(shoal.anonymize(frame, plan, series=None).table)
    words = {"unit": "who", "match": {"x": "x", "y": "y"}, "sensitive": ["ill"], "k": 3}
    alone = shoal.attack_series(naive, tables, **words)
    together = shoal.attack_series(ours, tables, lists=lists, **words)
    assert alone.left[0].certain > 0
    assert together.left[0].certain == 0
    assert together.left[0].mean > alone.left[0].mean


@pytest.mark.parametrize("seed", range(3))
def test_where_everybody_moves_inside_his_cells_k_are_left_of_each(seed):
    plan = plan_of(3, rules=[])
    releases, tables = wander(seed, plan, people=60, releases=4)
    found = shoal.attack_series(
        [release.table for release in releases],
        [frame_of(table) for table in tables],
        unit="who",
        match={"x": "x", "y": "y"},
        k=3,
    )
    assert all(release.verdict.has_passed for release in releases)
    assert found.one_class > 0
    assert found.cut_few == 0


def test_through_the_command_line(tmp_path):
    FIRST.write_csv(tmp_path / "q1.csv")
    SECOND.write_csv(tmp_path / "q2.csv")
    REGISTER.write_csv(tmp_path / "known.csv")
    words = ["attack", tmp_path / "q1.csv", tmp_path / "q2.csv", "--match", "x", "-s", "ill", "-k", "2"]
    words += ["--unit", "who", "--known", tmp_path / "known.csv", "--known", tmp_path / "known.csv"]
    shown = CliRunner().invoke(app_of(), [str(word) for word in words])
    assert shown.exit_code == 0
    assert "3 of 4 persons" in " ".join(shown.output.split())
    said = json.loads(CliRunner().invoke(app_of(), [str(word) for word in [*words, "--json"]]).output)
    assert said["attack"]["left"][0]["certain"] == 3


def test_bad_words_are_refused():
    words = {"unit": "who", "match": {"x": "x"}}
    with pytest.raises(shoal.PlanError, match="2 releases and 1 registers"):
        shoal.attack_series([FIRST, SECOND], [REGISTER], **words)
    with pytest.raises(shoal.DataError, match="does not name every person once"):
        shoal.attack_series([FIRST], [pl.concat([REGISTER, REGISTER])], **words)
    with pytest.raises(shoal.PlanError, match="no column 'well'"):
        shoal.attack_series([FIRST], [REGISTER], sensitive=["well"], **words)

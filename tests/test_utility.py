"""What a release is good for is measured in figures, without a cell."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import polars as pl
import pytest

import shoal

ROWS = 400


def table() -> pl.DataFrame:
    random = np.random.RandomState(7)
    age = random.randint(20, 80, ROWS)
    rich = (age + random.randint(0, 40, ROWS) > 70).astype(int)
    return pl.DataFrame(
        {
            "age": age,
            "height": 150 + age // 4 + random.randint(0, 20, ROWS),
            "job": [["zqcook", "zqnurse", "zqclerk"][at] for at in random.randint(0, 3, ROWS)],
            "zip": [f"0{at}123" for at in random.randint(0, 9, ROWS)],
            "rich": ["zqyes" if one else "zqno" for one in rich],
        }
    )


def written(folder, frame, **words):
    asked = {"k": 5, "quasi": ["age", "height", "job", "zip"], "sensitive": ["rich"], "unit": "rows"}
    trees = {"zip": shoal.prefixes(5, 2, 0)}
    return shoal.anonymize(frame, **{**asked, "hierarchies": trees, **words}).write(folder / "out.csv")


def test_counts_queries_and_moments_are_compared_with_mondrian(tmp_path):
    frame = table()
    files = written(tmp_path, frame)
    found = shoal.utility(files.table, frame, queries=100)
    assert [one.name for one in found.tables] == ["crowd", "mondrian"]
    assert found.queries == 100
    for one in found.tables:
        assert set(one.marginals) == {"age", "height", "job", "zip"}
        assert all(0 <= apart <= 1 for apart in one.marginals.values())
        assert all(0 <= apart <= 1 for apart in one.told_apart.values())
        assert 0 <= one.query_error <= one.query_error_high
    assert [one.what for one in found.moments] == [
        *("mean of age", "mean of height", "correlation of age and height")
    ]
    assert found.moments[0].before == pytest.approx(frame["age"].mean())
    assert found.moments[0].after == pytest.approx(frame["age"].mean(), rel=0.1)
    for one in found.moments[:2]:  # the true mean lies between those of the ends
        assert one.low <= one.before <= one.high
        assert one.low <= one.after <= one.high
    assert found.moments[2].low < found.moments[2].high
    assert found.in_words() in repr(found)
    assert "mean of age" in found._repr_html_()
    assert "zq" not in repr(found)
    assert shoal.utility(files.table, frame, queries=100) == found


def test_a_release_that_loses_nothing_errs_nowhere(tmp_path):
    frame = pl.concat([table().head(20)] * 5)
    found = shoal.utility(written(tmp_path, frame).table, frame, queries=50).tables[0]
    assert max(found.marginals.values()) == pytest.approx(0)
    assert found.pairs == pytest.approx(0)
    assert set(found.told_apart.values()) == {1.0}
    assert found.query_error_high == pytest.approx(0)


def test_wider_cells_serve_worse(tmp_path):
    frame = table()
    few, many = (
        shoal.utility(written(tmp_path, frame, k=k).table, frame, queries=200).tables[0] for k in (2, 50)
    )
    assert few.query_error < many.query_error
    assert few.pairs < many.pairs
    assert all(few.told_apart[name] > many.told_apart[name] for name in ("age", "job"))


def test_pairs_told_apart_are_those_whose_cells_share_no_value(tmp_path):
    frame = pl.DataFrame({"job": ["a", "a", "b", "c", "d", "d", "e", "e"]})
    words = {"k": 2, "quasi": ["job"], "unit": "rows"}
    release = shoal.anonymize(frame, **words)
    files = release.write(tmp_path / "out.csv")
    found = shoal.utility(files.table, frame, queries=1).tables[0].told_apart["job"]
    sets = [{*cell.strip("{}").split(", ")} for cell in release.table["job"]]
    differ = sum(a != b for a in frame["job"] for b in frame["job"])
    assert found == pytest.approx(sum(not (a & b) for a in sets for b in sets) / differ)


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_a_model_is_trained_on_the_release_and_tested_on_raw_rows(tmp_path):
    frame = table()
    found = shoal.utility(written(tmp_path, frame).table, frame, queries=10, target="rich")
    by = {one.trained_on: one for one in found.learned}
    assert set(by) == {"raw", "crowd", "mondrian", "the majority"}
    assert by["raw"].auc > 0.7
    assert by["crowd"].auc > 0.6
    assert "zq" not in repr(found)
    with pytest.raises(shoal.PlanError, match="not published as it is"):
        shoal.utility(written(tmp_path, frame).table, frame, queries=10, target="age")


def test_a_hierarchy_that_is_not_given_is_asked_for(tmp_path):
    frame = table()
    tree = shoal.Hierarchy.of_paths([(f"0{at}123", "low" if at < 5 else "high") for at in range(9)])
    files = written(tmp_path, frame, hierarchies={"zip": tree})
    with pytest.raises(shoal.PlanError, match="not given: zip"):
        shoal.utility(files.table, frame, queries=10)
    assert shoal.utility(files.table, frame, queries=10, hierarchies={"zip": tree}).queries == 10


def test_weights_follow_what_columns_say_and_tell_nothing_else():
    frame = table()
    weights = shoal.weights_for(frame, "rich", quasi=["age", "height", "job", "zip"])
    assert weights["age"] > weights["job"]
    assert set(weights.values()) <= {0.25, 0.5, 1.0, 2.0, 4.0}
    constant = frame.with_columns(rich=pl.lit("x"))
    assert set(shoal.weights_for(constant, "rich", quasi=["age", "job"]).values()) == {1.0}


def test_the_command_line_measures_and_weighs(tmp_path, monkeypatch, capfd):
    from shoal.cli import main

    monkeypatch.chdir(tmp_path)
    table().write_csv("in.csv")

    def run(*words: str) -> str:
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main(list(words))
        assert not end.value.code
        return capfd.readouterr().out

    asked = ("-k", "5", "-q", "age,job", "-s", "rich", "-o", "out.csv", "--json")
    plan = json.loads(run("anonymize", "in.csv", *asked, "--for", "rich"))["certificate"]["plan"]
    assert plan["weights"]["age"] > plan["weights"]["job"]
    shown = run("utility", "out.csv", "--original", "in.csv", "--queries", "20")
    assert "20 count queries, middle" in shown
    assert "zq" not in shown
    told = json.loads(run("utility", "out.csv", "--original", "in.csv", "--queries", "20", "--json"))
    assert [one["name"] for one in told["utility"]["tables"]] == ["crowd", "mondrian"]


def test_a_place_is_left_aside() -> None:
    frame = pl.DataFrame({"age": [20, 21, 60, 61] * 5, "lat": [1.0, 2.0] * 10, "lon": [3.0, 4.0] * 10})
    release = shoal.anonymize(frame, k=2, quasi=["age", "home"], kinds={"home": "place(lat, lon)"})
    assert set(shoal.utility(release, frame).tables[0].marginals) == {"age"}


@pytest.mark.parametrize("loss", ["leaves", "sets"])
def test_whole_floats_are_the_values_that_are_published(loss: str) -> None:
    frame = pl.DataFrame({"age": [1.0, 2.0, 95.0] * 4, "sex": ["f"] * 12})
    release = shoal.anonymize(
        frame, k=2, quasi=["age", "sex"], unit="rows", hierarchies={"age": "flat()"}, loss=loss
    )
    assert shoal.utility(release, frame).tables[0].marginals["age"] == 0

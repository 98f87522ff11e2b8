"""Centres that are nobody's row: what stands in them, how far their groups reach, and what verify finds."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import PlanError
from shoal.model.hierarchy import Hierarchy
from tables import PATHS


def publish(frame: pl.DataFrame, **words) -> shoal.Release:
    quasi = words.pop("quasi", [name for name in frame.columns if name not in {"n", "s"}])
    sensitive = ["s"] if "s" in frame.columns else []
    return shoal.anonymize(
        frame,
        **{"k": 2, "method": "gather", "style": "centres", "sensitive": sensitive, **words},
        quasi=quasi,
    )


def faults(release: shoal.Release, frame: pl.DataFrame, **words) -> list[str]:
    findings = shoal.verify(release.table, release.certificate, original=frame, **words)
    return [finding.claim for finding in findings if finding.holds is False]


def test_each_kind_has_its_middle() -> None:
    frame = pl.DataFrame(
        {
            "age": [20, 23, 70, 74, 72],
            "height": [1.5, 1.75, 0.5, 0.25, 0.5],
            "born": [date(2000, 1, day) for day in (1, 4, 20, 24, 30)],
            "seen": [datetime(2000, 1, day, 8) for day in (1, 2, 20, 24, 30)],
            "job": ["a", "b", "e", "d", "e"],
            "eye": ["blue", "blue", "red", "grey", "red"],
        }
    )
    trees = {"job": Hierarchy.of_paths(PATHS)}
    release = publish(frame, hierarchies=trees, kinds={"age": "number", "height": "number"})
    assert release.verdict.has_passed
    first, second = release.table.rows()
    assert first[:-1] == ("21.5", "1.625", "2000-01-02", "2000-01-01 20:00:00", "a", "blue", 2)
    assert second[:-1] == ("72", "0.375", "2000-01-25", "2000-01-25 08:00:00", "e", "red", 3)
    assert release.certificate.more["centre"] == "middle"
    assert not faults(release, frame, hierarchies=trees)


def test_nobody_is_published_where_a_row_was() -> None:
    """The style published the exact quasi-identifiers of one real person per group."""
    luck = random.Random(4)
    frame = pl.DataFrame({name: [luck.random() for _ in range(60)] for name in "ab"})
    rows = set(frame.select(pl.all().cast(pl.String)).rows())
    asked = publish(frame, centre="row").table.select("a", "b").rows()
    assert set(asked) <= rows
    assert not set(publish(frame).table.select("a", "b").rows()) & rows


def seen_in(frame: pl.DataFrame, label: np.ndarray, k: int) -> dict[str, float]:
    """The range of the numbers that published cells say something of: not withheld, k in their group."""
    found = {}
    for name in ("a", "b"):
        sides = [frame[name].filter(pl.Series(label == g)).drop_nulls() for g in range(label.max() + 1)]
        values = pl.concat([side for side in sides if len(side) >= k])
        found[name] = float(values.max() - values.min())
    return found


def distance(frame: pl.DataFrame, width: dict[str, float], kind: str, one: tuple, other: tuple) -> float:
    """By raw cells: numbers a and b by their range, label c by its distinct values."""
    steps = []
    for name, mine, its in zip(frame.columns, one, other, strict=False):
        values = frame[name].drop_nulls()
        if mine is None or its is None:
            steps.append(0.0 if mine is its else 1.0 if name != "c" else 1 / values.n_unique())
        elif name == "c":
            steps.append(float(mine != its) / (values.n_unique() - 1 + (frame[name].null_count() > 0)))
        else:
            steps.append(abs(float(mine) - float(its)) / width[name])
    return sum(step * step for step in steps) ** 0.5 if kind == "euclidean" else sum(steps)


@pytest.mark.parametrize("kind", ["span", "euclidean"])
@pytest.mark.parametrize("method", ["gather", "cellular", "centre"])
@pytest.mark.parametrize("seed", range(4))
def test_radii_hold_all_records_and_no_more_than_they_must(kind: str, method: str, seed: int) -> None:
    luck = random.Random(seed)
    missing = 0.15 if kind == "span" else 0.0
    cells = {
        "a": [luck.choice([luck.random(), 0.5]) for _ in range(30)],
        "b": [luck.randrange(9) for _ in range(30)],
    } | ({"c": [luck.choice("xyz") for _ in range(30)]} if kind == "span" else {})
    cells = {
        name: [None if luck.random() < missing else cell for cell in its] for name, its in cells.items()
    }
    frame = pl.DataFrame(cells)
    release = publish(frame, k=3, method=method, distance=kind, withhold=luck.choice([0, 0.1]))
    assert release.verdict.has_passed
    assert not faults(release, frame)
    label, rows = release.groups.label, frame.rows()
    width = seen_in(frame, label, 3)
    groups = [
        [row for row, its in zip(rows, label, strict=True) if its == g] for g in range(label.max() + 1)
    ]
    # the lines of a release do not say whose they are: a group's line is where size and radius fit
    lines = [(line[: len(cells)], line[len(cells)], line[-1]) for line in release.table.rows()]
    for group in groups:
        fits = [
            radius - 1e-5 <= max(distance(frame, width, kind, row, face) for row in group) <= radius + 1e-9
            for face, size, radius in lines
            if size == len(group)
        ]
        assert any(fits)


def test_a_cell_of_fewer_than_k_present_values_is_missing() -> None:
    frame = pl.DataFrame({"age": [41.25, None, None, None, 7.5, 8.5, 9.5], "eye": ["a"] * 4 + ["b"] * 3})
    release = publish(frame, k=3)
    ages = dict(release.table.select("eye", "age").rows())
    assert ages == {"a": None, "b": "8.5"}
    assert release.table.filter(eye="a")["group_radius"].item() == 1.0
    assert not faults(release, frame)


def test_places_over_the_border_of_dates_have_a_near_middle() -> None:
    frame = pl.DataFrame({"lat": [10.0, 10.2, 10.1, 10.1], "lon": [179.9, -179.9, 179.95, -179.95]})
    words = {"quasi": ["home"], "kinds": {"home": "place(lat, lon)"}, "distance": "great-circle", "k": 4}
    release = publish(frame, **words)
    assert release.table["group_radius"].item() < 25
    assert not faults(release, frame)


def test_verify_finds_middles_outside_the_table_and_radii_too_small() -> None:
    frame = pl.DataFrame({"age": [1, 4, 5, 9, 30, 31], "s": list("xyzxyz")})
    release = publish(frame)
    assert not faults(release, frame)
    outside = release.table.with_columns(age=pl.lit("31.5"))
    findings = shoal.verify(outside, release.certificate, original=frame)
    assert {finding.claim: finding.holds for finding in findings}["centres"] is False
    small = release.table.with_columns(pl.col("group_radius") / 2)
    findings = shoal.verify(small, release.certificate, original=frame)
    assert {finding.claim: finding.holds for finding in findings}["radii"] is False


def test_a_matrix_of_distances_needs_rows() -> None:
    frame = pl.DataFrame({"age": [1, 2, 8, 9]})
    matrix = [[abs(one - other) for other in (1, 2, 8, 9)] for one in (1, 2, 8, 9)]
    with pytest.raises(PlanError, match="knows rows alone"):
        publish(frame, matrix=matrix)
    assert publish(frame, matrix=matrix, centre="row").table["age"].to_list() == ["1", "8"]


def test_dates_lie_between_the_first_and_the_last_day() -> None:
    days = [date(2020, 1, 1) + timedelta(days=at) for at in (0, 1, 2, 50, 51)]
    release = publish(pl.DataFrame({"born": days}))
    assert release.table["born"].to_list() == ["2020-01-02", "2020-02-20"]
    assert not faults(release, pl.DataFrame({"born": days}))


def test_a_centre_without_a_value_is_as_far_from_a_single_one_as_it_can_be() -> None:
    frame = pl.DataFrame({"age": [7.0, None, None, None], "eye": ["a", "b", "b", "b"]})
    release = publish(frame, k=3, kinds={"age": "number", "eye": "label"})
    assert release.table["age"].to_list() == [None]
    assert release.table["group_radius"].to_list() == [2.0]
    assert not faults(release, frame)

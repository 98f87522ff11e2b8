"""gather and centre from the command line: withheld rows, centres, distances, verification, errors."""

from __future__ import annotations

import json
import math
import random

import polars as pl
import pytest

from shoal.model.figures import is_rounded_up


def people(rows: int = 120) -> pl.DataFrame:
    luck = random.Random(9)
    return pl.DataFrame(
        {
            "lat": [round(luck.gauss(52, 2), 3) for _ in range(rows - 1)] + [-61.25],
            "lon": [round(luck.gauss(-1, 2), 3) for _ in range(rows)],
            "ill": [luck.choice(["flu", "gout"]) for _ in range(rows)],
        }
    )


def kilometres(one, other):
    """The way over the ground, by the haversine formula."""
    a, b, c, d = map(math.radians, (*one, *other))
    inner = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(inner))


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "gather"),
        ("--method", "gather", "--withhold", "0.05"),
        ("--method", "gather", "--distance", "euclidean"),
        ("--method", "gather", "--distance", "great-circle", "--withhold", "0.05"),
        ("--method", "centre", "--option", "max_groups=4"),
        ("--method", "centre", "--option", "max_groups=4", "--withhold", "0.05"),
    ],
)
@pytest.mark.parametrize("style", ["intervals", "centres"])
def test_a_release_and_its_certificate_hold(run, folder, words, style):
    people().write_csv(folder / "in.csv")
    words = ["-k", "5", "-q", "lat,lon", "-s", "ill", *words]
    if style == "centres":
        words += ["--style", style]
    assert run("anonymize", "in.csv", *words, "-o", "out.csv").code == 0
    said = json.loads((folder / "out.certificate.json").read_text(encoding="utf-8"))
    table = pl.read_csv(folder / "out.csv")
    sizes = table["group_size"] if style == "centres" else table.group_by("lat", "lon").len()["len"]
    assert sizes.min() >= 5
    assert sizes.sum() == 120 - said["withheld"]
    assert said["withheld"] <= (6 if "--withhold" in words else 0)
    if "centre" in words:
        assert len(sizes) <= 4
    if "great-circle" in words:  # the one row near the pole stays out
        assert said["withheld"] >= 1
    assert said["objective"] == "radius"
    assert said["ratio"] >= 1
    if not said["withheld"]:  # a factor is of the original's unit, the ratio of the release's
        assert said["ratio"] <= said["factor"]
    receipt = next(folder.glob("*receipt*"))
    verify = ["verify", "out.csv", "out.certificate.json", "--original", "in.csv"]
    assert run(*verify, "--receipt", receipt.name).code == 0


@pytest.mark.parametrize("centre", ["middle", "row"])
def test_centres_are_nobody_unless_asked_and_nobody_is_farther_than_the_radius_says(run, folder, centre):
    frame = people()
    frame.write_csv(folder / "in.csv")
    words = ["-k", "5", "-q", "lat,lon", "-s", "ill", "--method", "gather", "--distance", "great-circle"]
    words += ["--option", "centre=row"] if centre == "row" else []
    ran = run("anonymize", "in.csv", *words, "--style", "centres", "-o", "out.csv")
    assert ran.code == 0
    assert ("Centres are real rows" in " ".join(ran.said.split())) == (centre == "row")
    table = pl.read_csv(folder / "out.csv")
    rows = frame.select("lat", "lon").rows()
    centres = table.select("lat", "lon").rows()
    assert set(centres) <= set(rows) if centre == "row" else not set(centres) & set(rows)
    said = json.loads((folder / "out.certificate.json").read_text(encoding="utf-8"))
    assert said["more"]["centre"] == centre
    if centre == "row":
        assert is_rounded_up(said["value"], table["group_radius"].max())
    for row in rows:
        assert any(
            kilometres(row, centre) <= radius + 1e-3
            for centre, radius in zip(centres, table["group_radius"], strict=True)
        )
    for ill, size in zip(table["ill"], table["group_size"], strict=True):
        parts = [part.rpartition(": ") for part in ill.strip("{}").split(", ")]
        assert sum(int(many) if name else 1 for name, _, many in parts) == size


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("-k", "9"), "k = 9 needs at least 9 rows; the table has 4"),
        (("-k", "2", "--withhold", "1"), "withhold"),
        (("-k", "2", "--withhold", "-0.1"), "withhold"),
        (("-k", "2", "--method", "centre", "--option", "max_groups=0"), "at least 1"),
        (("-k", "2", "--method", "centre", "--option", "max_groups=few"), "at least 1"),
        (("-k", "2", "--option", "max_groups=3"), "has no option 'max_groups'"),
        (("-k", "2", "--distance", "great-circle"), "beyond 90 degrees"),
        (("-k", "2", "--distance", "matrix"), "only the library can take"),
        (("-k", "2", "--distance", "taxi"), "There is no distance"),
    ],
)
@pytest.mark.parametrize("style", [(), ("--style", "centres")])
def test_bad_input_is_refused_and_nothing_is_written(run, folder, words, what, style):
    pl.DataFrame({"lat": [1, 2, 3, 471147], "lon": [5, 6, 7, 8]}).write_csv(folder / "in.csv")
    before = sorted(folder.iterdir())
    given = words if "--method" in words else (*words, "--method", "gather")
    ran = run("anonymize", "in.csv", "-q", "lat,lon", "-o", "out.csv", *given, *style)
    assert ran.code == 2
    assert what in " ".join(ran.said.split())
    assert "471147" not in ran.said
    assert sorted(folder.iterdir()) == before

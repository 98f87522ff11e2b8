from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import NotAnonymous, PlanError
from shoal.publish.map import check_map, draw_map, page_of, sheet_of

KINDS = {"home": "place(lat, lon)"}
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
NODES = pl.DataFrame({"id": list("abcdef"), "lat": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "lon": [1.5] * 6})


def places(cells: str = "text") -> shoal.Release:
    random = np.random.default_rng(0)
    frame = pl.DataFrame({"lat": random.uniform(40, 42, 80), "lon": random.uniform(3, 9, 80)})
    return shoal.anonymize(frame, k=9, quasi=["home"], kinds=KINDS, method="rectangles", cells=cells)


def regions() -> shoal.Release:
    graph = shoal.read_graph(EDGES, NODES)
    frame = pl.DataFrame({"zip": list("abcdef") * 4 + ["a"] * 3})
    return shoal.anonymize(frame, k=7, quasi=["zip"], graphs={"zip": graph}, method="regions")


@pytest.mark.parametrize("cells", ["text", "bounds", "middle"])
def test_a_sheet_holds_the_published_rectangles_and_class_sizes(cells: str) -> None:
    release = places(cells)
    sheet = sheet_of(release.table, release.plan)
    assert sum(sheet.sizes) == 80
    assert min(sheet.sizes) == release.verdict.smallest_class
    assert len(sheet.boxes) == len(sheet.sizes) == release.verdict.classes
    text = sheet_of(places().table, places().plan)
    assert sorted(sheet.boxes) == [pytest.approx(box) for box in sorted(text.boxes)]


def test_suppressed_and_missing_places_are_counted_not_drawn() -> None:
    frame = pl.DataFrame({"lat": [1.0, 1.1, None, None], "lon": [5.0, 5.1, None, None]})
    release = shoal.anonymize(frame, k=2, quasi=["home"], kinds=KINDS, method="rectangles")
    sheet = sheet_of(release.table, release.plan)
    assert (sheet.sizes, sheet.elsewhere) == ((2,), 2)
    assert "2 records have no place on the map" in page_of(sheet)


def test_regions_are_dots_by_class_with_lines_inside_a_class_only() -> None:
    release = regions()
    sheet = sheet_of(release.table, release.plan)
    assert len(sheet.dots) == 6
    assert sum(sheet.sizes) == 27
    for a, b in sheet.lines:
        assert sheet.dots[a][2] == sheet.dots[b][2]
    classes = [dot[2] for dot in sheet.dots]
    for one, other in itertools.pairwise(classes):
        if one != other:
            assert sheet.colours[one] != sheet.colours[other]


def test_the_page_needs_no_network_and_holds_no_persons_point(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    frame = pl.DataFrame({"lat": random.uniform(40, 42, 90), "lon": random.uniform(3, 9, 90)})
    release = shoal.anonymize(frame, k=30, quasi=["home"], kinds=KINDS, method="rectangles")
    page = release.draw_map(tmp_path / "map.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=|https?://|@import|fetch\(""", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert data["dots"] == []
    sides = {round(side, 6) for box in data["boxes"] for side in box}
    inside = [p for p in frame.rows() if round(p[0], 6) not in sides and round(p[1], 6) not in sides]
    assert len(inside) > 60
    for lat, lon in inside:
        assert f"{lat:.4f}" not in page
        assert f"{lon:.4f}" not in page


def test_a_name_cannot_break_out_of_the_page() -> None:
    release = places()
    plan = replace(release.plan, quasi=("<b>",), kinds={"<b>": "place(lat, lon)"})
    page = page_of(sheet_of(release.table.rename({"home": "<b>"}), plan))
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_pictures_are_drawn(tmp_path: Path) -> None:
    for name, release in (("places", places()), ("regions", regions())):
        path = release.draw_map(tmp_path / f"{name}.png")
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_map_that_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    release = places()
    with pytest.raises(PlanError, match="no ending Shoal can write"):
        check_map(tmp_path / "map.gif")
    source = tmp_path / "in.html"
    source.write_text("x", encoding="utf-8")
    with pytest.raises(PlanError, match="one of the inputs"):
        check_map(source, inputs=[source])
    failed = replace(release.verdict, reasons=("The smallest class is too small.",))
    with pytest.raises(NotAnonymous, match="Nothing was drawn"):
        draw_map(release.table, release.plan, failed, tmp_path / "map.html")
    assert not (tmp_path / "map.html").exists()
    plain = shoal.anonymize(pl.DataFrame({"age": [1, 2, 3, 4]}), k=2, quasi=["age"], method="mondrian")
    with pytest.raises(PlanError, match="needs a place"):
        plain.draw_map(tmp_path / "map.html")
    bare = shoal.anonymize(
        pl.DataFrame({"zip": ["a", "b"] * 3}),
        k=2,
        quasi=["zip"],
        graphs={"zip": [("a", "b")]},
        method="regions",
    )
    with pytest.raises(PlanError, match="needs their coordinates"):
        bare.draw_map(tmp_path / "map.html")

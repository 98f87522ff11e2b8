"""Places, regions and maps through the command line."""

from __future__ import annotations

import json

PLACES = "lat,lon,ill\n" + "".join(f"{50 + i / 10},{i % 4},x{i % 3}\n" for i in range(12))
ZIPS = "zip,age\n" + "".join(f"0{i % 6},{i % 9}\n" for i in range(24))
EDGES = "a,b\n00,01\n01,02\n02,03\n03,04\n04,05\n05,05\n01,00\n"
NODES = "id,lat,lon\n" + "".join(f"0{i},{40 + i},7\n" for i in range(6))


def test_places_are_cut_into_rectangles_and_drawn(run, folder):
    (folder / "places.csv").write_text(PLACES)
    ran = run(
        *("anonymize", "places.csv", "-k", 3, "-q", "home", "--kind", "home=place(lat,lon)", "-s", "ill"),
        *("--method", "rectangles", "--map", "map.html", "-o", "out.csv"),
    )
    assert ran.code == 0, ran.err
    assert " x " in (folder / "out.csv").read_text()
    assert (folder / "map.html").read_text().startswith("<!doctype html>")
    ran = run("verify", "out.csv", "out.certificate.json", "--original", "places.csv")
    assert ran.code == 0, ran.said


def test_regions_are_grouped_by_their_graph_and_published_by_id(run, folder):
    (folder / "zips.csv").write_text(ZIPS)
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
    graph = ("--graph", "zip=edges.csv,nodes.csv")
    ran = run(
        *("anonymize", "zips.csv", "-k", 7, "-q", "zip", *graph, "--method", "regions"),
        *("--cells", "id", "--map", "map.png", "-o", "out.csv"),
    )
    assert ran.code == 0, ran.err
    assert "1 edges from a region to itself and 1 that stand twice" in ran.out
    (lookup,) = folder.glob("out.zip-*.csv")
    assert lookup.name in ran.out
    assert lookup.read_text().startswith("group,zip\n")
    assert (folder / "map.png").exists()
    ran = run("verify", "out.csv", "out.certificate.json", "--original", "zips.csv", *graph)
    assert ran.code == 0, ran.said
    said = json.loads((folder / "out.certificate.json").read_text())
    assert said["objective"] == "largest"
    assert said["plan"]["kinds"] == {"zip": "region"}


def test_a_region_among_others_is_verified_with_its_graph_alone(run, folder):
    (folder / "zips.csv").write_text(ZIPS)
    (folder / "edges.csv").write_text(EDGES)
    ran = run(
        *("anonymize", "zips.csv", "-k", 4, "-q", "zip,age", "--graph", "zip=edges.csv"),
        *("--method", "mondrian", "-o", "out.csv"),
    )
    assert ran.code == 0, ran.err
    ran = run("verify", "out.csv", "out.certificate.json", "--graph", "zip=edges.csv", "--json")
    found = {f["claim"]: f["holds"] for f in json.loads(ran.out)["findings"]}
    assert found["loss of zip"] is True
    (folder / "other.csv").write_text("a,b\n00,02\n")
    ran = run("verify", "out.csv", "out.certificate.json", "--graph", "zip=other.csv")
    assert ran.code == 3


def test_a_map_of_neither_places_nor_regions_is_refused_and_nothing_written(run, folder):
    (folder / "zips.csv").write_text(ZIPS)
    before = sorted(path.name for path in folder.iterdir())
    ran = run(*("anonymize", "zips.csv", "-k", 4, "-q", "age", "--map", "map.html", "-o", "out.csv"))
    assert ran.code == 2
    assert "A map needs a place" in ran.err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_region_that_the_graph_lacks_is_counted_and_never_shown(run, folder):
    (folder / "zips.csv").write_text(ZIPS + "hidden,3\n")
    (folder / "edges.csv").write_text(EDGES)
    ran = run(
        *("anonymize", "zips.csv", "-k", 4, "-q", "zip", "--graph", "zip=edges.csv"),
        *("--method", "regions", "-o", "out.csv"),
    )
    assert ran.code == 2
    assert "1 of 25 cells" in ran.err
    assert "hidden" not in ran.said

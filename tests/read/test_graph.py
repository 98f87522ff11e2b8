from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import PlanError
from shoal.read.graph import read_graph
from shoal.read.plan import plan_words


def neighbours(graph: shoal.Graph) -> dict[str, list[str]]:
    return {
        name: [graph.names[u] for u in graph.neighbour[graph.start[v] : graph.start[v + 1]]]
        for v, name in enumerate(graph.names)
    }


WANTED = {"01": ["02", "03"], "02": ["01"], "03": ["01"]}


def test_edges_come_from_a_file_a_frame_or_pairs(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("a,b\n01,02\n03,01\n", encoding="utf-8")
    frame = pl.DataFrame({"a": ["01", "03"], "b": ["02", "01"]})
    for given in (file, str(file), frame, frame.to_pandas(), [("01", "02"), ["03", "01"]]):
        assert neighbours(read_graph(given)) == WANTED


def test_loops_and_doubled_edges_are_tolerated_and_counted() -> None:
    graph = read_graph([("a", "b"), ("b", "a"), ("a", "a"), ("a", "b")])
    assert neighbours(graph) == {"a": ["b"], "b": ["a"]}
    assert (graph.loops, graph.repeats) == (1, 2)


def test_nodes_add_lonely_regions_and_coordinates(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("id,name,lat,lon\n02,Two,5.5,6\n01,One,,\n04,Four,7,x\n", encoding="utf-8")
    graph = read_graph([("01", "02")], nodes)
    assert neighbours(graph) == {"01": ["02"], "02": ["01"], "04": []}
    assert graph.latitude is not None
    assert graph.longitude is not None
    assert graph.latitude[1] == 5.5
    assert math.isnan(graph.latitude[0])
    assert math.isnan(graph.longitude[2])


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        ([], None, "graph is empty"),
        (
            [("a", "zz"), ("a", "b")],
            pl.DataFrame({"id": ["a", "b"]}),
            "1 of 2 edges of the graph name",
        ),
        ([("a", "b")], pl.DataFrame({"id": ["a", "a", "b"]}), "1 regions twice"),
        ([("a", "")], None, "without a name"),
        ([("a", "b", "c")], None, "list of pairs"),
        (7, None, "a file, a frame or a list"),
        (pl.DataFrame({"a": ["x"]}), None, "two columns"),
        (pl.DataFrame({"a": ["x"], "b": [None]}), None, "empty cells"),
        ("nowhere.csv", None, "There is no file"),
    ],
)
def test_a_graph_that_is_none_is_refused(edges, nodes, words) -> None:
    with pytest.raises(PlanError, match=words):
        read_graph(edges, nodes)


def test_a_plan_file_names_graphs(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\n01,02\n03,01\n", encoding="utf-8")
    (tmp_path / "nodes.csv").write_text("id\n01\n02\n03\n04\n", encoding="utf-8")
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "k: 2\nquasi: [zip]\nkinds: {zip: region}\ngraphs: {zip: edges.csv}\n", encoding="utf-8"
    )
    assert neighbours(plan_words(plan)["graphs"]["zip"]) == WANTED
    plan.write_text(
        "k: 2\nquasi: [zip]\ngraphs:\n  zip: {edges: edges.csv, nodes: nodes.csv}\n", encoding="utf-8"
    )
    assert "04" in plan_words(plan)["graphs"]["zip"].names
    plan.write_text("k: 2\nquasi: [zip]\ngraphs:\n  zip: [1, 2]\n", encoding="utf-8")
    with pytest.raises(PlanError, match="must be a file of edges"):
        plan_words(plan)


def test_a_region_needs_a_graph_and_a_graph_makes_a_region() -> None:
    with pytest.raises(PlanError, match="has no graph"):
        shoal.Plan(k=2, quasi=("zip",), kinds={"zip": "region"})
    with pytest.raises(PlanError, match="so it is a region"):
        shoal.Plan(k=2, quasi=("zip",), kinds={"zip": "label"}, graphs={"zip": read_graph([("a", "b")])})
    plan = shoal.Plan(k=2, quasi=("zip",), graphs={"zip": read_graph([("a", "b")])})
    assert str(plan.kind("zip")) == "region"

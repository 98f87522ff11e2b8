from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import naive_geography as naive
from shoal.encode import encode
from shoal.encode.region import region_tree
from shoal.errors import DataError
from shoal.model.column import SET, TREE
from shoal.model.graph import Graph
from shoal.model.plan import Plan

LINE = Graph.of_edges([(f"z{i}", f"z{i + 1}") for i in range(7)])


def test_rows_that_name_strange_regions_are_counted_and_never_shown() -> None:
    frame = pl.DataFrame({"zip": ["z0", "secret", "z1", "hidden", None]})
    for style in ("generalize", "suppress"):
        with pytest.raises(DataError, match="has 2 of 5 cells whose region is not in its graph") as error:
            encode(frame, Plan(k=2, quasi=("zip",), graphs={"zip": LINE}, style=style))
        assert "secret" not in str(error.value)


def test_a_region_alone_is_a_set_and_among_others_a_tree() -> None:
    frame = pl.DataFrame({"zip": ["z0", "z1"], "age": [1, 2]})
    alone = encode(frame, Plan(k=2, quasi=("zip",), graphs={"zip": LINE})).columns[0]
    among = encode(frame, Plan(k=2, quasi=("zip", "age"), graphs={"zip": LINE})).columns[0]
    assert (alone.kind, alone.axes[0].form, alone.denominator) == ("region", SET, 7.0)
    assert (among.kind, among.axes[0].form, among.denominator) == ("region", TREE, 7.0)


def test_the_tree_halves_the_graph_into_connected_parts() -> None:
    tree = region_tree(LINE)
    assert tree.height == 3
    assert sorted(tree.leaves) == list(LINE.names)
    for run, _ in tree.names.items():
        numbers = sorted(int(leaf[1:]) for leaf in tree.leaves[run[0] : run[1] + 1])
        assert numbers[-1] - numbers[0] == len(numbers) - 1
    assert tree.names[0, 7] == "*"
    assert {"z0 +3", "z4 +3"} <= set(tree.names.values())


def test_every_part_of_a_random_graphs_tree_is_connected_and_names_are_unique() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        many = int(random.integers(5, 60))
        edges = {(int(random.integers(0, v)), v) for v in range(1, many)}
        edges |= {tuple(sorted(random.choice(many, 2, replace=False).tolist())) for _ in range(many)}
        graph = Graph.of_edges([(f"{a:03}", f"{b:03}") for a, b in edges])
        tree = region_tree(graph)
        for first, last in tree.names:
            members = [int(leaf) for leaf in tree.leaves[first : last + 1]]
            assert naive.is_connected(members, sorted(edges))
        assert len(set(tree.names.values())) == len(tree.names)
        assert len(tree.names) == 2 * many - 1


def test_components_hang_below_the_root_and_input_order_changes_nothing() -> None:
    edges = [("a", "b"), ("b", "c"), ("x", "y")]
    one = region_tree(Graph.of_edges(edges))
    other = region_tree(Graph.of_edges([(b, a) for a, b in reversed(edges)]))
    assert one.fingerprint == other.fingerprint
    assert {one.names[run] for run in one.names} == {"a", "b", "c", "x", "y", "a +2", "x +1", "*"} | (
        {"a +1"} if (0, 1) in one.names and one.names[0, 1] == "a +1" else {"b +1"}
    )


def test_a_grid_is_halved_evenly() -> None:
    side = 16
    right = [(r * side + c, r * side + c + 1) for r in range(side) for c in range(side - 1)]
    down = [(r * side + c, (r + 1) * side + c) for r in range(side - 1) for c in range(side)]
    tree = region_tree(Graph.of_edges([(str(a), str(b)) for a, b in right + down]))
    assert tree.height <= 11

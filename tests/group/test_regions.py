from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import naive_geography as naive
import shoal
from shoal.bound.largest_group import prove
from shoal.encode import encode
from shoal.errors import DataError
from shoal.group import regions
from shoal.group.regions import group, low_degree_tree
from shoal.kernels.regions.trees import degrees, twins
from shoal.model.graph import Graph
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task

Edges = list[tuple[int, int]]


def tiny(random: np.random.Generator, many: int) -> Edges:
    """A connected graph: a random tree with some more edges."""
    edges = {(int(random.integers(0, v)), v) for v in range(1, many)}
    for _ in range(int(random.integers(0, many))):
        a, b = sorted(random.choice(many, size=2, replace=False).tolist())
        edges.add((a, b))
    return sorted(edges)


def run(edges: Edges, weight: list[int], k: int, **more: object) -> tuple[Grouping, float, list[list[int]]]:
    """The grouping, its bound, and its groups as lists of regions (those with records)."""
    many = len(weight)
    graph = Graph.of_edges([(f"r{a}", f"r{b}") for a, b in edges], regions=[f"r{v}" for v in range(many)])
    frame = pl.DataFrame({"zip": [f"r{v}" for v in range(many)], "n": weight})
    coded = encode(frame, Plan(k=k, quasi=("zip",), graphs={"zip": graph}, count="n"))
    task = Task(k=k, **more)  # type: ignore[arg-type]
    grouping = group(coded, task)
    found: dict[int, list[int]] = {}
    for distinct, at in zip(grouping.distinct, grouping.group, strict=True):
        found.setdefault(int(at), []).append(int(coded.codes[distinct, 0]))
    found.pop(-1, None)
    return grouping, prove(coded, task).bound, list(found.values())


def against_brute_force(tables: int) -> None:
    random = np.random.default_rng(21)
    for table in range(tables):
        many = int(random.integers(4, 10 if table % 25 == 0 else 9))
        edges = tiny(random, many)
        weight = random.integers(1, 7, size=many).tolist()
        k = int(random.integers(2, max(3, sum(weight) // 2)))
        best = naive.least_largest(
            weight, k, lambda groups, e=edges: all(naive.is_connected(members, e) for members in groups)
        )
        grouping, bound, groups = run(edges, weight, k)
        levels = [sum(weight[v] for v in members) for members in groups]
        assert sorted(v for members in groups for v in members) == list(range(many))
        assert all(naive.is_connected(members, edges) for members in groups)
        assert min(levels) >= k
        assert best is not None
        assert grouping.factor is not None
        assert bound <= best <= max(levels) <= grouping.factor * best


def test_regions_hold_their_factor_against_brute_force() -> None:
    against_brute_force(200)


@pytest.mark.slow
def test_regions_hold_their_factor_against_brute_force_at_length() -> None:
    against_brute_force(1000)


def least_degree(edges: Edges, many: int) -> int:
    """The least degree of a spanning tree, by trying all."""
    best = many
    for tree in itertools.combinations(edges, many - 1):
        if naive.is_connected(range(many), tree):
            best = min(best, max(sum(v in edge for edge in tree) for v in range(many)))
    return best


def test_the_tree_spans_and_its_degree_is_at_most_one_above_the_least() -> None:
    random = np.random.default_rng(22)
    for _ in range(150):
        many = int(random.integers(4, 8))
        edges = tiny(random, many)[:12]
        if not naive.is_connected(range(many), edges):
            continue
        graph = Graph.of_edges([(str(a), str(b)) for a, b in edges])
        twin = twins(graph.start, graph.neighbour)
        tree, _ = low_degree_tree(graph.start, graph.neighbour, twin)
        degree = degrees(graph.start, graph.neighbour, tree)
        assert degree.sum() == 2 * (many - 1)
        tails = np.repeat(np.arange(many), np.diff(graph.start))
        chosen = [(int(a), int(b)) for a, b in zip(tails[tree], graph.neighbour[tree], strict=True)]
        assert naive.is_connected(range(many), chosen)
        assert degree.max() <= least_degree(edges, many) + 1


def test_a_hub_of_high_tree_degree_is_relieved() -> None:
    # a wheel: the star has degree 8, a path around the rim has 2
    rim = [(v, v % 8 + 1) for v in range(1, 9)]
    graph = Graph.of_edges([(str(a), str(b)) for a, b in [(0, v) for v in range(1, 9)] + rim])
    tree, _ = low_degree_tree(graph.start, graph.neighbour, twins(graph.start, graph.neighbour))
    assert degrees(graph.start, graph.neighbour, tree).max() <= 3


def star_like(start: np.ndarray, neighbour: np.ndarray, twin: np.ndarray) -> np.ndarray:
    """A spanning tree by breadth: as high in degree as can be."""
    flag = np.zeros(neighbour.size, dtype=bool)
    order, seen = [0], {0}
    for v in order:
        for arc in range(start[v], start[v + 1]):
            if int(neighbour[arc]) not in seen:
                seen.add(int(neighbour[arc]))
                order.append(int(neighbour[arc]))
                flag[arc] = flag[twin[arc]] = True
    return flag


def test_a_bad_tree_of_a_graph_with_a_path_is_brought_down_to_degree_three(monkeypatch) -> None:
    random = np.random.default_rng(23)
    monkeypatch.setattr(regions, "deep_tree", star_like)
    for _ in range(15):
        many = int(random.integers(20, 150))
        path = random.permutation(many).tolist()
        edges = {tuple(sorted(pair)) for pair in itertools.pairwise(path)}
        for hub in random.integers(0, many, 3).tolist():
            edges |= {
                tuple(sorted((hub, v))) for v in random.integers(0, many, many // 4).tolist() if v != hub
            }
        graph = Graph.of_edges([(f"{a:03}", f"{b:03}") for a, b in edges])
        twin = twins(graph.start, graph.neighbour)
        assert (
            degrees(graph.start, graph.neighbour, star_like(graph.start, graph.neighbour, twin)).max() > 4
        )
        tree, steps = low_degree_tree(graph.start, graph.neighbour, twin)
        degree = degrees(graph.start, graph.neighbour, tree)
        assert degree.sum() == 2 * (many - 1)
        assert degree.max() <= 3
        assert steps > 0


def grid(side: int) -> Edges:
    right = [(r * side + c, r * side + c + 1) for r in range(side) for c in range(side - 1)]
    down = [(r * side + c, (r + 1) * side + c) for r in range(side - 1) for c in range(side)]
    return right + down


def test_a_large_grid_comes_close_to_the_bound_and_repeats() -> None:
    random = np.random.default_rng(3)
    weight = random.integers(0, 30, size=400).tolist()
    first, bound, groups = run(grid(20), weight, 150)
    again, _, _ = run(grid(20), weight, 150)
    assert np.array_equal(first.group, again.group)
    assert first.sizes.min() >= 150
    assert first.sizes.max() <= 1.5 * bound
    empty = [v for v in range(400) if weight[v] == 0]
    # regions without records may be what joins the others
    assert all(len(members) > 0 for members in groups)
    assert empty


def test_light_components_are_withheld_up_to_the_quota_and_nothing_else_is() -> None:
    edges = [(0, 1), (1, 2), (3, 4)]
    weight = [5, 5, 5, 1, 2]
    with pytest.raises(
        DataError, match=r"1 of the graph's connected parts.*3 of 18 in all.*the plan allows 2"
    ) as error:
        run(edges, weight, 5, withhold=2)
    assert "r3" not in str(error.value)
    grouping, bound, groups = run(edges, weight, 5, withhold=3)
    assert grouping.withheld == 3
    assert sorted(map(sorted, groups)) == [[0], [1], [2]]
    assert bound == 5


def test_nothing_to_publish_is_an_error() -> None:
    with pytest.raises(DataError, match="every part of the graph"):
        run([(0, 1), (2, 3)], [2, 2, 2, 2], 5, withhold=8)


def test_missing_regions_are_a_part_of_their_own() -> None:
    frame = pl.DataFrame({"zip": ["a", "b", None, None, "a", "b"]})
    release = shoal.anonymize(frame, k=2, quasi=["zip"], graphs={"zip": [("a", "b")]}, method="regions")
    assert release.table["zip"].to_list() == ["a", "a", "b", "b", None, None]
    with pytest.raises(DataError, match="can only be withheld"):
        shoal.anonymize(frame[:3], k=2, quasi=["zip"], graphs={"zip": [("a", "b")]}, method="regions")


def test_more_effort_is_no_worse() -> None:
    weight = np.random.default_rng(5).integers(1, 30, size=225).tolist()
    quick, _, _ = run(grid(15), weight, 100, effort=Effort.parse("quick"))
    thorough, _, _ = run(grid(15), weight, 100, effort=Effort.parse("thorough"))
    assert thorough.sizes.max() <= quick.sizes.max()


def test_a_release_of_regions_is_checked_certified_and_published_as_sets() -> None:
    edges = [(f"z{a}", f"z{b}") for a, b in grid(4)]
    frame = pl.DataFrame({"zip": [f"z{i % 16}" for i in range(160)]})
    release = shoal.anonymize(frame, k=25, quasi=["zip"], graphs={"zip": edges}, method="regions")
    assert release.verdict.has_passed
    assert release.certificate.objective == "largest"
    for cell in release.table["zip"].unique():
        members = [int(name[1:]) for name in cell.strip("{}").split(", ")]
        assert naive.is_connected(members, grid(4))
    assert all(f.holds is not False for f in shoal.verify(release.table, release.certificate))
    findings = shoal.verify(release.table, release.certificate, original=frame, graphs={"zip": edges})
    assert {f.claim: f.holds for f in findings}["rows"] is True
    assert all(f.holds is not False for f in findings)


@pytest.mark.parametrize("method", ["k-member", "mondrian"])
def test_a_region_among_others_is_a_node_of_the_region_tree(method: str) -> None:
    edges = [(f"z{a:02}", f"z{b:02}") for a, b in grid(4)]
    frame = pl.DataFrame({"zip": [f"z{i % 16:02}" for i in range(96)], "age": [i % 7 for i in range(96)]})
    release = shoal.anonymize(
        frame, k=5, quasi=["zip", "age"], kinds={"zip": "region"}, graphs={"zip": edges}, method=method
    )
    assert release.verdict.has_passed
    findings = shoal.verify(release.table, release.certificate, original=frame, graphs={"zip": edges})
    assert all(f.holds is not False for f in findings)
    assert {f.claim: f.holds for f in findings}["rows"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "share", "k"),
    [
        (which, share, k)
        for which in ("county", "zcta")
        for share, k in ((0.001, 1000), (0.001, 20000), (1.0, 200_000), (1.0, 2_000_000))
    ],
)
def test_us_regions_are_at_most_half_above_the_bound(shared, which, share, k) -> None:
    folder = shared / f"geo_{which}"
    nodes = pl.read_csv(folder / "nodes.csv", infer_schema_length=0)
    inside = pl.read_csv(folder / "components.csv", infer_schema_length=0)
    nodes = nodes.join(inside.filter(pl.col("component") == "0"), on="id")
    edges_file = next(folder.glob("edges.csv*"))
    edges = pl.read_csv(edges_file, infer_schema_length=0)
    edges = edges.filter(
        pl.col("a").is_in(nodes["id"].implode()) & pl.col("b").is_in(nodes["id"].implode())
    )
    people = nodes["population"].cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    if share < 1:
        people = np.random.default_rng(1).binomial(people, share)
    place = {name: at for at, name in enumerate(nodes["id"])}
    pairs = [(place[a], place[b]) for a, b in edges.iter_rows()]
    graph = shoal.read_graph(edges, nodes.select("id"))
    frame = pl.DataFrame({"zip": nodes["id"], "n": people})
    coded = encode(frame, Plan(k=k, quasi=("zip",), graphs={"zip": graph}, count="n"))
    task = Task(k=k)
    grouping = group(coded, task)
    assert grouping.withheld == 0
    assert grouping.sizes.min() >= k
    assert grouping.sizes.max() <= 1.5 * prove(coded, task).bound
    label = dict(zip(coded.codes[grouping.distinct, 0].tolist(), grouping.group.tolist(), strict=True))
    place_of = {name: at for at, name in enumerate(graph.names)}
    its = np.array([label.get(place_of[name], -1) for name in nodes["id"]])
    assert ((its < 0) == (people == 0)).all()
    tails, heads = np.array(pairs).T
    for at in range(grouping.groups):
        # regions without records may be what joins those that have some
        inside = (its == at) | (its < 0)
        kept = inside[tails] & inside[heads]
        joined = connected_components(
            coo_array((np.ones(kept.sum()), (tails[kept], heads[kept])), shape=(its.size, its.size))
        )[1]
        assert np.unique(joined[its == at]).size == 1

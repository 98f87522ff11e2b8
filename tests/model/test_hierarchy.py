from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_trees as naive
from shoal.errors import DataError, PlanError
from shoal.model.days import calendar
from shoal.model.hierarchy import Builder, Hierarchy, bins, flat, prefixes

ASIA = [("China", "Asia", "*"), ("Japan", "Asia", "*"), ("France", "Europe", "*"), ("Spain", "Europe", "*")]


@st.composite
def path_lists(draw):
    """One path per leaf of a random ragged tree with unique names."""
    names = (f"n{at}" for at in itertools.count())

    def grow(depth, above):
        if depth == 0 or draw(st.booleans()):
            return [(next(names), *above)]
        node = (next(names), *above)
        return [path for _ in range(draw(st.integers(1, 3))) for path in grow(depth - 1, node)]

    paths = [path for _ in range(draw(st.integers(1, 4))) for path in grow(3, ())]
    draw(st.randoms()).shuffle(paths)
    return paths


def test_leaves_stand_in_depth_first_order():
    mixed = [ASIA[0], ASIA[2], ASIA[1], ASIA[3]]
    assert Hierarchy.of_paths(mixed).leaves == ("China", "Japan", "France", "Spain")


def test_levels_nest_from_single_leaves_to_the_root():
    tree = Hierarchy.of_paths(ASIA)
    assert tree.height == 2
    assert tree.first.tolist() == [[0, 1, 2, 3], [0, 0, 2, 2], [0, 0, 0, 0]]
    assert tree.last.tolist() == [[0, 1, 2, 3], [1, 1, 3, 3], [3, 3, 3, 3]]
    assert tree.nodes() == {
        **{name: (at, at, 0) for at, name in enumerate(tree.leaves)},
        "Asia": (0, 1, 1),
        "Europe": (2, 3, 1),
        "*": (0, 3, 2),
    }


@given(path_lists())
def test_every_tree_is_its_paths(paths):
    tree = Hierarchy.of_paths(paths)
    assert sorted(tree.leaves) == sorted(path[0] for path in paths)
    parent = naive.parents(paths)
    for one, other in itertools.combinations_with_replacement(range(len(tree.leaves)), 2):
        ancestor = naive.common_ancestor(parent, [tree.leaves[one], tree.leaves[other]])
        below = naive.leaves_below(parent, ancestor)
        level = next(at for at in range(tree.height + 1) if tree.first[at, one] == tree.first[at, other])
        run = range(tree.first[level, one], tree.last[level, one] + 1)
        assert {tree.leaves[at] for at in run} == below
        assert level == naive.height(parent, ancestor)


@given(path_lists())
def test_names_are_unique_and_partitions_nest(paths):
    tree = Hierarchy.of_paths(paths)
    assert len(set(tree.names.values())) == len(tree.names)
    for level in range(tree.height + 1):
        for leaf in range(len(tree.leaves)):
            low, high = tree.first[level, leaf], tree.last[level, leaf]
            assert low <= leaf <= high
            assert (tree.first[level, low : high + 1] == low).all()
            assert (int(low), int(high)) in tree.names
            if level:
                assert low <= tree.first[level - 1, leaf]
                assert tree.last[level - 1, leaf] <= high


@given(path_lists())
def test_a_root_and_padding_change_nothing(paths):
    plain = Hierarchy.of_paths(paths)
    widest = max(map(len, paths))
    for spelled in (
        [(*path, "*") for path in paths],
        [(*path, "*", *[""] * (widest - len(path))) for path in paths],
        [(*path, *["*"] * (1 + widest - len(path))) for path in paths],
        [(f" {path[0]} ", *path[1:], "") for path in paths],
    ):
        assert Hierarchy.of_paths(spelled).fingerprint == plain.fingerprint


def test_a_repeated_path_is_one_leaf_and_blank_lines_are_none():
    assert Hierarchy.of_paths([*ASIA, ASIA[0], (), ("", ""), ("*", "*")]).leaves == (
        "China",
        "Japan",
        "France",
        "Spain",
    )


def test_a_chain_of_only_children_has_one_name():
    tree = Hierarchy.of_paths([("a", "A", "All", "*"), ("b", "B", "All", "*")])
    assert set(tree.names.values()) == {"a", "b", "All"}
    assert tree.nodes()["All"] == (0, 1, 2)
    assert tree.height == 3


def test_ragged_leaves_have_level_0_and_nodes_their_greatest_height():
    tree = Hierarchy.of_paths(
        [("a", "*"), ("b", "B", "BB", "*"), ("c", "C", "BB", "*"), ("d", "C", "BB", "*")]
    )
    assert tree.nodes()["a"] == (0, 0, 0)
    assert tree.nodes()["C"] == (2, 3, 1)
    assert tree.nodes()["BB"] == (1, 3, 2)
    assert tree.first[:, 0].tolist() == [0, 0, 0, 0]
    assert tree.last[:, 0].tolist() == [0, 0, 0, 3]


def test_the_same_name_on_different_levels_is_made_unique():
    tree = Hierarchy.of_paths(
        [("x", "Other", "Other", "*"), ("y", "Z", "Other", "*"), ("Z (level 1)", "*")]
    )
    assert set(tree.leaves) == {"x", "y", "Z (level 1)"}
    assert len(set(tree.names.values())) == len(tree.names)
    twice = Hierarchy.of_paths([("a", "b", "*"), ("d", "b", "*"), ("b", "c", "*"), ("e", "c", "*")])
    assert twice.nodes()["b"] == (2, 2, 0), "the leaf keeps its name"
    assert twice.nodes()["b (level 1)"] == (0, 1, 1)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ([], "is empty"),
        ([("", "")], "is empty"),
        ([("a", "A", "*"), ("a", "B", "*")], "two paths"),
        ([("a", "A", "*"), ("a", "*")], "two paths"),
        ([("a", "X", "A", "*"), ("b", "X", "B", "*")], "under both"),
        ([("a", "X", "A", "*"), ("b", "X", "*")], "under both"),
        ([("France", "*"), ("Paris", "France", "*")], "both a value and the parent"),
        ([("a", "", "A", "*")], "empty cell inside"),
        ([("a", "*", "A")], "inside a path"),
        ([("*", "A", "*")], "inside a path"),
        ([tuple(f"n{at}" for at in range(5000))], "is the most"),
    ],
)
def test_what_is_not_a_tree_is_refused(paths, words):
    with pytest.raises(PlanError, match=words) as caught:
        Hierarchy.of_paths(paths, column="land")
    assert "'land'" in str(caught.value)


def test_a_single_value_is_a_tree():
    tree = Hierarchy.of_paths([("a",)])
    assert (tree.leaves, tree.height, tree.names) == (("a",), 1, {(0, 0): "a"})


def test_the_fingerprint_sees_names_and_shape():
    prints = {
        Hierarchy.of_paths(paths).fingerprint
        for paths in (
            ASIA,
            [(leaf, "*") for leaf, *_ in ASIA],
            [(leaf, node.lower(), "*") for leaf, node, _ in ASIA],
            [(leaf.lower(), node, "*") for leaf, node, _ in ASIA],
            [*ASIA[:2], ("France", "Asia", "*"), ASIA[3]],
        )
    }
    assert len(prints) == 5


def test_prefixes_keep_ever_fewer_characters():
    tree = prefixes(5, 3, 0).build(["12345", "12399", "13999"], column="zip")
    assert tree.leaves == ("12345", "12399", "13999")
    assert tree.nodes()["123**"] == (0, 1, 1)
    assert tree.names[0, 2] == "*"
    assert prefixes(5, 3, 0).text == "prefixes(5, 3, 0)"


def test_prefixes_of_codes_with_stars_of_their_own_still_make_a_tree():
    tree = prefixes(5, 3, 2).build(["12345", "123**", "12***", "1****", "12", "*9"], column="zip")
    assert set(tree.leaves) == {"12345", "123**", "12***", "1****", "12", "*9"}
    assert len(set(tree.names.values())) == len(tree.names)


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=1, max_size=30),
    st.sampled_from([(1,), (5, 10, 50), (0.1, 0.5), (0.25, 1, 7), (1000000,)]),
)
def test_every_bin_holds_its_values_exactly(values, widths):
    builder = bins(*widths)
    texts = {str(value) for value in values}
    tree = builder.build(texts, column="x")
    for name, (low, high, level) in tree.nodes().items():
        if not name.startswith("["):
            continue
        start, end = (Fraction(part) for part in name[1:-1].split(", "))
        assert level == 0 or end - start in [Fraction(str(width)) for width in widths]
        assert all(start <= Fraction(leaf) < end for leaf in tree.leaves[low : high + 1])


def test_bins_name_large_numbers_in_full_and_meet_their_edges():
    assert bins(1).path("1234567") == ["[1234567, 1234568)"]
    assert bins(0.1).path("0.3") == ["[0.3, 0.4)"]
    assert bins(5).path("-3") == ["[-5, 0)"]
    assert bins(1234567, 2469134).text == "bins(1234567, 2469134)"
    assert bins(0.25, 1).text == "bins(0.25, 1)"
    assert bins(5).build(["7", "10", "9"], column="x").leaves == ("7", "9", "10")


def test_calendar_levels_nest():
    builder = calendar("month", "quarter", "year", "decade", "century")
    assert builder.path("1999-12-31") == ["1999-12", "1999-Q4", "1999", "1990s", "1900s"]
    days = ["1999-12-31", "1999-11-01", "2001-01-01", "2001-01-02 10:30:00"]
    tree = builder.build(days, column="day")
    assert tree.nodes()["1999-Q4"][:2] == (0, 1)
    assert builder.text == "calendar(month, quarter, year, decade, century)"


def test_flat_is_a_value_or_a_star():
    assert flat().build(["b", "a"], column="x").first.tolist() == [[0, 1], [0, 0]]


def test_the_order_of_values_does_not_matter():
    values = [f"{at:05}" for at in range(0, 3000, 37)]
    shuffled = random.Random(1).sample(values, len(values))
    one, other = (prefixes(5, 3).build(each, column="x") for each in (values, shuffled))
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    "make",
    [
        prefixes,
        lambda: prefixes(3, 5),
        lambda: prefixes(3, 3),
        lambda: prefixes(3, -1),
        bins,
        lambda: bins(0),
        lambda: bins(-5),
        lambda: bins(float("nan")),
        lambda: bins(float("inf")),
        lambda: bins(5, 12),
        lambda: bins(10, 5),
        calendar,
        lambda: calendar("week"),
        lambda: calendar("year", "month"),
        lambda: calendar("year", "year"),
    ],
)
def test_builders_that_make_no_sense_are_refused(make):
    with pytest.raises(PlanError, match=r"needs|has no level"):
        make()


@pytest.mark.parametrize(
    ("builder", "values"),
    [
        (bins(5), ["1", "Zyxwvut73", "nan", "inf", "1e999999999"]),
        (calendar("year"), ["2020-01-01", "Zyxwvut73", "2020-13-01", "", "31/12/2020"]),
    ],
)
def test_values_a_builder_cannot_place_are_counted_and_not_shown(builder, values):
    with pytest.raises(DataError, match="has 4 distinct values") as caught:
        builder.build(values, column="x")
    assert "Zyxwvut73" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_builder_that_makes_no_tree_shows_no_value():
    odd = Builder("odd()", lambda value: ["Zyxwvut73"] if value != "Zyxwvut73" else [])
    with pytest.raises(DataError, match="makes no tree") as caught:
        odd.build(["Zyxwvut73", "a"], column="x")
    assert "Zyxwvut73" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_arrays_are_of_one_type():
    tree = Hierarchy.of_paths(ASIA)
    assert tree.first.dtype == tree.last.dtype == np.int32

"""Hierarchies as outlines: what is written is what is read, and mistakes are named by their line."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal

ODD = ("north", "a b", "[0, 5)", "007", "no", "x: y", "- z", "#", "ä", "~")
SHAPES = st.recursive(st.just(()), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=9)


def paths_of(shape, above=(), names=None):
    """A path for each leaf of a shape; every node has a name of its own."""
    names = itertools.count() if names is None else names
    for part in shape:
        number = next(names)
        path = (f"{ODD[number % len(ODD)]}{number}", *above)
        yield from paths_of(part, path, names) if part else [path]


@given(st.lists(SHAPES, min_size=1, max_size=3))
def test_an_outline_reads_back_as_the_same_tree(shape):
    tree = shoal.Hierarchy.of_paths(list(paths_of(shape)))
    again = shoal.parse_outline(shoal.outline_of(tree))
    assert again.fingerprint == tree.fingerprint
    assert again.others == tree.others


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n   b", 2), ("a\n    b", 2), ("  a\nb", 1), ("a\n  b\n c", 3)],
    ids=["odd", "two levels at once", "the first line", "between"],
)
def test_a_line_that_is_part_of_nothing_is_named(text, line):
    with pytest.raises(shoal.PlanError, match=f"'zip', line {line}: it begins with") as error:
        shoal.parse_outline(text, column="zip")
    assert (error.value.field, error.value.column) == ("hierarchies", "zip")


def test_one_line_is_a_builder_and_several_are_an_outline():
    assert shoal.parse_hierarchy("bins(5, 10)\n").text == "bins(5, 10)"
    assert shoal.parse_hierarchy("a\n\tb\n\tc\nd").leaves == ("b", "c", "d")
    with pytest.raises(shoal.PlanError, match="no hierarchy builder 'bim'") as error:
        shoal.parse_hierarchy("bim(5)", column="age")
    assert error.value.column == "age"

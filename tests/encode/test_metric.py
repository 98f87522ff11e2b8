"""The packed metric against obvious Python on the raw cells."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import naive_trees
from shoal.encode import encode
from shoal.kernels.distance.spans import boxes, distance, group_losses
from shoal.model.column import SET
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from tables import coded_of, tables


def losses(coded, groups):
    """What one record of each group of rows gives up, by the kernels."""
    members = np.array([coded.row[row] for rows in groups for row in rows], dtype=np.int32)
    starts = np.cumsum([0, *map(len, groups)])
    return group_losses(coded.codes, coded.metric, members, starts)


@given(tables(), st.data())
def test_groups_give_up_what_their_cells_do(table, data):
    coded = coded_of(table, k=2)
    rows = st.lists(st.integers(0, table.rows - 1), min_size=1)
    groups = data.draw(st.lists(rows, min_size=1, max_size=4))
    assert losses(coded, groups).tolist() == pytest.approx(
        [naive.group_loss(table, rows) for rows in groups]
    )


@given(tables())
def test_rows_are_as_far_apart_as_their_cells(table):
    coded = coded_of(table, k=2)
    for one, other in itertools.product(range(table.rows), repeat=2):
        pair = (coded.codes[coded.row[one]], coded.codes[coded.row[other]])
        assert distance(coded.metric, *pair) == pytest.approx(naive.distance(table, one, other))


@given(tables())
def test_boxes_hold_the_least_and_the_greatest_code(table):
    coded = coded_of(table, k=2)
    groups = [list(range(table.rows)), [0], list(range(0, table.rows, 2))]
    members = np.array([coded.row[row] for rows in groups for row in rows], dtype=np.int32)
    low, high = boxes(coded.codes, members, np.cumsum([0, *map(len, groups)]))
    for at, rows in enumerate(groups):
        codes = coded.codes[coded.row[rows]]
        assert low[at].tolist() == codes.min(axis=0).tolist()
        assert high[at].tolist() == codes.max(axis=0).tolist()


@given(tables())
def test_no_axis_gives_up_more_than_its_share(table):
    coded = coded_of(table, k=2)
    for axis, most in zip((a for c in coded.columns for a in c.axes), coded.metric.most, strict=True):
        assert 0.0 <= axis.share <= 1.0
        if axis.form == SET:
            assert axis.step * (axis.size - 1) == pytest.approx(axis.share)
        assert most <= max(table.weights.values())


@st.composite
def ragged_trees(draw):
    """The paths of a random ragged tree, and cells of a column that has it."""
    paths = []
    for leaf in range(draw(st.integers(2, 9))):
        depth = draw(st.integers(0, 3))
        top = draw(st.integers(0, 2))
        # a node's name holds its whole path, so that it has one parent
        line = [f"t{top}"]
        for _ in range(depth):
            line.insert(0, f"{line[0]}.{draw(st.integers(0, 1))}")
        paths.append((f"leaf{leaf}", *line[: depth + 1]) if depth else (f"leaf{leaf}",))
    leaves = st.sampled_from([path[0] for path in paths])
    return paths, draw(st.lists(st.none() | leaves, min_size=2, max_size=8))


@given(ragged_trees(), st.sampled_from(["leaves", "levels"]), st.data())
def test_ragged_trees_give_up_what_the_common_ancestor_holds(tree, loss, data):
    paths, cells = tree
    plan = Plan(k=2, quasi=("x",), hierarchies={"x": Hierarchy.of_paths(paths)}, loss=loss)
    coded = encode(pl.DataFrame({"x": cells}, schema={"x": pl.String}), plan)
    parent = naive_trees.parents(paths)
    if None in cells:
        parent["missing"] = "*"
    rows = data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=1))
    ancestor = naive_trees.common_ancestor(parent, [cells[row] or "missing" for row in rows])
    if loss == "leaves":
        whole = len(naive_trees.leaves_below(parent, "*")) - 1
        expected = (len(naive_trees.leaves_below(parent, ancestor)) - 1) / whole
    else:
        expected = naive_trees.height(parent, ancestor) / naive_trees.height(parent, "*")
    assert losses(coded, [rows]).tolist() == pytest.approx([expected])

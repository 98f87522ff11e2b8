from __future__ import annotations

import numpy as np
import polars as pl

from shoal.encode import encode
from shoal.group.mondrian import group
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Task

TREE = Hierarchy.of_paths(
    [("a", "left", "*"), ("b", "left", "*"), ("c", "right", "*"), ("d", "right", "*")]
)


def labels(frame: pl.DataFrame, k: int, **more: object) -> list[int]:
    plan = Plan(k=k, quasi=tuple(frame.columns), **more)  # type: ignore[arg-type]
    coded = encode(frame, plan)
    grouping = group(coded, Task(k=k))
    assert np.all(np.diff(grouping.distinct) > 0)
    return grouping.group[coded.row].tolist()


def test_numbers_are_cut_at_the_weighted_median() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 4, 4, 50, 90]})
    # the median lies behind the three fours; then neither side can be cut again
    assert labels(frame, 3) == [0, 0, 0, 1, 1, 1, 1, 1]


def test_trees_are_cut_at_the_children_of_the_common_ancestor() -> None:
    frame = pl.DataFrame({"job": ["a", "b", "b", "c", "d", "c", "d", "a"]})
    assert labels(frame, 4, hierarchies={"job": TREE}) == [0, 0, 0, 1, 1, 1, 1, 0]
    assert labels(frame, 2, hierarchies={"job": TREE}) == [0, 1, 1, 2, 3, 2, 3, 0]


def test_small_children_stand_together_or_join_the_smallest_part() -> None:
    flat = Hierarchy.of_paths([(leaf, "*") for leaf in "abcd"])
    together = pl.DataFrame({"job": ["a"] * 3 + ["b", "d", "d"]})
    assert labels(together, 3, hierarchies={"job": flat}) == [0, 0, 0, 1, 1, 1]
    joined = pl.DataFrame({"job": ["a"] * 4 + ["b"] * 3 + ["d"]})
    assert labels(joined, 3, hierarchies={"job": flat}) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_labels_are_split_by_their_commonest_members() -> None:
    frame = pl.DataFrame({"town": ["x"] * 2 + ["y"] * 5 + ["z"] * 2}, schema={"town": pl.String})
    assert labels(frame, 4, kinds={"town": "label"}) == [0, 0, 1, 1, 1, 1, 1, 0, 0]


def test_missing_numbers_stand_apart_where_there_are_enough() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, None, None, None, None, None, None]})
    assert labels(frame, 3) == [0, 0, 0, 1, 1, 1, 1, 1, 1]


def test_the_column_whose_cut_lowers_the_loss_most_is_cut() -> None:
    frame = pl.DataFrame({"age": [1, 1, 9, 9], "size": [5, 6, 5, 6]})
    assert labels(frame, 2, weights={"age": 3}) == [0, 0, 1, 1]
    assert labels(frame, 2, weights={"size": 3}) == [0, 1, 0, 1]


def test_large_boxes_are_cut_at_their_widest_column() -> None:
    frame = pl.DataFrame({"age": [1, 1, 9, 9], "size": [5, 6, 5, 6]})
    plan = Plan(k=2, quasi=("age", "size"), weights={"size": 3})
    coded = encode(frame, plan)
    # both are as wide as their column, so the heavier one is wider
    for widest, together in ((3, [0, 1, 0, 1]), (4, [0, 1, 0, 1]), (0, [0, 1, 0, 1])):
        found = group(coded, Task(k=2, options={"widest": widest}))
        assert found.group[coded.row].tolist() == together
    wide = pl.DataFrame({"age": [0, 1, 50, 51, 100, 101], "size": [0, 90, 1, 91, 2, 92]})
    coded = encode(wide, Plan(k=2, quasi=("age", "size"), weights={"age": 1.5}))
    by_width = group(coded, Task(k=2, options={"widest": 5})).group[coded.row].tolist()
    assert by_width == [0, 0, 0, 1, 1, 1]  # the median of the wider column; neither half can be cut again
    assert group(coded, Task(k=2, options={})).group[coded.row].tolist() != by_width

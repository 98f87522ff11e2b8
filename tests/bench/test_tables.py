"""The generators of the benchmarks' tables, and the frozen baseline, on tables small enough to judge."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parent.parent.parent / "bench"


@pytest.fixture(scope="module")
def bench():
    """The scripts of bench/ as modules."""
    sys.path.insert(0, str(BENCH))
    try:
        import baseline
        import make_distinct
        import make_wide
    finally:
        sys.path.remove(str(BENCH))
    return {"baseline": baseline, "distinct": make_distinct, "wide": make_wide}


def test_a_wide_table_has_25_columns_and_missing_cells_where_it_says_so(bench):
    wide = bench["wide"]
    table = wide.make(300)
    assert table.columns == list(wide.QUASI)
    assert table.shape == (300, 25)
    for name in table.columns:
        assert (table[name].null_count() > 0) == (name in wide.MISSING), name
    assert table.equals(wide.make(300))


def test_fewer_columns_of_a_wide_table_are_of_every_kind(bench):
    wide = bench["wide"]
    assert wide.columns_of(25) == wide.QUASI
    sixteen = wide.columns_of(16)
    assert len(sixteen) == len(set(sixteen)) == 16
    for kind in (wide.NUMBERS, wide.DATES, wide.TREES, wide.LABELS):
        assert abs(len(set(kind) & set(sixteen)) - len(kind) * 16 / 25) < 1.0


def test_the_trees_of_a_wide_table_cover_its_values(bench):
    wide = bench["wide"]
    table = wide.make(300)
    for name in wide.TREES:
        paths = wide.paths(name)
        assert set(table[name].drop_nulls()) <= {path[0] for path in paths}
        parent: dict[tuple[int, str], str] = {}
        for path in paths:
            for level, (node, above) in enumerate(pairwise(path)):
                assert parent.setdefault((level, node), above) == above


def test_a_larger_distinct_table_begins_with_the_smaller_one(bench):
    make = bench["distinct"]
    zips, edges = make.places()
    one, other = (make.part(0, 50, zips, edges) for _ in range(2))
    assert one.equals(other)
    assert not one.equals(make.part(1, 50, zips, edges))
    assert set(one["zip"].to_pylist()) <= set(zips.to_pylist())


def test_the_baseline_cuts_the_widest_span_at_its_middle(bench):
    baseline = bench["baseline"]
    age = baseline.Line(np.linspace(0, 1, 8))
    sex = baseline.Tree(np.array([[0, 1], [0, 0]], dtype=np.int32))
    codes = np.array([[at, at % 2] for at in range(8)], dtype=np.int32)
    # both spans are 1, the first column wins the tie; then sex is wider than half of the ages
    label = baseline.median_cuts(codes, [age, sex], 2)
    assert [sorted(np.flatnonzero(label == group)) for group in range(4)] == [
        [0, 2],
        [1, 3],
        [4, 6],
        [5, 7],
    ]


def test_the_baseline_cuts_a_tree_between_the_children_of_the_common_ancestor(bench):
    baseline = bench["baseline"]
    levels = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 4, 4], [0] * 6], dtype=np.int32)
    tree = baseline.Tree(levels)
    assert tree.span(0, 3) == pytest.approx(3 / 5)
    assert tree.span(3, 4) == 1.0
    codes = np.array([[0], [1], [2], [3], [4], [5]], dtype=np.int32)
    label = baseline.median_cuts(codes, [tree], 2)
    assert label.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(5))
def test_the_baseline_leaves_k_rows_in_every_group(bench, seed):
    baseline = bench["baseline"]
    random = np.random.default_rng(seed)
    codes = random.integers(0, 6, (200, 2)).astype(np.int32)
    levels = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 4, 4], [0] * 6], dtype=np.int32)
    label = baseline.median_cuts(codes, [baseline.Line(np.linspace(0, 1, 6)), baseline.Tree(levels)], 7)
    assert np.bincount(label).min() >= 7
    assert len(label) == 200

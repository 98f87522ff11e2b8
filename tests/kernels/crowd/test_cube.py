from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from shoal.encode import encode
from shoal.kernels.crowd.cheapest_first import cheapest_windows, sweep_rows, take_crowds
from shoal.kernels.crowd.cube import build_cube, shape_of
from shoal.kernels.distance.spans import group_losses
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan

TREE = Hierarchy.of_paths(
    [
        ("a", "low", "left", "*"),
        ("b", "low", "left", "*"),
        ("c", "left", "*"),
        ("d", "right", "*"),
        ("e", "right", "*"),
    ]
)


def random_coded(seed: int, *, rows: int = 9) -> Coded:
    """Numbers, trees and labels with missing cells, weights and copies, a few of each."""
    rng = np.random.default_rng(seed)
    cells: dict[str, object] = {}
    kinds, trees, weights = {}, {}, {}
    for at in range(int(rng.integers(1, 5))):
        name = f"{at}"
        kind = str(rng.choice(["number", "tree", "label"]))
        kinds[name] = kind
        weights[name] = float(rng.choice([0.0, 0.5, 1.0, 2.0], p=[0.1, 0.2, 0.5, 0.2]))
        if kind == "number":
            values = rng.integers(0, 6, rows).tolist()
        elif kind == "tree":
            values = rng.choice(list("abcde"), rows).tolist()
            trees[name] = TREE
        else:
            values = rng.choice(list("uvwx"), rows).tolist()
        if rng.random() < 0.4:
            values = [None if rng.random() < 0.2 else value for value in values]
        dtype = pl.Int64 if kind == "number" else pl.String
        cells[name] = pl.Series(name, values, dtype=dtype)
    frame = pl.DataFrame(cells).with_columns(pl.Series("n", rng.integers(0, 3, rows)))
    frame[0, "n"] = 5
    plan = Plan(
        k=2, quasi=tuple(cells), kinds=kinds, hierarchies=trees, weights=weights, count="n", seed=seed
    )
    return encode(frame, plan)


def naive_cells(swept, shape, k: int) -> set[frozenset[int]]:
    """The rows of every closed cell, by closing every set of rows."""
    found = set()
    rows = range(swept.held.size)
    for size in range(1, len(rows) + 1):
        for some in combinations(rows, size):
            inside = set(rows)
            for q in range(shape.axis.size):
                at = shape.offset[q]
                sheets = shape.node[at : at + (shape.height[q] + 1) * shape.size[q]]
                for sheet in sheets.reshape(-1, shape.size[q]):
                    nodes = {int(sheet[swept.code[q, i]]) for i in some}
                    if len(nodes) == 1:
                        inside &= {i for i in rows if sheet[swept.code[q, i]] in nodes}
                        break
            if sum(swept.held[i] for i in inside) >= k:
                found.add(frozenset(inside))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_a_cube_holds_every_closed_cell_once(seed: int) -> None:
    coded = random_coded(seed)
    k = 2 + seed % 3
    shape = shape_of(coded.codes, coded.count, coded.metric)
    swept = sweep_rows(coded.codes, coded.count, coded.metric, shape)
    cube = build_cube(swept.code, swept.held, shape, coded.metric, k, np.inf, 10**6, 10**8)
    cells = [cube.entry[a:b].tolist() for a, b in zip(cube.start, cube.start[1:], strict=False)]
    assert all(cell == sorted(cell) for cell in cells)
    assert len(cells) == len({frozenset(cell) for cell in cells})
    assert {frozenset(cell) for cell in cells} == naive_cells(swept, shape, k)
    assert cube.whole


@pytest.mark.parametrize("seed", range(30))
def test_a_window_costs_what_its_box_gives_up_or_more(seed: int) -> None:
    coded = random_coded(seed)
    k = 2 + seed % 3
    shape = shape_of(coded.codes, coded.count, coded.metric)
    swept = sweep_rows(coded.codes, coded.count, coded.metric, shape)
    cube = build_cube(swept.code, swept.held, shape, coded.metric, k, np.inf, 10**6, 10**8)
    best = np.full(swept.held.size, np.inf)
    for c in range(cube.cost.size):
        cell = cube.entry[cube.start[c] : cube.start[c + 1]]
        for first in range(cell.size):
            for last in range(first, cell.size):
                window = cell[first : last + 1]
                if swept.held[window].sum() < k:
                    continue
                starts = np.array([0, window.size])
                true = group_losses(coded.codes, coded.metric, swept.row[window], starts)[0]
                best[window] = np.minimum(best[window], true)
    found = cheapest_windows(swept, cube, k)
    lines = np.sum(coded.metric.form[shape.axis] == 0)
    assert np.all(found >= best - 1e-9)
    if lines == 0:  # then a cell's cost is that of its window, or a smaller cell says it
        assert found == pytest.approx(best)
    assert not swept.tally.any()


@pytest.mark.parametrize("seed", range(30))
def test_crowds_hold_k_records_and_leave_fewer_than_k(seed: int) -> None:
    coded = random_coded(seed, rows=40)
    k = 2 + seed % 4
    shape = shape_of(coded.codes, coded.count, coded.metric)
    swept = sweep_rows(coded.codes, coded.count, coded.metric, shape)
    for cap in (np.inf, 0.1):  # the cell of all rows is always there
        cube = build_cube(swept.code, swept.held, shape, coded.metric, k, cap, 10**6, 10**8)
        price = 0.5 * np.minimum(cheapest_windows(swept, cube, k), 1.0)
        label, groups = take_crowds(swept, cube, k, price, cube.entry.copy(), np.inf)
        held = np.bincount(label[label >= 0], weights=swept.held[label >= 0], minlength=groups)
        assert held.size == groups >= 1
        assert np.all(held >= k)
        assert swept.held[label < 0].sum() < k
    if shape.axis.size:
        assert not build_cube(swept.code, swept.held, shape, coded.metric, k, np.inf, 3, 10**8).whole


def test_the_cheapest_crowd_is_taken_first() -> None:
    frame = pl.DataFrame({"age": [0, 10, 11, 12, 30, 100]})
    coded = encode(frame, Plan(k=3, quasi=("age",)))
    shape = shape_of(coded.codes, coded.count, coded.metric)
    swept = sweep_rows(coded.codes, coded.count, coded.metric, shape)
    cube = build_cube(swept.code, swept.held, shape, coded.metric, 3, np.inf, 10**6, 10**8)
    label, groups = take_crowds(swept, cube, 3, np.zeros(6), cube.entry.copy(), np.inf)
    assert groups == 2
    assert label.tolist() == [1, 0, 0, 0, 1, 1]

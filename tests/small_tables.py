"""Random small tables of all kinds for bounds, and what shares they bear by plain loops."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

import naive
from naive import Table
from tables import PATHS

__all__ = ["naive_worst", "random_table", "starred"]


def random_table(rng: np.random.Generator, *, rows: int, suppress: bool = False) -> Table:
    """All kinds mixed, copies, missing cells and weights."""
    cells: dict[str, list[Any]] = {}
    kinds, weights = {}, {}
    for at in range(int(rng.integers(1, 5))):
        kind = str(rng.choice(["number", "number", "tree", "tree", "label"]))
        name = f"{kind}{at}"
        if kind == "number":
            values: list[Any] = rng.integers(0, int(rng.choice([3, 7, 30])), rows).tolist()
        elif kind == "tree":
            values = rng.choice([path[0] for path in PATHS], rows).tolist()
        else:
            values = rng.choice(["red", "green", "blue", "grey"], rows).tolist()
        if rng.random() < 0.3:
            values = [None if rng.random() < 0.25 else value for value in values]
        cells[name] = values
        kinds[name] = kind
        weights[name] = float(rng.choice([1.0, 2.5, 0.0])) if at else 1.0
    if rng.random() < 0.5:  # copies: some rows repeat others
        source = np.where(rng.random(rows) < 0.4, rng.integers(0, rows, rows), np.arange(rows))
        cells = {name: [values[i] for i in source] for name, values in cells.items()}
    paths = {name: PATHS for name, kind in kinds.items() if kind == "tree"}
    loss = str(rng.choice(["leaves", "leaves", "levels", "sets"]))
    table = Table(cells=cells, kinds=kinds, paths=paths, weights=weights, loss=loss)
    return replace(table, loss="leaves") if suppress else table


def starred(table: Table) -> Table:
    """The same as the style `suppress` sees it: every column a tree of height 1."""
    cells = {
        name: [None if value is None else str(value) for value in values]
        for name, values in table.cells.items()
    }
    paths = {
        name: [(value, "*") for value in sorted({value for value in values if value is not None})]
        for name, values in cells.items()
    }
    kinds = dict.fromkeys(cells, "tree")
    return replace(table, cells=cells, kinds=kinds, paths={n: p for n, p in paths.items() if p})


def naive_worst(table: Table, share: dict[tuple[Any, ...], float], k: int) -> float:
    """By how much the k largest shares exceed what a set of k rows or more costs, at worst."""
    rows = range(table.rows)
    lines = list(zip(*table.cells.values(), strict=True))
    worst = -np.inf
    for size in range(k, table.rows + 1):
        for some in combinations(rows, size):
            largest = sorted((share[lines[row]] for row in some), reverse=True)[:k]
            worst = max(worst, sum(largest) / k - naive.group_loss(table, some))
    return float(worst)

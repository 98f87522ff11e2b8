"""Slow, obvious twin of full-domain recoding: every choice of levels, by raw cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

from naive import Table

__all__ = ["Choice", "all_choices", "faces_at", "heights"]


class Choice(NamedTuple):
    """A level per column, its loss, and the records it withholds."""

    level: tuple[int, ...]
    loss: float
    withheld: int


def heights(table: Table) -> list[int]:
    """The top level of each column."""
    return [len(table.paths[name][0]) - 1 if name in table.paths else 1 for name in table.cells]


def _face(table: Table, name: str, cell: Any, level: int) -> tuple[Any, float]:
    """What stands in place of a cell, and what it gives up."""
    everything = table.cells[name]
    missing = None in everything
    if name not in table.paths:
        return (cell, 0.0) if level == 0 else ("*", float(len(set(everything)) > 1))
    paths = {path[0]: path for path in table.paths[name]}
    top = len(table.paths[name][0]) - 1
    if cell is None or (level == top and missing):
        return ("*", 1.0) if level == top else (None, 0.0)
    node = paths[cell][level]
    below = [path for path in paths.values() if path[level] == node]
    if table.loss == "levels":
        return node, min(at for at in range(top + 1) if len({path[at] for path in below}) == 1) / top
    return node, (len(below) - 1) / max(1, len(paths) + missing - 1)


def faces_at(table: Table, level: tuple[int, ...]) -> list[tuple[tuple[Any, ...], float]]:
    """What stands in place of each row, and what it gives up."""
    rows = []
    for row in range(table.rows):
        found = [
            _face(table, name, cells[row], its)
            for (name, cells), its in zip(table.cells.items(), level, strict=True)
        ]
        cost = sum(
            table.weights.get(name, 1.0) * each for name, (_, each) in zip(table.cells, found, strict=True)
        )
        rows.append((tuple(face for face, _ in found), cost))
    return rows


def all_choices(
    table: Table, k: int, quota: int, obeys: Callable[[list[int]], bool] = lambda rows: True
) -> Iterator[Choice]:
    """Every choice that withholds no more than the quota; a class whose rows do not obey is withheld."""
    for level in product(*(range(top + 1) for top in heights(table))):
        rows = faces_at(table, level)
        size: Counter[Any] = Counter()
        members: dict[Any, list[int]] = defaultdict(list)
        for row, ((face, _), count) in enumerate(zip(rows, table.counts, strict=True)):
            size[face] += count
            members[face] += [row] * count
        lost = {face for face, its in members.items() if size[face] < k or not obeys(its)}
        withheld, loss = 0, 0.0
        for (face, cost), count in zip(rows, table.counts, strict=True):
            if face in lost:
                withheld += count
                loss += count * table.weight
            else:
                loss += count * cost
        if withheld <= quota:
            yield Choice(level, loss, withheld)

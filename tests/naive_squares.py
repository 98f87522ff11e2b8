"""Slow, obvious twins of what Shoal computes with squares: raw cells, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from naive import Table, span


def pair_square(table: Table, column: str, one: int, other: int) -> float:
    """The squared distance of two rows on one column, before scaling."""
    cells = table.cells[column]
    if table.kinds[column] in {"number", "date"}:
        mean = _mean(table, column)
        a, b = (mean if cells[row] is None else _number(cells[row]) for row in (one, other))
        return (a - b) ** 2
    return span(table, column, [one, other])


def _number(cell: object) -> float:
    return float(cell.toordinal() if hasattr(cell, "toordinal") else cell)  # type: ignore[arg-type]


def _mean(table: Table, column: str) -> float:
    present = [
        (_number(cell), n)
        for cell, n in zip(table.cells[column], table.counts, strict=True)
        if cell is not None
    ]
    records = sum(n for _, n in present)
    return sum(value * n for value, n in present) / records if records else 0.0


def mean_square(table: Table, column: str, rows: Sequence[int], counts: Sequence[int]) -> float:
    """The sum of squares to the mean of some rows on one column, by pairs."""
    pairs = combinations(range(len(rows)), 2)
    sums = sum(counts[a] * counts[b] * pair_square(table, column, rows[a], rows[b]) for a, b in pairs)
    return sums / max(sum(counts), 1)


def square(table: Table, one: int, other: int) -> float:
    """The squared distance of two rows: every column scaled to the variance 1; missing apart by 2."""
    everyone = list(range(table.rows))
    total = 0.0
    for name in table.cells:
        weight = table.weights.get(name, 1.0)
        variance = mean_square(table, name, everyone, table.counts) / sum(table.counts)
        if variance > 1e-12:
            total += weight * pair_square(table, name, one, other) / variance
        gone = [table.cells[name][row] is None for row in (one, other)]
        if table.kinds[name] in {"number", "date"} and gone[0] != gone[1]:
            total += 2 * weight
    return total


def sum_of_squares(table: Table, groups: Sequence[Sequence[tuple[int, int]]]) -> float:
    """Over groups of (row, copies): squared distances to the mean."""
    total = 0.0
    for group in groups:
        pairs = combinations(group, 2)
        total += sum(m * n * square(table, a, b) for (a, m), (b, n) in pairs) / sum(n for _, n in group)
    return total


def mdav(points: Sequence[Sequence[float]], k: int) -> list[list[int]]:
    """MDAV by its plain words on points of numbers, one record each."""

    def far(a: Sequence[float], b: Sequence[float]) -> float:
        return round(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)), 9)

    left = list(range(len(points)))
    groups: list[list[int]] = []
    while len(left) >= 2 * k:
        mean = [sum(points[i][a] for i in left) / len(left) for a in range(len(points[0]))]
        seed = max(left, key=lambda i: (far(points[i], mean), -i))
        for _ in range(2):
            if len(left) < 2 * k:
                break
            near = sorted(left, key=lambda i, at=points[seed]: (far(points[i], at), i))[:k]  # type: ignore[misc]
            groups.append(near)
            left = [i for i in left if i not in near]
            last = points[seed]
            seed = max(left, key=lambda i: (far(points[i], last), -i))
    return [*groups, left] if left else groups

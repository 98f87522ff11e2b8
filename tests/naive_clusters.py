"""Slow, obvious twins of the clustering methods: raw cells, one record a row, rows sorted as codes are."""

from __future__ import annotations

from collections.abc import Sequence

from naive import Table, group_loss, span


def to_centroid(table: Table, row: int, members: Sequence[int]) -> float:
    """The distance to a cluster's centroid: mean of numbers, common ancestor of trees."""
    total = 0.0
    for name, kind in table.kinds.items():
        cells = table.cells[name]
        weight = table.weights.get(name, 1.0)
        if kind != "number":
            total += weight * span(table, name, [row, *members])
            continue
        mean = sum(cells[other] for other in members) / len(members)
        total += weight * abs(cells[row] - mean) / (max(cells) - min(cells))
    return total


def cluster(table: Table, seeds: Sequence[int]) -> list[list[int]]:
    """The first stage of OKA."""
    clusters = [[seed] for seed in seeds]
    for row in range(table.rows):
        if row not in seeds:
            costs = [round(len(its) * to_centroid(table, row, its), 9) for its in clusters]
            clusters[costs.index(min(costs))].append(row)
    return clusters


def threshold(table: Table, order: Sequence[int], limit: float) -> list[list[int]]:
    """Groups grown within the limit, before small ones are dropped."""
    groups: list[list[int]] = []
    taken: set[int] = set()
    for seed in order:
        if seed in taken:
            continue
        rows = [seed]
        taken.add(seed)
        while True:
            free = [row for row in range(table.rows) if row not in taken]
            held = rows
            costs = [(round(group_loss(table, [*held, row]), 9), row) for row in free]
            if not costs or min(costs)[0] > limit:
                break
            rows.append(min(costs)[1])
            taken.add(min(costs)[1])
        groups.append(rows)
    return groups

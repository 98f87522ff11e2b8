"""Slow, obvious twins of what Shoal computes with the half-perimeters of boxes."""

from __future__ import annotations

from itertools import combinations

from naive import Table, group_loss, partitions


def least_largest(table: Table, k: int) -> float:
    """The least largest half-perimeter of any release. Needs one record a row."""
    return min(
        max(group_loss(table, rows) for rows in groups) for groups in partitions(range(table.rows), k)
    )


def smallest_box(table: Table, row: int, k: int) -> float:
    """The least half-perimeter of k rows of which `row` is one."""
    others = [other for other in range(table.rows) if other != row]
    return min(group_loss(table, [row, *more]) for more in combinations(others, k - 1))

"""The least total loss of any release of a tiny table, by trying them all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from fuzzing.cells import Measure

__all__ = ["least_loss"]

Weighted = tuple[float, Measure, Sequence[Any]]


def least_loss(columns: Sequence[Weighted], k: int, withhold: int) -> float:
    """Over all partitions into groups of at least k, up to `withhold` rows left out at full loss."""
    rows = len(columns[0][2])
    weight = sum(weight for weight, _, _ in columns)

    @cache
    def loss(group: int) -> float:
        members = [row for row in range(rows) if group >> row & 1]
        cells = (
            weight * measure.cost([values[row] for row in members]) for weight, measure, values in columns
        )
        return len(members) * sum(cells)

    @cache
    def best(left: int, spare: int) -> float:
        if not left:
            return 0.0
        first = left & -left
        rest = left ^ first
        found = weight + best(rest, spare - 1) if spare else float("inf")
        others = rest
        while True:
            group = first | others
            if group.bit_count() >= k:
                found = min(found, loss(group) + best(left ^ group, spare))
            if not others:
                return found
            others = (others - 1) & rest

    return best((1 << rows) - 1, withhold)

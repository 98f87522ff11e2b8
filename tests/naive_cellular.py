"""Cellular clustering of a small table, by trying every partition and every centre; and its duals."""

from __future__ import annotations

from collections.abc import Sequence

Distances = Sequence[Sequence[float]]


def least_cells(
    distances: Distances, k: int, *, opening: Sequence[float] | None = None, withhold: int = 0
) -> tuple[float, int]:
    """The least sum over groups of size * radius + opening cost, and the most groups that reach it.

    `distances` is between records, copies apart; a centre is any record, wherever it is itself.
    """
    records = range(len(distances))
    cost = opening or [0.0] * len(distances)
    whole = (1 << len(distances)) - 1
    price: dict[int, float] = {}
    for mask in range(1, whole + 1):
        members = [i for i in records if mask >> i & 1]
        if len(members) >= k:
            price[mask] = min(
                cost[c] + len(members) * max(distances[c][i] for i in members) for c in records
            )
    best = [(float("inf"), 0)] * (whole + 1)
    best[0] = (0.0, 0)
    for mask in range(1, whole + 1):
        first = mask & -mask
        rest = part = mask ^ first
        while True:
            group = part | first
            if group in price:
                before, groups = best[mask ^ group]
                best[mask] = min(best[mask], (before + price[group], -1 + groups))
            if part == 0:
                break
            part = (part - 1) & rest
    kept = [best[mask] for mask in range(1, whole + 1) if mask.bit_count() >= len(distances) - withhold]
    least, groups = min(kept)
    return least, -groups


def most_broken(
    distances: Distances,
    share: Sequence[float],
    k: int,
    *,
    top: int,
    raised: float,
    opening: Sequence[float],
) -> float:
    """By how much the worst ball of k records breaks its limit; below 0 where none does."""
    worst = -float("inf")
    for v in range(len(distances)):
        for radius in distances[v]:
            inside = sorted((share[i] for i, far in enumerate(distances[v]) if far <= radius), reverse=True)
            if len(inside) >= k:
                paid = sum(one - radius for one in inside[:top])
                paid += sum(max(0.0, one - radius) for one in inside[top:])
                worst = max(worst, paid - opening[v] - raised * radius)
    return worst

"""The least largest radius of a small table, by trying every partition and every centre."""

from __future__ import annotations

from collections.abc import Sequence

Distances = Sequence[Sequence[float]]


def least_radius(distances: Distances, k: int, *, withhold: int = 0, most: int = 99) -> tuple[float, int]:
    """The best largest radius over all partitions of all kept records, and the most groups that reach it.

    `distances` is between records, copies apart; groups hold at least k, there are at most `most`, and
    a centre is any record, wherever it is itself.
    """
    records = range(len(distances))
    whole = (1 << len(distances)) - 1
    radius: dict[int, float] = {}
    for mask in range(1, whole + 1):
        members = [i for i in records if mask >> i & 1]
        if len(members) >= k:
            radius[mask] = min(max(distances[c][i] for i in members) for c in records)
    # best[mask][g]: the least largest radius of g groups that hold exactly these records
    best: list[dict[int, float]] = [{} for _ in range(whole + 1)]
    best[0] = {0: 0.0}
    for mask in range(1, whole + 1):
        first = mask & -mask
        rest = mask ^ first
        part = rest
        while True:
            group = part | first
            if group in radius:
                for groups, value in best[mask ^ group].items():
                    found = max(value, radius[group])
                    if groups < most and found < best[mask].get(groups + 1, float("inf")):
                        best[mask][groups + 1] = found
            if part == 0:
                break
            part = (part - 1) & rest
    kept = [mask for mask in range(1, whole + 1) if mask.bit_count() >= len(distances) - withhold]
    least = min(value for mask in kept for value in best[mask].values())
    groups = max(g for mask in kept for g, value in best[mask].items() if value <= least + 1e-12)
    return least, groups

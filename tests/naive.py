"""Slow, obvious twins of what Shoal computes: they read raw cells and import nothing of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

Cells = dict[str, list[Any]]
Path = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A small table as a reader sees it: cells by column (None = missing), and how to measure them.

    `paths` holds a hierarchy per tree column, leaf first, all of one length and ending in `*`. `copies`
    says how many records each row stands for.
    """

    cells: Cells
    kinds: dict[str, str]
    paths: dict[str, list[Path]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    loss: str = "leaves"
    copies: tuple[int, ...] | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.cells.values())))

    @property
    def counts(self) -> tuple[int, ...]:
        return self.copies if self.copies is not None else (1,) * self.rows

    @property
    def weight(self) -> float:
        return sum(self.weights.get(name, 1.0) for name in self.cells)


def span(table: Table, column: str, rows: Sequence[int]) -> float:
    """How much of a column is given up when the cells of `rows` are published as one."""
    everything = table.cells[column]
    cells = {everything[row] for row in rows}
    if len(cells) == 1:
        return 0.0
    kind = table.kinds[column]
    if kind in {"number", "date"}:
        if None in cells:
            return 1.0
        present = [cell for cell in everything if cell is not None]
        return float((max(cells) - min(cells)) / (max(present) - min(present)))
    has_missing = None in everything
    if kind == "label" or table.loss == "sets":
        values = {path[0] for path in table.paths[column]} if kind == "tree" else set(everything) - {None}
        return (len(cells) - 1) / (len(values) + has_missing - 1)
    paths = table.paths[column]
    height = len(paths[0]) - 1
    level = height
    if None not in cells:
        path_of = {path[0]: path for path in paths}
        level = min(at for at in range(height + 1) if len({path_of[cell][at:] for cell in cells}) == 1)
    if level == height:  # the root covers every leaf, and missing, which stands right below it
        return 1.0
    if table.loss == "levels":
        return level / height
    node = path_of[next(iter(cells))][level:]
    leaves = sum(path[level:] == node for path in paths)
    return (leaves - 1) / (len(paths) + has_missing - 1)


def distance(table: Table, one: int, other: int) -> float:
    """The sum over columns of weight * span of the pair."""
    return group_loss(table, [one, other])


def group_loss(table: Table, rows: Sequence[int]) -> float:
    """What one record of a group gives up."""
    return sum(table.weights.get(name, 1.0) * span(table, name, rows) for name in table.cells)


def total_loss(table: Table, groups: Sequence[Sequence[int]], withheld: Sequence[int] = ()) -> float:
    """Size times spans over all groups of rows (each with all its copies); withheld rows count in full."""
    counts = table.counts
    lost = sum(counts[row] for row in withheld) * table.weight
    return lost + sum(sum(counts[row] for row in rows) * group_loss(table, rows) for rows in groups)


def partitions(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Every way to part `rows` into groups of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [row for row in rest if row not in others]
            for parts in partitions(left, k):
                yield [[first, *others], *parts]


def least_loss(table: Table, k: int, withhold: int = 0) -> float:
    """The least total loss of any release: every partition of every kept set. Needs one record a row."""
    best = float("inf")
    everyone = range(table.rows)
    for many in range(withhold + 1):
        for left_out in combinations(everyone, many):
            kept = [row for row in everyone if row not in left_out]
            for groups in partitions(kept, k):
                best = min(best, total_loss(table, groups, left_out))
    return best


def reach(table: Table, row: int, k: int) -> float:
    """The least distance from `row` within which k records stand, itself included."""
    held = 0
    for far, other in sorted((distance(table, row, other), other) for other in range(table.rows)):
        held += table.counts[other]
        if held >= k:
            return far
    return float("inf")


def within(table: Table, row: int, radius: float) -> list[int]:
    """The rows at most `radius` away from `row`."""
    return [other for other in range(table.rows) if distance(table, row, other) <= radius + 1e-9]


def k_member(table: Table, k: int, seed_row: int) -> list[list[int]]:
    """Groups by the plain words of k-member, one record a row; rows must be sorted as codes are."""
    free = list(range(table.rows))
    groups: list[list[int]] = []
    seed = seed_row
    while len(free) >= k:
        if groups:
            last = seed
            seed = max(free, key=lambda row: (round(distance(table, last, row), 9), -row))
        rows = [seed]
        free.remove(seed)
        while len(rows) < k:
            held = rows
            nearest = min(free, key=lambda row: (round(group_loss(table, [*held, row]), 9), row))
            rows.append(nearest)
            free.remove(nearest)
        groups.append(rows)
    for row in free:
        costs = [
            (len(rows) + 1) * group_loss(table, [*rows, row]) - len(rows) * group_loss(table, rows)
            for rows in groups
        ]
        best = min(range(len(groups)), key=lambda at: (round(costs[at], 9), at))
        groups[best].append(row)
    return groups


def assert_sound(grouping: Any, coded: Any, k: int, withhold: int = 0) -> None:
    """Every record once, groups 0.. all used, each of at least k records, no more withheld than allowed."""
    records: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for row, group, count in zip(grouping.distinct, grouping.group, grouping.count, strict=True):
        assert count > 0
        records[int(row)] += int(count)
        sizes[int(group)] += int(count)
    assert records == {i: int(c) for i, c in enumerate(coded.count) if c > 0}
    assert sizes.pop(-1, 0) <= withhold
    assert sorted(sizes) == list(range(len(sizes)))
    assert all(size >= k for size in sizes.values())

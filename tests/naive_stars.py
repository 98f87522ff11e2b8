"""Slow, obvious suppression: rows of values, stars counted by hand, the best release by trying all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import polars as pl

from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan

Rows = list[tuple[str, ...]]


def stars(rows: Rows, weights: Sequence[float], group: Sequence[int]) -> float:
    """What one row of the group loses: the weights of the columns in which its rows differ."""
    return sum(
        weight for at, weight in enumerate(weights) if len({rows[member][at] for member in group}) > 1
    )


def least(rows: int, k: int, lost: Callable[[tuple[int, ...]], float], full: float = 0, withhold: int = 0):
    """The least sum of size * lost over all partitions into groups of at least k, by subsets.

    Up to `withhold` rows may be left out for `full` each.
    """

    @cache
    def cost(group: int) -> float:
        members = tuple(row for row in range(rows) if group >> row & 1)
        return len(members) * lost(members) if len(members) >= k else float("inf")

    @cache
    def best(left: int, spare: int) -> float:
        if not left:
            return 0.0
        first = left & -left
        rest = left ^ first
        found = full + best(rest, spare - 1) if spare else float("inf")
        others = rest
        while True:
            if others.bit_count() >= k - 1:
                found = min(found, cost(first | others) + best(rest ^ others, spare))
            if not others:
                return found
            others = (others - 1) & rest

    return best((1 << rows) - 1, withhold)


def random_rows(luck: random.Random, rows: int, columns: int, values: int) -> Rows:
    return [tuple(str(luck.randrange(values)) for _ in range(columns)) for _ in range(rows)]


def plan_of(rows: Rows, weights: Sequence[float], k: int, **more: object) -> tuple[pl.DataFrame, Plan]:
    names = [f"c{at}" for at in range(len(rows[0]))]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    plan = Plan(
        k=k,
        quasi=tuple(names),
        kinds=dict.fromkeys(names, "label"),
        weights=dict(zip(names, weights, strict=True)),
        style="suppress",
        **more,  # type: ignore[arg-type]
    )
    return frame, plan


def coded_of(rows: Rows, weights: Sequence[float], k: int) -> Coded:
    return encode(*plan_of(rows, weights, k))


def groups_of(coded: Coded, grouping: Grouping) -> list[list[int]]:
    """Input rows of each group; copies of a row are dealt to its pieces in any order."""
    left = {row: [i for i, its in enumerate(coded.row) if its == row] for row in range(coded.distinct)}
    found: dict[int, list[int]] = {}
    for row, group, count in zip(grouping.distinct, grouping.group, grouping.count, strict=True):
        found.setdefault(int(group), []).extend(left[int(row)].pop() for _ in range(count))
    assert not any(left.values())
    return list(found.values())


EIGHT: Rows = [tuple(word) for word in ("0000", "0001", "0011", "0111", "1111", "1110", "1100", "1000")]
"""The vectors for which Lemma 11 of the paper is tight, in the order of the cycle."""
assert all(sum(a != b for a, b in zip(x, y, strict=True)) == 1 for x, y in pairwise([*EIGHT, EIGHT[0]]))

SECTION_1: Rows = [
    ("47", "White", "Male", "21004"),
    ("35", "White", "Female", "21004"),
    ("27", "Hispanic", "Female", "92010"),
    ("27", "White", "Female", "92010"),
]
"""The table of the paper's introduction; its 2-anonymous release has 6 stars."""


def look_alikes(k: int) -> tuple[Rows, Rows]:
    """Section 4: two instances with the same distances; the first costs k k l, the second k (4 l - 2)."""
    length = 2 ** (k - 2)
    first = ["".join(("1" if block == row else "0") * length for block in range(k)) for row in range(k)]
    second = []
    for row in range(1, k + 1):
        width = 2**k // 2**row
        second.append("".join(("1" if block % 2 == 0 else "0") * width for block in range(2**row)))
    return [tuple(word) for word in first], [tuple(word) for word in second]

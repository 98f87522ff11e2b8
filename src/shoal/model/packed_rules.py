"""The rules of a table as arrays, for the kernels that tell whether a group obeys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.model.coded import Held
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE, SHARE, Rule

__all__ = ["KINDS", "PackedRules", "lasting", "measure_of", "no_rules", "pack_rules"]

KINDS = (DISTINCT, ENTROPY, RECURSIVE, SHARE, "equal", "ordered", "hierarchy")
"""The kinds of rules by name, closeness by its distance; the kind of a packed rule is its place here."""

Integers = NDArray[np.int64]


class PackedRules(NamedTuple):
    """All rules of a table, packed.

    A line of `asked` per rule: its kind, column and tail, the column's values, the height of its hierarchy
    and where its levels begin in `level`. The values of a column have slots from `offset` on, one more than
    there are. `share` has a line for a value's share of the whole table, for the sum of shares up to
    it, and for the sum of those sums before it. Each level holds for each value
    the first one below its ancestor.
    """

    asked: Integers
    limit: NDArray[np.float64]
    offset: Integers
    share: NDArray[np.float64]
    level: NDArray[np.int32]


def no_rules() -> PackedRules:
    """Rules of a table that has none."""
    nothing = np.zeros(0, dtype=np.int64)
    return PackedRules(
        np.zeros((0, 6), dtype=np.int64),
        np.zeros(0),
        nothing,
        np.zeros((3, 0)),
        np.zeros(0, dtype=np.int32),
    )


def lasting(rules: PackedRules) -> PackedRules:
    """The rules that no part of a group obeys where the group does not: so many values, or persons."""
    kept = rules.asked[:, 0] == KINDS.index(DISTINCT)
    return rules._replace(asked=rules.asked[kept], limit=rules.limit[kept])


def pack_rules(held: Held, row: Integers, count: Integers, k: int) -> tuple[NDArray[np.int32], PackedRules]:
    """The values behind our distinct rows, the unit last, and the rules over them."""
    place = {(column.name, column.measure): at for at, column in enumerate(held.columns)}
    sizes = [column.size for column in held.columns]
    value = held.value
    limits = [
        (_kind(rule), place[rule.column, measure_of(rule)], rule.limit, rule.tail) for rule in held.rules
    ]
    if held.unit is not None:
        limits.append((KINDS.index(DISTINCT), len(sizes), float(k), 0))
        sizes.append(held.units)
        value = np.column_stack([value, held.unit])
    value = np.ascontiguousarray(value, dtype=np.int32)
    offset = np.r_[0, np.cumsum(np.array(sizes, dtype=np.int64) + 1)]
    share = np.zeros((3, offset[-1]))
    own, up_to, sums = share
    height, levels, level_offset = [], [np.zeros(0, dtype=np.int32)], []
    for at, size in enumerate(sizes):
        start, end = offset[at], offset[at] + size
        if at < len(held.shares):
            own[start:end] = held.shares[at]
        else:
            own[start:end] = np.bincount(value[row, at], weights=count, minlength=size) / count.sum()
        up_to[start:end] = np.cumsum(own[start:end])
        sums[start + 1 : end + 1] = np.cumsum(up_to[start:end])
        level_offset.append(sum(level.size for level in levels))
        tree = held.columns[at].tree if at < len(held.columns) else None
        height.append(0)
        if tree is not None:
            has_missing = size > len(tree.leaves)
            height[-1] = max(tree.height, 1) if has_missing else tree.height
            for level in range(height[-1]):
                first = tree.first[min(level, tree.height)]
                levels.append(np.append(first, [len(tree.leaves)] * has_missing).astype(np.int32))
    asked = [(kind, at, tail, sizes[at], height[at], level_offset[at]) for kind, at, _, tail in limits]
    return value, PackedRules(
        asked=np.array(asked, dtype=np.int64),
        limit=np.array([limit for _, _, limit, _ in limits], dtype=np.float64),
        offset=offset[:-1],
        share=share,
        level=np.concatenate(levels),
    )


def _kind(rule: Rule) -> int:
    return KINDS.index(rule.distance if rule.kind == CLOSE else rule.kind)


def measure_of(rule: Rule) -> str:
    """How a rule looks at its column: by value, ordered, or by its hierarchy."""
    return rule.distance if rule.distance in {"ordered", "hierarchy"} else "value"

"""What rules ask of the groups of a table, packed for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.distance.packed import PackedMetric, pack_metric
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.rules import violation
from shoal.kernels.rules.chains import Chains, make_chains
from shoal.model.coded import Coded, Held
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE, Rule
from shoal.model.task import Task

__all__ = ["RuledPieces", "lacking", "pack", "strata_of"]

_KINDS = {
    DISTINCT: violation.DISTINCT,
    ENTROPY: violation.ENTROPY,
    RECURSIVE: violation.RECURSIVE,
    "share": violation.SHARE,
    "equal": violation.EQUAL,
    "ordered": violation.ORDERED,
    "hierarchy": violation.HIERARCHY,
}

MOST_STRATA = 50
"""Values of a column that are strata of their own; more of them share."""

Integers = NDArray[np.int64]


class RuledPieces(NamedTuple):
    """The records to be grouped, `held` of them in each piece of distinct row `row`, and what they obey.

    `codes` are numbered anew for the packed metric.
    """

    coded: Coded
    codes: NDArray[np.int32]
    packed: PackedMetric
    rules: violation.Rules
    value: NDArray[np.int32]
    row: Integers
    held: Integers
    task: Task

    @classmethod
    def of(cls, coded: Coded, held: Held, row: Integers, count: Integers, task: Task) -> RuledPieces:
        """What these pieces of a table obey."""
        value, rules = pack(held, row, count, task.k)
        codes, packed = pack_metric(coded.metric, coded.codes)
        return cls(coded, codes, packed, rules, value, row, count, task)

    @property
    def table(self) -> tuple[NDArray[np.int32], PackedMetric, violation.Rules, NDArray[np.int32]]:
        """What kernels need to know first."""
        return self.codes, self.packed, self.rules, self.value

    def chains(self, group: Integers, names: int) -> Chains:
        """The groups, with room for `names` of them."""
        return make_chains(self.codes, self.packed, self.row, self.held, group, names)

    def loss(self, group: Integers) -> float:
        """The total loss of a group per piece."""
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0, True])
        sizes = np.add.reduceat(self.held[order], starts[:-1])
        rows = self.row[order].astype(np.int32)
        return float(group_losses(self.coded.codes, self.coded.metric, rows, starts) @ sizes)


def strata_of(value: NDArray[np.int32], rules: violation.Rules, row: Integers) -> tuple[Integers, bool]:
    """What each group gets its fair share of: the values of all columns, in few strata each.

    Whether all records of a stratum have the same values comes with it.
    """
    stratum = np.zeros(row.size, dtype=np.int64)
    exact = True
    for column, size in enumerate(np.diff(rules.offset, append=rules.share.shape[1]) - 1):
        if size > 1:
            # shares summed up to the value, so that neighbours of many values stand together
            place = rules.share[violation.UP_TO, rules.offset[column] + value[row, column]]
            exact &= bool(size <= MOST_STRATA)
            few = value[row, column] if size <= MOST_STRATA else (place * MOST_STRATA).astype(np.int64)
            stratum = np.unique(stratum * (MOST_STRATA + 1) + few, return_inverse=True)[1].ravel()
    return stratum.astype(np.int64), exact and int(stratum.max(initial=0)) < 4 * MOST_STRATA


def pack(held: Held, row: Integers, count: Integers, k: int) -> tuple[NDArray[np.int32], violation.Rules]:
    """The values behind our distinct rows, the unit last, and the rules over them."""
    place = {(column.name, column.measure): at for at, column in enumerate(held.columns)}
    sizes = [column.size for column in held.columns]
    value = held.value
    limits = [
        (_kind(rule), place[rule.column, _measure(rule)], rule.limit, rule.tail) for rule in held.rules
    ]
    if held.unit is not None:
        limits.append((violation.DISTINCT, len(sizes), float(k), 0))
        sizes.append(held.units)
        value = np.column_stack([value, held.unit])
    value = np.ascontiguousarray(value, dtype=np.int32)
    offset = np.r_[0, np.cumsum(np.array(sizes, dtype=np.int64) + 1)]
    share = np.zeros((3, offset[-1]))
    height, levels, level_offset = [], [np.zeros(0, dtype=np.int32)], []
    for at, size in enumerate(sizes):
        start, end = offset[at], offset[at] + size
        own = np.bincount(value[row, at], weights=count, minlength=size) / count.sum()
        share[violation.OWN, start:end] = own
        share[violation.UP_TO, start:end] = np.cumsum(own)
        share[violation.SUMS, start + 1 : end + 1] = np.cumsum(share[violation.UP_TO, start:end])
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
    return value, violation.Rules(
        asked=np.array(asked, dtype=np.int64),
        limit=np.array([limit for _, _, limit, _ in limits], dtype=np.float64),
        offset=offset[:-1],
        share=share,
        level=np.concatenate(levels),
    )


def _kind(rule: Rule) -> int:
    return _KINDS[rule.distance if rule.kind == CLOSE else rule.kind]


def _measure(rule: Rule) -> str:
    return rule.distance if rule.distance in {"ordered", "hierarchy"} else "value"


def lacking(held: Held, row: Integers, count: Integers, k: int) -> list[str]:
    """What all these records as one group lack, in words and figures; closeness never does."""
    place = {(column.name, column.measure): at for at, column in enumerate(held.columns)}
    total = int(count.sum())
    found_lacking = []
    if held.unit is not None:
        persons = np.unique(held.unit[row]).size
        if persons < k:
            found_lacking.append(
                f"k = {k} persons are needed in every class; the whole table has {persons}. Lower k."
            )
    for rule in held.rules:
        if rule.kind == CLOSE:
            continue
        code = held.value[row, place[rule.column, _measure(rule)]]
        tally = np.sort(np.bincount(code, weights=count))[::-1]
        tally = tally[tally > 0]
        most = int(tally[0]) if tally.size else 0
        share = tally / max(total, 1)
        found = ""
        if rule.kind == DISTINCT and tally.size < rule.limit:
            found = f"its {total} rows hold {tally.size} different values"
        elif rule.kind == ENTROPY:
            effective = float(np.exp(-(share * np.log(share)).sum()))
            if effective < rule.limit * (1 - 1e-9):
                found = f"its entropy is that of {effective:.4g} equally frequent values"
        elif rule.kind == RECURSIVE:
            rest = int(tally[rule.tail - 1 :].sum())
            if not most < rule.limit * rest - 1e-9:
                found = (
                    f"the commonest value stands in {most} of {total} rows, and all but the "
                    f"{rule.tail - 1} commonest in {rest}"
                )
        elif total and most / total > rule.limit + 1e-9:
            found = f"the commonest value stands in {most} of {total} rows ({100 * most / total:.4g} %)"
        if found:
            found_lacking.append(
                f"No release can obey {rule.text!r}: in the whole table {found}. Weaken or drop the rule."
            )
    return found_lacking

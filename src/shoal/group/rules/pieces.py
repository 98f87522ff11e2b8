"""What rules ask of the groups of a table, packed for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.distance.packed import PackedMetric, pack_metric
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.rules.chains import Chains, make_chains
from shoal.kernels.rules.violation import UP_TO
from shoal.model.coded import Coded, Held
from shoal.model.packed_rules import PackedRules, measure_of, pack_rules
from shoal.model.rule import CLOSE, DISTINCT, ENTROPY, RECURSIVE
from shoal.model.task import Task

__all__ = ["RuledPieces", "lacking", "strata_of"]

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
    rules: PackedRules
    value: NDArray[np.int32]
    row: Integers
    held: Integers
    task: Task

    @classmethod
    def of(cls, coded: Coded, held: Held, row: Integers, count: Integers, task: Task) -> RuledPieces:
        """What these pieces of a table obey."""
        value, rules = pack_rules(held, row, count, task.k)
        codes, packed = pack_metric(coded.metric, coded.codes)
        return cls(coded, codes, packed, rules, value, row, count, task)

    @property
    def table(self) -> tuple[NDArray[np.int32], PackedMetric, PackedRules, NDArray[np.int32]]:
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


def strata_of(value: NDArray[np.int32], rules: PackedRules, row: Integers) -> tuple[Integers, bool]:
    """What each group gets its fair share of: the values of all columns, in few strata each.

    Whether all records of a stratum have the same values comes with it.
    """
    stratum = np.zeros(row.size, dtype=np.int64)
    exact = True
    for column, size in enumerate(np.diff(rules.offset, append=rules.share.shape[1]) - 1):
        if size > 1:
            # shares summed up to the value, so that neighbours of many values stand together
            place = rules.share[UP_TO, rules.offset[column] + value[row, column]]
            exact &= bool(size <= MOST_STRATA)
            few = value[row, column] if size <= MOST_STRATA else (place * MOST_STRATA).astype(np.int64)
            stratum = np.unique(stratum * (MOST_STRATA + 1) + few, return_inverse=True)[1].ravel()
    return stratum.astype(np.int64), exact and int(stratum.max(initial=0)) < 4 * MOST_STRATA


def lacking(held: Held, row: Integers, count: Integers, k: int) -> DataError | None:
    """What all these records as one group lack, in words and figures; closeness never does.

    Where several rules are broken, the error's field and column are those of the first.
    """
    place = {(column.name, column.measure): at for at, column in enumerate(held.columns)}
    total = int(count.sum())
    found_lacking: list[tuple[str, str, str | None]] = []  # words, field, column
    if held.unit is not None:
        persons = np.unique(held.unit[row]).size
        if persons < k:
            words = f"k = {k} persons are needed in every class; the whole table has {persons}. Lower k."
            found_lacking.append((words, "k", None))
    for rule in held.rules:
        if rule.kind == CLOSE:
            continue
        code = held.value[row, place[rule.column, measure_of(rule)]]
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
            words = (
                f"No release can obey {rule.text!r}: in the whole table {found}. Weaken or drop the rule."
            )
            found_lacking.append((words, "rules", rule.column))
    if not found_lacking:
        return None
    _, field, column = found_lacking[0]
    return DataError(" ".join(words for words, _, _ in found_lacking), field=field, column=column)

"""Rules where only groups that stand beside each other may join: connected groups of regions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.group.rules.pieces import RuledPieces, lacking
from shoal.kernels.rules.chains import HEAD, SIZE
from shoal.kernels.rules.enforce import lack_together
from shoal.kernels.rules.violation import make_tallies
from shoal.model.coded import Coded, Held
from shoal.model.grouping import WITHHELD
from shoal.model.task import Task

__all__ = ["join_beside"]

TOLERANCE = 1e-9
Integers = NDArray[np.int64]


def join_beside(
    coded: Coded,
    held: Held,
    pieces: tuple[Integers, Integers, Integers],
    beside: Integers,
    task: Task,
) -> Integers:
    """A group per piece, each obeying, made by joining whole groups along the pairs `beside`.

    What breaks a rule and has nothing left beside it can only be withheld; where the plan allows fewer
    records that is an error. Closeness looks at what is left, so it is measured anew.
    """
    row, group, count = pieces
    group = group.copy()
    parts = 0
    while True:
        kept = group >= 0
        error = lacking(held, row[kept], count[kept], task.k)
        if error is not None:
            raise error
        ruled = RuledPieces.of(coded, held, row[kept], count[kept], task)
        into, stuck = _join(ruled, group[kept], beside)
        group[kept], beside = into[group[kept]], into[beside]
        if not stuck:
            return group
        parts += len(stuck)
        group[np.isin(group, stuck)] = WITHHELD
        _check_quota(coded, task, parts, int(count[group < 0].sum()), int(count.sum()))


def _join(ruled: RuledPieces, group: Integers, beside: Integers) -> tuple[Integers, list[int]]:
    """The group that each one becomes, and those that break a rule with nothing left beside them."""
    groups = int(max(group.max(), beside.max(initial=0))) + 1
    chains, tallies = ruled.chains(group, groups), make_tallies(ruled.rules)
    lives = chains.group[:, HEAD] >= 0
    near: list[set[int]] = [set() for _ in range(groups)]
    for one, other in beside.tolist():
        if lives[one] and lives[other] and one != other:
            near[one].add(other)
            near[other].add(one)
    into = np.arange(groups)

    def lack(one: int, other: int, *, stays: bool = False) -> float:
        return float(lack_together(*ruled.table, chains, one, other, stays, tallies))

    def price(one: int, other: int) -> tuple[float, int, int]:
        """Records per remedy, as the largest group shall be small."""
        gained = lack(one, one) + lack(other, other) - lack(one, other)
        size = int(chains.group[other, SIZE])
        return size / gained if gained > TOLERANCE else math.inf, size, other

    stuck = []
    for a in np.flatnonzero(lives).tolist():
        while into[a] == a and lack(a, a) > 0:
            if not near[a]:
                stuck.append(a)
                break
            b = min(price(a, other) for other in near[a])[2]
            lack(a, b, stays=True)
            into[into == b] = a
            for other in near[b]:
                near[other].discard(b)
            near[a] = (near[a] | near[b]) - {a, b}
            for other in near[a]:
                near[other].add(a)
            near[b] = set()
    return into, stuck


def _check_quota(coded: Coded, task: Task, parts: int, records: int, total: int) -> None:
    if records > task.withhold:
        share = math.ceil(10_000 * records / total) / 10_000
        raise DataError(
            f"Column {coded.columns[0].name!r}: {parts} of the graph's connected parts break a rule even "
            f"as one group and can only be withheld, {records} of {total} records with those lighter than "
            f"k = {task.k}; the plan allows {task.withhold}. Raise withhold to {share:g}, weaken or drop "
            "the rule, or add borders to the graph.",
            field="withhold",
            column=coded.columns[0].name,
        )

"""Total loss with one level for each column, and the least that any choice of levels has.

The bound is that of a search over all choices (`kernels/levels.py`, docs/proofs/levels.md). It speaks of
releases with one level for each column, which withhold whole classes: others may lose less. Rules count.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import BrokenPromise
from shoal.kernels.levels import cheapest_levels
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.levels import lattice_of, levels_of, looks_for
from shoal.model.task import Task

__all__ = ["NAME", "loss_at_levels", "prove"]

NAME = "all-levels"


def loss_at_levels(coded: Coded, grouping: Grouping) -> float:
    """The loss of a grouping whose cells are published on its levels."""
    if grouping.level is None:
        raise BrokenPromise("A release with one level for each column says which.")
    kept = grouping.group >= 0
    rows, count = grouping.distinct[kept], grouping.count[kept]
    each = np.zeros(rows.size)
    for axis, (column, level) in enumerate(zip(coded.columns, grouping.level, strict=True)):
        each += column.weight * levels_of(column).cost[level, coded.codes[rows, axis]]
    return float(each @ count) + grouping.withheld * coded.weight


def prove(coded: Coded, task: Task) -> Proof:
    """The least loss of all choices; less where the search ended before its time."""
    found = cheapest_levels(lattice_of(coded, task.k), task.k, task.withhold, looks_for(task.effort))
    return Proof(NAME, found.bound)

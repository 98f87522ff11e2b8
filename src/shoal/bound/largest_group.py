"""Records in the largest group, and what no grouping into groups of at least k can beat.

W records make at most floor(W / k) groups, so the largest holds at least W / floor(W / k) records. A
group holds at least k. Where values are not split, the heaviest value is in one group. A region's group
is connected, so all of that holds in every component of the graph by itself; components lighter than
k cannot be published and bind nobody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.regions.trees import components
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["largest_bound", "largest_group", "prove"]


def largest_group(_coded: Coded, grouping: Grouping) -> float:
    """Records in the largest group; 0 where nothing is published."""
    return float(grouping.sizes.max(initial=0))


def prove(coded: Coded, task: Task) -> Proof:
    """The bound for a table whose values are not split."""
    return Proof("largest-group", float(max(largest_bound(part, task.k) for part in _apart(coded))))


def _apart(coded: Coded) -> list[NDArray[np.int64]]:
    """The weights of the values, by themselves where no group can hold both."""
    graph = coded.columns[0].graph
    if graph is None or len(coded.columns) > 1:
        return [coded.count]
    part = np.r_[components(graph.start, graph.neighbour), len(graph.names)]  # missing stands alone
    its = part[coded.codes[:, 0]]
    order = np.argsort(its, kind="stable")
    return np.split(coded.count[order], np.flatnonzero(np.diff(its[order])) + 1)


def largest_bound(weight: NDArray[np.int64], k: int) -> int:
    """The bound for items of these weights; 0 where they weigh less than k together.

    >>> largest_bound(np.array([4, 4, 3]), 5)
    6
    """
    total = int(weight.sum())
    if total < k:
        return 0
    groups = total // k
    return max(k, int(weight.max()), -(-total // groups))

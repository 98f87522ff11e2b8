"""fold: fill one group after the other with whole labels.

Problem
    Split the labels of one column, each with all its records, into groups of at least k records so that
    the largest group is as small as possible (min-max bin covering).

Guarantee
    At most 3 times the best: the largest group holds at most max(k - 1 + heaviest label, 3k - 3) records.

Method
    A label of k records or more is a group of its own. The others are taken in order and fill one group
    after the other until it holds k. Labels left over at the end join the lightest group.

Cost
    Time O(m log m) for m labels (linear after sorting), memory O(m).

Reference
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and geographic
    generalization and the min-max bin covering problem. WADS 2009. Theorem 5, Fold in its experiments.
    Differs from the paper: what is left over joins the lightest group; the paper leaves it open which.

Example:
    >>> from shoal.kernels.packing import fill_bins
    >>> fill_bins(np.array([4, 1, 3, 2, 2]), np.arange(5), 4)[1].tolist()
    [4, 4, 4]

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.group.families.packing import facts_of, order_of, read_order
from shoal.kernels.packing import fill_bins, stack_on_lightest
from shoal.model.coded import Coded
from shoal.model.facts import Option
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "fold", "group"]


FACTS = facts_of(
    title="Fold",
    guarantee="at most 3 times the best largest group",
    time="O(m log m), m labels",
    paper="004, Theorem 5",
    factor=3.0,
    options={
        "order": Option(
            read_order, "sorted", "the order in which labels are taken: sorted (heaviest first) or random"
        )
    },
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the labels of `coded`; the module docstring states the guarantee."""
    order = order_of(coded.count, str(task.options.get("order", "sorted")), task.seed)
    return Grouping.of_labels(fold(coded.count, order, task.k), coded.count, steps=int(order.size))


def fold(weight: NDArray[np.int64], order: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """The bin of each item. Needs a total weight of at least k."""
    label, level = fill_bins(weight, order, k)
    packed: NDArray[np.int32] = stack_on_lightest(label, level)
    return packed

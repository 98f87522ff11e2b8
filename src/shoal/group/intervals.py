"""intervals: the best groups that are runs of one ordered column.

Problem
    Cut the ordered values of one column, each with all its records, into runs of at least k records so
    that the largest run is as small as possible, or with `objective=loss` so that the total loss is least.

Guarantee
    Optimal among groups that are disjoint runs of values. Groups that interleave can lose less: 3, 39,
    40, 41, 57 with k = 2.

Method
    Dynamic programming over the place of the last cut. For the largest run: the least limit for which
    cuts exist, by bisection, and among those cuts the ones that lose least. For the loss: a run costs
    records * width, which satisfies the quadrangle inequality, so the best last cut moves forward only.
    Missing cells of a number stand behind all values; a run that mixes them is suppressed and costs all.

Cost
    Time O(m log W) for the largest run, O(m log m) for the loss, m distinct values and W records (choosing
    the cheapest cuts within the limit is left out above 50 million steps); memory O(m).

Reference
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and geographic
    generalization and the min-max bin covering problem. WADS 2009, the remark in section 4.
    Differs from the paper: it speaks of a simple greedy algorithm; that one is optimal for items of one
    record each, not for items of many, so this is dynamic programming.

Example:
    >>> least_largest(np.array([3, 1, 1, 3]), 4)
    4

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.intervals import cheapest_bounded_runs, cheapest_runs, cuts_within, least_limit
from shoal.model.coded import Coded
from shoal.model.column import SET
from shoal.model.facts import Facts, Option
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group", "least_largest"]

STEPS = 50_000_000


def _read_objective(text: str) -> str:
    if text not in {"largest", "loss"}:
        raise ValueError("choose largest or loss")
    return text


FACTS = Facts(
    title="Intervals",
    objective="largest",
    guarantee="optimal among groups that are runs of the ordered values",
    time="O(m log W), m values, W records",
    paper="004, section 4",
    takes=frozenset({"number", "date", "label"}),
    most_columns=1,
    withholds=False,
    obeys="apart",
    styles=frozenset({"generalize", "means"}),
    options={"objective": Option(_read_objective, "largest", "what to make small: largest or loss")},
    factor=lambda k, columns: 1.0,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Cut the values of `coded` into runs; the module docstring states the guarantee."""
    present = coded.count > 0
    weight = coded.count[present]
    code = coded.codes[present, 0]
    axis = coded.columns[0].axes[0]
    if axis.form == SET:
        position = np.arange(code.size, dtype=np.float64) * coded.metric.data[0]
        missing = False
    else:
        position = coded.metric.data[code].copy()
        missing = bool(code.size) and int(code[-1]) == axis.missing
    most = float(coded.metric.most[0])
    up_to = np.r_[0, np.cumsum(weight)]
    objective = str(task.options.get("objective", "largest"))
    if objective == "loss":
        starts = cheapest_runs(up_to, position, task.k, missing, most)
    else:
        limit = int(least_limit(up_to, task.k))
        if up_to.size * _widest(up_to, task.k, limit) <= STEPS:
            starts = cheapest_bounded_runs(up_to, position, task.k, limit, missing, most)
        else:
            starts = cuts_within(up_to, task.k, limit)
    label = np.full(coded.distinct, -1, dtype=np.int64)
    label[present] = np.searchsorted(starts, np.arange(weight.size), side="right") - 1
    return Grouping.of_labels(label, coded.count, steps=int(weight.size), objective=objective)


def least_largest(weight: NDArray[np.int64], k: int) -> int:
    """The least largest run of items in this order. Needs a total of at least k."""
    return int(least_limit(np.r_[0, np.cumsum(weight)], k))


def _widest(up_to: NDArray[np.int64], k: int, limit: int) -> int:
    """The most starts a run of k..limit records can have for one end."""
    last = np.searchsorted(up_to, up_to - k, side="right")
    first = np.searchsorted(up_to, up_to - limit, side="left")
    return int(max((last - first).max(), 1))

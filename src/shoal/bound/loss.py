"""Total loss: sum over groups of size * weighted spans, withheld records counted in full."""

from __future__ import annotations

import numpy as np

from shoal.bound.neighbour import neighbour_bound
from shoal.kernels.spans import group_losses
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["prove", "total_loss"]


def total_loss(coded: Coded, grouping: Grouping) -> float:
    """The loss of a grouping."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    starts = np.searchsorted(grouping.group[order], np.arange(grouping.groups + 1))
    spans = group_losses(coded.codes, coded.metric, grouping.distinct[order], starts)
    return float(spans @ grouping.sizes) + grouping.withheld * coded.weight


def prove(coded: Coded, task: Task) -> Proof:
    """The strongest bound we have for total loss."""
    return neighbour_bound(coded, task)

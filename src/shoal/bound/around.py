"""Bounds without a cube, from the near rows of each row: which one, and how far the effort goes.

Own boxes for tables of very many rows or columns, or a large k; shares in turn, which begin with them, for
all others.
"""

from __future__ import annotations

import numpy as np

from shoal.bound.in_turn import prove_in_turn
from shoal.bound.own_box import prove_by_own_boxes
from shoal.kernels.distance.spans import count_labels
from shoal.kernels.neighbours.tiles import FEW_COLUMNS
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["prove_around"]

_SEARCH = {
    "quick": (64, 3, 3_000, 2),
    "normal": (256, 12, 20_000, 5),
    "thorough": (512, 12, 100_000, 12),
}
"""By effort: the near rows that are searched, how many records deep, the looks at them, and passes."""
_WIDE = {"quick": (64, 12, 5_000), "normal": (512, 12, 150_000), "thorough": (1024, 12, 1_000_000)}
"""The same of many columns, where rows stand far from each other and shares move little."""
_LARGE = (32, 3, 3_000)
"""The same of more than MANY distinct rows."""
MANY = 200_000
LISTED = 50_000_000
"""Near rows that are kept in all: 400 MB."""
LARGEST = 200
"""The greatest k whose sets are kept, all their records one by one."""
PER_K, FOR_LABELS, FEW_FOR_LABELS = 3, 2, 12
"""Near rows for each of the k, at least; and how many times more where labels have no hierarchy and columns
are so few that many rows are just as far."""
_STEPS = {"quick": 1.5e6, "normal": 4e6, "thorough": np.inf}
"""Cells compared for each row, by effort: where that is not enough, not every row is asked."""
ALL_STEPS = 4e11
"""Cells compared in all."""
NEARLY_ALL = 25_000
"""Rows that a row is compared with, where columns are few enough for boxes to leave the others out."""


def prove_around(coded: Coded, task: Task) -> Proof:
    """The strongest bound without a cube that the effort affords."""
    effort = task.effort.level or "normal"
    axes = coded.codes.shape[1]
    is_wide = axes > FEW_COLUMNS
    compared = coded.distinct if is_wide else min(coded.distinct, NEARLY_ALL)
    steps = min(_STEPS[effort] * coded.distinct, ALL_STEPS)
    every = max(1, int(np.ceil(coded.distinct * compared * axes / steps)))
    if coded.distinct > MANY or task.k > LARGEST or is_wide or every > 1:
        most, deepest, looks = _WIDE[effort] if is_wide else _LARGE
        most = max(most, PER_K * task.k)
        return prove_by_own_boxes(coded, task, most=most, deepest=deepest, looks=looks, every=every)
    most, deepest, looks, passes = _SEARCH[effort]
    if axes <= FEW_FOR_LABELS and count_labels(coded.metric.form, coded.metric.size):
        most *= FOR_LABELS
    most = max(min(most, LISTED // max(1, coded.distinct)), PER_K * task.k)
    return prove_in_turn(coded, task, most=most, deepest=deepest, looks=looks, passes=passes)

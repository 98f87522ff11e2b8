"""The own-box bound for total loss.

Every record stands in a group of at least k records, whose box costs at least as much as the cheapest box
that holds the record and k records. A search that takes the farthest record first finds that box in all
columns of all kinds, or, cut off at any depth, a number below what it costs. So the sum over all records
bounds every release. Of a large table not every row is asked; a row that is not may borrow from a near one
that is. A record that may be withheld pays its full weight at most. The proof is in docs/proofs/own-box.md.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.bound.own_boxes import own_boxes
from shoal.kernels.distance.spans import count_labels
from shoal.kernels.neighbours.tiles import FEW_COLUMNS, cut_tiles
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["NAME", "again", "prove_by_own_boxes"]

NAME = "own-box"
_SEARCH = {
    "quick": (32, 2, 3_000),
    "normal": (128, 12, 30_000),
    "thorough": (256, 12, 300_000),
}
"""By effort: the nearest rows that are searched, how many records deep, and the looks at them."""
LARGE = (32, 3, 3_000)
"""The same for tables of more than MANY distinct rows."""
MANY = 300_000
PER_K = 3
"""At least so many near rows for each of the k."""
FOR_LABELS = 4
"""So many times more where labels stand without a hierarchy: many rows are just as far."""
_STEPS = {"quick": 4e5, "normal": 2e6, "thorough": np.inf}
"""Cells compared for each row, by effort: where that is not enough, not every row is asked."""
ALL_STEPS = 4e11
"""Cells compared in all."""
NEARLY_ALL = 25_000
"""Rows that a row is compared with, where columns are few enough for boxes to leave the others out."""


def prove_by_own_boxes(coded: Coded, task: Task) -> Proof:
    """Sum over records of the cheapest box around them, as far as the effort goes."""
    effort = task.effort.level or "normal"
    most, deepest, looks = _SEARCH[effort] if coded.distinct <= MANY else LARGE
    if coded.distinct <= MANY and count_labels(coded.metric.form, coded.metric.size):
        most *= FOR_LABELS
    most = max(most, PER_K * task.k)
    axes = coded.codes.shape[1]
    compared = coded.distinct if axes > FEW_COLUMNS else min(coded.distinct, NEARLY_ALL)
    steps = min(_STEPS[effort] * coded.distinct, ALL_STEPS)
    every = max(1, int(np.ceil(coded.distinct * compared * axes / steps)))
    return _prove(coded, task, most=most, deepest=deepest, looks=looks, every=every)


def _prove(coded: Coded, task: Task, *, most: int, deepest: int, looks: int, every: int) -> Proof:
    parameters = (("most", most), ("deepest", deepest), ("looks", looks), ("every", every))
    if coded.total < task.k:
        return Proof(NAME, 0.0, parameters)
    tiles = cut_tiles(coded.codes, coded.count, coded.metric)
    found = own_boxes(
        tiles,
        coded.metric,
        task.k,
        most=min(most, tiles.place.size),
        deepest=deepest,
        looks=looks,
        every=every,
    )
    if task.withhold:
        found = np.minimum(found, coded.weight)
    return Proof(NAME, float(found @ tiles.count), parameters)


def again(
    coded: Coded, task: Task, *, most: float, deepest: float, looks: float, every: float
) -> Proof | None:
    """The bound once more, from what a receipt recorded; None where that is no search."""
    if min(most, deepest, every) < 1:
        return None
    return _prove(coded, task, most=int(most), deepest=int(deepest), looks=int(looks), every=int(every))

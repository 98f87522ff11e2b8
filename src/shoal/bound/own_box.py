"""The own-box bound for total loss.

Every record stands in a group of at least k records, whose box costs at least as much as the cheapest box
that holds the record and k records. A search that takes the farthest record first finds that box in all
columns of all kinds, or, cut off at any depth, a number below what it costs. So the sum over all records
bounds every release. Of a large table not every row is asked; a row that is not may borrow from a near one
that is. A record that may be withheld pays its full weight at most. The proof is in docs/proofs/own-box.md.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.bound.own_boxes import one_in, own_boxes
from shoal.kernels.neighbours.tiles import cut_tiles
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["NAME", "again", "prove_by_own_boxes"]

NAME = "own-box"


def prove_by_own_boxes(
    coded: Coded, task: Task, *, most: int, deepest: int, looks: int, every: int
) -> Proof:
    """Sum over records of the cheapest box around them; one row in `every` is asked."""
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
        asked=one_in(every, tiles),
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
    return prove_by_own_boxes(
        coded, task, most=int(most), deepest=int(deepest), looks=int(looks), every=int(every)
    )

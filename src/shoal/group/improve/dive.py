"""Groups from the linear program of a bound: what it takes whole becomes groups, then it is solved again.

Problem
    Find groups that lose little as a whole; improvement moves a few at a time and does not see far.

Guarantee
    None: at least k records in each group, and improvement keeps the better of these and those it had.

Method
    The program behind the bound by shares says of every set of k records how much of it it would take. Sets
    that it takes nearly whole become groups, and then those of which it takes most, until a quarter of
    the records has gone. For the records that are left the program is solved again, from the sets that
    are still whole and from the groups that `crowd` would make of them; and so on, until little is
    left. `crowd` groups the rest.

Cost
    A few rounds of the program each time, for fewer and fewer records.

Reference
    Our own. Diving: L. Wolsey. Integer Programming. Wiley, 1998.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.group import crowd
from shoal.kernels.bound.boxes import Boxes, list_boxes
from shoal.kernels.bound.cuts import CutPool, joined, kept
from shoal.kernels.bound.program import go_on, new_cuts
from shoal.kernels.bound.rest import still_whole, take_sets, without
from shoal.kernels.bound.sets import group_cuts, row_cuts
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Guide
from shoal.model.task import Effort, Task

__all__ = ["dive"]

CLOSE = 0.01
"""A guide whose shares had to be lowered by more is too far from the program's solution."""
LARGE_K = 40
"""From here on a dive takes as long as steps that win as much: a thorough effort has time for both."""
FEW = 1_000
"""Distinct rows of a table that improvement sees far enough in."""
PART = 0.25
"""Of the records that are left so many become groups at a time."""
ROUNDS = 3
"""Rounds of the program between two times."""
NEAR, RISE, FINE = 1.1, 2.0, 80
"""Cells that shares so many times larger would break are looked at in every round. No share rises above so
many times what it was and this part of everything."""
LITTLE = 0.02
"""Of the program's value: where the rest is worth less, it is not solved again."""
ROOM = 200_000_000
"""Entries of boxes that are never exceeded."""


def dive(coded: Coded, guide: Guide, task: Task) -> Grouping | None:
    """Groups from the sets of a guide; None where it has none that say much, or boxes are too many."""
    its = guide.sets
    if its is None or guide.gap > CLOSE or coded.distinct < FEW:
        return None
    if task.k >= LARGE_K and task.effort.level == "normal":
        return None
    boxes = list_boxes(coded.codes, coded.count, coded.metric, task.k, guide.cap, ROOM)
    if boxes is None:
        return None
    row = boxes.swept.row
    pool = row_cuts(boxes, its.start, its.row, its.amount, its.part)
    share = guide.share[row]
    least = LITTLE * float(share @ boxes.swept.held)
    left = boxes.swept.held.copy()
    pieces: list[tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]] = []
    groups = 0
    while left.any():
        wanted = int(PART * left.sum())
        taken = take_sets(pool, left, task.k, wanted)
        chosen = np.zeros(pool.limit.size, dtype=np.bool_)
        chosen[taken] = True
        its_pool = kept(pool, chosen)
        its_group = groups + np.repeat(np.arange(taken.size), np.diff(its_pool.start))
        pieces.append((row[its_pool.row].astype(np.int32), its_group, its_pool.amount.astype(np.int64)))
        groups += taken.size
        if not left.any():
            break
        rest = np.zeros_like(coded.count)
        rest[row] = left
        of_rest = crowd.group(replace(coded, count=rest), replace(task, effort=Effort("quick"), withhold=0))
        if taken.size * task.k < wanted / 3 or float(share @ left) < least:
            pieces.append((of_rest.distinct, of_rest.group.astype(np.int64) + groups, of_rest.count))
            break
        share, pool = _solve_rest(boxes, pool, left, share, of_rest, coded.weight)
    distinct, group, count = (np.concatenate(its) for its in zip(*pieces, strict=True))
    return Grouping.of_pieces(distinct, group, count)


def _solve_rest(
    boxes: Boxes,
    pool: CutPool,
    left: NDArray[np.int64],
    share: NDArray[np.float64],
    grouping: Grouping,
    weight: float,
) -> tuple[NDArray[np.float64], CutPool]:
    """The program for the records that are left: shares and the pool of its cuts."""
    boxes = without(boxes, left)
    share = np.where(left > 0, share, 0.0)
    pool = still_whole(pool, left)
    groups = group_cuts(boxes, grouping.distinct, grouping.group, grouping.count)
    # the groups take what no other set does
    covered = np.bincount(pool.row, pool.amount * np.repeat(pool.part, np.diff(pool.start)), left.size)
    lack = np.clip(1.0 - covered / np.maximum(left, 1), 0.0, 1.0)
    size = np.add.reduceat(groups.amount, groups.start[:-1])
    part = np.add.reduceat(groups.amount * lack[groups.row], groups.start[:-1]) / size
    pool = joined(pool, groups._replace(part=part), left.size)
    more, near = new_cuts(boxes, NEAR * share, 0.0)
    pool = joined(pool, more, left.size)
    most = np.where(left > 0, RISE * share + weight / FINE, 0.0)
    return go_on(boxes, pool, near, share, share, most, ROUNDS)

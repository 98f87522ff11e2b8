"""What is left of a linear program once some of its sets have become groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.boxes import Boxes
from shoal.kernels.bound.cuts import CutPool, kept
from shoal.kernels.bound.shares import cell_floors
from shoal.kernels.compile.decorators import entry
from shoal.kernels.crowd.cube import Cube

__all__ = ["still_whole", "take_sets", "without"]

SURE, LEAST = 0.9, 0.05
"""Sets of which the program takes so much are taken, and none of which it takes less."""


def take_sets(pool: CutPool, left: NDArray[np.int64], k: int, records: int) -> NDArray[np.int64]:
    """Sets of k records that become groups before the rest: those first of which the program takes most.

    All are taken of which it takes nearly everything, and others until they hold so many records. `left`
    is lowered by what they hold; what is left is nothing or at least k records.
    """
    order = np.argsort(-pool.part, kind="stable")
    order = order[pool.part[order] >= LEAST]
    taken = np.zeros(order.size, dtype=np.bool_)
    _take(pool, order, left, k, records, taken)
    found: NDArray[np.int64] = order[taken]
    return found


@entry
def _take(pool, order, left, k, wanted, taken):
    """Take whole sets of k records out of what is left, in order, so that the rest can still be grouped."""
    total = left.sum()
    held = 0
    for at in range(order.size):
        f = order[at]
        if held >= wanted and pool.part[f] < SURE:
            break
        size = 0.0
        is_whole = True
        for t in range(pool.start[f], pool.start[f + 1]):
            size += pool.amount[t]
            is_whole = is_whole and pool.amount[t] <= left[pool.row[t]]
        if not is_whole or size != k or 0 < total - k < k:
            continue
        for t in range(pool.start[f], pool.start[f + 1]):
            left[pool.row[t]] -= np.int64(pool.amount[t])
        total -= k
        held += k
        taken[at] = True


def still_whole(pool: CutPool, left: NDArray[np.int64]) -> CutPool:
    """The sets of the rest: those whose records are all left."""
    fits = pool.amount <= left[pool.row]
    return kept(pool, np.logical_and.reduceat(fits, pool.start[:-1]) if fits.size else np.zeros(0, bool))


def without(boxes: Boxes, left: NDArray[np.int64]) -> Boxes:
    """The rest of a program: the boxes of the records that are left; rows keep their numbers.

    The closed cells of some of the rows are among those of all: nodes that are tight for the rows left are
    so for all rows that they hold.
    """
    cube = boxes.cube
    entry, start, cells = _thin(cube.entry, cube.start, left, boxes.k)
    swept = boxes.swept._replace(held=left)
    thinner = Cube(entry, start, cube.cost[cells], cube.open_sets[cells], True)
    floor, _ = cell_floors(swept, thinner, boxes.k, boxes.cap)
    return boxes._replace(swept=swept, cube=thinner, floor=floor)


@entry
def _thin(entry, start, left, k):
    """The rest of the cells: without the rows of which nothing is left; those below k records go."""
    rows = np.empty(entry.size, dtype=np.int32)
    first = np.empty(start.size, dtype=np.int64)
    cells = np.empty(start.size - 1, dtype=np.int64)
    many, at = 0, 0
    first[0] = 0
    for c in range(start.size - 1):
        records = 0
        end = at
        for t in range(start[c], start[c + 1]):
            if left[entry[t]] > 0:
                rows[end] = entry[t]
                end += 1
                records += left[entry[t]]
        if records >= k:
            at = end
            cells[many] = c
            many += 1
            first[many] = at
    return rows[:at].copy(), first[: many + 1].copy(), cells[:many].copy()

"""The boxes a bound must look at, none dearer than any group that could stand in it.

A group's tight box is a run of the sweep and, on each other column, the smallest node of its rows. For a
tree the cells of the cube are exact: the rows inside a group's nodes form a closed cell of the same
cost. A label column is relaxed to one value (cost 0) or all of them (the cost of two); number columns
other than the sweep are left out (cost 0). So every group of at least k records lies in a window of a
cell that costs no more than the group.

Cells dearer than a cap may be left out where no row's share exceeds the cap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.cube import Cube, build_cube, shape_of
from shoal.kernels.growth import cell_floors
from shoal.kernels.queue import Swept, sweep_rows
from shoal.model.coded import Coded

__all__ = ["Boxes", "boxes_below", "fewer_boxes", "most_boxes"]

FULL_UP_TO = 1200
"""Entries a distinct row may have for a try without a cap: Adult's eight columns have 950."""


class Boxes(NamedTuple):
    """Cells with the least their windows can cost: `floor` for at least k records."""

    swept: Swept
    cube: Cube
    floor: NDArray[np.float64]
    cap: float


def boxes_below(coded: Coded, k: int, cap: float, room: int) -> Boxes | None:
    """All boxes that cost at most `cap`; None where they would take more than `room` entries."""
    shape = shape_of(coded.codes, coded.count, coded.metric, -1)
    swept = sweep_rows(coded.codes, coded.count, coded.metric, shape)
    cube = build_cube(swept.code, swept.held, shape, coded.metric, k, cap, room, 12 * room)
    if not cube.whole:
        return None
    # a group in a window of several labels need not hold all of them: two is all that can be charged
    charged = Cube(cube.entry, cube.start, cube.cost, np.zeros_like(cube.open_sets), True)
    return Boxes(swept, charged, cell_floors(swept, charged, k), cap)


def most_boxes(coded: Coded, k: int, cap: float, room: int) -> Boxes:
    """Boxes up to `cap`, or up to the largest of a row of smaller caps that fits the room."""
    if coded.distinct * FULL_UP_TO <= room:
        found = boxes_below(coded, k, cap, room)
        if found is not None:
            return found
    best = None
    tried = coded.weight / 256
    while tried < cap:
        found = boxes_below(coded, k, tried, room)
        if found is None:
            break
        best = found
        if found.cube.entry.size > room // 2:  # the next would not fit
            break
        tried *= 2
    if best is None:  # the cell of all rows alone
        best = boxes_below(coded, k, 0.0, 64 * room)
    assert best is not None, "rows that are alike fit into any room"
    return best


def fewer_boxes(coded: Coded, k: int, boxes: Boxes, room: int, work: float) -> Boxes:
    """The same, or those below a smaller cap, so that looking at all windows takes at most `work`."""
    while _windows(boxes) > work and boxes.cap > 0.0:
        cap = min(boxes.cap, coded.weight) / 2
        if cap < coded.weight / 512:
            cap = 0.0
        found = boxes_below(coded, k, cap, 64 * room)
        if found is None:
            break
        boxes = found
    return boxes


def _windows(boxes: Boxes) -> float:
    """Rows in all windows of all cells, at worst: each place of the sweep starts some."""
    size = np.diff(boxes.cube.start).astype(np.float64)
    places = np.unique(boxes.swept.place).size + 1
    return float((size * np.minimum(size, places)).sum())

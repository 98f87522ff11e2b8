"""The boxes a bound must look at, none dearer than any group that could stand in it.

A group's tight box is a run of the sweep and, on each other column, the smallest node of its rows. For a
tree the cells of the cube are exact: the rows inside a group's nodes form a closed cell of the same
cost. A label column is relaxed to one value (cost 0) or all of them (the cost of two); number columns
other than the sweep are left out (cost 0). So every group of at least k records lies in a window of a
cell that costs no more than the group.

Cells dearer than a cap may be left out where no row's share exceeds the cap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.boxes import Boxes, list_boxes
from shoal.kernels.crowd.cheapest_first import cheapest_windows
from shoal.model.coded import Coded
from shoal.model.column import LINE, SET

__all__ = ["Boxes", "boxes_below", "by_row", "left_out", "most_boxes", "smallest_shares"]

FULL_UP_TO = 1200
"""Entries a distinct row may have for a try without a cap: Adult's eight columns have 950."""


FIRST, LEAST = 1.0 / 64, 1e-7
"""The first cap tried and the least one, as shares of everything."""
LARGE = 3
"""Boxes of a large table are sparse, and a look at them takes longer: they get this part of the room."""
FULL = 0.4
"""Boxes that take so much of the room or the work leave none for twice the cap."""
PAYS = 1.01
"""A cap twice as high pays where the smallest boxes around the rows then cost so many times more."""


def boxes_below(coded: Coded, k: int, cap: float, room: int) -> Boxes | None:
    """All boxes that cost at most `cap`; None where they would take more than `room` entries."""
    return list_boxes(coded.codes, coded.count, coded.metric, k, cap, room)


def by_row(coded: Coded, boxes: Boxes, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares in sweep order as shares per distinct row."""
    of_row = np.zeros(coded.distinct)
    of_row[boxes.swept.row] = share
    return of_row


def most_boxes(coded: Coded, k: int, cap: float, room: int, work: float = np.inf) -> tuple[Boxes, Boxes]:
    """The boxes up to `cap`, and those of which all windows can be looked at for `work`.

    Where they are too many for that or would take more than `room` entries, those up to a smaller cap are
    taken, and of a large table a share of the room. Caps double from a small one on; once that makes the
    smallest boxes around the rows hardly dearer, a higher cap would only add boxes that few shares reach.
    """
    if coded.distinct * FULL_UP_TO <= room:
        found = boxes_below(coded, k, cap, room)
        if found is not None and found.looks <= work:
            return found, found
    room = max(coded.distinct, room // LARGE)
    many = few = None
    reached = 0.0
    tried = coded.weight * FIRST
    while many is None or tried < cap:
        found = boxes_below(coded, k, min(tried, cap), room)
        if found is None:
            break
        many = found
        if found.looks <= work:
            few = found
        now = smallest_shares(found, k)
        # the next would not fit, or would not pay
        if max(found.cube.entry.size / room, found.looks / work) > FULL or now <= PAYS * reached:
            break
        reached = now
        tried *= 2
    tried = coded.weight * FIRST
    while few is None:  # rows that stand close: shares stay small
        tried /= 16
        if tried < coded.weight * LEAST:  # the cell of all rows alone
            tried = 0.0
        found = boxes_below(coded, k, min(tried, cap), 64 * room)
        if tried == 0.0 or (found is not None and found.looks <= work):
            few = found
    return many or few, few


def left_out(coded: Coded) -> float:
    """The part of a row's full loss that boxes do not charge: of labels all but one step, of numbers all.

    0 where no number column is left out and no set of labels is charged less than it costs.
    """
    metric = coded.metric
    lines = np.sort(metric.most[metric.form == LINE])[:-1]  # one of them is the sweep
    labels = (metric.form == SET) & (metric.size > 2)
    short = metric.most[labels] * (1.0 - 1.0 / (metric.size[labels] - 1))
    return float((lines.sum() + short.sum()) / coded.weight) if coded.weight > 0.0 else 0.0


def smallest_shares(boxes: Boxes, k: int) -> float:
    """Sum over records of the cheapest box around them, none above the cap."""
    share = np.minimum(cheapest_windows(boxes.swept, boxes.cube, k), boxes.cap)
    return float(share @ boxes.swept.held)

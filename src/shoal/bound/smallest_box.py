"""The smallest-box bound for total loss.

Every record stands in a group of at least k records, whose box costs at least as much as the cheapest
box that holds the record and k records. So the sum of these costs over all records bounds every
release. A record that may be withheld pays its full weight at most, so its share is capped there.
Boxes dearer than the cap are not looked at: a record that only they hold pays at least the cap.
"""

from __future__ import annotations

from shoal.bound.boxes import Boxes, boxes_below, smallest_shares
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["NAME", "again", "prove_by_boxes"]

NAME = "smallest-box"


def prove_by_boxes(boxes: Boxes, k: int) -> Proof:
    """Sum over records of the cheapest box around them."""
    return Proof(NAME, smallest_shares(boxes, k), (("cap", boxes.cap),))


def again(coded: Coded, task: Task, *, cap: float) -> Proof | None:
    """The bound once more, from what a certificate recorded; None where the cap claims too much."""
    if task.withhold and cap > coded.weight:
        return None
    boxes = boxes_below(coded, task.k, cap, 2**62 // 64)
    return prove_by_boxes(boxes, task.k) if boxes is not None else None

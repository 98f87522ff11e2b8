"""The growth bound for total loss.

Give every record a share u >= 0 such that in every box that holds k records the mean of the k largest
shares is at most what the box costs per record. A group S with box B then has a sum of shares of at
most |S| times that mean, so at most its loss; and the sum of all shares bounds every release. All shares
grow together on a grid; where the next step would break a box, its growing shares stop. Where records
may be withheld, no share exceeds a record's full weight. The proof is in docs/proofs/growth-bound.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.bound.boxes import Boxes, boxes_below
from shoal.kernels.bound.shares import grow_shares
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["NAME", "again", "grid", "grown_shares", "proof_of", "prove_by_growth", "top_share"]

NAME = "growth"
LOOK_AHEAD = 3.0
"""How far a visit to a cell looks ahead: fewer visits for wider windows."""
BELOW = 1.0 - 1e-9
"""The first level lies so little below the cheapest box."""
FINEST = 1.0001
"""No effort has a finer grid, and a far finer one would not fit into memory."""


def top_share(coded: Coded, task: Task) -> float:
    """No share can exceed this: k boxes' worth, or a record's full weight where it may be withheld."""
    return coded.weight if task.withhold else coded.weight * task.k


def grid(floor: NDArray[np.float64], top: float, ratio: float) -> NDArray[np.float64]:
    """Levels from 0, then from the cheapest box that costs anything, by a fixed ratio, up to `top`."""
    dear = floor[(floor > 1e-9 * top) & (floor < np.inf)]
    first = float(dear.min()) * BELOW if dear.size else top
    steps = max(0, int(np.ceil(np.log(top / first) / np.log(ratio)))) if first < top else 0
    values = first * ratio ** np.arange(steps + 1)
    return np.concatenate([[0.0], values[values < top], [top]])


def prove_by_growth(boxes: Boxes, k: int, ratio: float) -> Proof:
    """Sum over records of shares grown on a grid of the given ratio."""
    return proof_of(boxes, grown_shares(boxes, k, ratio), ratio)


def proof_of(boxes: Boxes, grown: NDArray[np.float64], ratio: float) -> Proof:
    """The sum over records of grown shares."""
    return Proof(NAME, float(grown @ boxes.swept.held), (("cap", boxes.cap), ("ratio", ratio)))


def grown_shares(boxes: Boxes, k: int, ratio: float) -> NDArray[np.float64]:
    """Shares grown on a grid of the given ratio, in sweep order."""
    if boxes.cap <= 0.0:
        return np.zeros(boxes.swept.held.size)
    value = grid(boxes.floor, boxes.cap, ratio)
    level = grow_shares(boxes.swept, boxes.cube, k, value, boxes.floor, LOOK_AHEAD)
    share: NDArray[np.float64] = value[level]
    return share


def again(coded: Coded, task: Task, *, cap: float, ratio: float) -> Proof | None:
    """The bound once more, from what a certificate recorded; None where that claims too much."""
    if cap > top_share(coded, task) * (1 + 1e-12) or ratio < FINEST:
        return None
    boxes = boxes_below(coded, task.k, cap, 2**62 // 64)
    return prove_by_growth(boxes, task.k, ratio) if boxes is not None else None

"""rectangles: places cut into boxes that never overlap.

Problem
    Split the points of one place column, each with all its records, into groups of at least k records
    whose bounding rectangles share no point, so that the largest group is as small as possible.

Guarantee
    At most 5 times the best: a group holds at most 4 (k - 1) + the heaviest point. Where no point has
    many copies, groups come close to k.

Method
    A kd-tree: cut a part in two across either axis, between distinct coordinates, as long as both sides
    keep k records. A part of w records aims at floor(w / k) groups, so it is cut where both sides get
    their share of them; of all legal cuts the one that promises the smallest largest group wins, then
    the one across the longer side. Where copies cannot be split, groups are aimed a little above k, and the
    best of a few such runs is kept. Missing places stand beyond all others.

Cost
    Time O(m log m) on average for m distinct points, memory O(m).

Reference
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and geographic
    generalization and the min-max bin covering problem. WADS 2009. Theorem 2.
    Differs from the paper: it says which of the legal cuts is taken; the guarantee holds for any.

Example:
    >>> FACTS.factor(5, 1)
    5.0

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.rectangles import cut_rectangles
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

FACTS = Facts(
    title="Rectangles",
    objective="largest",
    guarantee="at most 5 times the best largest group; boxes never overlap",
    time="O(m log m), m distinct points",
    paper="004, Theorem 2",
    takes=frozenset({"place"}),
    most_columns=1,
    withholds=False,
    obeys="apart",
    styles=frozenset({"generalize"}),
    factor=lambda k, columns: 5.0,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Cut the places of `coded` into rectangles; the module docstring states the guarantee."""
    present = np.flatnonzero(coded.count > 0)
    positions = [_positions(coded, axis) for axis in (0, 1)]
    label = np.full(coded.distinct, -1, dtype=np.int32)
    weight = coded.count[present]
    least = -(-coded.total // (coded.total // task.k))
    best = coded.total + 1
    steps = 0
    for spare in _spares(int(weight.max())):
        x, y = (np.ascontiguousarray(coded.codes[present, axis]) for axis in (0, 1))
        found = cut_rectangles(x, y, weight.copy(), positions[0], positions[1], task.k, task.k + spare)
        steps += int(present.size)
        largest = int(np.bincount(found, weights=weight).max())
        if largest < best:
            best = largest
            label[present] = found
        if best <= max(least, int(weight.max())):
            break
    return Grouping.of_labels(label, coded.count, steps=steps)


def _spares(heaviest: int) -> list[int]:
    """How much more than k to aim at: copies that cannot be split need room, at most their own weight.

    >>> _spares(1), _spares(8)
    ([0], [0, 1, 2, 4, 7])
    """
    return sorted({0, 1, 2, 4, heaviest // 2, heaviest - 1} & set(range(heaviest)))


def _positions(coded: Coded, axis: int) -> NDArray[np.float64]:
    """The position of each code; missing lies as far again as the whole axis is long."""
    at = int(coded.metric.offset[axis])
    size = int(coded.metric.size[axis])
    positions = coded.metric.data[at : at + size].copy()
    if coded.metric.missing[axis] >= 0:
        positions[-1] = 2 * float(coded.metric.most[axis])
    return positions

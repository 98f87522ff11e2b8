"""Which box each row of a register stands in, release after release.

Problem
    Rows come, leave, return and move. Give every row a box so that what is shown of a person in all
    releases, cut with one another, holds k persons at one time, and little is lost.

Guarantee
    Every new box holds k rows that lie in it now. A row that lies in its former box stays there, or goes
    to a new box inside it. So the cells shown of a person contain a box that held k
    (docs/proofs/series.md).

Method
    Rows inside their box keep it. The others join the cheapest box that covers them, or found a new one,
    k at a time, where that costs less. Then boxes are made finer, where k rows that lie in one another's
    boxes can stand closer together. With `widen` a box may also widen for a row.

Cost
    O(n log n) look-ups in a tree of boxes, in practice, and the grouping of those who come.

Reference
    Our own. Kept classes: X. Xiao, Y. Tao. m-invariance. SIGMOD 2007, for the problem.

Example:
    >>> PASSES
    4

"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standing.refine import refine_boxes
from shoal.kernels.standing.tree import build_boxes, cheapest_cover, cheapest_join, go_inside, price_of
from shoal.model.register import NOBODY
from shoal.model.standing import Codes, Ground, closed

__all__ = ["PASSES", "Settled", "Shown", "settle", "show"]

PASSES = 4
"""How often those who would found a box, but are too few, are grouped once more."""
SHORT = 0.6
"""A box with fewer than k rows seems this much cheaper: it is filled first."""
REFINED = 2
"""How often boxes are made finer in one release."""

Rows = NDArray[np.int64]
Together = Callable[[Rows], Rows]
"""Groups of at least k among some rows: a label per row, -1 for none."""


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """The box of every row, -1 where it waits without one, and all boxes, old ones first."""

    box: Rows
    low: Codes
    high: Codes
    founded: int
    joined: int
    moved: int
    refined: int


class _Settling:
    """The boxes while rows settle."""

    def __init__(self, ground: Ground, box: NDArray[np.integer], k: int) -> None:
        self.ground, self.k = ground, k
        self.box = box.astype(np.int64).copy()
        self.low, self.high = ground.low, ground.high
        self.price = price_of(ground.metric, self.low, self.high)

    def found(self, label: Rows) -> int:
        """A new box for each label that some rows have."""
        rows = np.flatnonzero(label >= 0)
        if rows.size == 0:
            return 0
        used, group = np.unique(label[rows], return_inverse=True)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(used.size))
        points = self.ground.points[rows[order]]
        low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
        low, high = closed(self.ground.columns, low, high)
        self.box[rows] = len(self.low) + group
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self.price = np.concatenate([self.price, price_of(self.ground.metric, low, high)])
        return int(used.size)

    @property
    def size(self) -> Rows:
        """Rows in each box."""
        return np.bincount(self.box[self.box >= 0], minlength=len(self.low)).astype(np.int64)


def settle(ground: Ground, box: NDArray[np.integer], k: int, together: Together, *, widen: bool) -> Settled:
    """Settle all rows; `box` is where each stood, -1 for those who are new."""
    standing = _Settling(ground, box, k)
    had = np.flatnonzero(standing.box >= 0)
    out = had[~ground.holds(had, standing.box[had])]
    standing.box[out] = NOBODY
    come = np.flatnonzero(standing.box < 0)
    bound = standing.box >= 0  # of these a box was shown, or may have been
    founded = joined = 0
    if bound.any() or len(ground.low):
        founded, joined = _settle_come(standing, come, together, widen=widen)
    elif come.size >= k:
        label = np.full(len(standing.box), -1, np.int64)
        label[come] = together(come)
        founded = standing.found(label)
    refined = 0
    if bound.any() and not widen:  # what was shown of one whose box has widened is finer than that box
        for _ in range(REFINED):
            new = _refine(standing, bound)
            refined += new
            if not new + _go_inside(standing):
                break
    return Settled(standing.box, standing.low, standing.high, founded, joined, out.size, refined)


def _settle_come(standing: _Settling, come: Rows, together: Together, *, widen: bool) -> tuple[int, int]:
    """Those without a box: the cheapest that covers them, or a new one of k who fare better there."""
    ground, k = standing.ground, standing.k
    there = np.flatnonzero(ground.there)
    need = np.where(standing.size < k, SHORT, 1.0) * standing.price
    tree = build_boxes(standing.low, standing.high, need, there, ground.metric.size)
    at, cost = cheapest_cover(tree, standing.low, standing.high, need, ground.points[come])
    if widen:
        at, cost = _insertions(standing, tree, come, need)
    founded, rest = 0, np.arange(come.size)
    for _ in range(1 if widen else PASSES):
        if rest.size < k:
            break
        label = together(come[rest])
        if label.max(initial=-1) < 0:
            break
        each = _prices(ground, come[rest], label)
        keen = (label >= 0) & (cost[rest] > each[label])
        many = np.bincount(label[keen], minlength=each.size)
        founds = keen & (many[label] >= k)
        new = np.full(len(standing.box), -1, np.int64)
        new[come[rest[founds]]] = label[founds]
        founded += standing.found(new)
        standing.box[come[rest[~keen]]] = NOBODY if widen else at[rest[~keen]]
        rest = rest[keen & ~founds]
    if widen:
        joined = _widen(standing, come[standing.box[come] < 0])
    else:
        standing.box[come[rest]] = at[rest]
        joined = int((standing.box[come] >= 0).sum()) - int((standing.box[come] >= len(ground.low)).sum())
    return founded, joined


def _prices(ground: Ground, rows: Rows, label: Rows) -> NDArray[np.float64]:
    """What a row loses in each group."""
    kept = label >= 0
    order = np.argsort(label[kept], kind="stable")
    starts = np.searchsorted(label[kept][order], np.arange(int(label.max()) + 1))
    points = ground.points[rows[kept][order]]
    low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
    return np.asarray(price_of(ground.metric, low, high))


def _insertions(
    standing: _Settling, tree: object, rows: Rows, price: NDArray[np.float64]
) -> tuple[Rows, NDArray[np.float64]]:
    """The box that costs least to widen for each row, and what it costs all who stand there."""
    size, cluster = standing.size, np.arange(len(standing.low))
    at, cost = np.full(rows.size, -1, np.int64), np.full(rows.size, np.inf)
    for place, row in enumerate(rows.tolist()):
        point = standing.ground.points[row]
        at[place], cost[place] = cheapest_join(
            *(tree, standing.ground.metric, standing.low, standing.high, size, price, cluster),
            *(point, point, 1, 0.0, -1),
        )
    return at, cost


def _widen(standing: _Settling, rows: Rows) -> int:
    """One after the other, since boxes widen."""
    ground = standing.ground
    there = np.concatenate([np.flatnonzero(ground.there), np.arange(len(ground.low), len(standing.low))])
    if there.size == 0:
        return 0
    tree = build_boxes(standing.low, standing.high, standing.price, there, ground.metric.size)
    size, cluster = standing.size, np.arange(len(standing.low))
    standing.low, standing.high = standing.low.copy(), standing.high.copy()
    for row in rows.tolist():
        point = ground.points[row]
        b, _ = cheapest_join(
            *(tree, ground.metric, standing.low, standing.high, size, standing.price, cluster),
            *(point, point, 1, 0.0, -1),
        )
        one = slice(b, b + 1)
        low, high = np.minimum(standing.low[one], point), np.maximum(standing.high[one], point)
        standing.low[one], standing.high[one] = closed(ground.columns, low, high)
        standing.price[one] = price_of(ground.metric, standing.low[one], standing.high[one])
        size[b] += 1
        standing.box[row] = b
    return rows.size


def _refine(standing: _Settling, bound: NDArray[np.bool_]) -> int:
    """New boxes of k rows that lie in one another's."""
    ground, k = standing.ground, standing.k
    points = ground.points
    order = np.argsort(points[:, 0], kind="stable")
    dear = np.where(standing.box >= 0, standing.price[standing.box], np.inf)
    seeds = np.argsort(-dear, kind="stable")
    seeds = seeds[dear[seeds] > 0]
    label, _ = refine_boxes(
        *(ground.metric, points, order, points[order, 0], standing.low, standing.high, standing.price),
        *(standing.box, bound, standing.size, k, seeds),
    )
    return standing.found(label)


def _go_inside(standing: _Settling) -> int:
    """Rows of boxes with more than k, or fewer, go to cheaper boxes inside their own."""
    ground, size = standing.ground, standing.size
    there = np.ones(len(standing.low), bool)
    there[: len(ground.there)] = ground.there
    used = np.flatnonzero(there & (size > 0))
    tree = build_boxes(standing.low, standing.high, standing.price, used, ground.metric.size)
    dear = np.where(standing.box >= 0, standing.price[standing.box], -1.0)
    rows = np.argsort(-dear, kind="stable")
    rows = rows[dear[rows] > 0]
    return int(
        go_inside(
            *(tree, standing.low, standing.high, standing.price, ground.points, standing.box, rows),
            *(size, standing.k, SHORT),
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What is shown this time: a class per row, -1 for none, and the box of each class."""

    label: Rows
    low: Codes
    high: Codes


def show(ground: Ground, settled: Settled, k: int) -> Shown:
    """Boxes with fewer than k rows are joined with those that cost least, this time only."""
    size = np.bincount(settled.box[settled.box >= 0], minlength=len(settled.low)).astype(np.int64)
    cluster = np.arange(len(settled.low))
    low, high = settled.low.copy(), settled.high.copy()
    price = price_of(ground.metric, low, high)
    used = np.flatnonzero(size > 0)
    if used.size == 0 or size.sum() < k:
        return Shown(np.full(len(settled.box), -1, np.int64), low[:0], high[:0])
    tree = build_boxes(low, high, price, used, ground.metric.size)
    many, box_low, box_high, own = size.copy(), low.copy(), high.copy(), price.copy()
    while (small := used[(many[used] < k) & (cluster[used] == used)]).size:
        c = int(small[np.argmin(many[small])])
        b, _ = cheapest_join(
            *(tree, ground.metric, low, high, size, price, cluster),
            *(box_low[c], box_high[c], many[c], own[c], c),
        )
        into = int(cluster[b])
        both = slice(into, into + 1)
        least, most = np.minimum(box_low[both], box_low[c]), np.maximum(box_high[both], box_high[c])
        box_low[both], box_high[both] = closed(ground.columns, least, most)
        own[both] = price_of(ground.metric, box_low[both], box_high[both])
        many[into] += many[c]
        cluster[cluster == c] = into
    kept, number = np.unique(cluster[used], return_inverse=True)
    place = np.full(len(settled.low), -1, np.int64)
    place[used] = number
    label = np.where(settled.box >= 0, place[settled.box], -1)
    return Shown(label, box_low[kept], box_high[kept])

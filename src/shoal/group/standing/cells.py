"""Which rows of a register are shown together, and in which box.

Problem
    Rows come, leave, return and move. Group all rows of a release, k together, and give every group a
    box, so that the cells shown of a person in all releases, cut with one another, still hold k persons,
    he and others who were there as long and did not move; and little is lost.

Guarantee
    Every group has k rows, which lie in its box. For each row, its box is no finer than what was shown of
    it before; or k rows lie in both together, itself and others that have been in the register, at the same
    point, since the first of these cells was shown (docs/proofs/series.md).

Method
    Any method groups all rows afresh. A group's box is the least around its rows; where one of them may
    not be shown in it, it is widened, axis by axis, towards what was shown of that row. Then rows of
    groups that had to be widened change places with near rows, or go to other groups, as long as all
    together lose less.

Cost
    That of the method, and O(n log n) counts in a tree of points, in practice.

Reference
    Our own. For the problem: X. Xiao, Y. Tao. m-invariance. SIGMOD 2007.

Example:
    >>> NEAR
    24

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.neighbours.box_tree import Index, build_tree
from shoal.kernels.standing.exchange import exchange_rows
from shoal.kernels.standing.held import FEW, Present, all_hold, begin_of, lie_within
from shoal.kernels.standing.least import least_boxes
from shoal.kernels.standing.near import near_places
from shoal.model.standing import Codes, Ground

__all__ = ["NEAR", "Shown", "show"]

NEAR = 24
"""Points among whose rows one may change places."""
PASSES = 8
"""How often all rows of widened groups are looked at, at most."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A class per row and the box of each; how many are wider than their rows, and persons known finer."""

    label: Rows
    low: Codes
    high: Codes
    widened: int
    finer: int


def show(ground: Ground, label: Rows, since: Codes, stay: Codes, k: int) -> Shown:
    """Show the rows in groups, or in similar ones that lose less.

    `since` is the release of the first cell that counts for a row, `stay` the one since which the row has
    been there, without a break, at its point.
    """
    order, first, index = _order(ground, stay)
    ground, label, since, stay = ground.at(order), label[order], since[order], stay[order]
    present = _present(ground, since, stay, first, index)
    low, high, wider = _boxes(ground, present, label, k)
    if wider.any():
        rows = np.flatnonzero(wider[label])
        place = np.searchsorted(first, rows, side="right") - 1
        ones, at = np.unique(place, return_inverse=True)
        near = near_places(index, ground.metric, index.codes[ones], NEAR)[at]
        label = exchange_rows(ground.metric, present, rows, near, label, low, high, k, PASSES)
        low, high, wider = _boxes(ground, present, label, k)
    cut_low, cut_high = np.maximum(low[label], ground.low), np.minimum(high[label], ground.high)
    finer = ((low[label] > ground.out_low) | (high[label] < ground.out_high)).any(axis=1)
    finer &= ~ground.is_free
    held = all_hold(present, np.flatnonzero(finer), cut_low[finer], cut_high[finer], k)
    if not held.all():
        raise DataError(
            f"{int((~held).sum()):,} persons cannot be shown again: whatever is shown of them now tells "
            f"more than before, and fewer than k = {k} persons were there as long and did not move. Leave "
            "them out of this release.",
            field="k",
        )
    back = np.empty_like(label)
    back[order] = label
    return Shown(back, low, high, int(wider.sum()), int(finer.sum()))


def _order(ground: Ground, stay: Codes) -> tuple[Rows, Rows, Index]:
    """The rows by their places in a tree of points, the first row of each place, and the tree."""
    _, one, at, many = np.unique(
        ground.distinct, return_index=True, return_inverse=True, return_counts=True
    )
    index = build_tree(ground.points[one], many.astype(np.int64), ground.metric)
    rank = np.empty(one.size, np.int64)
    rank[index.place] = np.arange(one.size)
    first = np.append(0, np.cumsum(many[index.place]))
    return np.lexsort((stay, rank[at])), first, index


def _present(ground: Ground, since: Codes, stay: Codes, first: Rows, index: Index) -> Present:
    """What kernels look at: rows, in the order of a tree of their points, and what was shown of them."""
    stays = stay.astype(np.int32)
    least, most = begin_of(index.start, index.end, index.child, stays, first)
    present = Present(
        *(ground.points, ground.low, ground.high, ground.out_low, ground.out_high),
        *(since.astype(np.int32), ground.is_free, stays),
        *(index.start, index.end, index.child, index.low, index.high, index.records, least, most),
        *(index.codes, first),
        *_no_lists(ground),
    )
    own, ones = _cuts(ground, since)
    within, few = lie_within(present, ones, FEW)
    return present._replace(own=own, within=within, few=few)


def _no_lists(ground: Ground) -> tuple[Rows, Codes, Codes]:
    """Nothing is known yet of who lies in whose cut."""
    return np.zeros(len(ground.points), np.int64), np.empty((1, FEW), np.int32), np.full(1, -1, np.int32)


def _cuts(ground: Ground, since: Codes) -> tuple[Rows, Rows]:
    """A number for each row's cut, and one row with each; the free have none, and the first number."""
    shown = np.flatnonzero(~ground.is_free)
    own = np.zeros(len(ground.points), np.int64)
    if not shown.size:
        return own, np.zeros(1, np.int64)
    parts = np.column_stack([ground.low[shown], ground.high[shown], since[shown]]).astype(np.int32)
    lines = np.ascontiguousarray(parts).view(f"V{4 * parts.shape[1]}").ravel()
    _, one, number = np.unique(lines, return_index=True, return_inverse=True)
    own[shown] = number.reshape(-1)
    return own, shown[one].astype(np.int64)


def _boxes(ground: Ground, present: Present, label: Rows, k: int) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """The least box of every group, and which are wider than their rows."""
    rows = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[rows], np.arange(int(label.max()) + 2))
    low, high, wider = least_boxes(ground.metric, present, rows, starts, k)
    return low, high, wider

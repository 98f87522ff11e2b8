"""From clusters that may be small to groups of at least k: paper 000, section 3.1, steps 2 and 3.

Every open cluster first shares the nearest records of its centre until it has k; then records that belong
to several clusters are given to one. Copies of a row are split where counts ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import BrokenPromise
from shoal.kernels.centres.least_radius import Pieces
from shoal.kernels.distance.rows import apart_each
from shoal.kernels.neighbours.box_tree import Index, ball, sight_of

__all__ = ["unshare"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Amounts = dict[int, int]


@dataclass(slots=True)
class _Tree:
    """An open cluster, the records it took, and the leftover clusters that hang below it."""

    centre: int
    took: Amounts
    below: list[Amounts] = field(default_factory=list)


def unshare(
    index: Index,
    space: Any,
    count: Counts,
    kept: Counts,
    k: int,
    *,
    owner: Rows,
    centre: Rows,
    radius: Floats,
) -> Pieces:
    """Groups of at least k records from clusters `owner` of rows, of which `kept` records are published.

    `centre` and `radius` are those of all clusters; the ball of every one that owns rows holds k records.
    Withheld records are published where a cluster needs them to have k.
    """
    rows = np.flatnonzero((owner >= 0) & (kept > 0))
    members: dict[int, Amounts] = {}
    for row in rows.tolist():
        members.setdefault(int(owner[row]), {})[row] = int(kept[row])
    out, sight = np.empty(index.place.size, dtype=np.int32), sight_of(index, space)
    wide: dict[int, float] = {}
    for c, its in members.items():
        lacks = k - sum(its.values())
        if lacks > 0:
            near = np.sort(out[: ball(index, space, sight, centre[c], radius[c], out)])
            far = apart_each(space, near, np.full_like(near, centre[c]))
            for row in near[np.argsort(far, kind="stable")].tolist():
                more = min(lacks, int(count[row]) - its.get(row, 0))
                if more > 0:
                    its[row] = its.get(row, 0) + more
                    lacks -= more
                if lacks == 0:
                    break
            if lacks != 0:
                raise BrokenPromise("The ball of a cluster holds k records.")
        there = np.array(sorted(its), dtype=np.int32)
        wide[c] = float(apart_each(space, there, np.full_like(there, centre[c])).max())
    trees = _plant(members, wide, owner, centre, count, kept, k)
    return _pieces(trees, space, k)


def _plant(
    members: dict[int, Amounts],
    wide: dict[int, float],
    owner: Rows,
    centre: Rows,
    count: Counts,
    kept: Counts,
    k: int,
) -> list[_Tree]:
    """Open clusters by increasing radius while k of their records are free; hang the others below them."""
    free = {row: int(count[row]) for its in members.values() for row in its}
    taker: dict[int, int] = {}
    trees: dict[int, _Tree] = {}
    parent: dict[int, int] = {}
    for c in sorted(members, key=lambda one: (wide[one], one)):
        its = members[c]
        can = {row: min(many, free[row]) for row, many in its.items()}
        if sum(can.values()) >= k:
            trees[c] = _Tree(int(centre[c]), {row: many for row, many in can.items() if many > 0})
            for row, many in trees[c].took.items():
                free[row] -= many
                taker[row] = c
        else:
            # fewer than k are free, so an open cluster, which is no wider, took one
            parent[c] = taker[next(row for row, many in sorted(its.items()) if can[row] < many)]
    for c, above in parent.items():
        left: Amounts = {}
        for row in members[c]:
            if owner[row] == c:
                # what stays out is withheld first: nobody owns it
                stays = min(free[row], int(kept[row]))
                if stays > 0:
                    left[row] = stays
        if left:
            trees[above].below.append(left)
    return [trees[c] for c in sorted(trees)]


def _pieces(trees: list[_Tree], space: Any, k: int) -> Pieces:
    """Cut each tree into groups of at least k around the centre of its open cluster."""
    centres: list[int] = []
    pieces: list[tuple[int, int, int]] = []

    def close(centre: int, amounts: Amounts) -> None:
        pieces.extend((row, len(centres), many) for row, many in sorted(amounts.items()))
        centres.append(centre)

    for tree in trees:
        bag: Amounts = {}
        for node in tree.below:
            for row, many in node.items():
                bag[row] = bag.get(row, 0) + many
            if sum(bag.values()) >= k:
                close(tree.centre, bag)
                bag = {}
        small = sum(bag.values())
        if small and small + sum(tree.took.values()) >= 2 * k:
            its = np.array(sorted(tree.took), dtype=np.int32)
            far = apart_each(space, its, np.full_like(its, tree.centre))
            for row in its[np.argsort(-far, kind="stable")].tolist():
                gives = min(k - small, tree.took[row])
                bag[row] = bag.get(row, 0) + gives
                tree.took[row] -= gives
                small += gives
                if small == k:
                    break
            close(tree.centre, bag)
            bag = {}
        for row, many in bag.items():
            tree.took[row] = tree.took.get(row, 0) + many
        close(tree.centre, {row: many for row, many in tree.took.items() if many > 0})
    table = np.array(pieces, dtype=np.int64)
    rows, groups = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
    return Pieces(np.array(centres, dtype=np.int32), rows, groups, table[:, 2].copy())

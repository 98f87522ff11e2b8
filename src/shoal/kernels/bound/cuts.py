"""A pool of cuts: sets of records, each with what its shares may sum to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CutPool", "joined", "kept", "loads", "worst_of_rows"]

FEW = 8
"""With more than one cut for so many rows only those are taken that are the worst of one of their rows."""


class CutPool(NamedTuple):
    """Sets of records, and what the shares of each may sum to.

    Set f has `amount` records of the rows `row[start[f] : start[f + 1]]`; their shares may sum to
    `limit[f]`, and `part[f]` says how much of the set is taken, which is what the cut is worth.
    """

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    amount: NDArray[np.float64]
    limit: NDArray[np.float64]
    part: NDArray[np.float64]


def kept(cuts: CutPool, mask: NDArray[np.bool_]) -> CutPool:
    """Some of the cuts of a pool, in their order."""
    size = np.diff(cuts.start)
    its = np.repeat(mask, size)
    start = np.concatenate([[0], np.cumsum(size[mask])])
    return CutPool(start, cuts.row[its], cuts.amount[its], cuts.limit[mask], cuts.part[mask])


def worst_of_rows(cuts: CutPool, over: NDArray[np.float64], rows: int) -> CutPool:
    """The cuts of a pool that are the worst of one of their rows, where cuts are many."""
    if cuts.limit.size <= rows // FEW:
        return cuts
    order = np.argsort(over, kind="stable")
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    best = np.full(rows, -1, dtype=np.int64)
    np.maximum.at(best, cuts.row, np.repeat(rank, np.diff(cuts.start)))
    mask = np.zeros(order.size, dtype=np.bool_)
    mask[order[best[best >= 0]]] = True
    return kept(cuts, mask)


def joined(cuts: CutPool, more: CutPool, rows: int) -> CutPool:
    """Both pools of cuts as one; what stands in both is taken from the first."""
    both = CutPool(
        np.concatenate([cuts.start, cuts.start[-1] + more.start[1:]]),
        *(np.concatenate([one, other]) for one, other in zip(cuts[1:], more[1:], strict=True)),
    )
    salt = np.random.default_rng(1).integers(1, 2**62, rows, dtype=np.uint64) | np.uint64(1)
    key = np.add.reduceat(salt[both.row] * both.amount.astype(np.uint64), both.start[:-1])
    _, first = np.unique(key, return_index=True)
    mask = np.zeros(key.size, dtype=np.bool_)
    mask[first] = True
    return kept(both, mask)


def loads(cuts: CutPool, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the shares of each cut's set sum to."""
    return np.asarray(np.add.reduceat(cuts.amount * share[cuts.row], cuts.start[:-1]))

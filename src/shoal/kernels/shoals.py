"""Groups as chains of pieces with their boxes, which lose and gain pieces and join."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.spans import SET, span

__all__ = [
    "Shoals",
    "bits_of",
    "box_without",
    "clear_tally",
    "count_values",
    "joined",
    "loss_of",
    "make_shoals",
    "merge",
    "pull",
    "push",
    "rebox",
    "shift_values",
    "sort_present",
]


class Shoals(NamedTuple):
    """Groups as chains of pieces, with their boxes.

    Piece p holds `held[p]` records of distinct row `row[p]`; `after[p]` is the next piece of its group,
    whose first is `head[g]`, -1 at the end. `mask` has a bit per member of a label column (codes 64 apart
    share one, which only blurs which neighbour is nearest).
    """

    row: NDArray[np.int32]
    held: NDArray[np.int64]
    after: NDArray[np.int64]
    head: NDArray[np.int64]
    size: NDArray[np.int64]
    pieces: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    mask: NDArray[np.uint64]


def make_shoals(
    codes: NDArray[np.int32],
    row: NDArray[np.integer],
    held: NDArray[np.int64],
    group: NDArray[np.int64],
    groups: int,
) -> Shoals:
    """The groups of pieces that stand in any order."""
    axes = codes.shape[1]
    shoals = Shoals(
        row=row.astype(np.int32),
        held=held.astype(np.int64),
        after=np.full(row.size, -1, dtype=np.int64),
        head=np.full(groups, -1, dtype=np.int64),
        size=np.zeros(groups, dtype=np.int64),
        pieces=np.zeros(groups, dtype=np.int64),
        low=np.zeros((groups, axes), dtype=np.int32),
        high=np.zeros((groups, axes), dtype=np.int32),
        mask=np.zeros((groups, axes), dtype=np.uint64),
    )
    _chain_inplace(codes, shoals, group.astype(np.int64))
    return shoals


@njit(cache=True)
def _chain_inplace(codes, s, group):
    for p in range(s.row.size - 1, -1, -1):
        push(s, group[p], p)
    for g in range(s.head.size):
        rebox(codes, s, g)


@njit(cache=True)
def push(s, g, p):
    """Put piece p, which stands nowhere, into group g; its box is not changed."""
    s.after[p] = s.head[g]
    s.head[g] = p
    s.size[g] += s.held[p]
    s.pieces[g] += 1


@njit(cache=True)
def pull(s, g, p):
    """Take piece p out of group g; its box is not changed."""
    if s.head[g] == p:
        s.head[g] = s.after[p]
    else:
        before = s.head[g]
        while s.after[before] != p:
            before = s.after[before]
        s.after[before] = s.after[p]
    s.size[g] -= s.held[p]
    s.pieces[g] -= 1


@njit(cache=True)
def box_without(codes, s, g, skipped, low, high, mask):
    """Write the box of group g without one piece (-1 for none)."""
    first = True
    p = s.head[g]
    while p >= 0:
        if p != skipped:
            for axis in range(codes.shape[1]):
                code = codes[s.row[p], axis]
                bit = np.uint64(1) << np.uint64(code % 64)
                if first:
                    low[axis], high[axis], mask[axis] = code, code, bit
                else:
                    low[axis] = min(low[axis], code)
                    high[axis] = max(high[axis], code)
                    mask[axis] |= bit
            first = False
        p = s.after[p]
    return not first


@njit(cache=True)
def rebox(codes, s, g):
    """Write the box of group g anew."""
    box_without(codes, s, g, -1, s.low[g], s.high[g], s.mask[g])


@njit(cache=True)
def joined(metric, low, high, mask, other_low, other_high, other_mask):
    """What one record of two boxes together gives up."""
    total = 0.0
    for axis in range(low.size):
        if metric.form[axis] == SET:
            members = mask[axis] | other_mask[axis]
            held = -1
            while members:
                members &= members - np.uint64(1)
                held += 1
            total += metric.data[metric.offset[axis]] * held
        else:
            total += span(metric, axis, min(low[axis], other_low[axis]), max(high[axis], other_high[axis]))
    return total


@njit(cache=True)
def loss_of(metric, s, g):
    """What all records of group g give up."""
    return s.size[g] * joined(metric, s.low[g], s.high[g], s.mask[g], s.low[g], s.high[g], s.mask[g])


@njit(cache=True)
def merge(codes, s, a, b):
    """Group b joins group a."""
    last = s.head[b]
    while s.after[last] >= 0:
        last = s.after[last]
    s.after[last] = s.head[a]
    s.head[a] = s.head[b]
    s.head[b] = -1
    s.size[a] += s.size[b]
    s.pieces[a] += s.pieces[b]
    s.size[b] = 0
    s.pieces[b] = 0
    for axis in range(codes.shape[1]):
        s.low[a, axis] = min(s.low[a, axis], s.low[b, axis])
        s.high[a, axis] = max(s.high[a, axis], s.high[b, axis])
        s.mask[a, axis] |= s.mask[b, axis]


@njit(cache=True)
def bits_of(codes, row, bit):
    """Write the mask of one row."""
    for axis in range(codes.shape[1]):
        bit[axis] = np.uint64(1) << np.uint64(codes[row, axis] % 64)


@njit(cache=True)
def count_values(rules, value, s, g, tally, other, present, many):
    """Count the values of group g into `tally`; new ones join `present`."""
    p = s.head[g]
    while p >= 0:
        for column in range(rules.size.size):
            at = rules.offset[column]
            slot = at + value[s.row[p], column]
            if tally[slot] == 0 and other[slot] == 0:
                present[at + many[column]] = value[s.row[p], column]
                many[column] += 1
            tally[slot] += s.held[p]
        p = s.after[p]


@njit(cache=True)
def shift_values(rules, value, s, p, tally, sign):
    """Count piece p into `tally`, or out of it with sign -1."""
    for column in range(rules.size.size):
        tally[rules.offset[column] + value[s.row[p], column]] += sign * s.held[p]


@njit(cache=True)
def sort_present(rules, present, many):
    """Put the values that may occur in order."""
    for column in range(rules.size.size):
        at = rules.offset[column]
        present[at : at + many[column]].sort()


@njit(cache=True)
def clear_tally(rules, tally, present, many):
    """Forget all counts and values."""
    for column in range(rules.size.size):
        at = rules.offset[column]
        for j in range(many[column]):
            tally[:, at + present[at + j]] = 0
        many[column] = 0

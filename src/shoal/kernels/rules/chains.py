"""Groups as chains of pieces with their boxes, which lose and gain pieces and join."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.packed import AT, FORM, PackedMetric, width
from shoal.kernels.distance.spans import SET

__all__ = [
    "AFTER",
    "HEAD",
    "HELD",
    "HIGH",
    "LOW",
    "MASK",
    "NONE",
    "NO_ONE",
    "PIECES",
    "ROW",
    "SIZE",
    "Chains",
    "fill_box",
    "insert",
    "make_chains",
    "merge",
    "pull",
    "push",
    "put",
    "rebox",
    "unite",
    "with_row",
]

ROW, HELD, AFTER = 0, 1, 2
HEAD, SIZE, PIECES = 0, 1, 2
LOW, HIGH, MASK = 0, 1, 2
NONE, NO_ONE = np.int64(-1), np.int64(0)
"""No piece, row or group, and a list of none; plain numbers would be compiled each in a form of its own."""


class Chains(NamedTuple):
    """Groups as chains of pieces, with their boxes.

    A line of `piece` holds a distinct row, how many records of it there are, and the next piece of the same
    group, -1 at the end; a line of `group` its first piece, its records and its pieces. A `box` has lines
    for the least and the greatest code per axis, and for a bit per member of a label column (codes
    64 apart share one, which only blurs which neighbour is nearest). `wide` is what a record gives up.
    """

    piece: NDArray[np.int64]
    group: NDArray[np.int64]
    box: NDArray[np.int64]
    wide: NDArray[np.float64]


def make_chains(
    codes: NDArray[np.int32],
    packed: PackedMetric,
    row: NDArray[np.integer],
    held: NDArray[np.integer],
    group: NDArray[np.integer],
    groups: int,
) -> Chains:
    """The groups of pieces in any order, as chains."""
    chains = Chains(
        piece=np.column_stack([row, held, np.full(row.size, -1)]).astype(np.int64),
        group=np.zeros((groups, 3), dtype=np.int64),
        box=np.zeros((groups, 3, codes.shape[1]), dtype=np.int64),
        wide=np.zeros(groups),
    )
    chains.group[:, HEAD] = -1
    _chain_inplace(codes, packed, chains, group.astype(np.int64))
    return chains


@entry
def _chain_inplace(codes, packed, s, group):
    """Hang every piece into the chain of its group, and write the boxes."""
    for p in range(group.size - 1, -1, -1):
        push(s, group[p], p)
    for g in range(s.wide.size):
        rebox(codes, packed, s, g)


@leaf
def push(s, g, p):
    """Put piece p, which stands nowhere, into the chain of group g; its box is not changed."""
    s.piece[p, AFTER] = s.group[g, HEAD]
    s.group[g, HEAD] = p
    s.group[g, SIZE] += s.piece[p, HELD]
    s.group[g, PIECES] += 1


@leaf
def pull(s, g, p):
    """Take piece p out of the chain of group g; its box is not changed."""
    if s.group[g, HEAD] == p:
        s.group[g, HEAD] = s.piece[p, AFTER]
    else:
        before = s.group[g, HEAD]
        while s.piece[before, AFTER] != p:
            before = s.piece[before, AFTER]
        s.piece[before, AFTER] = s.piece[p, AFTER]
    s.group[g, SIZE] -= s.piece[p, HELD]
    s.group[g, PIECES] -= 1


@inner
def put(codes, box, row, is_first):
    """Widen the box of a chain by a row, which it starts with where that is the first."""
    for axis in range(codes.shape[1]):
        code = np.int64(codes[row, axis])
        bit = np.int64(1) << (code % 64)
        if is_first:
            box[LOW, axis], box[HIGH, axis], box[MASK, axis] = code, code, bit
        else:
            box[LOW, axis] = min(box[LOW, axis], code)
            box[HIGH, axis] = max(box[HIGH, axis], code)
            box[MASK, axis] |= bit


@inner
def unite(one, other, box):
    """Write the box around the boxes of two chains, which may be one of them."""
    for axis in range(box.shape[1]):
        box[LOW, axis] = min(one[LOW, axis], other[LOW, axis])
        box[HIGH, axis] = max(one[HIGH, axis], other[HIGH, axis])
        box[MASK, axis] = one[MASK, axis] | other[MASK, axis]


@inner
def fill_box(codes, s, g, skipped, box):
    """Write the box of the chain of group g without one piece (-1 for none)."""
    many = 0
    p = s.group[g, HEAD]
    while p >= 0:
        if p != skipped:
            put(codes, box, s.piece[p, ROW], many == 0)
            many += 1
        p = s.piece[p, AFTER]


@inner
def rebox(codes, packed, s, g):
    """Write the box of the chain of group g anew, and what it gives up."""
    if s.group[g, HEAD] >= 0:
        fill_box(codes, s, g, NONE, s.box[g])
        s.wide[g] = with_row(packed, s.box[g], codes, NONE, np.inf)


@inner
def with_row(packed, box, codes, row, limit):
    """What a record of a chain's box gives up once a row (-1: none) joins; above `limit` if it is more."""
    total = 0.0
    for axis in range(codes.shape[1]):
        low, high, members = box[LOW, axis], box[HIGH, axis], box[MASK, axis]
        if row >= 0:
            code = np.int64(codes[row, axis])
            low, high, members = min(low, code), max(high, code), members | np.int64(1) << (code % 64)
        if low < high:
            if packed.shape[axis, FORM] == SET:
                total += packed.data[packed.shape[axis, AT]] * _more_than_one(members)
            else:
                total += width(packed.shape, packed.data, axis, low, high)
            if total > limit:
                break
    return total


@leaf
def _more_than_one(members):
    """The labels of a chain's box beyond the first: how many bits there are, less one."""
    held = -1
    while members != 0:
        members &= members - 1
        held += 1
    return held


@inner
def merge(codes, packed, s, a, b):
    """The chain of group b joins that of group a."""
    last = s.group[b, HEAD]
    while s.piece[last, AFTER] >= 0:
        last = s.piece[last, AFTER]
    s.piece[last, AFTER] = s.group[a, HEAD]
    s.group[a, HEAD] = s.group[b, HEAD]
    s.group[b, HEAD] = -1
    for of in range(SIZE, PIECES + 1):
        s.group[a, of] += s.group[b, of]
        s.group[b, of] = 0
    unite(s.box[a], s.box[b], s.box[a])
    s.wide[a] = with_row(packed, s.box[a], codes, NONE, np.inf)


@leaf
def insert(near, price, found, who, cost):
    """Put `who` into a list of the cheapest chains, `found` so far; returns how many there are then.

    Needs a place in it: the list is not full, or its last costs more.
    """
    place = min(found, near.size - 1)
    while place > 0 and price[place - 1] > cost:
        price[place], near[place] = price[place - 1], near[place - 1]
        place -= 1
    price[place], near[place] = cost, who
    return min(found + 1, near.size)

"""Rows change places: one moves to the group of a row near it, alone or for another that comes back.

For tables of many columns, where pools have too many boxes to be rebuilt. A try looks at two groups: at the
move, where the one can spare the row, and at every swap, and takes the best of them.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.basics.random import draw
from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.packed import AT, FORM, PackedMetric, width
from shoal.kernels.distance.spans import SET
from shoal.kernels.improve.local_search import EPSILON
from shoal.kernels.improve.state import (
    AFTER,
    COPIES,
    HEAD,
    HOME,
    ROW,
    SIZE,
    TWIN,
    WORD,
    State,
    add_row,
    box_without,
    joined_cost,
    link,
    unlink,
)

__all__ = ["swap_rows"]

MOST_PIECES = 2_000
"""Groups of more pieces take no part: there are few of them, and a try looks at every piece."""


def swap_rows(packed: PackedMetric, state: State, k: int, tries: int, seed: int, heat: float) -> float:
    """Swaps: rows change places, so many tries; the loss won.

    With heat the two groups may also become worse, on average by so many times the mean loss of their
    records. Then the loss won may be below 0.
    """
    box = np.zeros((MOST_PIECES + 3, *state.box.shape[1:]), dtype=np.int32)
    bits = np.zeros((MOST_PIECES + 3, state.bits.shape[1]), dtype=np.uint64)
    pieces = np.empty(MOST_PIECES, dtype=np.int64)
    random = np.array([seed], dtype=np.uint64)
    return float(_swap(packed, state, k, tries, box, bits, pieces, random, heat))


@leaf
def _ones(word):
    """How many labels a swapped box holds: how many bits are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _joint_cost(shape, data, stock, box, bits, one, other, limit):
    """What a swap would cost: two boxes together, per record; at least `limit` if it is above."""
    total = 0.0
    for axis in range(box.shape[2]):
        if shape[axis, FORM] == SET:
            members = np.int64(-1)
            for word in range(stock[WORD + axis], stock[WORD + axis + 1]):
                members += _ones(bits[one, word] | bits[other, word])
            total += data[shape[axis, AT]] * members
        else:
            low = np.int64(min(box[one, 0, axis], box[other, 0, axis]))
            high = np.int64(max(box[one, 1, axis], box[other, 1, axis]))
            if low != high:
                total += width(shape, data, axis, low, high)
        if total >= limit:
            return total
    return total


@inner
def _pick(state, random):
    """Draw a swap: a piece of a group that costs something and a group of a row near it; -1 if none."""
    piece, near = state.piece, state.near
    nobody = np.int64(-1)
    out = state.cost.size - 1
    p = np.int64(draw(random) * piece.shape[0])
    home = piece[p, HOME]
    if home < 0 or home == out or state.cost[home] <= 0.0:
        return nobody, nobody
    beside = near[piece[p, ROW], 1 + np.int64(draw(random) * (near.shape[1] - 1))]
    if beside < 0:
        return nobody, nobody
    q = near[beside, 0]
    while q >= 0 and piece[q, TWIN] >= 0 and draw(random) < 0.5:
        q = piece[q, TWIN]
    if q < 0 or piece[q, HOME] == home or piece[q, HOME] == out:
        return nobody, nobody
    return p, piece[q, HOME]


@entry
def _swap(packed, state, k, tries, box, bits, pieces, random, heat):
    """Swaps, so many tries: a row moves to a near group, alone or for one that comes back; the loss won."""
    piece, group, cost, codes, stock = state.piece, state.group, state.cost, state.codes, state.stock
    shape, data = packed.shape, packed.data
    rest, after, before = np.int64(0), np.int64(1), np.int64(2)
    total = 0.0
    for _ in range(tries):
        p, to = _pick(state, random)
        if p < 0:
            continue
        home = piece[p, HOME]
        size, other = group[home, SIZE], group[to, SIZE]
        copies = piece[p, COPIES]
        old = cost[home] * size + cost[to] * other
        limit = old - EPSILON
        if heat > 0.0:
            limit -= heat * old / (size + other) * np.log(draw(random))
        held = np.int64(0)
        q = group[home, HEAD]
        while q >= 0:  # the group without the row
            if q != p:
                add_row(shape, stock, codes, piece[q, ROW], held, box, bits, rest)
                held += 1
            q = piece[q, AFTER]
        members = np.int64(0)
        q = group[to, HEAD]
        while q >= 0 and members < MOST_PIECES:
            pieces[members] = q
            members += 1
            q = piece[q, AFTER]
        if q >= 0 or held == 0:
            continue
        # boxes of the row with the pieces before each one of the other group
        held = np.int64(0)
        add_row(shape, stock, codes, piece[p, ROW], held, box, bits, before)
        add_row(shape, stock, codes, piece[p, ROW], held, box, bits, after)
        for m in range(members):
            _copy(box, bits, before + m, before + m + 1)
            add_row(shape, stock, codes, piece[pieces[m], ROW], m + 1, box, bits, before + m + 1)
        best = limit
        back = np.int64(-2)
        if size - copies >= k:
            there = _joint_cost(shape, data, stock, box, bits, before + members, after, np.inf)
            here = _joint_cost(shape, data, stock, box, bits, rest, rest, np.inf)
            if here * (size - copies) + there * (other + copies) < best:
                best = here * (size - copies) + there * (other + copies)
                back = np.int64(-1)
        for m in range(members - 1, -1, -1):
            row, change = piece[pieces[m], ROW], piece[pieces[m], COPIES] - copies
            if size + change >= k and other - change >= k:
                there = _joint_cost(
                    shape, data, stock, box, bits, before + m, after, best / (other - change)
                ) * (other - change)
                if there < best:
                    roof = (best - there) / (size + change)
                    here = joined_cost(shape, data, stock, codes, row, box, bits, rest, roof)
                    if here < roof:
                        best = here * (size + change) + there
                        back = pieces[m]
            add_row(shape, stock, codes, row, members, box, bits, after)
        if back == -2 or (best > old - EPSILON and best < old + EPSILON):
            continue
        unlink(piece, group, p)
        if back >= 0:
            unlink(piece, group, back)
            link(piece, group, back, home)
        link(piece, group, p, to)
        cost[home] = box_without(packed, state, home, np.int64(-1), state.box, state.bits, home)
        cost[to] = box_without(packed, state, to, np.int64(-1), state.box, state.bits, to)
        total += old - cost[home] * group[home, SIZE] - cost[to] * group[to, SIZE]
    return total


@leaf
def _copy(box, bits, one, other):
    """Write one box of a swap over another."""
    for axis in range(box.shape[2]):
        box[other, 0, axis] = box[one, 0, axis]
        box[other, 1, axis] = box[one, 1, axis]
    for word in range(bits.shape[1]):
        bits[other, word] = bits[one, word]

"""Chains of records that change boxes: the boxes of groups are filled anew, as cheaply as they can be.

A record costs what the box of its group costs. In a chain a record of each group moves to the next one,
whose box holds it, so that only the first group becomes smaller and only the last one larger: a chain
wins what its first box costs more than its last, whatever lies between. Boxes are filled in turn, the
cheapest first, as long as a chain leads there from a group that costs more and can spare a record. Then
no other way to fill these boxes with at least k records each loses less; the proof is in
docs/proofs/chains.md.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.packed import AT, FORM, LENGTH, PackedMetric, width
from shoal.kernels.distance.spans import SET
from shoal.kernels.improve.local_search import EPSILON
from shoal.kernels.improve.state import (
    CLOCK,
    COPIES,
    HOME,
    PIECES,
    ROW,
    SIZE,
    TWIN,
    WORD,
    State,
    box_without,
    drop_piece,
    link,
    new_piece,
    unlink,
)

__all__ = ["settle"]

LOOKS = 4_000
"""Looks at rows for each row of the table; if more were needed, some boxes are not filled any further."""
ROUNDS = 4
"""Boxes may become smaller when they are filled anew, and then once more; by then nothing is won."""
LOOKED, FROM, BY = 0, 1, 2
"""Columns of `mark`: when a group was looked at, the next one of its chain, the piece that goes there."""
OVER = np.iinfo(np.int64).max
"""No chain that wins anything leads from a group looked at that late."""


def settle(packed: PackedMetric, state: State, k: int, looks: int = LOOKS) -> float:
    """Fill the boxes of the state's groups along chains, so that they lose least; the loss won.

    A row is looked at `looks` times, on average, at most.
    """
    codes = state.codes
    longest = int(packed.shape[:, LENGTH].max())
    ranked = np.ascontiguousarray(np.argsort(codes, axis=0, kind="stable").T)
    upto = np.stack([np.searchsorted(axis, np.arange(longest + 1)) for axis in np.sort(codes, axis=0).T])
    won = 0.0
    for _ in range(ROUNDS):
        order = np.argsort(state.cost[:-1], kind="stable")
        run = np.zeros_like(state.box, dtype=np.int64)
        mark = np.full((state.cost.size, 3), -1, dtype=np.int64)
        now = float(_settle(packed, state, k, order, ranked, upto, run, mark, looks * len(codes)))
        won += now
        if now <= EPSILON:
            break
    return won


@inner
def _runs_of_codes(shape, data, box, g, run):
    """Write which codes chains may bring into box g, none of which makes it dearer: least, greatest."""
    for axis in range(box.shape[2]):
        low, high = np.int64(box[g, 0, axis]), np.int64(box[g, 1, axis])
        last = shape[axis, LENGTH] - 1
        if shape[axis, FORM] == SET:
            low, high = np.int64(0), last
        else:
            wide = width(shape, data, axis, low, high) if low < high else 0.0
            while low > 0 and width(shape, data, axis, low - 1, high) <= wide:
                low -= 1
            while high < last and width(shape, data, axis, low, high + 1) <= wide:
                high += 1
        run[g, 0, axis] = low
        run[g, 1, axis] = high


@inner
def _is_inside(shape, data, stock, codes, row, run, bits, g):
    """Whether a chain may bring a row into box g."""
    for axis in range(codes.shape[1]):
        code = np.int64(codes[row, axis])
        if code < run[g, 0, axis] or code > run[g, 1, axis]:
            return False
        if shape[axis, FORM] == SET and data[shape[axis, AT]] > 0.0:
            word = bits[g, stock[WORD + axis] + (code >> 6)]
            if (word >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(0):
                return False
    return True


@inner
def _find_chain(shape, data, state, k, target, ranked, upto, run, mark, queue, looks):
    """Where a chain to the target begins: the nearest dearer group that can spare a record; the looks left.

    Without one it is -1, and all groups from which chains lead there need no look any more; -2 where the
    looks have run out.
    """
    piece, group, cost, stock, near = state.piece, state.group, state.cost, state.stock, state.near
    out = cost.size - 1
    stock[CLOCK] += 1
    clock = stock[CLOCK]
    mark[target, LOOKED] = clock
    queue[0] = target
    seen, known = 0, 1
    while seen < known:
        to = queue[seen]
        seen += 1
        by = 0
        for axis in range(1, ranked.shape[0]):  # the axis on which fewest rows come into question
            fewest = upto[by, run[to, 1, by] + 1] - upto[by, run[to, 0, by]]
            if upto[axis, run[to, 1, axis] + 1] - upto[axis, run[to, 0, axis]] < fewest:
                by = axis
        first, last = upto[by, run[to, 0, by]], upto[by, run[to, 1, by] + 1]
        looks -= last - first
        if looks < 0:
            return np.int64(-2), looks
        for at in range(first, last):
            row = ranked[by, at]
            if not _is_inside(shape, data, stock, state.codes, row, run, state.bits, to):
                continue
            p = near[row, 0]
            while p >= 0:
                g = piece[p, HOME]
                if mark[g, LOOKED] < clock:
                    mark[g, LOOKED] = clock
                    mark[g, FROM] = to
                    mark[g, BY] = p
                    if cost[g] > cost[target] + EPSILON and (group[g, SIZE] > k or g == out):
                        return g, looks
                    if g != out:  # who is withheld may come back, but nobody takes that place
                        queue[known] = g
                        known += 1
                p = piece[p, TWIN]
    for at in range(known):
        mark[queue[at], LOOKED] = OVER
    return np.int64(-1), looks


@inner
def _pass_on(piece, group, stock, near, p, copies, to):
    """Let some copies of a piece go to the next group of a chain, to the same row if it is there."""
    row = piece[p, ROW]
    there = near[row, 0]
    while there >= 0 and piece[there, HOME] != to:
        there = piece[there, TWIN]
    if copies < piece[p, COPIES]:
        piece[p, COPIES] -= copies
        group[piece[p, HOME], SIZE] -= copies
        if there < 0:
            link(piece, group, new_piece(piece, stock, near, row, copies), to)
    else:
        unlink(piece, group, p)
        if there < 0:
            link(piece, group, p, to)
        else:
            drop_piece(piece, stock, near, p)
    if there >= 0:
        piece[there, COPIES] += copies
        group[to, SIZE] += copies


@entry
def _settle(packed, state, k, order, ranked, upto, run, mark, looks):
    """Fill boxes by chains, the cheapest first, and make them as small as they can be then; the gain."""
    piece, group, cost, stock, near = state.piece, state.group, state.cost, state.stock, state.near
    out = cost.size - 1
    won = 0.0
    for g in range(out):
        if group[g, SIZE] > 0:
            won += cost[g] * group[g, SIZE]
            _runs_of_codes(packed.shape, packed.data, state.box, g, run)
    won += cost[out] * group[out, SIZE]
    queue = np.empty(out + 1, dtype=np.int64)
    at = 0
    while at < out:
        target = order[at]
        g = np.int64(-1)
        if group[target, SIZE] > 0 and mark[target, LOOKED] < OVER:
            g, looks = _find_chain(
                packed.shape, packed.data, state, k, target, ranked, upto, run, mark, queue, looks
            )
        if g == -1:
            at += 1
            continue
        copies = group[g, SIZE] if g == out else group[g, SIZE] - k
        links = 0
        h = g
        while g >= 0 and h != target:
            copies = min(copies, piece[mark[h, BY], COPIES])
            links += 1
            h = mark[h, FROM]
        if g < 0 or stock[PIECES] < links:
            break
        h = g
        while h != target:
            _pass_on(piece, group, stock, near, mark[h, BY], copies, mark[h, FROM])
            h = mark[h, FROM]
    for g in range(out):
        if group[g, SIZE] > 0:
            cost[g] = box_without(packed, state, g, np.int64(-1), state.box, state.bits, g)
            won -= cost[g] * group[g, SIZE]
    return won - cost[out] * group[out, SIZE]

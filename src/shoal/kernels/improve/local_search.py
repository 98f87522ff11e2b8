"""Local search on a small table of groups: the moves that lower the total loss, one sweep at a time."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.packed import FORM, PackedMetric
from shoal.kernels.distance.spans import SET
from shoal.kernels.improve.state import (
    AFTER,
    COPIES,
    GROUPS,
    HEAD,
    PIECES,
    ROW,
    SIZE,
    State,
    add_row,
    best_group,
    box_cost,
    box_without,
    drop_group,
    join,
    leave,
    link,
    new_group,
    new_piece,
    unlink,
)

__all__ = ["EPSILON", "sweep"]

EPSILON = 1e-9
"""A move must win more than this, so that rounding never makes a search go round in circles."""
FROM, BELOW, ONLY, BUT = 0, 1, 2, 3
"""What stays when a group shrinks: the codes from a mark on, those below it; of a SET one, all but one."""


def sweep(packed: PackedMetric, state: State, k: int) -> float:
    """One round of local search, all its moves, costliest groups first; the loss won."""
    most = state.piece.shape[0]
    out = state.cost.size - 1
    order = np.append(np.argsort(-state.cost[:out], kind="stable"), out)
    pieces = np.empty(most, dtype=np.int64)
    box = np.zeros((1, 2, state.codes.shape[1]), dtype=np.int32)
    bits = np.zeros((1, state.bits.shape[1]), dtype=np.uint64)
    return float(_sweep(packed, state, k, order, pieces, np.empty(most), box, bits))


@entry
def _sweep(packed, state, k, order, pieces, price, box, bits):
    """A round of local search: withheld records come back, groups are reshaped, pieces move; the gain."""
    out = order.size - 1
    # who was withheld and fits comes back first: that leaves the quota to those who cost more
    won = _move_pieces(packed, state, k, out, pieces, box, bits)
    for at in range(out):
        if state.group[order[at], SIZE] > 0 and state.cost[order[at]] > 0.0:
            won += _reshape(packed, state, k, order[at], pieces, price, box, bits)
    for at in range(out + 1):
        won += _move_pieces(packed, state, k, order[at], pieces, box, bits)
    return won


@leaf
def _list_pieces(piece, group, g, pieces):
    """Write down the pieces of a group, for the moves of local search; how many there are."""
    members = np.int64(0)
    p = group[g, HEAD] if group[g, SIZE] > 0 else np.int64(-1)
    while p >= 0:
        pieces[members] = p
        members += 1
        p = piece[p, AFTER]
    return members


@inner
def _move_pieces(packed, state, k, a, pieces, box, bits):
    """Local search: move a group's pieces, or copies it can spare, to where they lose less; the gain."""
    piece, group, cost = state.piece, state.group, state.cost
    out = cost.size - 1
    members = _list_pieces(piece, group, a, pieces)
    total = 0.0
    for t in range(members):
        p = pieces[t]
        row, copies = piece[p, ROW], piece[p, COPIES]
        if cost[a] <= 0.0:
            break
        if a != out:
            copies = min(copies, group[a, SIZE] - k)
        if copies <= 0:
            continue
        is_whole = copies == piece[p, COPIES]
        won = cost[a] * copies
        if is_whole and a != out:  # the group may become smaller without it
            rest = box_without(packed, state, a, p, box, bits, np.int64(0))
            won = cost[a] * group[a, SIZE] - rest * (group[a, SIZE] - copies)
        if not is_whole and state.stock[PIECES] == 0:
            continue
        g, price = best_group(packed, state, row, copies, won - EPSILON, a)
        if g < 0:
            continue
        if is_whole:
            leave(packed, state, p)
        else:
            piece[p, COPIES] -= copies
            group[a, SIZE] -= copies
            p = new_piece(piece, state.stock, state.near, row, copies)
        join(packed, state, p, g)
        total += won - price
    return total


@leaf
def _is_kept(code, mode, mark):
    """Local search: whether a code stays when a group shrinks."""
    if mode == FROM:
        return code >= mark
    if mode == BELOW:
        return code < mark
    return (code == mark) == (mode == ONLY)


@inner
def _kept_cost(packed, state, pieces, members, axis, mode, mark, keep, box, bits):
    """The cost of a group that local search shrinks: of the pieces that stay (or go, with keep False)."""
    held = np.int64(0)
    at = np.int64(0)  # not a plain 0: every constant would be a compiled form of its own
    for t in range(members):
        row = state.piece[pieces[t], ROW]
        if _is_kept(state.codes[row, axis], mode, mark) == keep:
            add_row(packed.shape, state.stock, state.codes, row, held, box, bits, at)
            held += 1
    return box_cost(packed.shape, packed.data, box, at)


@inner
def _eject(packed, state, a, pieces, members):
    """Local search: spread pieces of group a over the others if that wins; the gain, or 0 and no change."""
    piece, group = state.piece, state.group
    gain = state.cost[a] * group[a, SIZE]
    for t in range(members):
        unlink(piece, group, pieces[t])
    state.cost[a] = box_without(packed, state, a, np.int64(-1), state.box, state.bits, a)
    gain -= state.cost[a] * group[a, SIZE]
    placed = np.int64(0)
    while placed < members and gain > EPSILON:
        p = pieces[placed]
        g, price = best_group(packed, state, piece[p, ROW], piece[p, COPIES], np.inf, a)
        if g < 0:
            break
        join(packed, state, p, g)
        gain -= price
        placed += 1
    if placed == members and gain > EPSILON:
        if group[a, SIZE] == 0:
            drop_group(group, state.stock, state.cost, a)
        return gain
    for t in range(placed):
        leave(packed, state, pieces[t])
    for t in range(members):
        link(piece, group, pieces[t], a)
    state.cost[a] = box_without(packed, state, a, np.int64(-1), state.box, state.bits, a)
    return 0.0


@inner
def _reshape(packed, state, k, a, pieces, price, box, bits):
    """Local search: close group a, shrink it and eject the rest, or split it, whichever wins; the gain."""
    piece, group, codes = state.piece, state.group, state.codes
    members = _list_pieces(piece, group, a, pieces)
    size = group[a, SIZE]
    loss = state.cost[a] * size
    spread = 0.0
    for t in range(members):
        p = pieces[t]
        price[t] = best_group(packed, state, piece[p, ROW], piece[p, COPIES], np.inf, a)[1]
        spread += price[t]
    if spread < loss - EPSILON:
        gain = _eject(packed, state, a, pieces, members)
        if gain > 0.0:
            return gain
    keep = members > 0  # a variable, so that one compiled form serves both calls
    best = EPSILON
    best_axis, best_mode, best_mark, is_split = np.int64(-1), np.int64(0), np.int32(0), False
    for axis in range(codes.shape[1]):
        is_set = packed.shape[axis, FORM] == SET
        if state.box[a, 1, axis] == (1 if is_set else state.box[a, 0, axis]):
            continue
        for t in range(members):
            mark = codes[piece[pieces[t], ROW], axis]
            is_new = True
            for s in range(t):
                if codes[piece[pieces[s], ROW], axis] == mark:
                    is_new = False
                    break
            if not is_new or (not is_set and mark == state.box[a, 0, axis]):
                continue
            first_mode = ONLY if is_set else FROM
            for mode in range(first_mode, first_mode + 2):
                kept = 0
                thrown = 0.0
                for s in range(members):
                    if _is_kept(codes[piece[pieces[s], ROW], axis], mode, mark):
                        kept += piece[pieces[s], COPIES]
                    else:
                        thrown += price[s]
                if kept < k:
                    continue
                cost = _kept_cost(packed, state, pieces, members, axis, mode, mark, keep, box, bits)
                if loss - cost * kept - thrown > best:
                    best = loss - cost * kept - thrown
                    best_axis, best_mode, best_mark, is_split = axis, mode, mark, False
                if size - kept >= k and state.stock[GROUPS] > 0:
                    other = _kept_cost(
                        packed, state, pieces, members, axis, mode, mark, not keep, box, bits
                    )
                    if loss - cost * kept - other * (size - kept) > best:
                        best = loss - cost * kept - other * (size - kept)
                        best_axis, best_mode, best_mark, is_split = axis, mode, mark, True
    if best_axis < 0:
        return 0.0
    going = np.int64(0)
    for t in range(members):
        p = pieces[t]
        if not _is_kept(codes[piece[p, ROW], best_axis], best_mode, best_mark):
            pieces[going] = p
            going += 1
    if not is_split:
        return _eject(packed, state, a, pieces, going)
    g = new_group(group, state.stock)
    for t in range(going):
        unlink(piece, group, pieces[t])
        join(packed, state, pieces[t], g)
    state.cost[a] = box_without(packed, state, a, np.int64(-1), state.box, state.bits, a)
    return best

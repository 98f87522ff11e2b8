"""Local search on a small table of groups: the moves that lower the total loss, one sweep at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.spans import SET
from shoal.kernels.state import (
    AFTER,
    COPIES,
    FORM,
    GROUPS,
    HEAD,
    HOME,
    PIECES,
    ROW,
    SIZE,
    TWIN,
    best_group,
    box_cost,
    box_without,
    drop_group,
    grow_box,
    join,
    joined_cost,
    leave,
    link,
    measure,
    new_group,
    pair_cost,
    start_box,
    transfer,
    unlink,
)

__all__ = ["EPSILON", "sweep"]

MOST_STAYING = 4
"""Rows of a group around which partners for a swap are sought."""
EPSILON = 1e-9
"""A move must win more than this, so that rounding never makes a search go round in circles."""


@njit(cache=True, nogil=True)
def _move_piece(ruler, state, k, p, box, bits):
    """Move piece p, or as many copies as its group can spare, where that lowers the loss; the gain."""
    a = state.piece[p, HOME]
    out = state.cost.size - 1
    whole = state.piece[p, COPIES]
    can_spare = whole if a == out else min(whole, state.group[a, SIZE] - k)
    if can_spare <= 0 or state.cost[a] <= 0.0:
        return 0.0
    if can_spare == whole and a != out:
        rest = box_without(ruler, state, a, p, box, bits)
        won = state.cost[a] * state.group[a, SIZE] - rest * (state.group[a, SIZE] - whole)
        g, price = best_group(ruler, state, p, whole, won - EPSILON, a)
        if g >= 0:
            transfer(ruler, state, p, whole, g)
            return won - price
    if state.stock[PIECES] == 0 and can_spare < whole:
        return 0.0
    won = state.cost[a] * can_spare
    g, price = best_group(ruler, state, p, can_spare, won - EPSILON, a)
    if g < 0:
        return 0.0
    transfer(ruler, state, p, can_spare, g)
    return won - price


@njit(cache=True, nogil=True)
def swap_gain(ruler, state, k, p, u, rest, box, bits, box_b, bits_b, least):
    """The loss won when pieces p and u change places, if above `least`; `box` is p's group without p."""
    a, g = state.piece[p, HOME], state.piece[u, HOME]
    mine, theirs = state.piece[p, COPIES], state.piece[u, COPIES]
    size = state.group[g, SIZE]
    after_a = state.group[a, SIZE] - mine + theirs
    after_g = size - theirs + mine
    if after_a < k or after_g < k or theirs == size:
        return 0.0
    left = state.cost[a] * state.group[a, SIZE] + state.cost[g] * size - least
    if rest * after_a >= left:
        return 0.0
    joined = joined_cost(ruler, state, box, bits, u, left / after_a)
    left -= joined * after_a
    if left <= 0.0:
        return 0.0
    box_without(ruler, state, g, u, box_b, bits_b)
    other = joined_cost(ruler, state, box_b, bits_b, p, left / after_g)
    return least + left - other * after_g


@njit(cache=True, nogil=True)
def _swap_piece(ruler, state, k, p, box, bits, box_b, bits_b):
    """Exchange piece p with the piece of another group that wins most; the gain."""
    a = state.piece[p, HOME]
    out = state.cost.size - 1
    mine = state.piece[p, COPIES]
    size_a = state.group[a, SIZE]
    if a == out or state.cost[a] <= 0.0 or size_a == mine:
        return 0.0
    rest = box_without(ruler, state, a, p, box, bits)
    if state.cost[a] - rest <= EPSILON:
        return 0.0
    loss_a = state.cost[a] * size_a
    best = EPSILON
    partner = np.int64(-1)
    if state.near.shape[1] > 1:  # whoever comes should be near one who stays
        seen = 0
        stays = state.group[a, HEAD]
        while stays >= 0 and seen < MOST_STAYING:
            if stays != p:
                seen += 1
                row = state.piece[stays, ROW]
                for n in range(1, state.near.shape[1]):
                    u = state.near[state.near[row, n], 0] if state.near[row, n] >= 0 else np.int64(-1)
                    while u >= 0:
                        g = state.piece[u, HOME]
                        if g >= 0 and g not in (a, out):
                            gain = swap_gain(ruler, state, k, p, u, rest, box, bits, box_b, bits_b, best)
                            if gain > best:
                                best = gain
                                partner = u
                        u = state.piece[u, TWIN]
            stays = state.piece[stays, AFTER]
    else:
        for g in range(out):
            size = state.group[g, SIZE]
            if size == 0 or g == a:
                continue
            # whoever leaves g, p must stand with one of its first two pieces: too far is too dear
            u = state.group[g, HEAD]
            near = pair_cost(ruler, state, p, u)
            if state.piece[u, AFTER] >= 0:
                near = min(near, pair_cost(ruler, state, p, state.piece[u, AFTER]))
            if near * k + rest * k >= loss_a + state.cost[g] * size - best:
                continue
            while u >= 0:
                gain = swap_gain(ruler, state, k, p, u, rest, box, bits, box_b, bits_b, best)
                if gain > best:
                    best = gain
                    partner = u
                u = state.piece[u, AFTER]
    if partner < 0:
        return 0.0
    g = state.piece[partner, HOME]
    leave(ruler, state, p)
    leave(ruler, state, partner)
    join(ruler, state, p, g)
    join(ruler, state, partner, a)
    return best


@njit(cache=True, nogil=True)
def _is_kept(ruler, state, p, axis, mode, mark):
    """Whether a piece stays when a group shrinks along an axis.

    Modes: 0 keep codes >= mark, 1 keep codes < mark, 2 keep what stands below one child with `mark` of a
    tree node wider than `mark`'s (see _reshape), 3 keep all but `mark`.
    """
    code = state.codes[state.piece[p, ROW], axis]
    if mode == 0:
        return code >= mark
    if mode == 1:
        return code < mark
    if mode == 2:
        return code == mark
    return code != mark


@njit(cache=True, nogil=True)
def _kept_cost(ruler, state, pieces, members, axis, mode, mark, keep, box, bits):
    """Records and cost of the pieces that stay (or go, with keep False)."""
    first = True
    size = 0
    for t in range(members):
        p = pieces[t]
        if _is_kept(ruler, state, p, axis, mode, mark) == keep:
            size += state.piece[p, COPIES]
            if first:
                start_box(ruler, state, p, box, bits)
                first = False
            else:
                grow_box(ruler, state, p, box, bits)
    if first:
        return 0, 0.0
    return size, box_cost(ruler, box)


@njit(cache=True, nogil=True)
def _spread(ruler, state, pieces, members, target):
    """Put loose pieces where they cost least, one by one; the loss added, inf if one has no place."""
    total = 0.0
    for t in range(members):
        p = pieces[t]
        g, price = best_group(ruler, state, p, state.piece[p, COPIES], np.inf, np.int64(-1))
        target[t] = g
        if g < 0:
            return np.inf
        join(ruler, state, p, g)
        total += price
    return total


@njit(cache=True, nogil=True)
def _eject(ruler, state, a, pieces, members, target):
    """Spread pieces of group a over the others if that wins; the gain, or 0 with everything as before."""
    before = state.cost[a] * state.group[a, SIZE]
    for t in range(members):
        unlink(state, pieces[t])
    if state.group[a, SIZE] > 0:
        measure(ruler, state, a)
        kept = state.cost[a] * state.group[a, SIZE]
    else:
        state.cost[a] = 0.0
        kept = 0.0
    target[:members] = -1
    added = _spread(ruler, state, pieces, members, target)
    gain = before - kept - added
    if gain > EPSILON:
        if state.group[a, SIZE] == 0:
            drop_group(state, a)
        return gain
    for t in range(members):
        if target[t] >= 0:
            leave(ruler, state, pieces[t])
    for t in range(members):
        link(state, pieces[t], a)
    measure(ruler, state, a)
    return 0.0


@njit(cache=True, nogil=True)
def _reshape(ruler, state, k, a, pieces, price, target, box, bits):
    """Close group a, shrink it and eject the rest, or split it, whichever wins most; the gain."""
    members = np.int64(0)
    p = state.group[a, HEAD]
    loss = state.cost[a] * state.group[a, SIZE]
    spread = 0.0
    while p >= 0:
        pieces[members] = p
        members += 1
        p = state.piece[p, AFTER]
    for t in range(members):
        p = pieces[t]
        price[t] = best_group(ruler, state, p, state.piece[p, COPIES], np.inf, a)[1]
        spread += price[t]
    if spread < loss - EPSILON:
        gain = _eject(ruler, state, a, pieces, members, target)
        if gain > 0.0:
            return gain
    keep = members > 0  # a variable, so that one compiled form serves both calls
    best = EPSILON
    best_axis, best_mode, best_mark, is_split = np.int64(-1), np.int64(0), np.int32(0), False
    for axis in range(state.codes.shape[1]):
        is_set = ruler.shape[axis, FORM] == SET
        if (is_set and state.box[a, 1, axis] == 1) or (
            not is_set and state.box[a, 0, axis] == state.box[a, 1, axis]
        ):
            continue
        for t in range(members):
            mark = state.codes[state.piece[pieces[t], ROW], axis]
            seen = False
            for s in range(t):
                if state.codes[state.piece[pieces[s], ROW], axis] == mark:
                    seen = True
                    break
            if seen:
                continue
            for mode in range(4):
                if is_set != (mode >= 2) or (not is_set and mark == state.box[a, 0, axis]):
                    continue
                kept = 0
                for s in range(members):
                    if _is_kept(ruler, state, pieces[s], axis, mode, mark):
                        kept += state.piece[pieces[s], COPIES]
                if kept < k:
                    continue
                cost = _kept_cost(ruler, state, pieces, members, axis, mode, mark, keep, box, bits)[1]
                thrown = 0.0
                for s in range(members):
                    if not _is_kept(ruler, state, pieces[s], axis, mode, mark):
                        thrown += price[s]
                gain = loss - cost * kept - thrown
                if gain > best:
                    best, best_axis, best_mode, best_mark, is_split = gain, axis, mode, mark, False
                gone = state.group[a, SIZE] - kept
                if gone >= k and state.stock[GROUPS] > 0:
                    other = _kept_cost(
                        ruler, state, pieces, members, axis, mode, mark, not keep, box, bits
                    )[1]
                    gain = loss - cost * kept - other * gone
                    if gain > best:
                        best, best_axis, best_mode, best_mark, is_split = gain, axis, mode, mark, True
    if best_axis < 0:
        return 0.0
    going = np.int64(0)
    for t in range(members):
        p = pieces[t]
        if not _is_kept(ruler, state, p, best_axis, best_mode, best_mark):
            pieces[going] = p
            going += 1
    if not is_split:
        return _eject(ruler, state, a, pieces, going, target)
    g = new_group(state)
    for t in range(going):
        unlink(state, pieces[t])
        link(state, pieces[t], g)
    measure(ruler, state, a)
    measure(ruler, state, g)
    return best


@njit(cache=True, nogil=True)
def _move_pieces(ruler, state, k, g, pieces, box, bits):
    """Move every piece of a group that stands better elsewhere; the loss won."""
    won = 0.0
    members = np.int64(0)
    p = state.group[g, HEAD] if state.group[g, SIZE] > 0 else np.int64(-1)
    while p >= 0:
        pieces[members] = p
        members += 1
        p = state.piece[p, AFTER]
    for t in range(members):
        if state.piece[pieces[t], HOME] == g:
            won += _move_piece(ruler, state, k, pieces[t], box, bits)
    return won


@njit(cache=True, nogil=True)
def sweep(ruler, state, k, with_swaps):
    """One round of all moves, costliest groups first; the loss won."""
    axes = state.codes.shape[1]
    most = state.piece.shape[0]
    out = state.cost.size - 1
    pieces = np.empty(most, dtype=np.int64)
    target = np.empty(most, dtype=np.int64)
    price = np.empty(most)
    box = np.empty((2, 2, axes), dtype=np.int32)
    bits = np.zeros((2, state.bits.shape[1]), dtype=np.uint64)
    # who was withheld and fits comes back first: that leaves the quota to those who cost more
    won = _move_pieces(ruler, state, k, out, pieces, box[0], bits[0])
    order = np.argsort(-state.cost[:out])
    for g in order:
        if state.group[g, SIZE] > 0 and state.cost[g] > 0.0:
            won += _reshape(ruler, state, k, g, pieces, price, target, box[0], bits[0])
    for g in range(out + 1):
        won += _move_pieces(ruler, state, k, g, pieces, box[0], bits[0])
    if with_swaps:
        for p in range(most):
            if state.piece[p, HOME] >= 0:
                won += _swap_piece(ruler, state, k, p, box[0], bits[0], box[1], bits[1])
    return won

"""Groups that break a rule exchange records with their neighbours, or join them, at the least loss."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.ruling import violation
from shoal.kernels.shoals import (
    bits_of,
    box_without,
    clear_tally,
    count_values,
    joined,
    loss_of,
    merge,
    pull,
    push,
    rebox,
    shift_values,
    sort_present,
)

__all__ = ["EXCHANGE", "KEEP_APART", "MERGE", "enforce_rules"]

EXCHANGE, MERGE, KEEP_APART = 0, 1, 2
"""What may be done: move records too, only join whole groups, or join them so that boxes stay apart."""
NEAR = 12
"""Neighbours that are looked at closely."""
MOST_PIECES = 40
"""Groups of more pieces do not exchange records: every pair is looked at."""
MOST_EXCHANGES = 30


@njit(cache=True)
def _nearest(metric, s, mine, g, near, price):
    """Fill `near` with the groups that cost least to join with g; returns how many there are."""
    own = loss_of(metric, s, g)
    found = 0
    for other in mine:
        if other == g or s.head[other] < 0:
            continue
        together = s.size[g] + s.size[other]
        cost = together * joined(
            metric, s.low[g], s.high[g], s.mask[g], s.low[other], s.high[other], s.mask[other]
        )
        cost -= own + loss_of(metric, s, other)
        if found == NEAR and cost >= price[found - 1]:
            continue
        place = found if found < NEAR else NEAR - 1
        found = min(found + 1, NEAR)
        while place > 0 and price[place - 1] > cost:
            price[place], near[place] = price[place - 1], near[place - 1]
            place -= 1
        price[place], near[place] = cost, other
    return found


@njit(cache=True)
def _boxes_without(codes, s, g, piece):
    """Every piece of a group, and the box of the others; whether there are others stands in `some`."""
    held, axes = s.pieces[g], codes.shape[1]
    low = np.empty((held, axes), dtype=np.int32)
    high = np.empty((held, axes), dtype=np.int32)
    mask = np.empty((held, axes), dtype=np.uint64)
    p, at = s.head[g], 0
    while p >= 0:
        piece[at] = p
        box_without(codes, s, g, p, low[at], high[at], mask[at])
        at += 1
        p = s.after[p]
    return low, high, mask


@njit(cache=True)
def _score(added, gained):
    return added / gained if added > 0 else added


@njit(cache=True)
def _best_exchange(
    codes, metric, rules, value, s, a, b, k, tally, present, many, room, lack_a, lack_b, best
):
    """The cheapest move or swap between groups a and b that leaves b no worse: score and two pieces."""
    piece_a = np.full(s.pieces[a] + 1, -1, dtype=np.int64)
    piece_b = np.full(s.pieces[b] + 1, -1, dtype=np.int64)
    low_a, high_a, mask_a = _boxes_without(codes, s, a, piece_a)
    low_b, high_b, mask_b = _boxes_without(codes, s, b, piece_b)
    before = loss_of(metric, s, a) + loss_of(metric, s, b)
    give, take = -1, -1
    row_mask = np.empty((2, codes.shape[1]), dtype=np.uint64)
    for i in range(piece_a.size):
        p = piece_a[i]
        for j in range(piece_b.size):
            q = piece_b[j]
            if p < 0 and q < 0:
                continue
            out = s.held[p] if p >= 0 else 0
            into = s.held[q] if q >= 0 else 0
            size_a, size_b = s.size[a] - out + into, s.size[b] - into + out
            if size_a < k or size_b < k or (s.pieces[a] == 1 and p >= 0) or (s.pieces[b] == 1 and q >= 0):
                continue
            if p >= 0 and q >= 0 and _alike(value, s.row[p], s.row[q]):
                continue
            if p >= 0:
                bits_of(codes, s.row[p], row_mask[0])
            if q >= 0:
                bits_of(codes, s.row[q], row_mask[1])
            rest_a = (low_a[i], high_a[i], mask_a[i]) if p >= 0 else (s.low[a], s.high[a], s.mask[a])
            rest_b = (low_b[j], high_b[j], mask_b[j]) if q >= 0 else (s.low[b], s.high[b], s.mask[b])
            new_a = (codes[s.row[q]], codes[s.row[q]], row_mask[1]) if q >= 0 else rest_a
            new_b = (codes[s.row[p]], codes[s.row[p]], row_mask[0]) if p >= 0 else rest_b
            added = -before
            added += size_a * joined(metric, rest_a[0], rest_a[1], rest_a[2], new_a[0], new_a[1], new_a[2])
            added += size_b * joined(metric, rest_b[0], rest_b[1], rest_b[2], new_b[0], new_b[1], new_b[2])
            if added > 0 and added >= best * (lack_a + lack_b):
                continue  # not even a full remedy would be cheap enough
            if p >= 0:
                shift_values(rules, value, s, p, tally[0], -1)
                shift_values(rules, value, s, p, tally[1], 1)
            if q >= 0:
                shift_values(rules, value, s, q, tally[1], -1)
                shift_values(rules, value, s, q, tally[0], 1)
            after_b = violation(rules, tally[1], present, many, size_b, room)
            if after_b <= lack_b:
                after_a = violation(rules, tally[0], present, many, size_a, room)
                gained = lack_a - after_a
                if gained > 1e-9:
                    score = _score(added, gained + lack_b - after_b)
                    if score < best:
                        best, give, take = score, p, q
            if p >= 0:
                shift_values(rules, value, s, p, tally[0], 1)
                shift_values(rules, value, s, p, tally[1], -1)
            if q >= 0:
                shift_values(rules, value, s, q, tally[1], 1)
                shift_values(rules, value, s, q, tally[0], -1)
    return best, give, take


@njit(cache=True)
def _alike(value, one, other):
    same = True
    for column in range(value.shape[1]):
        same &= value[one, column] == value[other, column]
    return same


@njit(cache=True)
def _merge_apart(codes, s, mine, a):
    """Every group whose box overlaps that of group a joins it, until none does."""
    again = True
    while again:
        again = False
        for g in mine:
            if g == a or s.head[g] < 0:
                continue
            overlaps = True
            for axis in range(codes.shape[1]):
                if s.low[g, axis] > s.high[a, axis] or s.high[g, axis] < s.low[a, axis]:
                    overlaps = False
                    break
            if overlaps:
                merge(codes, s, a, g)
                again = True


@njit(cache=True)
def enforce_rules(codes, metric, rules, value, s, mine, k, mode, least):
    """Make the groups `mine` obey, among themselves; returns how many still do not.

    That is none, unless they break a rule as one group. Once fewer than `least` groups are left by joining
    it gives up and returns -1.
    """
    slots = rules.share.size
    tally = np.zeros((3, slots), dtype=np.int64)
    present = np.zeros(slots, dtype=np.int64)
    many = np.zeros(rules.size.size, dtype=np.int64)
    room = np.zeros(slots)
    near = np.zeros(NEAR, dtype=np.int64)
    price = np.zeros(NEAR)
    failing, lives = 0, mine.size
    for a in mine:
        exchanges = 0
        while s.head[a] >= 0:
            count_values(rules, value, s, a, tally[0], tally[1], present, many)
            sort_present(rules, present, many)
            lack_a = violation(rules, tally[0], present, many, s.size[a], room)
            clear_tally(rules, tally, present, many)
            if lack_a <= 0:
                break
            found = _nearest(metric, s, mine, a, near, price)
            if found == 0:
                failing += 1
                break
            best, with_group, give, take = np.inf, near[0], -1, -1
            for at in range(found):
                b = near[at]
                count_values(rules, value, s, a, tally[0], tally[1], present, many)
                count_values(rules, value, s, b, tally[1], tally[0], present, many)
                sort_present(rules, present, many)
                lack_b = violation(rules, tally[1], present, many, s.size[b], room)
                for column in range(many.size):
                    for j in range(many[column]):
                        slot = rules.offset[column] + present[rules.offset[column] + j]
                        tally[2, slot] = tally[0, slot] + tally[1, slot]
                lack = violation(rules, tally[2], present, many, s.size[a] + s.size[b], room)
                gained = lack_a + lack_b - lack
                if gained > 1e-9:
                    score = _score(price[at], gained)
                    if score < best:
                        best, with_group, give, take = score, b, -1, -1
                few = s.pieces[a] <= MOST_PIECES and s.pieces[b] <= MOST_PIECES
                if mode == EXCHANGE and few and exchanges < MOST_EXCHANGES:
                    score, p, q = _best_exchange(
                        codes, metric, rules, value, s, a, b, k,
                        tally, present, many, room, lack_a, lack_b, best,
                    )  # fmt: skip
                    if score < best:
                        best, with_group, give, take = score, b, p, q
                clear_tally(rules, tally, present, many)
            if give < 0 and take < 0:
                merge(codes, s, a, with_group)
                if mode == KEEP_APART:
                    _merge_apart(codes, s, mine, a)
                lives -= 1
                if lives < least:
                    return -1
                continue
            exchanges += 1
            if give >= 0:
                pull(s, a, give)
                push(s, with_group, give)
            if take >= 0:
                pull(s, with_group, take)
                push(s, a, take)
            rebox(codes, s, a)
            rebox(codes, s, with_group)
    return failing

"""Groups that break a rule exchange records with their neighbours, or join them, at the least loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.ruling import violation
from shoal.kernels.spans import SET, span

__all__ = ["EXCHANGE", "KEEP_APART", "MERGE", "Shoals", "enforce_rules", "make_shoals"]

EXCHANGE, MERGE, KEEP_APART = 0, 1, 2
"""What may be done: move records too, only join whole groups, or join them so that boxes stay apart."""
NEAR = 12
"""Neighbours that are looked at closely."""
MOST_PIECES = 40
"""Groups of more pieces do not exchange records: every pair is looked at."""
MOST_EXCHANGES = 30


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
        _push(s, group[p], p)
    for g in range(s.head.size):
        _rebox(codes, s, g)


@njit(cache=True)
def _push(s, g, p):
    s.after[p] = s.head[g]
    s.head[g] = p
    s.size[g] += s.held[p]
    s.pieces[g] += 1


@njit(cache=True)
def _pull(s, g, p):
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
def _box_without(codes, s, g, skipped, low, high, mask):
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
def _rebox(codes, s, g):
    _box_without(codes, s, g, -1, s.low[g], s.high[g], s.mask[g])


@njit(cache=True)
def _joined(metric, low, high, mask, other_low, other_high, other_mask):
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
def _loss(metric, s, g):
    return s.size[g] * _joined(metric, s.low[g], s.high[g], s.mask[g], s.low[g], s.high[g], s.mask[g])


@njit(cache=True)
def _count(rules, value, s, g, tally, other, present, many):
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
def _shift(rules, value, s, p, tally, sign):
    for column in range(rules.size.size):
        tally[rules.offset[column] + value[s.row[p], column]] += sign * s.held[p]


@njit(cache=True)
def _sort_present(rules, present, many):
    for column in range(rules.size.size):
        at = rules.offset[column]
        present[at : at + many[column]].sort()


@njit(cache=True)
def _clear(rules, tally, present, many):
    for column in range(rules.size.size):
        at = rules.offset[column]
        for j in range(many[column]):
            tally[:, at + present[at + j]] = 0
        many[column] = 0


@njit(cache=True)
def _nearest(metric, s, mine, g, near, price):
    """Fill `near` with the groups that cost least to join with g; returns how many there are."""
    own = _loss(metric, s, g)
    found = 0
    for other in mine:
        if other == g or s.head[other] < 0:
            continue
        together = s.size[g] + s.size[other]
        cost = together * _joined(
            metric, s.low[g], s.high[g], s.mask[g], s.low[other], s.high[other], s.mask[other]
        )
        cost -= own + _loss(metric, s, other)
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
        _box_without(codes, s, g, p, low[at], high[at], mask[at])
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
    before = _loss(metric, s, a) + _loss(metric, s, b)
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
                for axis in range(codes.shape[1]):
                    row_mask[0, axis] = np.uint64(1) << np.uint64(codes[s.row[p], axis] % 64)
            if q >= 0:
                for axis in range(codes.shape[1]):
                    row_mask[1, axis] = np.uint64(1) << np.uint64(codes[s.row[q], axis] % 64)
            rest_a = (low_a[i], high_a[i], mask_a[i]) if p >= 0 else (s.low[a], s.high[a], s.mask[a])
            rest_b = (low_b[j], high_b[j], mask_b[j]) if q >= 0 else (s.low[b], s.high[b], s.mask[b])
            new_a = (codes[s.row[q]], codes[s.row[q]], row_mask[1]) if q >= 0 else rest_a
            new_b = (codes[s.row[p]], codes[s.row[p]], row_mask[0]) if p >= 0 else rest_b
            added = -before
            added += size_a * _joined(metric, rest_a[0], rest_a[1], rest_a[2], new_a[0], new_a[1], new_a[2])
            added += size_b * _joined(metric, rest_b[0], rest_b[1], rest_b[2], new_b[0], new_b[1], new_b[2])
            if added > 0 and added >= best * (lack_a + lack_b):
                continue  # not even a full remedy would be cheap enough
            if p >= 0:
                _shift(rules, value, s, p, tally[0], -1)
                _shift(rules, value, s, p, tally[1], 1)
            if q >= 0:
                _shift(rules, value, s, q, tally[1], -1)
                _shift(rules, value, s, q, tally[0], 1)
            after_b = violation(rules, tally[1], present, many, size_b, room)
            if after_b <= lack_b:
                after_a = violation(rules, tally[0], present, many, size_a, room)
                gained = lack_a - after_a
                if gained > 1e-9:
                    score = _score(added, gained + lack_b - after_b)
                    if score < best:
                        best, give, take = score, p, q
            if p >= 0:
                _shift(rules, value, s, p, tally[0], 1)
                _shift(rules, value, s, p, tally[1], -1)
            if q >= 0:
                _shift(rules, value, s, q, tally[1], 1)
                _shift(rules, value, s, q, tally[0], -1)
    return best, give, take


@njit(cache=True)
def _alike(value, one, other):
    same = True
    for column in range(value.shape[1]):
        same &= value[one, column] == value[other, column]
    return same


@njit(cache=True)
def _merge(codes, s, a, b):
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
                _merge(codes, s, a, g)
                again = True


@njit(cache=True)
def enforce_rules(codes, metric, rules, value, s, mine, k, mode):
    """Make the groups `mine` obey, among themselves; returns how many still do not.

    That is none, unless they break a rule as one group.
    """
    slots = rules.share.size
    tally = np.zeros((3, slots), dtype=np.int64)
    present = np.zeros(slots, dtype=np.int64)
    many = np.zeros(rules.size.size, dtype=np.int64)
    room = np.zeros(slots)
    near = np.zeros(NEAR, dtype=np.int64)
    price = np.zeros(NEAR)
    failing = 0
    for a in mine:
        exchanges = 0
        while s.head[a] >= 0:
            _count(rules, value, s, a, tally[0], tally[1], present, many)
            _sort_present(rules, present, many)
            lack_a = violation(rules, tally[0], present, many, s.size[a], room)
            _clear(rules, tally, present, many)
            if lack_a <= 0:
                break
            found = _nearest(metric, s, mine, a, near, price)
            if found == 0:
                failing += 1
                break
            best, with_group, give, take = np.inf, near[0], -1, -1
            for at in range(found):
                b = near[at]
                _count(rules, value, s, a, tally[0], tally[1], present, many)
                _count(rules, value, s, b, tally[1], tally[0], present, many)
                _sort_present(rules, present, many)
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
                _clear(rules, tally, present, many)
            if give < 0 and take < 0:
                _merge(codes, s, a, with_group)
                if mode == KEEP_APART:
                    _merge_apart(codes, s, mine, a)
                continue
            exchanges += 1
            if give >= 0:
                _pull(s, a, give)
                _push(s, with_group, give)
            if take >= 0:
                _pull(s, with_group, take)
                _push(s, a, take)
            _rebox(codes, s, a)
            _rebox(codes, s, with_group)
    return failing

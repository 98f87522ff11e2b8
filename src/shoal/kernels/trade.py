"""Groups that obey trade records or take one in, where that loses least and all rules still hold."""

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
    pull,
    push,
    rebox,
    shift_values,
    sort_present,
)

__all__ = ["place_rest", "trade_records"]

NEAR = 6
"""Groups that a piece tries to go to."""
MOST_PIECES = 60
"""With larger groups no swap is looked for."""


@njit(cache=True)
def _near(codes, metric, s, mine, wide, a, p, bit, near, price):
    """The groups but a that piece p costs least; returns how many of `near` are filled."""
    row = codes[s.row[p]]
    most = near.size
    found = 0
    for b in mine:
        if b == a or s.head[b] < 0 or (found == most and s.held[p] * wide[b] >= price[most - 1]):
            continue
        cost = joined(metric, s.low[b], s.high[b], s.mask[b], row, row, bit)
        cost = cost * (s.size[b] + s.held[p]) - s.size[b] * wide[b]
        if found == most and cost >= price[most - 1]:
            continue
        place = min(found, most - 1)
        found = min(found + 1, most)
        while place > 0 and price[place - 1] > cost:
            price[place], near[place] = price[place - 1], near[place - 1]
            place -= 1
        price[place], near[place] = cost, b
    return found


@njit(cache=True)
def _fill_wide(metric, s, mine, wide):
    for g in mine:
        if s.head[g] >= 0:
            wide[g] = loss_of(metric, s, g) / s.size[g]


@njit(cache=True, nogil=True)
def trade_records(codes, metric, rules, value, s, mine, k):
    """Every piece once: it moves to a near group or swaps with a piece there; returns the loss won.

    Needs groups that obey; they still do afterwards.
    """
    axes, slots = codes.shape[1], rules.share.size
    tally = np.zeros((2, slots), dtype=np.int64)
    present = np.zeros(slots, dtype=np.int64)
    many = np.zeros(rules.size.size, dtype=np.int64)
    room = np.zeros(slots)
    near, price = np.zeros(NEAR, dtype=np.int64), np.zeros(NEAR)
    low = np.zeros((2, axes), dtype=np.int32)
    high = np.zeros((2, axes), dtype=np.int32)
    mask = np.zeros((2, axes), dtype=np.uint64)
    bit = np.zeros((2, axes), dtype=np.uint64)
    wide = np.zeros(s.head.size)
    _fill_wide(metric, s, mine, wide)
    won = 0.0
    for a in mine:
        p = s.head[a]
        while p >= 0 and s.pieces[a] > 1:
            following = s.after[p]
            box_without(codes, s, a, p, low[0], high[0], mask[0])
            bits_of(codes, s.row[p], bit[0])
            row = codes[s.row[p]]
            left = s.size[a] - s.held[p]
            freed = s.size[a] * wide[a]
            freed -= left * joined(metric, low[0], high[0], mask[0], low[0], high[0], mask[0])
            found = _near(codes, metric, s, mine, wide, a, p, bit[0], near, price)
            best, to, take = -1e-9, -1, -1
            for at in range(found):
                b = near[at]
                count_values(rules, value, s, a, tally[0], tally[1], present, many)
                count_values(rules, value, s, b, tally[1], tally[0], present, many)
                sort_present(rules, present, many)
                shift_values(rules, value, s, p, tally[0], -1)
                shift_values(rules, value, s, p, tally[1], 1)
                if (
                    left >= k
                    and price[at] - freed < best
                    and violation(rules, tally[0], present, many, left, room) <= 0
                    and violation(rules, tally[1], present, many, s.size[b] + s.held[p], room) <= 0
                ):
                    best, to, take = price[at] - freed, b, -1
                q = s.head[b] if 1 < s.pieces[b] <= MOST_PIECES else -1
                while q >= 0:
                    size_a, size_b = left + s.held[q], s.size[b] + s.held[p] - s.held[q]
                    if size_a >= k and size_b >= k:
                        bits_of(codes, s.row[q], bit[1])
                        other = codes[s.row[q]]
                        added = size_a * joined(metric, low[0], high[0], mask[0], other, other, bit[1])
                        added -= s.size[a] * wide[a] + s.size[b] * wide[b]
                        if added < best:
                            box_without(codes, s, b, q, low[1], high[1], mask[1])
                            added += size_b * joined(metric, low[1], high[1], mask[1], row, row, bit[0])
                        if added < best:
                            shift_values(rules, value, s, q, tally[1], -1)
                            shift_values(rules, value, s, q, tally[0], 1)
                            if (
                                violation(rules, tally[0], present, many, size_a, room) <= 0
                                and violation(rules, tally[1], present, many, size_b, room) <= 0
                            ):
                                best, to, take = added, b, q
                            shift_values(rules, value, s, q, tally[1], 1)
                            shift_values(rules, value, s, q, tally[0], -1)
                    q = s.after[q]
                clear_tally(rules, tally, present, many)
            if to >= 0:
                won -= best
                pull(s, a, p)
                push(s, to, p)
                if take >= 0:
                    pull(s, to, take)
                    push(s, a, take)
                rebox(codes, s, a)
                rebox(codes, s, to)
                wide[a] = loss_of(metric, s, a) / s.size[a]
                wide[to] = loss_of(metric, s, to) / s.size[to]
            p = following
    return won


@njit(cache=True)
def place_rest(codes, metric, rules, value, s, rest, groups):
    """Put the groups `rest`, of one piece each, to where they cost least among groups below `groups`.

    That is where all rules still hold, or simply where they cost least if they hold nowhere.
    """
    slots = rules.share.size
    tally = np.zeros((2, slots), dtype=np.int64)
    present = np.zeros(slots, dtype=np.int64)
    many = np.zeros(rules.size.size, dtype=np.int64)
    room = np.zeros(slots)
    bit = np.zeros(codes.shape[1], dtype=np.uint64)
    wide = np.zeros(s.head.size)
    _fill_wide(metric, s, np.arange(groups), wide)
    for a in rest:
        p = s.head[a]
        bits_of(codes, s.row[p], bit)
        row = codes[s.row[p]]
        best, to, least, nearest = np.inf, -1, np.inf, 0
        for b in range(groups):
            if s.held[p] * wide[b] >= best:
                continue
            cost = joined(metric, s.low[b], s.high[b], s.mask[b], row, row, bit)
            cost = cost * (s.size[b] + s.held[p]) - s.size[b] * wide[b]
            if cost < least:
                least, nearest = cost, b
            if cost < best:
                count_values(rules, value, s, a, tally[1], tally[0], present, many)
                count_values(rules, value, s, b, tally[1], tally[0], present, many)
                sort_present(rules, present, many)
                if violation(rules, tally[1], present, many, s.size[b] + s.held[p], room) <= 0:
                    best, to = cost, b
                clear_tally(rules, tally, present, many)
        to = nearest if to < 0 else to
        pull(s, a, p)
        push(s, to, p)
        rebox(codes, s, to)
        wide[to] = loss_of(metric, s, to) / s.size[to]

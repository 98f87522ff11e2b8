"""Groups that break a rule exchange records with their neighbours, or join them, at the least loss."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.rules.chains import (
    AFTER,
    HEAD,
    HIGH,
    LOW,
    NO_ONE,
    NONE,
    PIECES,
    SIZE,
    fill_box,
    insert,
    merge,
    unite,
    with_row,
)
from shoal.kernels.rules.trade import NOTHING, best_trade, count_group, do_trade, list_pieces
from shoal.kernels.rules.violation import BOTH, MINE, THEIRS, clear, sort_present, violation

__all__ = ["EXCHANGE", "KEEP_APART", "MERGE", "enforce_rules", "lack_together"]

EXCHANGE, MERGE, KEEP_APART = 0, 1, 2
"""What may be done: move records too, only join whole groups, or join them so that boxes stay apart."""
FEW_PIECES = 40
"""Groups of more pieces do not exchange records: every pair is looked at."""
MOST_EXCHANGES = 30


@inner
def _nearest(codes, packed, s, mine, g, table):
    """To enforce rules: list the groups that cost least to join with g; returns how many there are."""
    size = s.group[g, SIZE]
    found, last = NO_ONE, table.near.size - 1
    for other in mine:
        its = s.group[other, SIZE]
        if other == g or its == 0:
            continue
        own = size * s.wide[g] + its * s.wide[other]
        most = np.inf if found <= last else table.price[last]
        limit = (most + own) / (size + its)
        unite(s.box[g], s.box[other], table.box[0])
        wide = with_row(packed, table.box[0], codes, NONE, limit)
        if wide < limit:
            found = insert(table.near, table.price, found, other, (size + its) * wide - own)
    return found


@inner
def _best_exchange(codes, packed, rules, tallies, value, s, table, a, b, k, lack_a, lack_b, best):
    """To enforce rules: the cheapest move or swap of a and b that leaves b no worse: score, two pieces."""
    many = list_pieces(codes, s, b, table) if s.group[b, PIECES] > 1 else 0
    give, take = NOTHING, NOTHING
    p = NONE
    while True:
        if p < 0 or s.group[a, PIECES] > 1:
            fill_box(codes, s, a, p, table.box[0])
            score, q = best_trade(
                codes, packed, rules, tallies, value, s, table, a, p, b, many, k, lack_a, lack_b, best
            )
            if q > NOTHING:
                best, give, take = score, p, q
        p = s.piece[p, AFTER] if p >= 0 else s.group[a, HEAD]
        if p < 0:
            return best, give, take


@inner
def _merge_apart(codes, packed, s, mine, a):
    """To enforce boxes that stand apart: each group whose box overlaps a's joins it, until none does."""
    again = True
    while again:
        again = False
        for g in mine:
            if g == a or s.group[g, HEAD] < 0:
                continue
            overlaps = True
            for axis in range(codes.shape[1]):
                if s.box[g, LOW, axis] > s.box[a, HIGH, axis] or s.box[g, HIGH, axis] < s.box[a, LOW, axis]:
                    overlaps = False
                    break
            if overlaps:
                merge(codes, packed, s, a, g)
                again = True


@entry
def enforce_rules(codes, packed, rules, value, s, mine, k, mode, least, tallies, table):
    """Enforce rules: the groups `mine` exchange or join among themselves; how many still do not obey.

    That is none, unless they break a rule as one group. Once fewer than `least` groups are left by joining
    it gives up and returns -1.
    """
    failing, lives = 0, mine.size
    for a in mine:
        exchanges = 0
        while s.group[a, HEAD] >= 0:
            # against no group, to see what group a lacks, then against each near one
            best, with_group, give, take = np.inf, NONE, NOTHING, NOTHING
            lack_a, found = 0.0, 0
            at = -1
            while at < found:
                count_group(rules, tallies, value, s, a, MINE)
                b = a
                if at >= 0:
                    b = table.near[at]
                    count_group(rules, tallies, value, s, b, THEIRS)
                sort_present(rules, tallies)
                lack_b = violation(rules, tallies, MINE if at < 0 else THEIRS, s.group[b, SIZE])
                if at < 0:
                    lack_a = lack_b
                    if lack_a > 0:
                        found = _nearest(codes, packed, s, mine, a, table)
                        with_group = table.near[0]
                else:
                    for column in range(tallies.many.size):
                        for j in range(tallies.many[column]):
                            slot = rules.offset[column] + tallies.present[rules.offset[column] + j]
                            tallies.records[BOTH, slot] = (
                                tallies.records[MINE, slot] + tallies.records[THEIRS, slot]
                            )
                    lack = violation(rules, tallies, BOTH, s.group[a, SIZE] + s.group[b, SIZE])
                    gained = lack_a + lack_b - lack
                    if gained > 1e-9:
                        score = table.price[at]
                        score = score / gained if score > 0 else score
                        if score < best:
                            best, with_group, give, take = score, b, NOTHING, NOTHING
                    few = s.group[a, PIECES] <= FEW_PIECES and s.group[b, PIECES] <= FEW_PIECES
                    if mode == EXCHANGE and few and exchanges < MOST_EXCHANGES:
                        score, p, q = _best_exchange(
                            codes, packed, rules, tallies, value, s, table, a, b, k, lack_a, lack_b, best
                        )
                        if p > NOTHING:
                            best, with_group, give, take = score, b, p, q
                clear(rules, tallies)
                at += 1
            if lack_a <= 0:
                break
            if found == 0:
                failing += 1
                break
            if give == NOTHING:
                merge(codes, packed, s, a, with_group)
                if mode == KEEP_APART:
                    _merge_apart(codes, packed, s, mine, a)
                lives -= 1
                if lives < least:
                    return -1
                continue
            exchanges += 1
            do_trade(codes, packed, s, a, give, with_group, take)
    return failing


@entry
def lack_together(codes, packed, rules, value, s, a, b, stays, tallies):
    """What a and b lack to obey as one group, as they are from now on if it `stays`; a twice: a alone."""
    size = s.group[a, SIZE]
    count_group(rules, tallies, value, s, a, MINE)
    if b != a:
        count_group(rules, tallies, value, s, b, MINE)
        size += s.group[b, SIZE]
    sort_present(rules, tallies)
    lack = violation(rules, tallies, MINE, size)
    clear(rules, tallies)
    if stays:
        merge(codes, packed, s, a, b)
    return lack

"""Groups trade records: what one piece costs elsewhere, alone or against one that comes back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.rules.chains import (
    AFTER,
    HEAD,
    HELD,
    NO_ONE,
    NONE,
    PIECES,
    ROW,
    SIZE,
    fill_box,
    insert,
    pull,
    push,
    put,
    rebox,
    unite,
    with_row,
)
from shoal.kernels.rules.violation import MINE, THEIRS, clear, note, sort_present, violation

__all__ = ["MOST_PIECES", "NOTHING", "TradeRoom", "best_trade", "count_group", "do_trade", "list_pieces"]
__all__ += ["make_room", "place_rest", "trade_records"]

MOST_PIECES = 60
"""With larger groups no swap is looked for."""
ONE, NOTHING = np.int64(1), np.int64(-2)
"""No trade was found; -1 is a piece that goes and none that comes back."""


class TradeRoom(NamedTuple):
    """Room to lay out two groups.

    `box` has that of the first group without a piece, then for each piece of the second, listed in
    `piece`, the box of the others; `near` and `price` list groups, cheapest first.
    """

    box: NDArray[np.int64]
    piece: NDArray[np.int64]
    near: NDArray[np.int64]
    price: NDArray[np.float64]


def make_room(axes: int, near: int) -> TradeRoom:
    """Empty room for trades, for so many near groups."""
    return TradeRoom(
        np.zeros((MOST_PIECES + 2, 3, axes), dtype=np.int64),
        np.zeros(MOST_PIECES, dtype=np.int64),
        np.zeros(near, dtype=np.int64),
        np.zeros(near),
    )


@inner
def count_group(rules, tallies, value, s, g, which):
    """Before a trade count all values of a group into a tally."""
    p = s.group[g, HEAD]
    while p >= 0:
        note(rules, tallies, value, s.piece[p, ROW], s.piece[p, HELD], which)
        p = s.piece[p, AFTER]


@inner
def list_pieces(codes, s, g, table):
    """List a group's pieces to trade, each with the box of all others. Needs at most MOST_PIECES."""
    p, many = s.group[g, HEAD], 0
    while p >= 0:
        table.piece[many] = p
        many += 1
        p = s.piece[p, AFTER]
    # forwards the box of those before, then backwards that of those after joins it
    before = table.box[MOST_PIECES + 1]
    for side in range(2):
        for j in range(many):
            at = j if side == 0 else many - 1 - j
            if j > 0:
                known = before if side == 0 or at == 0 else table.box[1 + at]
                unite(known, before, table.box[1 + at])
            put(codes, before, s.piece[table.piece[at], ROW], j == 0)
    return many


@inner
def _hand_over(rules, tallies, value, s, p, sign):
    """For a trade count piece p, unless it is none, with the other group; back again with sign -1."""
    if p >= 0:
        held = sign * s.piece[p, HELD]
        for column in range(rules.offset.size):
            slot = rules.offset[column] + value[s.piece[p, ROW], column]
            tallies.records[MINE, slot] -= held
            tallies.records[THEIRS, slot] += held


@inner
def best_trade(codes, packed, rules, tallies, value, s, table, a, p, b, many, k, lack_a, lack_b, best):
    """The cheapest trade of piece p (NONE: none) from group a to b, and a piece back or none.

    Where group a lacks something it must lack less afterwards, and loss counts per remedy; group b may not
    get worse. Returns the score, below `best`, and the piece that comes back. Needs both groups counted, in
    this order, the first box of `table` without p, and the first `many` pieces of b listed there.
    """
    before = s.group[a, SIZE] * s.wide[a] + s.group[b, SIZE] * s.wide[b]
    taken = NOTHING
    row_p, held_p = (s.piece[p, ROW], s.piece[p, HELD]) if p >= 0 else (NONE, np.int64(0))
    _hand_over(rules, tallies, value, s, p, ONE)
    for j in range(-1 if p >= 0 else 0, many):
        q, row_q, held_q, rest = NONE, NONE, np.int64(0), s.box[b]
        if j >= 0:
            q, rest = table.piece[j], table.box[1 + j]
            row_q, held_q = s.piece[q, ROW], s.piece[q, HELD]
        size_a, size_b = s.group[a, SIZE] - held_p + held_q, s.group[b, SIZE] + held_p - held_q
        if min(size_a, size_b) < k:
            continue
        # more would not be worth a full remedy
        most = max(best * (lack_a + lack_b), 0.0) if lack_a > 0 else best
        added = size_a * with_row(packed, table.box[0], codes, row_q, np.inf) - before
        if added < most:
            added += size_b * with_row(packed, rest, codes, row_p, np.inf)
        if added >= most:
            continue
        _hand_over(rules, tallies, value, s, q, -ONE)
        after_b = violation(rules, tallies, THEIRS, size_b)
        after_a = violation(rules, tallies, MINE, size_a) if after_b <= lack_b else np.inf
        _hand_over(rules, tallies, value, s, q, ONE)
        gained = lack_a - after_a
        if gained > 1e-9 or (gained >= 0 and lack_a <= 0):
            score = added / (gained + lack_b - after_b) if lack_a > 0 and added > 0 else added
            if score < best:
                best, taken = score, q
    _hand_over(rules, tallies, value, s, p, -ONE)
    return best, taken


@inner
def do_trade(codes, packed, s, a, p, b, q):
    """Do a trade: piece p goes from group a to b and piece q comes back; below 0 is none."""
    if p >= 0:
        pull(s, a, p)
        push(s, b, p)
    if q >= 0:
        pull(s, b, q)
        push(s, a, q)
    rebox(codes, packed, s, a)
    rebox(codes, packed, s, b)


@inner
def _near(codes, packed, s, mine, a, p, table):
    """Whom to trade with: the groups but a that piece p costs least; returns how many are listed."""
    row, held = s.piece[p, ROW], s.piece[p, HELD]
    found, last = NO_ONE, table.near.size - 1
    for b in mine:
        size = s.group[b, SIZE]
        if b == a or size == 0:
            continue
        most = np.inf if found <= last else table.price[last]
        own = size * s.wide[b]
        limit = (most + own) / (size + held)
        if s.wide[b] >= limit:
            continue
        cost = with_row(packed, s.box[b], codes, row, limit)
        if cost < limit:
            found = insert(table.near, table.price, found, b, cost * (size + held) - own)
    return found


@entry
def trade_records(codes, packed, rules, value, s, mine, k, inside, tallies, table):
    """Trade every piece once: it moves to a near group or swaps with a piece there; returns how many did.

    Needs groups that obey; they still do afterwards. Pieces that lie inside the box of the others of their
    group, and so free nothing themselves, stay unless `inside` says so.
    """
    done = 0
    for a in mine:
        p = s.group[a, HEAD]
        while p >= 0 and s.group[a, PIECES] > 1:
            following = s.piece[p, AFTER]
            fill_box(codes, s, a, p, table.box[0])
            best, to, back = -1e-9, NONE, NOTHING
            found = NO_ONE
            if inside or with_row(packed, table.box[0], codes, NONE, np.inf) < s.wide[a]:
                found = _near(codes, packed, s, mine, a, p, table)
            for at in range(found):
                b = table.near[at]
                count_group(rules, tallies, value, s, a, MINE)
                count_group(rules, tallies, value, s, b, THEIRS)
                sort_present(rules, tallies)
                many = 0
                if 1 < s.group[b, PIECES] <= MOST_PIECES:
                    many = list_pieces(codes, s, b, table)
                score, q = best_trade(
                    codes, packed, rules, tallies, value, s, table, a, p, b, many, k, 0.0, 0.0, best
                )
                if q > NOTHING:
                    best, to, back = score, b, q
                clear(rules, tallies)
            if to >= 0:
                do_trade(codes, packed, s, a, p, to, back)
                done += 1
            p = following
    return done


@entry
def place_rest(codes, packed, rules, value, s, rest, groups, tallies):
    """A one-way trade: the groups `rest`, of one piece each, go where they cost least among `groups`.

    That is where all rules still hold, or simply where they cost least if they hold nowhere.
    """
    for a in rest:
        p = s.group[a, HEAD]
        row, held = s.piece[p, ROW], s.piece[p, HELD]
        best, to, least, nearest = np.inf, NONE, np.inf, NONE
        for b in groups:
            size = s.group[b, SIZE]
            limit = (best + size * s.wide[b]) / (size + held)
            if s.wide[b] >= limit:
                continue
            wide = with_row(packed, s.box[b], codes, row, limit)
            if wide >= limit:
                continue
            cost = wide * (size + held) - size * s.wide[b]
            if cost < least:
                least, nearest = cost, b
            count_group(rules, tallies, value, s, a, THEIRS)
            count_group(rules, tallies, value, s, b, THEIRS)
            sort_present(rules, tallies)
            if violation(rules, tallies, THEIRS, size + held) <= 0:
                best, to = cost, b
            clear(rules, tallies)
        do_trade(codes, packed, s, a, p, nearest if to < 0 else to, NOTHING)

"""Groups grown from rare records until they obey, each time by what remedies most for its cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.packed import AT, FORM, LENGTH, PackedMetric, width
from shoal.kernels.distance.spans import SET
from shoal.kernels.rules.chains import NONE, insert, put, with_row
from shoal.kernels.rules.violation import MINE, make_tallies, shift, violation

__all__ = ["FREE", "grow_mixed"]

FREE, STUCK = -1, -2
ONE = np.int64(1)
NEAR = 16
"""Nearest pieces of each stratum that a group may take."""
MOST_MEMBERS = 60
"""A group that does not obey with so many pieces is given up."""
STEP = 0.005
"""What a record costs beside its loss, in units of the metric: of pieces that cost nothing, the one that
remedies most."""
HASTE = 4.0
"""How strongly strata that are left in plenty are preferred."""

Integers = NDArray[np.int64]


class Nest(NamedTuple):
    """A group that grows: its box and members, and of each stratum the nearest pieces and what they remedy.

    `stock` has lines for the records of each stratum at first, for those left, and for how plenty they are;
    `reach` how far each code of an axis is from the first member, from `start` on.
    """

    box: Integers
    member: Integers
    near: Integers
    far: NDArray[np.float64]
    found: Integers
    gain: NDArray[np.float64]
    stock: NDArray[np.float64]
    start: Integers
    reach: NDArray[np.float64]


def grow_mixed(
    codes: NDArray[np.int32],
    packed: PackedMetric,
    rules,
    value: NDArray[np.int32],
    row: Integers,
    held: Integers,
    stratum: Integers,
    seeds: Integers,
    k: int,
) -> tuple[Integers, int]:
    """Grow groups that obey from rare records: a group per piece, of at least k, and how many there are.

    `stratum` is alike where all values of two pieces are; `seeds` are all pieces in the order in which
    they start groups. Pieces from which no group could be grown are below 0.
    """
    strata = int(stratum.max()) + 1
    example = np.zeros(strata, dtype=np.int64)
    example[stratum] = row
    stock = np.ones((3, strata))
    stock[:2] = np.bincount(stratum, weights=held, minlength=strata)
    nest = Nest(
        np.zeros((3, codes.shape[1]), dtype=np.int64),
        np.zeros(MOST_MEMBERS, dtype=np.int64),
        np.zeros((strata, NEAR), dtype=np.int64),
        np.zeros((strata, NEAR)),
        np.zeros(strata, dtype=np.int64),
        np.zeros(strata),
        stock,
        np.r_[0, np.cumsum(packed.shape[:, LENGTH])],
        np.zeros(int(packed.shape[:, LENGTH].sum())),
    )
    tallies = make_tallies(rules)
    # all values may occur
    for column, at in enumerate(rules.offset):
        end = rules.offset[column + 1] if column + 1 < rules.offset.size else tallies.present.size
        tallies.many[column] = end - at - 1
        tallies.present[at : end - 1] = np.arange(end - at - 1)
    group = np.full(row.size, FREE, dtype=np.int64)
    pieces = np.column_stack([row, held, stratum, np.arange(row.size)]).astype(np.int64)
    groups = _grow(codes, packed, rules, value, pieces, example, seeds, group, k, tallies, nest)
    return group, int(groups)


@inner
def _fill_reach(packed, codes, row, nest):
    """To grow a group from a row: write how far each code is from that of the row."""
    for axis in range(codes.shape[1]):
        own = np.int64(codes[row, axis])
        for code in range(packed.shape[axis, LENGTH]):
            away = 0.0
            if code != own:
                away = packed.data[packed.shape[axis, AT]]
                if packed.shape[axis, FORM] != SET:
                    away = width(packed.shape, packed.data, axis, min(code, own), max(code, own))
            nest.reach[nest.start[axis] + code] = away


@inner
def _list_near(codes, packed, pieces, group, left, seed, nest):
    """To grow a group that obeys: list the nearest free pieces of each stratum; how many are still free.

    Those stand in front of the last column of `pieces`.
    """
    for at in range(nest.found.size):
        nest.found[at] = 0
    # a table of all codes pays unless there are more of them than pieces
    by_table = nest.reach.size <= codes.shape[1] * left
    put(codes, nest.box, pieces[seed, 0], seed >= 0)
    if by_table:
        _fill_reach(packed, codes, pieces[seed, 0], nest)
    kept = 0
    for j in range(left):
        p = pieces[j, 3]
        if group[p] != FREE:
            continue
        pieces[kept, 3] = p
        kept += 1
        if p == seed:
            continue
        at, row = pieces[p, 2], pieces[p, 0]
        limit = nest.far[at, NEAR - 1] if nest.found[at] == NEAR else np.inf
        if by_table:
            away = 0.0
            for axis in range(codes.shape[1]):
                away += nest.reach[nest.start[axis] + codes[row, axis]]
        else:
            away = with_row(packed, nest.box, codes, row, limit)
        if away < limit:
            nest.found[at] = insert(nest.near[at], nest.far[at], nest.found[at], p, away)
    return kept


@inner
def _fill_gains(rules, tallies, value, example, group, nest, size, lack):
    """To grow: what a record of each stratum remedies of the rules, -inf where none is near; the most."""
    top = -np.inf
    for at in range(nest.found.size):
        nest.gain[at] = -np.inf
        for j in range(nest.found[at]):
            if group[nest.near[at, j]] == FREE:
                shift(rules, tallies, value, example[at], ONE, MINE)
                nest.gain[at] = lack - violation(rules, tallies, MINE, size + 1)
                shift(rules, tallies, value, example[at], -ONE, MINE)
                top = max(top, nest.gain[at])
                break
    return top


@inner
def _next_piece(codes, packed, pieces, group, nest, lack, top):
    """To grow: the near piece that costs least for what it remedies of the rules, -1 if there is none."""
    now = with_row(packed, nest.box, codes, NONE, np.inf)
    best, found = np.inf, -1
    for at in range(nest.found.size):
        gain = nest.gain[at]
        # a group may have to get worse before it obeys
        least = 1e-9 if lack > 0 and top > 1e-9 else min(top, 0.0) - 1e-12
        if gain < least:
            continue
        if lack <= 0 or top <= 1e-9:
            gain = 1.0
        gain *= nest.stock[2, at] ** HASTE
        for j in range(nest.found[at]):
            p = nest.near[at, j]
            if group[p] == FREE:
                limit = best * gain + now - STEP
                wider = with_row(packed, nest.box, codes, pieces[p, 0], limit)
                score = (wider - now + STEP) / gain
                if score < best:
                    best, found = score, p
    return found


@entry
def _grow(codes, packed, rules, value, pieces, example, seeds, group, k, tallies, nest):
    """Grow a group from each free seed, piece by piece, until it obeys the rules and holds k records."""
    left = pieces.shape[0]
    strata = example.size
    groups = 0
    for seed in seeds:
        if group[seed] != FREE:
            continue
        left = _list_near(codes, packed, pieces, group, left, seed, nest)
        all_first, all_rest = 0.0, 0.0
        for at in range(strata):
            all_first += nest.stock[0, at]
            all_rest += nest.stock[1, at]
        for at in range(strata):
            if nest.stock[0, at] > 0:
                nest.stock[2, at] = nest.stock[1, at] / max(all_rest, 1.0) * all_first / nest.stock[0, at]
        size, members, p = 0, 0, seed
        while p >= 0:
            put(codes, nest.box, pieces[p, 0], members == 0)
            shift(rules, tallies, value, pieces[p, 0], pieces[p, 1], MINE)
            group[p] = groups
            nest.member[members] = p
            members += 1
            size += pieces[p, 1]
            lack = violation(rules, tallies, MINE, size)
            if lack <= 0 and size >= k:
                break
            p = -1
            if members < MOST_MEMBERS:
                top = _fill_gains(rules, tallies, value, example, group, nest, size, lack)
                p = _next_piece(codes, packed, pieces, group, nest, lack, top)
        for j in range(members):
            m = nest.member[j]
            shift(rules, tallies, value, pieces[m, 0], -pieces[m, 1], MINE)
            if p < 0:
                group[m] = FREE
            else:
                nest.stock[1, pieces[m, 2]] -= pieces[m, 1]
        if p < 0:
            group[seed] = STUCK
        else:
            groups += 1
    return groups

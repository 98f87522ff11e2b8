"""Groups grown from rare records until they obey, each time by what remedies most for its cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.ruling import violation
from shoal.kernels.shoals import joined
from shoal.kernels.spans import distance

__all__ = ["FREE", "grow_mixed"]

FREE, STUCK = -1, -2
NEAR = 16
"""Nearest pieces of each stratum that a group may take."""
MOST_MEMBERS = 60
"""A group that does not obey with so many pieces is given up."""
STEP = 0.005
"""What a record costs beside its loss, in units of the metric: of pieces that cost nothing, the one that
remedies most."""
HASTE = 4.0
"""How strongly strata that are left in plenty are preferred."""


class Nest(NamedTuple):
    """A group that grows: its values, its box, and the nearest pieces of each stratum."""

    tally: NDArray[np.int64]
    present: NDArray[np.int64]
    many: NDArray[np.int64]
    room: NDArray[np.float64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    mask: NDArray[np.uint64]
    bit: NDArray[np.uint64]
    near: NDArray[np.int64]
    far: NDArray[np.float64]
    found: NDArray[np.int64]
    gain: NDArray[np.float64]


@njit(cache=True)
def _make_nest(rules, axes, strata):
    slots, columns = rules.share.size, rules.size.size
    present = np.zeros(slots, dtype=np.int64)
    for column in range(columns):
        for code in range(rules.size[column]):
            present[rules.offset[column] + code] = code
    return Nest(
        np.zeros(slots, dtype=np.int64),
        present,
        rules.size.copy(),
        np.zeros(slots),
        np.zeros(axes, dtype=np.int32),
        np.zeros(axes, dtype=np.int32),
        np.zeros(axes, dtype=np.uint64),
        np.zeros(axes, dtype=np.uint64),
        np.zeros((strata, NEAR), dtype=np.int64),
        np.zeros((strata, NEAR)),
        np.zeros(strata, dtype=np.int64),
        np.zeros(strata),
    )


@njit(cache=True)
def _list_near(codes, metric, row, stratum, group, alive, left, seed, nest):
    """List the nearest free pieces of each stratum; returns how many pieces of `alive` are still free."""
    nest.found[:] = 0
    j = 0
    while j < left:
        p = alive[j]
        if group[p] != FREE:
            left -= 1
            alive[j] = alive[left]
            continue
        j += 1
        if p == seed:
            continue
        at = stratum[p]
        away = distance(metric, codes[row[seed]], codes[row[p]])
        if nest.found[at] == NEAR and away >= nest.far[at, NEAR - 1]:
            continue
        place = min(nest.found[at], NEAR - 1)
        nest.found[at] = min(nest.found[at] + 1, NEAR)
        while place > 0 and nest.far[at, place - 1] > away:
            nest.far[at, place] = nest.far[at, place - 1]
            nest.near[at, place] = nest.near[at, place - 1]
            place -= 1
        nest.far[at, place], nest.near[at, place] = away, p
    return left


@njit(cache=True)
def _take(codes, rules, value, row, held, nest, p, is_first):
    for axis in range(codes.shape[1]):
        code = codes[row[p], axis]
        bit = np.uint64(1) << np.uint64(code % 64)
        nest.low[axis] = code if is_first else min(nest.low[axis], code)
        nest.high[axis] = code if is_first else max(nest.high[axis], code)
        nest.mask[axis] = bit if is_first else nest.mask[axis] | bit
    for column in range(rules.size.size):
        nest.tally[rules.offset[column] + value[row[p], column]] += held[p]


@njit(cache=True)
def _fill_gains(rules, value, example, group, nest, size, lack):
    """Write what a record of each stratum remedies, -inf where none is near; returns the most."""
    top = -np.inf
    for at in range(nest.found.size):
        nest.gain[at] = -np.inf
        for j in range(nest.found[at]):
            if group[nest.near[at, j]] == FREE:
                for column in range(rules.size.size):
                    nest.tally[rules.offset[column] + value[example[at], column]] += 1
                after = violation(rules, nest.tally, nest.present, nest.many, size + 1, nest.room)
                for column in range(rules.size.size):
                    nest.tally[rules.offset[column] + value[example[at], column]] -= 1
                nest.gain[at] = lack - after
                top = max(top, nest.gain[at])
                break
    return top


@njit(cache=True)
def _next_piece(codes, metric, row, group, nest, lack, top, plenty):
    """The near piece that costs least for what it remedies, -1 where there is none."""
    now = joined(metric, nest.low, nest.high, nest.mask, nest.low, nest.high, nest.mask)
    best, found = np.inf, -1
    for at in range(nest.found.size):
        gain = nest.gain[at]
        # a group may have to get worse before it obeys
        least = 1e-9 if lack > 0 and top > 1e-9 else min(top, 0.0) - 1e-12
        if gain < least:
            continue
        if lack <= 0 or top <= 1e-9:
            gain = 1.0
        gain *= plenty[at] ** HASTE
        for j in range(nest.found[at]):
            p = nest.near[at, j]
            if group[p] == FREE:
                code = codes[row[p]]
                for axis in range(code.size):
                    nest.bit[axis] = np.uint64(1) << np.uint64(code[axis] % 64)
                wider = joined(metric, nest.low, nest.high, nest.mask, code, code, nest.bit) - now
                score = (wider + STEP) / gain
                if score < best:
                    best, found = score, p
    return found


@njit(cache=True)
def grow_mixed(codes, metric, rules, value, row, held, stratum, seeds, k):
    """A group per piece, each obeying the rules with at least k records, and how many there are.

    `stratum` is alike where all values of two pieces are; `seeds` are all pieces in the order in which
    they start groups. Pieces from which no group could be grown are below 0.
    """
    pieces, axes, strata = row.size, codes.shape[1], stratum.max() + 1
    nest = _make_nest(rules, axes, strata)
    group = np.full(pieces, FREE, dtype=np.int64)
    alive = np.arange(pieces)
    left = pieces
    example = np.zeros(strata, dtype=np.int64)
    first, rest, plenty = np.zeros(strata), np.zeros(strata), np.ones(strata)
    for p in range(pieces):
        example[stratum[p]] = row[p]
        first[stratum[p]] += held[p]
    rest[:] = first
    member = np.zeros(MOST_MEMBERS, dtype=np.int64)
    groups = 0
    for seed in seeds:
        if group[seed] != FREE:
            continue
        left = _list_near(codes, metric, row, stratum, group, alive, left, seed, nest)
        all_rest = max(rest.sum(), 1.0)
        for at in range(strata):
            if first[at] > 0:
                plenty[at] = (rest[at] / all_rest) / (first[at] / first.sum())
        nest.tally[:] = 0
        size, members, p = 0, 0, seed
        while p >= 0:
            _take(codes, rules, value, row, held, nest, p, members == 0)
            group[p] = groups
            member[members] = p
            members += 1
            size += held[p]
            lack = violation(rules, nest.tally, nest.present, nest.many, size, nest.room)
            if lack <= 0 and size >= k:
                break
            p = -1
            if members < MOST_MEMBERS:
                top = _fill_gains(rules, value, example, group, nest, size, lack)
                p = _next_piece(codes, metric, row, group, nest, lack, top, plenty)
        for j in range(members):
            if p < 0:
                group[member[j]] = FREE
            else:
                rest[stratum[member[j]]] -= held[member[j]]
        if p < 0:
            group[seed] = STUCK
        else:
            groups += 1
    return group, groups

"""Cuts whose parts both obey: at the middle, or each stratum at its own, so that both parts look alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.packed import PackedMetric
from shoal.kernels.rules.chains import NONE, put, with_row
from shoal.kernels.rules.violation import clear, make_tallies, note, sort_present, violation

__all__ = ["cut_strata"]

ROW, HELD, STRATUM, SIDE = 0, 1, 2, 3
Integers = NDArray[np.int64]


def cut_strata(
    codes: NDArray[np.int32],
    packed: PackedMetric,
    rules,
    value: NDArray[np.int32],
    row: Integers,
    held: Integers,
    stratum: Integers,
    k: int,
) -> Integers:
    """Cut by strata: a group per piece, each obeying the rules with at least k records.

    Needs all pieces together to obey. A group is cut along the axis that leaves the least loss among those
    whose parts both obey; the lower half of the codes goes left, of all of them or within each stratum.
    """
    axes = codes.shape[1]
    # the first half of the lists is by stratum, then code; the other by code alone
    lists = np.empty((2 * axes, row.size), dtype=np.int64)
    for axis in range(axes):
        lists[axis] = np.lexsort((codes[row, axis], stratum))
        lists[axes + axis] = np.lexsort((stratum, codes[row, axis]))
    pieces = np.column_stack([row, held, stratum, np.zeros(row.size)]).astype(np.int64)
    bounds = np.zeros((row.size + 1, 2), dtype=np.int64)
    group = np.zeros(row.size, dtype=np.int64)
    box = np.zeros((2, 3, axes), dtype=np.int64)
    _cut_all(codes, packed, rules, value, pieces, lists, bounds, group, box, k, make_tallies(rules))
    return group


@inner
def _halve(pieces, order, by_stratum):
    """A cut by strata: give every piece of a list its side; returns the records on the left and right."""
    first, left, right = 0, 0, 0
    while first < order.size:
        last, weight = first, 0
        stratum = pieces[order[first], STRATUM]
        while last < order.size and (not by_stratum or pieces[order[last], STRATUM] == stratum):
            weight += pieces[order[last], HELD]
            last += 1
        # odd strata give their middle record to the side that has less so far
        goal, here = weight // 2 + (weight % 2 if left <= right else 0), 0
        for i in range(first, last):
            is_left = here < goal
            pieces[order[i], SIDE] = 0 if is_left else 1
            here += pieces[order[i], HELD] if is_left else 0
        left, right, first = left + here, right + weight - here, last
    return left, right


@inner
def _cost(codes, packed, rules, tallies, value, pieces, order, left, right, box, best):
    """The loss of two parts cut by strata; infinite where no less than `best` or a part breaks a rule."""
    for side in range(2):
        many = 0
        for i in range(order.size):
            if pieces[order[i], SIDE] == side:
                put(codes, box[side], pieces[order[i], ROW], many == 0)
                many += 1
    cost = 0.0
    for side in range(2):
        size = left if side == 0 else right
        cost += size * with_row(packed, box[side], codes, NONE, np.inf)
    if cost >= best:
        return np.inf
    for i in range(order.size):
        p = order[i]
        note(rules, tallies, value, pieces[p, ROW], pieces[p, HELD], pieces[p, SIDE])
    sort_present(rules, tallies)
    for side in range(2):
        if violation(rules, tallies, side, left if side == 0 else right) > 0:
            cost = np.inf
            break
    clear(rules, tallies)
    return cost


@inner
def _part(pieces, order, room):
    """After a cut by strata put those of the left in front, in the same order; returns how many."""
    at = 0
    for side in range(2):
        for i in range(order.size):
            if pieces[order[i], SIDE] == side:
                room[at] = order[i]
                at += 1
        if side == 0:
            middle = at
    order[:] = room[: order.size]
    return middle


@entry
def _cut_all(codes, packed, rules, value, pieces, lists, bounds, group, box, k, tallies):
    """Cut in two by strata, again and again: the cheapest cut whose parts both obey the rules."""
    room = np.empty(group.size, dtype=np.int64)
    half = lists.shape[0] // 2
    bounds[0, 1] = group.size
    waiting, groups = 1, 0
    while waiting > 0:
        waiting -= 1
        begin, end = bounds[waiting, 0], bounds[waiting, 1]
        best, chosen = np.inf, -1
        for which in range(lists.shape[0]):
            order = lists[which, begin:end]
            left, right = _halve(pieces, order, which < half)
            if min(left, right) < k:
                continue
            cost = _cost(codes, packed, rules, tallies, value, pieces, order, left, right, box, best)
            if cost < best:
                best, chosen = cost, which
        if chosen < 0:
            for i in range(begin, end):
                group[lists[0, i]] = groups
            groups += 1
            continue
        _halve(pieces, lists[chosen, begin:end], chosen < half)
        middle = begin
        for which in range(lists.shape[0]):
            middle = begin + _part(pieces, lists[which, begin:end], room)
        bounds[waiting, 0], bounds[waiting, 1] = begin, middle
        bounds[waiting + 1, 0], bounds[waiting + 1, 1] = middle, end
        waiting += 2

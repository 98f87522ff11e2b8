"""Cuts that keep the mix: every stratum of a group is cut at its own middle, so both parts look alike."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.ruling import violation
from shoal.kernels.spans import SET, span

__all__ = ["cut_strata"]


@njit(cache=True)
def _part_loss(codes, metric, row, held, part, which, seen):
    """Records and loss of the pieces whose `part` is `which`."""
    size = 0
    for i in range(part.size):
        if part[i] == which:
            size += held[i]
    total = 0.0
    for axis in range(codes.shape[1]):
        low, high, members = 2**31 - 1, -1, 0
        for i in range(part.size):
            if part[i] == which:
                code = codes[row[i], axis]
                low, high = min(low, code), max(high, code)
                if metric.form[axis] == SET and seen[code] == 0:
                    seen[code] = 1
                    members += 1
        if high < 0:
            return 0, 0.0
        if metric.form[axis] == SET:
            total += metric.data[metric.offset[axis]] * (members - 1)
            for i in range(part.size):
                seen[codes[row[i], axis]] = 0
        else:
            total += span(metric, axis, low, high)
    return size, size * total


@njit(cache=True)
def _obeys(rules, value, row, held, part, which, size, tally, present, many, room):
    for i in range(part.size):
        if part[i] == which:
            for column in range(rules.size.size):
                at = rules.offset[column]
                code = value[row[i], column]
                if tally[at + code] == 0:
                    present[at + many[column]] = code
                    many[column] += 1
                tally[at + code] += held[i]
    for column in range(rules.size.size):
        at = rules.offset[column]
        present[at : at + many[column]].sort()
    lack = violation(rules, tally, present, many, size, room)
    for column in range(rules.size.size):
        at = rules.offset[column]
        for j in range(many[column]):
            tally[at + present[at + j]] = 0
        many[column] = 0
    return lack <= 0


@njit(cache=True)
def cut_strata(codes, metric, rules, value, row, held, stratum, k):
    """A group per piece, each obeying the rules with at least k records.

    Needs all pieces together to obey. A group is cut along the axis that leaves the least loss among those
    whose parts both obey; within each stratum the lower half of the codes goes left.
    """
    pieces, axes = row.size, codes.shape[1]
    group = np.zeros(pieces, dtype=np.int64)
    order = np.arange(pieces)
    slots = rules.share.size
    tally = np.zeros(slots, dtype=np.int64)
    present = np.zeros(slots, dtype=np.int64)
    many = np.zeros(rules.size.size, dtype=np.int64)
    room = np.zeros(slots)
    widest = 1
    for axis in range(axes):
        widest = max(widest, metric.size[axis])
    seen = np.zeros(widest, dtype=np.int8)
    starts = np.zeros(pieces + 1, dtype=np.int64)
    stops = np.zeros(pieces + 1, dtype=np.int64)
    stops[0] = pieces
    open_, groups = 1, 0
    while open_ > 0:
        open_ -= 1
        begin, end = starts[open_], stops[open_]
        mine = order[begin:end].copy()
        its_row, its_held = row[mine], held[mine]
        total = its_held.sum()
        best, best_part = np.inf, np.zeros(0, dtype=np.int8)
        if total >= 2 * k:
            for axis in range(axes):
                key = np.empty(mine.size, dtype=np.int64)
                for i in range(mine.size):
                    key[i] = stratum[mine[i]] * metric.size[axis] + codes[its_row[i], axis]
                by_key = np.argsort(key, kind="mergesort")
                part = np.zeros(mine.size, dtype=np.int8)
                first, left, balance = 0, 0, 0
                while first < mine.size:
                    last, weight = first, 0
                    while last < mine.size and stratum[mine[by_key[last]]] == stratum[mine[by_key[first]]]:
                        weight += its_held[by_key[last]]
                        last += 1
                    # odd strata give their middle record to the side that has less so far
                    goal = weight // 2 + (weight % 2 if balance <= 0 else 0)
                    left = 0
                    for i in range(first, last):
                        if left < goal:
                            left += its_held[by_key[i]]
                        else:
                            part[by_key[i]] = 1
                    balance += 2 * left - weight
                    first = last
                size_left, loss_left = _part_loss(codes, metric, its_row, its_held, part, 0, seen)
                size_right, loss_right = _part_loss(codes, metric, its_row, its_held, part, 1, seen)
                if min(size_left, size_right) < k or loss_left + loss_right >= best:
                    continue
                if _obeys(
                    rules, value, its_row, its_held, part, 0, size_left, tally, present, many, room
                ) and _obeys(
                    rules, value, its_row, its_held, part, 1, size_right, tally, present, many, room
                ):
                    best, best_part = loss_left + loss_right, part
        if best_part.size == 0:
            for i in range(mine.size):
                group[mine[i]] = groups
            groups += 1
            continue
        at = begin
        for which in range(2):
            for i in range(mine.size):
                if best_part[i] == which:
                    order[at] = mine[i]
                    at += 1
            if which == 0:
                middle = at
        starts[open_], stops[open_] = begin, middle
        starts[open_ + 1], stops[open_ + 1] = middle, end
        open_ += 2
    return group

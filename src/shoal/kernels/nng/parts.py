"""Groups cut into parts of k to 2k - 1 records, the larger box as small as a single cut allows."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import span

__all__ = ["cut_parts"]


@inner
def _sort(row, held, begin, end, codes, axis):
    """Sort pieces by their code on an axis, of equals by row, before an nng group is cut into parts."""
    step = 1
    while step < (end - begin) // 3:
        step = 3 * step + 1
    while step > 0:
        for at in range(begin + step, end):
            its, many = row[at], held[at]
            key = codes[its, axis]
            place = at
            while place - step >= begin:
                other = row[place - step]
                there = codes[other, axis]
                if there < key or (there == key and other <= its):
                    break
                row[place] = other
                held[place] = held[place - step]
                place -= step
            row[place] = its
            held[place] = many
        step //= 3


@inner
def _running(metric, codes, row, begin, end, forward, low, high, out):
    """For cuts of nng groups into parts: the half-perimeter of the first (or last) pieces, up to each."""
    axes = codes.shape[1]
    for step in range(end - begin):
        at = begin + step if forward else end - 1 - step
        total = 0.0
        for axis in range(axes):
            code = codes[row[at], axis]
            if step == 0:
                low[axis] = code
                high[axis] = code
            elif code < low[axis]:
                low[axis] = code
            elif code > high[axis]:
                high[axis] = code
            total += span(metric, axis, low[axis], high[axis])
        out[at] = total


@inner
def _best_cut(metric, codes, row, held, begin, end, least, most, low, high, left, right, before):
    """The best cut of an nng group's sorted pieces in two parts: larger box, records left, smaller box."""
    _running(metric, codes, row, begin, end, True, low, high, left)
    _running(metric, codes, row, begin, end, False, low, high, right)
    larger, smaller, place = before
    total = 0
    for at in range(begin, end):
        total += held[at]
    upto = 0
    for at in range(begin, end):
        # inside this piece, or right behind it
        for inside in range(2):
            if inside == 1:
                first, last = max(least, upto + 1), min(most, upto + held[at] - 1)
                one, other = left[at], right[at]
            else:
                first, last = max(least, upto + held[at]), min(most, upto + held[at])
                if at + 1 == end:
                    continue
                one, other = left[at], right[at + 1]
            if first > last:
                continue
            cut = min(max(total // 2, first), last)
            big, small = max(one, other), min(one, other)
            closer = abs(2 * cut - total) < abs(2 * place - total)
            if big < larger or (big == larger and (small < smaller or (small == smaller and closer))):
                larger, smaller, place = big, small, cut
        upto += held[at]
    return larger, smaller, place


@entry
def cut_parts(metric, codes, count, order, starts, k):
    """Cut nng's groups order[starts[g]:starts[g + 1]] into parts of below 2k: (row, group, records).

    Needs at least k records in every group.
    """
    records = 0
    for row in order:
        records += count[row]
    room = order.size + records // k + 2
    pieces = np.empty((room, 3), dtype=np.int64)
    row = np.empty(room, dtype=np.int64)
    held = np.empty(room, dtype=np.int64)
    left = np.empty(room)
    right = np.empty(room)
    low = np.empty(codes.shape[1], dtype=np.int32)
    high = np.empty(codes.shape[1], dtype=np.int32)
    stack = np.empty(room, dtype=np.int64)
    written = 0
    label = 0
    for g in range(starts.size - 1):
        top = 0
        for at in range(starts[g], starts[g + 1]):
            row[top] = order[at]
            held[top] = count[order[at]]
            top += 1
        stack[0] = 0
        deep = 1
        while deep > 0:
            begin = stack[deep - 1]
            total = 0
            for at in range(begin, top):
                total += held[at]
            if total < 2 * k:
                for at in range(begin, top):
                    pieces[written, 0] = row[at]
                    pieces[written, 1] = label
                    pieces[written, 2] = held[at]
                    written += 1
                label += 1
                top = begin
                deep -= 1
                continue
            least, most = k, total - k
            if total >= 8 * k:  # near the middle: deep and lopsided cuts take too long
                least, most = total // 4, total - total // 4
            best = (np.inf, np.inf, -1)
            axis = 0
            for a in range(codes.shape[1]):
                _sort(row, held, begin, top, codes, a)
                if a > 0 and codes[row[begin], a] == codes[row[top - 1], a]:
                    continue
                found = _best_cut(
                    metric, codes, row, held, begin, top, least, most, low, high, left, right, best
                )
                if found != best:
                    best = found
                    axis = a
            _sort(row, held, begin, top, codes, axis)
            place = best[2]
            upto = 0
            at = begin
            while upto + held[at] <= place:
                upto += held[at]
                at += 1
            if upto < place:  # copies of one row on both sides
                for other in range(top, at, -1):
                    row[other] = row[other - 1]
                    held[other] = held[other - 1]
                top += 1
                held[at] = place - upto
                held[at + 1] -= place - upto
                at += 1
            stack[deep] = at
            deep += 1
    return pieces[:written]

"""The largest box made smaller: its rows cut anew together with those of near groups.

Groups are chains of pieces (row, records): `head[group]` is the first piece, `follow[piece]` the next one,
-1 the end. Every group keeps k to 2k - 1 records. A step lowers the largest half-perimeter, or leaves one
group fewer that has it; nothing else is accepted, so the largest never rises.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import span

__all__ = ["shrink_largest"]

PLACES = 16
"""Places of the first of two cuts that are tried."""


@inner
def _box(metric, codes, row, head, follow, group, low, high, size, held, width):
    """Write a group's box, records and half-perimeter anew, once nng has shrunk it."""
    size[group] = 0
    width[group] = 0.0
    piece = head[group]
    first = True
    while piece >= 0:
        size[group] += held[piece]
        for axis in range(codes.shape[1]):
            code = codes[row[piece], axis]
            if first or code < low[group, axis]:
                low[group, axis] = code
            if first or code > high[group, axis]:
                high[group, axis] = code
        first = False
        piece = follow[piece]
    if not first:
        for axis in range(codes.shape[1]):
            width[group] += span(metric, axis, low[group, axis], high[group, axis])


@inner
def _joined(metric, low, high, one, other):
    """The half-perimeter of two groups' common box, before they shrink together."""
    total = 0.0
    for axis in range(low.shape[1]):
        least = min(low[one, axis], low[other, axis])
        total += span(metric, axis, least, max(high[one, axis], high[other, axis]))
    return total


@inner
def _nearest(metric, low, high, width, head, group, near, far):
    """Whom to shrink with: the groups whose common box with `group` grows least, least first; how many."""
    many = 0
    for other in range(head.size):
        if other == group or head[other] < 0:
            continue
        cost = _joined(metric, low, high, group, other)
        if many == near.size and cost >= far[many - 1]:
            continue
        at = min(many, near.size - 1)
        while at > 0 and far[at - 1] > cost:
            far[at] = far[at - 1]
            near[at] = near[at - 1]
            at -= 1
        far[at] = cost
        near[at] = other
        many = min(many + 1, near.size)
    return many


@inner
def _keys(metric, codes, rows, number, out):
    """Sort keys of groups pooled to shrink: along an axis, or by the gaps to one of the outermost rows."""
    axes = codes.shape[1]
    if number < axes:
        for at in range(rows.size):
            out[at] = codes[rows[at], number]
        return
    axis = (number - axes) // 2 % axes
    sign = 1 if number % 2 else -1
    by_sum = number < 3 * axes
    pivot = 0
    for at in range(rows.size):
        if sign * codes[rows[at], axis] > sign * codes[rows[pivot], axis]:
            pivot = at
    for at in range(rows.size):
        total = 0.0
        most = 0.0
        for a in range(axes):
            one, other = codes[rows[at], a], codes[rows[pivot], a]
            gap = span(metric, a, min(one, other), max(one, other))
            total += gap
            most = max(most, gap)
        out[at] = total if by_sum else most


@inner
def _running(metric, codes, rows, order, backward, low, high, out):
    """To shrink: the half-perimeter of the box of the first pieces in an order, up to each; or the last."""
    for step in range(order.size):
        at = order.size - 1 - step if backward else step
        total = 0.0
        for axis in range(codes.shape[1]):
            code = codes[rows[order[at]], axis]
            if step == 0 or code < low[axis]:
                low[axis] = code
            if step == 0 or code > high[axis]:
                high[axis] = code
            total += span(metric, axis, low[axis], high[axis])
        out[at] = total


@inner
def _orders(codes):
    return 5 * codes.shape[1]


@inner
def _halve(metric, codes, rows, held, k, target, work):
    """To shrink: the best cut of a pool in two of k to 2k - 1: largest box, order, records in the first."""
    total = held.sum()
    least, most = max(k, total - 2 * k + 1), min(total - k, 2 * k - 1)
    best, which, place = target, -1, 0
    if least > most or work[0] <= 0:
        return best, which, place
    work[0] -= rows.size * _orders(codes)
    key = np.empty(rows.size)
    left = np.empty(rows.size)
    right = np.empty(rows.size)
    low = np.empty(codes.shape[1], dtype=np.int32)
    high = np.empty(codes.shape[1], dtype=np.int32)
    for number in range(_orders(codes)):
        _keys(metric, codes, rows, number, key)
        order = np.argsort(key, kind="mergesort")
        _running(metric, codes, rows, order, False, low, high, left)
        _running(metric, codes, rows, order, True, low, high, right)
        upto = 0
        for at in range(order.size):
            many = held[order[at]]
            # right behind this piece, or inside it
            if at + 1 < order.size and least <= upto + many <= most:
                larger = max(left[at], right[at + 1])
                if larger < best:
                    best, which, place = larger, number, upto + many
            first, last = max(least, upto + 1), min(most, upto + many - 1)
            if first <= last and max(left[at], right[at]) < best:
                best, which, place = max(left[at], right[at]), number, first
            upto += many
    return best, which, place


@inner
def _split(metric, codes, rows, held, number, place, side):
    """To shrink: records of each piece in the first part when an order is cut after `place` records."""
    key = np.empty(rows.size)
    _keys(metric, codes, rows, number, key)
    left = place
    for at in np.argsort(key, kind="mergesort"):
        side[at] = min(left, held[at])
        left -= side[at]


@inner
def _thirds(metric, codes, rows, held, k, target, work, one, two):
    """To shrink: cut a pool in three, all below `target`; records of each piece in the first and second."""
    total = held.sum()
    key = np.empty(rows.size)
    left = np.empty(rows.size)
    low = np.empty(codes.shape[1], dtype=np.int32)
    high = np.empty(codes.shape[1], dtype=np.int32)
    for number in range(_orders(codes)):
        _keys(metric, codes, rows, number, key)
        order = np.argsort(key, kind="mergesort")
        _running(metric, codes, rows, order, False, low, high, left)
        least, most = max(k, total - 4 * k + 2), min(total - 2 * k, 2 * k - 1)
        for first in range(least, most + 1, 1 + (most - least) // PLACES):
            upto = 0
            reach = -1
            while upto < first:
                reach += 1
                upto += held[order[reach]]
            if left[reach] >= target:
                break
            _split(metric, codes, rows, held, number, first, one)
            rest = np.flatnonzero(held - one)
            others = (held - one)[rest]
            _, which, place = _halve(metric, codes, rows[rest], others, k, target, work)
            if which < 0:
                continue
            side = np.zeros(rest.size, dtype=np.int64)
            _split(metric, codes, rows[rest], others, which, place, side)
            two[:] = 0
            for at in range(rest.size):
                two[rest[at]] = side[at]
            return True
    return False


@inner
def _pool(head, follow, groups, out):
    """The pieces of the groups that shrink together; how many."""
    many = 0
    for group in groups:
        piece = head[group]
        while piece >= 0:
            if many < out.size:
                out[many] = piece
            many += 1
            piece = follow[piece]
    return many


@inner
def _deal(pool, many, parts, groups, row, held, head, follow, used):
    """Shrunk groups: give the records of a pool by parts; new pieces where copies part; pieces used."""
    for group in groups:
        head[group] = -1
    for at in range(many):
        piece = pool[at]
        own = False
        for part in range(groups.size):
            records = parts[part, at]
            if records == 0:
                continue
            to = piece
            if own:
                to = used
                used += 1
                row[to] = row[piece]
            own = True
            held[to] = records
            follow[to] = head[groups[part]]
            head[groups[part]] = to
    return used


@inner
def _recut(metric, codes, row, held, head, follow, groups, k, target, used, work):
    """Shrink: cut the pool of two or three groups anew, all below `target`; pieces used, or -1."""
    room = 8 * k
    pool = np.empty(room, dtype=np.int64)
    many = _pool(head, follow, groups, pool)
    if many > room or used + 2 * many > row.size:
        return -1
    rows = row[pool[:many]]
    its = held[pool[:many]].copy()
    parts = np.zeros((groups.size, many), dtype=np.int64)
    if groups.size == 2:
        _, which, place = _halve(metric, codes, rows, its, k, target, work)
        if which < 0:
            return -1
        _split(metric, codes, rows, its, which, place, parts[0])
        parts[1] = its - parts[0]
    else:
        if not _thirds(metric, codes, rows, its, k, target, work, parts[0], parts[1]):
            return -1
        parts[2] = its - parts[0] - parts[1]
    return _deal(pool, many, parts, groups, row, held, head, follow, used)


@entry
def shrink_largest(metric, codes, row, label, held, groups, k, tries, effort):
    """Shrink nng's largest half-perimeter; pieces (row, group, records) and the steps taken.

    Each step cuts the largest group anew with one or two of its `tries` nearest, until none can be
    cut, or `effort` pieces have been looked at.
    """
    work = np.array([effort])
    room = 3 * row.size + 64
    row = np.concatenate((row, np.zeros(room - row.size, dtype=np.int64)))
    held = np.concatenate((held, np.zeros(room - held.size, dtype=np.int64)))
    head = np.full(groups, -1, dtype=np.int64)
    follow = np.full(room, -1, dtype=np.int64)
    for piece in range(label.size):
        follow[piece] = head[label[piece]]
        head[label[piece]] = piece
    low = np.empty((groups, codes.shape[1]), dtype=np.int32)
    high = np.empty((groups, codes.shape[1]), dtype=np.int32)
    size = np.zeros(groups, dtype=np.int64)
    width = np.zeros(groups)
    for group in range(groups):
        _box(metric, codes, row, head, follow, group, low, high, size, held, width)
    used = label.size
    near = np.empty(tries, dtype=np.int64)
    far = np.empty(tries)
    done = 0
    while work[0] > 0:
        group = np.argmax(width)
        target = width[group]
        many = _nearest(metric, low, high, width, head, group, near, far)
        found = -1
        pool = np.empty(0, dtype=np.int64)
        for at in range(many):
            pool = np.array([group, near[at]])
            found = _recut(metric, codes, row, held, head, follow, pool, k, target, used, work)
            if found >= 0:
                break
        for at in range(many):
            for other in range(at):
                if found < 0:
                    pool = np.array([group, near[at], near[other]])
                    found = _recut(metric, codes, row, held, head, follow, pool, k, target, used, work)
        work[0] -= groups
        if found < 0:
            break
        used = found
        for each in pool:
            _box(metric, codes, row, head, follow, each, low, high, size, held, width)
        done += 1
    pieces = np.empty((used, 3), dtype=np.int64)
    written = 0
    for group in range(groups):
        piece = head[group]
        while piece >= 0:
            pieces[written, 0] = row[piece]
            pieces[written, 1] = group
            pieces[written, 2] = held[piece]
            written += 1
            piece = follow[piece]
    return pieces[:written], done

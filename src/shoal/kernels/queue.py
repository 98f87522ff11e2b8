"""Cheapest crowd first: groups taken from the cells of a cube by a lazy bucket queue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.cube import build_cube
from shoal.kernels.spans import SET, fill_costs, span

__all__ = [
    "Swept",
    "cheapest_windows",
    "crowd_pool",
    "grow_crowds",
    "insert_left",
    "reach",
    "sweep_rows",
    "take_crowds",
]


FAR = 1e300
"""Dearer than any box, and yet less than infinity: a cell that must be looked at again."""


class Swept(NamedTuple):
    """Rows in sweep order: `row` says which they are, `code[q]` their codes on dimension q.

    `held` are their records and `place` their position on the sweep; rows from `edge` on miss it, and a
    run across `edge` gives up `most`. `set_start[q]` is where dimension q counts its members, -1 where it
    is not a SET; `step[q]` is what one more member gives up; `tally` has room for the counts and is all
    zero between calls.
    """

    row: NDArray[np.int64]
    code: NDArray[np.int32]
    held: NDArray[np.int64]
    place: NDArray[np.float64]
    edge: int
    most: float
    set_start: NDArray[np.int64]
    step: NDArray[np.float64]
    tally: NDArray[np.int32]


@njit(cache=True, nogil=True)
def sweep_rows(codes, count, metric, shape):
    """Put the rows that stand for records in sweep order; ties keep their order."""
    m = 0
    for i in range(count.size):
        m += count[i] > 0
    row = np.empty(m, dtype=np.int64)
    key = np.empty(m, dtype=np.int32)
    t = 0
    for i in range(count.size):
        if count[i] > 0:
            row[t] = i
            key[t] = codes[i, shape.sweep] if shape.sweep >= 0 else 0
            t += 1
    row = row[np.argsort(key, kind="mergesort")]
    dims = shape.axis.size
    code = np.empty((dims, m), dtype=np.int32)
    held = np.empty(m, dtype=np.int64)
    place = np.zeros(m)
    edge = m
    most = 0.0
    for t in range(m):
        i = row[t]
        held[t] = count[i]
        for q in range(dims):
            code[q, t] = codes[i, shape.axis[q]]
    if shape.sweep >= 0:
        most = metric.most[shape.sweep]
        for t in range(m):
            c = codes[row[t], shape.sweep]
            if c == metric.missing[shape.sweep]:
                edge = t
                break
            place[t] = metric.data[metric.offset[shape.sweep] + c]
    set_start = np.full(dims, -1, dtype=np.int64)
    step = np.zeros(dims)
    members = 0
    for q in range(dims):
        axis = shape.axis[q]
        if metric.form[axis] == SET:
            set_start[q] = members
            members += shape.size[q]
            step[q] = metric.data[metric.offset[axis]]
    tally = np.zeros(members, dtype=np.int32)
    return Swept(row, code, held, place, edge, most, set_start, step, tally)


@njit(cache=True, nogil=True, inline="always")
def reach(swept, first, last):
    """What the sweep gives up from row `first` to row `last`."""
    if last >= swept.edge:
        return swept.most if first < swept.edge else 0.0
    return swept.place[last] - swept.place[first]


@njit(cache=True, nogil=True)
def _join(swept, mask, i):
    """Count row i in on the open SETs; what its new members give up."""
    extra = 0.0
    for q in range(swept.set_start.size):
        if (mask >> q) & 1:
            slot = swept.set_start[q] + swept.code[q, i]
            if swept.tally[slot] == 0:
                extra += swept.step[q]
            swept.tally[slot] += 1
    return extra


@njit(cache=True, nogil=True)
def _part(swept, mask, i):
    """Count row i out on the open SETs; what no longer needs to be given up."""
    less = 0.0
    for q in range(swept.set_start.size):
        if (mask >> q) & 1:
            slot = swept.set_start[q] + swept.code[q, i]
            swept.tally[slot] -= 1
            if swept.tally[slot] == 0:
                less += swept.step[q]
    return less


@njit(cache=True, nogil=True)
def _first_members(swept, mask):
    """One step of every open SET: the first member is free."""
    free = 0.0
    for q in range(swept.set_start.size):
        if (mask >> q) & 1:
            free += swept.step[q]
    return free


@njit(cache=True, nogil=True)
def cheapest_windows(swept, cube, k):
    """Per row the cost of the cheapest window of at least k records that holds it."""
    m = swept.held.size
    best = np.full(m, np.inf)
    value = np.empty(m)
    last = np.empty(m, dtype=np.int64)
    line = np.empty(m + 1, dtype=np.int64)
    for c in range(cube.cost.size):
        begin, stop = cube.start[c], cube.start[c + 1]
        mask = cube.open_sets[c]
        base = cube.cost[c] - 2.0 * _first_members(swept, mask)  # then members are counted
        windows = 0
        records = 0
        extra = 0.0
        after = begin
        for first in range(begin, stop):
            while after < stop and records < k:
                i = cube.entry[after]
                records += swept.held[i]
                if mask:
                    extra += _join(swept, mask, i)
                after += 1
            if records < k:
                for t in range(first, after):
                    if mask:
                        _part(swept, mask, cube.entry[t])
                break
            i = cube.entry[first]
            value[windows] = base + extra + reach(swept, i, cube.entry[after - 1])
            last[windows] = after - 1
            windows += 1
            records -= swept.held[i]
            if mask:
                extra -= _part(swept, mask, i)
        # a row with few records may be cheapest at the end of a window that would do without it
        records = 0
        extra = 0.0
        first = begin
        for t in range(begin, stop):
            i = cube.entry[t]
            records += swept.held[i]
            if mask:
                extra += _join(swept, mask, i)
            while first < t and records - swept.held[cube.entry[first]] >= k:
                records -= swept.held[cube.entry[first]]
                if mask:
                    extra -= _part(swept, mask, cube.entry[first])
                first += 1
            if records >= k:
                key = base + extra + reach(swept, cube.entry[first], i)
                best[i] = min(best[i], key)
        if mask:
            for t in range(first, stop):
                _part(swept, mask, cube.entry[t])
        # windows in the line start at or before the row, rise in value, and end at or after it
        head = 0
        tail = 0
        coming = 0
        for p in range(begin, stop):
            if coming < windows and coming <= p - begin:
                while tail > head and value[line[tail - 1]] >= value[coming]:
                    tail -= 1
                line[tail] = coming
                tail += 1
                coming += 1
            while head < tail and last[line[head]] < p:
                head += 1
            if head < tail:
                i = cube.entry[p]
                best[i] = min(best[i], value[line[head]])
    return best


@njit(cache=True, nogil=True, inline="always")
def _bucket(key, low, step, linear, knee, ratio, most):
    """Buckets of equal width up to the knee, of equal ratio above it."""
    if key < knee:
        b = np.int64((key - low) / step)
        return b if b > 0 else np.int64(0)
    b = linear + np.int64(np.log(key / knee) * ratio)
    return b if b < most else most


@njit(cache=True, nogil=True)
def take_crowds(swept, cube, k, price, entry, ceiling):
    """Label rows by taking windows of at least k free records, cheapest first; -1 where none was taken.

    A window's key is its cost less the mean price of its records; keys from `ceiling` on are not taken.
    `entry` is a copy of the cube's entries that is worn down. Returns labels in sweep order and the
    number of groups.
    """
    m = swept.held.size
    cells = cube.cost.size
    length = np.empty(cells, dtype=np.int64)
    key = np.full(cells, np.inf)
    label = np.full(m, -1, dtype=np.int32)
    low = -max(0.0, price.max()) if m > 0 else 0.0
    for c in range(cells):
        length[c] = cube.start[c + 1] - cube.start[c]
        key[c], length[c], _ = _visit(swept, cube, c, entry, length[c], k, price, label, 0, -np.inf)
    known = 0
    mean = 0.0
    for c in range(cells):
        if key[c] < np.inf:
            mean += max(key[c], 0.0)
            known += 1
    knee = ceiling if ceiling < np.inf else max(mean / max(known, 1) * 1.5, 1e-9)
    linear = np.int64(1500)
    step = (knee - low) / linear
    ratio = 1.0 / np.log1p(step / knee)
    most = linear + np.int64(4000 if ceiling == np.inf else 0)
    head = np.full(most + 2, -1, dtype=np.int32)
    after = np.full(cells, -1, dtype=np.int32)
    for c in range(cells - 1, -1, -1):
        if key[c] < np.inf:
            b = _bucket(key[c], low, step, linear, knee, ratio, most)
            after[c] = head[b]
            head[b] = c
    groups = 0
    for b in range(most + 1 if ceiling == np.inf else linear):
        if b < linear:
            limit = low + (b + 1) * step
        elif b < most:
            limit = knee * np.exp((b + 1 - linear) / ratio)
        else:
            limit = np.inf
        while head[b] >= 0:
            c = head[b]
            head[b] = after[c]
            best, length[c], groups = _visit(
                swept, cube, c, entry, length[c], k, price, label, groups, limit
            )
            if best < np.inf:
                # at least one further: a window across a taken gap may seem due already
                to = min(max(_bucket(best, low, step, linear, knee, ratio, most), b + 1), most)
                after[c] = head[to]
                head[to] = c
    return label, groups


@njit(cache=True, nogil=True)
def _visit(swept, cube, c, entry, length, k, price, label, groups, limit):
    """Drop taken rows from a cell, take its windows below `limit`, and find its next key."""
    begin = cube.start[c]
    mask = cube.open_sets[c]
    base = cube.cost[c] - 2.0 * _first_members(swept, mask)  # then members are counted
    best = np.inf
    write = begin
    first = begin
    records = 0
    worth = 0.0
    extra = 0.0
    left = 0
    taken = False
    for t in range(begin, begin + length):
        i = entry[t]
        if label[i] >= 0:
            continue
        entry[write] = i
        write += 1
        left += swept.held[i]
        records += swept.held[i]
        worth += price[i] * swept.held[i]
        if mask:
            extra += _join(swept, mask, i)
        while records - swept.held[entry[first]] >= k:
            j = entry[first]
            records -= swept.held[j]
            worth -= price[j] * swept.held[j]
            if mask:
                extra -= _part(swept, mask, j)
            first += 1
        if records >= k:
            key = base + extra + reach(swept, entry[first], i) - worth / records
            if key < limit:
                for r in range(first, write):
                    label[entry[r]] = groups
                    if mask:
                        _part(swept, mask, entry[r])
                groups += 1
                taken = True
                left -= records
                write = first
                records = 0
                worth = 0.0
                extra = 0.0
            elif key < best:
                best = key
    if mask:
        for r in range(first, write):
            _part(swept, mask, entry[r])
    if taken and left >= k:  # rows on both sides of a taken window may now meet
        best = min(best, max(limit, 0.0), FAR)
    return best, write - begin, groups


@njit(cache=True, nogil=True)
def crowd_pool(codes, count, metric, shape, k, cap, scale, room):
    """Groups of a small pool of rows: cube, prices and queue in one call.

    `scale[i]` times the cost of row i's cheapest window is its price; boxes dearer than `cap` are not
    looked at. Returns one label per row, -1 for fewer than k records left over (and for rows without
    records), and the number of groups; 0 groups where the cube would exceed `room` entries.
    """
    label = np.full(count.size, -1, dtype=np.int32)
    swept = sweep_rows(codes, count, metric, shape)
    cube = build_cube(swept.code, swept.held, shape, metric, k, cap, room, 12 * room)
    if not cube.whole:
        return label, 0
    price = cheapest_windows(swept, cube, k)
    for t in range(price.size):
        price[t] = price[t] * scale[swept.row[t]] if price[t] < np.inf else 0.0
    found, groups = take_crowds(swept, cube, k, price, cube.entry, np.inf)
    for t in range(found.size):
        label[swept.row[t]] = found[t]
    return label, groups


@njit(cache=True, nogil=True)
def insert_left(codes, count, metric, label, groups, quota, full):
    """Give rows without a group the one where they add least loss; withhold those that would add more.

    At most `quota` records are withheld; a withheld record costs `full`. Rows go in the order given;
    labels are changed in place. Returns the records withheld.
    """
    m, axes = codes.shape
    withheld = 0
    left = 0
    for i in range(m):
        left += label[i] < 0 and count[i] > 0
    if left == 0 or groups == 0:
        return withheld
    low = np.full((groups, axes), np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full((groups, axes), -1, dtype=np.int32)
    size = np.zeros(groups, dtype=np.int64)
    first = np.full(m, -1, dtype=np.int32)  # first member of each group, then the next ones
    after = np.full(m, -1, dtype=np.int32)
    for i in range(m - 1, -1, -1):
        g = label[i]
        if g >= 0:
            size[g] += count[i]
            after[i] = first[g]
            first[g] = i
            for axis in range(axes):
                low[g, axis] = min(low[g, axis], codes[i, axis])
                high[g, axis] = max(high[g, axis], codes[i, axis])
    has_set = False
    for axis in range(axes):
        if metric.form[axis] == SET:
            has_set = True
    members = np.zeros((groups if has_set else 0, axes), dtype=np.int32)
    if has_set:
        for g in range(groups):
            for axis in range(axes):
                if metric.form[axis] == SET:
                    i = first[g]
                    while i >= 0:
                        j = first[g]
                        while j != i and codes[j, axis] != codes[i, axis]:
                            j = after[j]
                        members[g, axis] += j == i
                        i = after[i]
    for i in range(m):
        if label[i] >= 0 or count[i] == 0:
            continue
        best = np.inf
        at = -1
        for g in range(groups):
            before = 0.0
            joined = 0.0
            for axis in range(axes):
                c = codes[i, axis]
                if metric.form[axis] == SET:
                    step = metric.data[metric.offset[axis]]
                    before += step * (members[g, axis] - 1)
                    joined += step * (members[g, axis] - 1)
                    j = first[g]
                    while j >= 0 and codes[j, axis] != c:
                        j = after[j]
                    if j < 0:
                        joined += step
                    continue
                a, b = low[g, axis], high[g, axis]
                before += span(metric, axis, a, b)
                joined += span(metric, axis, min(a, c), max(b, c))
            more = joined * (size[g] + count[i]) - before * size[g]
            if more < best:
                best = more
                at = g
        if best > full * count[i] and withheld + count[i] <= quota:
            withheld += count[i]
            continue
        for axis in range(axes):
            c = codes[i, axis]
            low[at, axis] = min(low[at, axis], c)
            high[at, axis] = max(high[at, axis], c)
            if metric.form[axis] == SET:
                j = first[at]
                while j >= 0 and codes[j, axis] != c:
                    j = after[j]
                members[at, axis] += j < 0
        label[i] = at
        size[at] += count[i]
        after[i] = first[at]
        first[at] = i
    return withheld


@njit(cache=True, nogil=True)
def grow_crowds(codes, count, metric, k):
    """Label a few thousand rows by growing one crowd after another; -1 where fewer than k were left.

    A crowd starts at the free row that is farthest from the last start and takes the row that gives up
    least until it holds k records. For rows around which there are too many boxes to list them.
    """
    m, axes = codes.shape
    start = np.zeros(axes + 1, dtype=np.int64)
    for axis in range(axes):
        start[axis + 1] = start[axis] + metric.size[axis]
    table = np.zeros(start[axes])
    flags = np.zeros(start[axes], dtype=np.uint8)
    used = np.zeros((axes, max(k, 1)), dtype=np.int32)
    low = np.empty(axes, dtype=np.int32)
    high = np.empty(axes, dtype=np.int32)
    label = np.full(m, -1, dtype=np.int32)
    free = np.empty(m, dtype=np.int64)
    left = 0
    frees = 0
    for i in range(m):
        if count[i] > 0:
            free[frees] = i
            frees += 1
            left += count[i]
    groups = 0
    at = 0
    while left >= k:
        members = 0
        records = 0
        while records < k:
            i = free[at]
            label[i] = groups
            records += count[i]
            left -= count[i]
            frees -= 1
            for f in range(at, frees):  # the order stays: ties go to the first row
                free[f] = free[f + 1]
            for axis in range(axes):
                c = codes[i, axis]
                used[axis, members] = c
                low[axis] = c if members == 0 else min(low[axis], c)
                high[axis] = c if members == 0 else max(high[axis], c)
                flags[start[axis] + c] = 1
            members += 1
            # what each free row would make the crowd give up; far rows start the next one
            for axis in range(axes):
                fill_costs(
                    metric,
                    axis,
                    low[axis],
                    high[axis],
                    flags[start[axis] : start[axis + 1]],
                    start[axis],
                    table,
                )
            best = np.inf
            worst = -1.0
            near = 0
            far = 0
            for f in range(frees):
                cost = 0.0
                for axis in range(axes):
                    cost += table[start[axis] + codes[free[f], axis]]
                if cost < best:
                    best = cost
                    near = f
                if cost > worst:
                    worst = cost
                    far = f
            at = near if records < k else far
        for axis in range(axes):
            for t in range(members):
                flags[start[axis] + used[axis, t]] = 0
        groups += 1
    return label, groups

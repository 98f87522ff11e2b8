"""Cheapest crowd first: groups taken from the cells of a cube by a lazy bucket queue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.crowd.cube import Cube, Shape
from shoal.kernels.distance.spans import SET

__all__ = [
    "Swept",
    "cheapest_windows",
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


def sweep_rows(codes: NDArray[np.int32], count: NDArray[np.int64], metric, shape: Shape) -> Swept:
    """Put the rows that stand for records in the sweep order of the crowd's cube; ties keep their order."""
    row = np.flatnonzero(count > 0)
    place = np.zeros(row.size)
    edge, most = row.size, 0.0
    if shape.sweep >= 0:
        row = row[np.argsort(codes[row, shape.sweep], kind="stable")]
        code = codes[row, shape.sweep]
        missing, at = metric.missing[shape.sweep], metric.offset[shape.sweep]
        edge = int(np.searchsorted(code, missing)) if missing >= 0 else row.size
        most = float(metric.most[shape.sweep])
        place[:edge] = metric.data[at + code[:edge]]
    is_set = metric.form[shape.axis] == SET
    members = np.cumsum(np.where(is_set, shape.size, 0))
    return Swept(
        row,
        np.ascontiguousarray(codes[row[:, None], shape.axis].T),
        count[row],
        place,
        edge,
        most,
        np.where(is_set, members - shape.size, -1),
        np.where(is_set, metric.data[metric.offset[shape.axis]], 0.0),
        np.zeros(int(members[-1]) if members.size else 0, dtype=np.int32),
    )


@entry
def reach(place, edge, most, first, last):
    """What a window gives up on the sweep from row `first` to row `last`."""
    if last >= edge:
        return most if first < edge else 0.0
    return place[last] - place[first]


@leaf
def _count(set_start, step, code, tally, mask, i, by):
    """Count row i of a window in (by 1) or out (by -1) on the open SETs; what that changes in its cost."""
    change = 0.0
    for q in range(set_start.size):
        if (mask >> q) & 1:
            slot = set_start[q] + code[q, i]
            tally[slot] += by
            if tally[slot] == (1 if by > 0 else 0):
                change += by * step[q]
    return change


def _bases(swept: Swept, cube: Cube) -> NDArray[np.float64]:
    """What each cell of the cube gives up, members of open SETs counted one by one; the first is free."""
    base = cube.cost.copy()
    for q, step in enumerate(swept.step.tolist()):
        base -= 2.0 * step * ((cube.open_sets >> q) & 1)
    return base


def cheapest_windows(swept: Swept, cube: Cube, k: int) -> NDArray[np.float64]:
    """Per row the cost of the cheapest crowd's window of at least k records that holds it."""
    m = swept.held.size
    best = np.full(m, np.inf)
    scratch = np.empty((2, m + 1), dtype=np.int64)
    _cheapest(swept, cube, _bases(swept, cube), k, best, np.empty(m), scratch[0], scratch[1])
    return best


@entry
def _cheapest(swept, cube, bases, k, best, value, last, line):
    """For each row the cheapest crowd around it: the least cost of a window of k records in any cell."""
    held, entry = swept.held, cube.entry
    place, edge, most = swept.place, swept.edge, swept.most
    set_start, step, code, tally = swept.set_start, swept.step, swept.code, swept.tally
    come, go = np.int32(1), np.int32(-1)
    for c in range(bases.size):
        begin, stop = cube.start[c], cube.start[c + 1]
        mask = cube.open_sets[c]
        base = bases[c]
        windows = 0
        records = 0
        extra = 0.0
        after = begin
        for first in range(begin, stop):
            while after < stop and records < k:
                i = entry[after]
                records += held[i]
                if mask:
                    extra += _count(set_start, step, code, tally, mask, i, come)
                after += 1
            if records < k:
                for t in range(first, after if mask else first):
                    _count(set_start, step, code, tally, mask, entry[t], go)
                break
            i = entry[first]
            value[windows] = base + extra + reach(place, edge, most, i, entry[after - 1])
            last[windows] = after - 1
            windows += 1
            records -= held[i]
            if mask:
                extra += _count(set_start, step, code, tally, mask, i, go)
        # a row with few records may be cheapest at the end of a window that would do without it
        records = 0
        extra = 0.0
        first = begin
        for t in range(begin, stop):
            i = entry[t]
            records += held[i]
            if mask:
                extra += _count(set_start, step, code, tally, mask, i, come)
            while first < t and records - held[entry[first]] >= k:
                records -= held[entry[first]]
                if mask:
                    extra += _count(set_start, step, code, tally, mask, entry[first], go)
                first += 1
            if records >= k:
                key = base + extra + reach(place, edge, most, entry[first], i)
                best[i] = min(best[i], key)
        for t in range(first, stop if mask else first):
            _count(set_start, step, code, tally, mask, entry[t], go)
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
                i = entry[p]
                best[i] = min(best[i], value[line[head]])


def take_crowds(
    swept: Swept,
    cube: Cube,
    k: int,
    price: NDArray[np.float64],
    entry: NDArray[np.int32],
    ceiling: float,
) -> tuple[NDArray[np.int32], int]:
    """Label rows by the cheapest crowd first: windows of at least k free records; -1 where none was taken.

    A window's key is its cost less the mean price of its records; keys from `ceiling` on are not taken.
    `entry` is a copy of the cube's entries that is worn down. Returns labels in sweep order and the
    number of groups.
    """
    label = np.full(swept.held.size, -1, dtype=np.int32)
    low = -float(price.max(initial=0.0))
    after = np.empty(cube.cost.size, dtype=np.int64)
    length = np.diff(cube.start)
    bases = _bases(swept, cube)
    groups = _take(
        swept, cube.start, cube.open_sets, bases, k, price, entry, ceiling, low, label, after, length
    )
    return label, int(groups)


@leaf
def _bucket(key, low, step, linear, knee, ratio, most):
    """The bucket of the cheapest-first queue: of equal width up to the knee, of equal ratio above it."""
    if key < knee:
        b = np.int64((key - low) / step)
        return b if b > 0 else np.int64(0)
    b = linear + np.int64(np.log(key / knee) * ratio)
    return b if b < most else most


@entry
def _take(swept, start, open_sets, bases, k, price, entry, ceiling, low, label, after, length):
    """Take the cheapest crowd first: cells of the cube wait in buckets by what their best window costs."""
    cells = bases.size
    key = np.empty(cells)
    groups = np.int64(0)
    known = 0
    mean = 0.0
    for c in range(cells):
        key[c], length[c], groups = _visit(
            swept, start[c], open_sets[c], bases[c], entry, length[c], k, price, label, groups, -np.inf
        )
        if key[c] < np.inf:
            mean += max(key[c], 0.0)
            known += 1
    knee = ceiling if ceiling < np.inf else max(mean / max(known, 1) * 1.5, 1e-9)
    linear = np.int64(1500)
    step = (knee - low) / linear
    ratio = 1.0 / np.log1p(step / knee)
    most = linear + np.int64(4000 if ceiling == np.inf else 0)
    head = np.empty(most + 2, dtype=np.int64)
    for b in range(most + 2):
        head[b] = -1
    for c in range(cells - 1, -1, -1):
        if key[c] < np.inf:
            b = _bucket(key[c], low, step, linear, knee, ratio, most)
            after[c] = head[b]
            head[b] = c
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
                swept, start[c], open_sets[c], bases[c], entry, length[c], k, price, label, groups, limit
            )
            if best < np.inf:
                # at least one further: a window across a taken gap may seem due already
                to = min(max(_bucket(best, low, step, linear, knee, ratio, most), b + 1), most)
                after[c] = head[to]
                head[to] = c
    return groups


@inner
def _visit(swept, begin, mask, base, entry, length, k, price, label, groups, limit):
    """Visit a cell for cheap crowds: drop taken rows, take windows below `limit`, find its next key."""
    held = swept.held
    place, edge, most = swept.place, swept.edge, swept.most
    set_start, step, code, tally = swept.set_start, swept.step, swept.code, swept.tally
    come, go = np.int32(1), np.int32(-1)
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
        left += held[i]
        records += held[i]
        worth += price[i] * held[i]
        if mask:
            extra += _count(set_start, step, code, tally, mask, i, come)
        while records - held[entry[first]] >= k:
            j = entry[first]
            records -= held[j]
            worth -= price[j] * held[j]
            if mask:
                extra += _count(set_start, step, code, tally, mask, j, go)
            first += 1
        if records >= k:
            key = base + extra + reach(place, edge, most, entry[first], i) - worth / records
            if key < limit:
                for r in range(first, write):
                    label[entry[r]] = groups
                    if mask:
                        _count(set_start, step, code, tally, mask, entry[r], go)
                groups += 1
                taken = True
                left -= records
                write = first
                records = 0
                worth = 0.0
                extra = 0.0
            elif key < best:
                best = key
    for r in range(first, write if mask else first):
        _count(set_start, step, code, tally, mask, entry[r], go)
    if taken and left >= k:  # rows on both sides of a taken window may now meet
        best = min(best, max(limit, 0.0), FAR)
    return best, write - begin, groups

"""Windows that bear too much: in every cell the one whose k largest shares exceed its cost most.

A window is a run of a cell's rows in sweep order. A share per row is given; a window of cost c bears k * c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.cuts import CutPool
from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.crowd.cheapest_first import Swept, reach
from shoal.kernels.crowd.cube import Cube
from shoal.kernels.distance.spans import span
from shoal.kernels.threads import over_rows

__all__ = ["cut_windows", "group_cuts", "lower_shares", "worst_windows"]

Windows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Cell, first entry, entry after the last, and by how much the k largest shares exceed k times the cost."""


@leaf
def _push(value, held, size, one, records):
    """Put a share into a heap, least first; its new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if value[above] <= one:
            break
        value[at] = value[above]
        held[at] = held[above]
        at = above
    value[at] = one
    held[at] = records
    return size + 1


@leaf
def _pop(value, held, size):
    """Take the least share out of a heap; its new size."""
    size -= 1
    one, records = value[size], held[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and value[below + 1] < value[below]:
            below += 1
        if value[below] >= one:
            break
        value[at] = value[below]
        held[at] = held[below]
        at = below
    value[at] = one
    held[at] = records
    return size


@inner
def _add(value, held, size, total, worth, one, records, k):
    """Add records of a share to the k largest: size of the heap, records in it, and their sum.

    The heap holds at least k records, and fewer than k without its least share.
    """
    if total >= k and one <= value[0]:
        return size, total, worth
    size = _push(value, held, size, one, records)
    total += records
    worth += one * records
    while total - held[0] >= k:
        total -= held[0]
        worth -= value[0] * held[0]
        size = _pop(value, held, size)
    return size, total, worth


@inner
def _largest(swept, entry, share, first, last, k, value, held):
    """A heap of the k largest shares of a run of rows: its size, its records and their sum."""
    size, total, worth = 0, 0, 0.0
    for t in range(first, last):
        j = entry[t]
        size, total, worth = _add(value, held, size, total, worth, share[j], swept.held[j], k)
    return size, total, worth


@entry
def _look(swept, cube, floor, k, share, slack, cells, lowers, begin, stop, over):
    """Look at some cells; with `lowers` shares are lowered in place where a window is broken."""
    records, place, edge, most = swept.held, swept.place, swept.edge, swept.most
    entry, start, cost = cube.entry, cube.start, cube.cost
    longest = 0
    for c in cells:
        longest = max(longest, start[c + 1] - start[c])
    ahead = np.empty(longest)
    value = np.empty(min(k, longest) + 2)
    held = np.empty(min(k, longest) + 2, dtype=np.int64)
    for at in range(cells.size):
        c = cells[at]
        begin[at] = -1
        over[at] = 0.0
        if not floor[c] < np.inf:
            continue
        bears = k * floor[c] * (1.0 + slack)
        b, e = start[c], start[c + 1]
        top = 0.0
        for t in range(b, e):
            top = max(top, share[entry[t]])
        if top * k <= bears:
            continue
        size, total, worth = 0, 0, 0.0
        for t in range(e - 1, b - 1, -1):  # the k largest from each row on
            j = entry[t]
            size, total, worth = _add(value, held, size, total, worth, share[j], records[j], k)
            ahead[t - b] = worth - (total - k) * value[0] if total > k else worth
        s = b
        while s < e and ahead[s - b] > bears:
            i = entry[s]
            after = s + 1  # rows in one place of the sweep start together
            highest = share[i]
            while after < e and reach(place, edge, most, i, entry[after]) == 0.0:
                highest = max(highest, share[entry[after]])
                after += 1
            size, total, worth = 0, 0, 0.0
            q = s
            while q < e:
                stretch = reach(place, edge, most, i, entry[q])
                price = k * (cost[c] + stretch)
                if ahead[s - b] <= price * (1.0 + slack) + over[at]:
                    break
                while q < e and reach(place, edge, most, i, entry[q]) == stretch:
                    j = entry[q]
                    size, total, worth = _add(value, held, size, total, worth, share[j], records[j], k)
                    q += 1
                if total < k:
                    continue
                now = worth - (total - k) * value[0]
                if lowers:
                    while now > price:
                        least = value[0]
                        part = price / now * (1.0 - 1e-13)  # rounding cannot make this go on for ever
                        for t in range(s, q):
                            if share[entry[t]] >= least:
                                share[entry[t]] *= part
                        size, total, worth = _largest(swept, entry, share, s, q, k, value, held)
                        now = worth - (total - k) * value[0]
                elif now - price > price * slack and now - price > over[at]:
                    over[at] = now - price
                    begin[at] = s
                    stop[at] = q
                if highest < value[0]:  # without its first place the window would be as heavy
                    break
            s = after


def worst_windows(
    swept: Swept,
    cube: Cube,
    floor: NDArray[np.float64],
    k: int,
    share: NDArray[np.float64],
    slack: float,
    cells: NDArray[np.int64],
) -> Windows:
    """The worst window of each of `cells` that has one which bears more than 1 + `slack` times its cost."""
    begin, stop = np.empty(cells.size, dtype=np.int64), np.empty(cells.size, dtype=np.int64)
    over = np.empty(cells.size)

    def look(low: int, high: int) -> None:
        its = slice(low, high)
        _look(swept, cube, floor, k, share, slack, cells[its], False, begin[its], stop[its], over[its])

    over_rows(cells.size, look)
    found = begin >= 0
    return cells[found], begin[found], stop[found], over[found]


def lower_shares(
    swept: Swept, cube: Cube, floor: NDArray[np.float64], k: int, share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The shares, lowered until every window can bear its k largest: one pass over the cells.

    Lowering a share breaks no window, so cells that hold at first need no second look.
    """
    broken, begin, stop, over = worst_windows(
        swept, cube, floor, k, share, 0.0, np.arange(cube.cost.size, dtype=np.int64)
    )
    broken = broken[np.argsort(-over, kind="stable")]
    lowered = share.copy()
    _look(swept, cube, floor, k, lowered, 0.0, broken, True, begin, stop, over)
    return lowered


def cut_windows(
    swept: Swept,
    cube: Cube,
    axes: NDArray[np.int64],
    metric,
    k: int,
    share: NDArray[np.float64],
    windows: Windows,
) -> CutPool:
    """The k largest shares of each window as a set of records, which bears k times its own cost."""
    _, begin, stop, _ = windows
    room = int(np.minimum(stop - begin, k).sum())
    row, amount = np.empty(room, dtype=np.int32), np.empty(room)
    start, limit = np.zeros(begin.size + 1, dtype=np.int64), np.empty(begin.size)
    _cut(swept, cube.entry, axes, metric, k, share, begin, stop, start, row, amount, limit)
    return CutPool(start, row[: start[-1]], amount[: start[-1]], limit, np.zeros(begin.size))


def group_cuts(
    swept: Swept,
    axes: NDArray[np.int64],
    metric,
    distinct: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
) -> CutPool:
    """Every group of a release as a set of records, which bears its own loss; none of those withheld."""
    place = np.full(int(swept.row.max()) + 1, -1, dtype=np.int64)
    place[swept.row] = np.arange(swept.row.size)
    kept = group >= 0
    row, group, amount = place[distinct[kept]], group[kept], count[kept]
    order = np.lexsort((row, group))
    group = group[order]
    start = np.flatnonzero(np.r_[True, group[1:] != group[:-1], True])
    own, records = row[order].astype(np.int32), amount[order].astype(np.float64)
    limit = np.empty(start.size - 1)
    _limits(swept, axes, metric, start, own, records, limit)
    return CutPool(start, own, records, limit, np.ones(limit.size))


@inner
def _cost_of(swept, axes, metric, row, first, last):
    """What rows give up together in the cheapest box that holds them: `boxes.py` says which there are."""
    low, high = row[first], row[first]
    for t in range(first + 1, last):
        low, high = min(low, row[t]), max(high, row[t])
    total = reach(swept.place, swept.edge, swept.most, low, high)
    for q in range(axes.size):
        lo = swept.code[q, row[first]]
        hi = lo
        for t in range(first + 1, last):
            c = swept.code[q, row[t]]
            lo, hi = min(lo, c), max(hi, c)
        total += span(metric, axes[q], lo, hi)
    return total


@entry
def _limits(swept, axes, metric, start, row, amount, limit):
    for f in range(limit.size):
        size = 0.0
        for t in range(start[f], start[f + 1]):
            size += amount[t]
        limit[f] = size * _cost_of(swept, axes, metric, row, start[f], start[f + 1])


@entry
def _cut(swept, entry, axes, metric, k, share, begin, stop, start, row, amount, limit):
    at = 0
    for f in range(begin.size):
        b, n = begin[f], stop[f] - begin[f]
        key = np.empty(n)
        for t in range(n):
            key[t] = -share[entry[b + t]]
        order = np.argsort(key, kind="mergesort")
        left = k
        first = at
        for t in range(n):
            i = entry[b + order[t]]
            part = min(left, swept.held[i])
            row[at] = i
            amount[at] = part
            at += 1
            left -= part
            if left == 0:
                break
        start[f + 1] = at
        limit[f] = k * _cost_of(swept, axes, metric, row, first, at)

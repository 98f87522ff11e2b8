"""Windows that bear too much: in every cell those whose k largest shares exceed their cost most.

A window is a run of a cell's rows in sweep order. A share per row is given; a window of cost c bears k * c.

Most cells are passed over without a look at single windows. The k largest of some shares sum to at most
k t and all that the shares have above t, for any level t. What a window has above t and what it costs are
differences of two running sums, so that one pass over a cell tells how much too much any of its windows
can bear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.boxes import Boxes
from shoal.kernels.bound.largest import put
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.threads import over_rows

__all__ = ["Windows", "worst_windows"]

MOST = 6
"""Windows that are taken from one cell at a time."""
APART = 0.8
"""Of two windows of a cell that have more of the shorter one in common the worse one is taken."""
FAR = 1e300
LEVELS = (0.95, 0.85, 0.75, 0.65, 0.5)
"""Of what the cheapest window of a cell costs: levels by which cells are passed over."""
ROUNDING = 1e-13
"""Of a cell's dearest window: what running sums may lack."""


class Windows(NamedTuple):
    """Runs of a cell's entries, and by how much their k largest shares exceed k times their cost."""

    cell: NDArray[np.int64]
    begin: NDArray[np.int64]
    stop: NDArray[np.int64]
    over: NDArray[np.float64]


def worst_windows(
    boxes: Boxes, share: NDArray[np.float64], slack: float, cells: NDArray[np.int64]
) -> Windows:
    """Windows of `cells` that bear more than 1 + `slack` times their cost: of each cell the worst ones.

    Any two of a cell are apart, so that they say different things of its rows.
    """
    begin = np.full((cells.size, MOST), -1, dtype=np.int64)
    stop = np.empty((cells.size, MOST), dtype=np.int64)
    swept, cube, floor, k = boxes.swept, boxes.cube, boxes.floor, boxes.k
    over = np.empty((cells.size, MOST))

    def look(low: int, high: int) -> None:
        """Some of the cells, for their worst windows."""
        its = slice(low, high)
        _look(swept, cube, floor, k, share, slack, cells[its], begin[its], stop[its], over[its])

    over_rows(cells.size, look)
    at, which = np.nonzero(begin >= 0)
    return Windows(cells[at], begin[at, which], stop[at, which], over[at, which])


@inner
def _list_places(swept, entry, share, first, last, k, value, held, begin, used, position):
    """For its windows: a cell's places on the sweep, each with its k largest shares, in order; how many.

    Place x begins at entry `first + begin[x]`; `used[x]` shares from slot `begin[x]` on are its largest.
    """
    places = 0
    records = 0
    for t in range(last - first):
        j = entry[first + t]
        at = swept.place[j] if j < swept.edge else FAR
        if places == 0 or position[places - 1] != at:
            begin[places] = t
            used[places] = 0
            position[places] = at
            places += 1
            records = 0
        x = places - 1
        one = share[j]
        slot = begin[x] + used[x]
        if records >= k and one <= value[slot - 1]:
            continue
        while slot > begin[x] and value[slot - 1] < one:
            value[slot] = value[slot - 1]
            held[slot] = held[slot - 1]
            slot -= 1
        value[slot] = one
        held[slot] = swept.held[j]
        used[x] += 1
        records += swept.held[j]
        slot = begin[x] + used[x] - 1
        while records - held[slot] >= k:
            records -= held[slot]
            used[x] -= 1
            slot -= 1
    begin[places] = last - first
    return places


@inner
def _join_place(value, held, first, many, heap, times, size, total, worth, k):
    """Widen a window: add the shares of a place to a heap of the k largest: size, records and sum."""
    for t in range(first, first + many):
        if total >= k and value[t] <= heap[0]:
            break
        size, total, worth = put(heap, times, size, total, worth, value[t], held[t], k)
    return size, total, worth


@inner
def _run(position, most, first, last):
    """What the sweep of a window gives up from one place to another."""
    if position[last] == FAR:
        return most if position[first] < FAR else 0.0
    return position[last] - position[first]


@inner
def _excess(swept, entry, first, last, share, level, steep):
    """At most what a window of a cell has above a level beyond `steep` times its run."""
    held, place, edge = swept.held, swept.place, swept.edge
    total = 0.0
    low = -FAR  # the run up to where a window begins, less what stands before it
    most = 0.0
    at = first
    while at < last and entry[at] < edge:
        j = entry[at]
        run = steep * place[j]
        low = max(low, run - total)
        total += max(0.0, share[j] - level) * held[j]
        most = max(most, total - run + low)
        at += 1
    if at < last:  # rows that miss the sweep: alone, or with all others
        before = total
        for t in range(at, last):
            total += max(0.0, share[entry[t]] - level) * held[entry[t]]
        most = max(most, total - before, total - steep * swept.most)
    return most


@inner
def _sum_above(value, held, begin, used, position, places, level, steep, before, best):
    """What places have above a level, and what windows that end there or later have at most.

    `before[x]` is what stands before place x; `best[x]` the most that a window up to a place from x on has
    up to there, beyond `steep` times where it ends; rows that miss the sweep are left out.
    """
    total = 0.0
    for x in range(places):
        before[x] = total
        for t in range(begin[x], begin[x] + used[x]):
            if value[t] <= level:
                break
            total += (value[t] - level) * held[t]
    before[places] = total
    most = -FAR
    for x in range(places - 1, -1, -1):
        if position[x] < FAR:
            most = max(most, before[x + 1] - steep * position[x])
        best[x] = most


@inner
def _at_most(best, before, position, far, places, first, last, level, k, steep):
    """At most what windows from place `first` that end at `last` or later have beyond their run."""
    most = -FAR
    if position[last] < FAR:
        most = best[last] + steep * position[first]
    if position[places - 1] == FAR:
        most = max(most, before[places] - (steep * far if position[first] < FAR else 0.0))
    return most - before[first] + k * level


@entry
def _look(swept, cube, floor, k, share, slack, cells, begin_of, stop_of, over_of):
    """Look in each cell for the windows whose k largest shares exceed their cost most; light cells pass."""
    entry, start = cube.entry, cube.start
    longest = 0
    for c in cells:
        longest = max(longest, start[c + 1] - start[c])
    value, before, best, position = (
        np.empty(longest + 1),
        np.empty(longest + 1),
        np.empty(longest + 1),
        np.empty(longest + 1),
    )
    held, begin, used, until = (
        np.empty(longest + 1, dtype=np.int64),
        np.empty(longest + 2, dtype=np.int64),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(longest + 1, dtype=np.int64),
    )
    over = np.empty(longest + 1)
    heap = np.empty(min(k, longest) + 2)
    times = np.empty(min(k, longest) + 2, dtype=np.int64)
    steep = k * (1.0 + slack)
    for at in range(cells.size):
        c = cells[at]
        b, e = start[c], start[c + 1]
        cost = cube.cost[c]
        bears = steep * cost - ROUNDING * steep * (cost + swept.most)
        level = floor[c]
        is_light = not level < np.inf
        for part in LEVELS:
            if is_light:
                break
            level = part * floor[c]
            is_light = k * level + _excess(swept, entry, b, e, share, level, steep) <= bears
        if is_light:
            continue
        places = _list_places(swept, entry, share, b, e, k, value, held, begin, used, position)
        _sum_above(value, held, begin, used, position, places, level, steep, before, best)
        for s in range(places):
            over[s] = 0.0
            size, total, worth = 0, 0, 0.0
            least, closest = level, -FAR
            for q in range(s, places):
                limit = _at_most(best, before, position, swept.most, places, s, q, level, k, steep)
                if limit <= bears + over[s]:
                    break
                if total >= k and value[begin[q]] <= heap[0]:
                    continue
                size, total, worth = _join_place(
                    value, held, begin[q], used[q], heap, times, size, total, worth, k
                )
                if total < k:
                    continue
                price = k * (cost + _run(position, swept.most, s, q))
                now = worth - (total - k) * heap[0]
                if now - price > closest:
                    least, closest = heap[0], now - price
                if now - price > max(price * slack, over[s]):
                    over[s] = now - price
                    until[s] = q
                if value[begin[s]] < heap[0]:  # without its first place the window would be as heavy
                    break
            if least != level:  # the level of the window that comes closest says most of those beside it
                level = least
                _sum_above(value, held, begin, used, position, places, level, steep, before, best)
        for which in range(begin_of.shape[1]):
            w = 0
            for s in range(1, places):
                if over[s] > over[w]:
                    w = s
            if not over[w] > 0.0:
                break
            low, high = begin[w], begin[until[w] + 1]
            begin_of[at, which] = b + low
            stop_of[at, which] = b + high
            over_of[at, which] = over[w]
            for s in range(places):
                if over[s] > 0.0:
                    its_low, its_high = begin[s], begin[until[s] + 1]
                    both = min(high, its_high) - max(low, its_low)
                    if both > APART * min(high - low, its_high - its_low):
                        over[s] = 0.0

"""Windows that bear too much: in every cell those whose k largest shares exceed their cost most.

A window is a run of a cell's rows in sweep order. A share per row is given; a window of cost c bears k * c.
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
        its = slice(low, high)
        _look(swept, cube, floor, k, share, slack, cells[its], begin[its], stop[its], over[its])

    over_rows(cells.size, look)
    at, which = np.nonzero(begin >= 0)
    return Windows(cells[at], begin[at, which], stop[at, which], over[at, which])


@inner
def _list_places(swept, entry, share, first, last, k, value, held, begin, used, position):
    """The places on the sweep of a cell's rows, each with its k largest shares, largest first; how many.

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
    """Add the shares of a place to a heap of the k largest: its size, its records and their sum."""
    for t in range(first, first + many):
        if total >= k and value[t] <= heap[0]:
            break
        size, total, worth = put(heap, times, size, total, worth, value[t], held[t], k)
    return size, total, worth


@inner
def _run(position, most, first, last):
    """What the sweep gives up from one place to another."""
    if position[last] == FAR:
        return most if position[first] < FAR else 0.0
    return position[last] - position[first]


@entry
def _look(swept, cube, floor, k, share, slack, cells, begin_of, stop_of, over_of):
    entry, start = cube.entry, cube.start
    longest = 0
    for c in cells:
        longest = max(longest, start[c + 1] - start[c])
    value, ahead, back, position = (
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
    for at in range(cells.size):
        c = cells[at]
        bears = k * floor[c] * (1.0 + slack)
        b, e = start[c], start[c + 1]
        size, total, worth = 0, 0, 0.0
        for t in range(b, e):
            i = entry[t]
            size, total, worth = put(heap, times, size, total, worth, share[i], swept.held[i], k)
        if total < k or not worth - (total - k) * heap[0] > bears:
            continue  # not even all rows of the cell are worth so much
        cost = cube.cost[c]
        places = _list_places(swept, entry, share, b, e, k, value, held, begin, used, position)
        # the k largest from each place on, and up to each place
        size, total, worth = 0, 0, 0.0
        for x in range(places - 1, -1, -1):
            size, total, worth = _join_place(
                value, held, begin[x], used[x], heap, times, size, total, worth, k
            )
            ahead[x] = worth - (total - k) * heap[0] if total > k else worth
        size, total, worth = 0, 0, 0.0
        for x in range(places):
            size, total, worth = _join_place(
                value, held, begin[x], used[x], heap, times, size, total, worth, k
            )
            back[x] = worth - (total - k) * heap[0] if total > k else worth
        for s in range(places):
            over[s] = 0.0
            limit = ahead[s]
            if limit <= bears:
                for x in range(s + 1, places):
                    over[x] = 0.0
                break
            # places beyond the last one cost more than all that stands up to there is worth
            last = places - 1
            while last >= s:
                if k * (cost + _run(position, swept.most, s, last)) * (1.0 + slack) >= limit:
                    last -= 1
                elif back[last] < limit:
                    limit = back[last]
                else:
                    break
            if last < s or limit <= bears:
                continue
            size, total, worth = 0, 0, 0.0
            for q in range(s, last + 1):
                price = k * (cost + _run(position, swept.most, s, q))
                if limit <= price * (1.0 + slack) + over[s]:
                    break
                if total >= k and value[begin[q]] <= heap[0]:
                    continue
                size, total, worth = _join_place(
                    value, held, begin[q], used[q], heap, times, size, total, worth, k
                )
                if total < k:
                    continue
                now = worth - (total - k) * heap[0]
                if now - price > max(price * slack, over[s]):
                    over[s] = now - price
                    until[s] = q
                if value[begin[s]] < heap[0]:  # without its first place the window would be as heavy
                    break
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

"""Shares lowered until every window can bear its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.boxes import Boxes
from shoal.kernels.bound.largest import TINY, put
from shoal.kernels.bound.windows import worst_windows
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.crowd.cheapest_first import reach

__all__ = ["lower_shares"]


def lower_shares(boxes: Boxes, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares, lowered until every window can bear its k largest: one pass over the cells.

    Lowering a share breaks no window, so cells that hold at first need no second look.
    """
    lowered = np.where(share < TINY, 0.0, share)
    found = worst_windows(boxes, lowered, 0.0, np.arange(boxes.cube.cost.size))
    broken, first = np.unique(found.cell, return_index=True)  # the first window of a cell is its worst
    broken = broken[np.argsort(-found.over[first], kind="stable")]
    _lower(boxes.swept, boxes.cube, boxes.floor, boxes.k, lowered, broken)
    return lowered


@inner
def _largest(swept, entry, share, first, last, k, value, held):
    """To lower them: a heap of the k largest shares of a run of rows: its size, records and their sum."""
    size, total, worth = 0, 0, 0.0
    for t in range(first, last):
        j = entry[t]
        size, total, worth = put(value, held, size, total, worth, share[j], swept.held[j], k)
    return size, total, worth


@entry
def _lower(swept, cube, floor, k, share, cells):
    """Lower shares: in every window that bears too much the largest are multiplied by what it bears."""
    records, place, edge, most = swept.held, swept.place, swept.edge, swept.most
    entry, start, cost = cube.entry, cube.start, cube.cost
    longest = 0
    for c in cells:
        longest = max(longest, start[c + 1] - start[c])
    ahead = np.empty(longest)
    value = np.empty(min(k, longest) + 2)
    held = np.empty(min(k, longest) + 2, dtype=np.int64)
    for c in cells:
        b, e = start[c], start[c + 1]
        bears = k * floor[c]
        size, total, worth = 0, 0, 0.0
        for t in range(e - 1, b - 1, -1):  # the k largest from each row on
            j = entry[t]
            size, total, worth = put(value, held, size, total, worth, share[j], records[j], k)
            ahead[t - b] = worth - (total - k) * value[0] if total > k else worth
        s = b
        while s < e and ahead[s - b] > bears:
            i = entry[s]
            after = s + 1  # rows in one place of the sweep start together
            while after < e and reach(place, edge, most, i, entry[after]) == 0.0:
                after += 1
            size, total, worth = 0, 0, 0.0
            q = s
            while q < e:
                stretch = reach(place, edge, most, i, entry[q])
                price = k * (cost[c] + stretch)
                if ahead[s - b] <= price:
                    break
                while q < e and reach(place, edge, most, i, entry[q]) == stretch:
                    j = entry[q]
                    size, total, worth = put(value, held, size, total, worth, share[j], records[j], k)
                    q += 1
                if total < k:
                    continue
                now = worth - (total - k) * value[0]
                while now > price:
                    least = value[0]
                    part = price / now * (1.0 - 1e-13)  # rounding cannot make this go on for ever
                    for t in range(s, q):
                        j = entry[t]
                        if share[j] >= least:
                            share[j] = share[j] * part if share[j] * part >= TINY else 0.0
                    size, total, worth = _largest(swept, entry, share, s, q, k, value, held)
                    now = worth - (total - k) * value[0]
                highest = 0.0
                for t in range(s, after):
                    highest = max(highest, share[entry[t]])
                if highest < value[0]:  # without its first place the window would be as heavy
                    break
            s = after

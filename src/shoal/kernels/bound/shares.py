"""Raise a share for every row until the boxes that hold it can bear no more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.crowd.cheapest_first import Swept, reach
from shoal.kernels.crowd.cube import Cube

__all__ = ["cell_floors", "grow_shares"]


@entry
def cell_floors(swept, cube, k, cap):
    """Before shares rise: per cell the least its windows of k records can cost, and the rows in windows.

    Windows start at each place of the sweep and cost at most `cap`: what a look at the whole cell takes.
    """
    held, place, edge, most = swept.held, swept.place, swept.edge, swept.most
    entry, start, cost = cube.entry, cube.start, cube.cost
    floor = np.empty(cost.size)
    looks = np.empty(cost.size, dtype=np.int64)
    for c in range(cost.size):
        least = np.inf
        first = start[c]
        near = first  # first row whose window to here costs at most the cap
        starts = 0  # places from there on
        records = 0
        looks[c] = 0
        for t in range(start[c], start[c + 1]):
            i = entry[t]
            records += held[i]
            while records - held[entry[first]] >= k:
                records -= held[entry[first]]
                first += 1
            if records >= k:
                least = min(least, reach(place, edge, most, entry[first], i))
            starts += t == start[c] or reach(place, edge, most, entry[t - 1], i) > 0.0
            while near < t and cost[c] + reach(place, edge, most, entry[near], i) > cap:
                near += 1
                starts -= reach(place, edge, most, entry[near - 1], entry[near]) > 0.0
            looks[c] += starts
        floor[c] = cost[c] + least
    return floor, looks


@leaf
def _level_above(value, time):
    """The first level of rising shares whose value exceeds `time`."""
    low, high = np.int64(0), np.int64(value.size)
    while low < high:
        middle = (low + high) >> 1
        if value[middle] > time:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def _quiet_until(records, entry, begin, stop, level, t, value, base, k, held):
    """A cell while shares rise: free records, last free place, and a level before which no window breaks.

    A window's k largest shares sum to at most those of the cell. Returns free records, the place after
    the last free row, and the level (t where no more can be said).
    """
    free = 0
    last = begin
    top = 0
    for p in range(begin, stop):
        i = entry[p]
        lev = level[i]
        if lev < 0:
            free += records[i]
            last = p + 1
        else:
            held[lev] += records[i]
            top = max(top, lev)
    quiet = t
    if 0 < free < k:
        need = k - free
        frozen = 0.0
        z = top
        while z > 0 and need > 0:
            part = min(held[z], need)
            frozen += part * value[z]
            need -= part
            z -= 1
        if free * value[t] + frozen <= k * base:
            quiet = max(t + 1, _level_above(value, (k * base - frozen) / free))
    for z in range(top + 1):
        held[z] = 0
    return free, last, quiet


@inner
def _scan(swept, entry, begin, stop, last_free, level, t, value, base, k, horizon, held, following):
    """Freeze the shares of the free rows of every window of a cell that level t would break.

    Returns a time before which no window of the cell can break, at most `horizon`.
    """
    records, place, edge, most = swept.held, swept.place, swept.edge, swept.most
    quiet = horizon
    coming = last_free
    for p in range(last_free - 1, begin - 1, -1):  # the next free row at or after each place
        if level[entry[p]] < 0:
            coming = p
        following[p - begin] = coming
    tau = value[t]
    s = begin
    while s < last_free:
        i = entry[s]
        after = s + 1  # the next start: rows in one place of the sweep start together
        top_start = level[i] if level[i] >= 0 else t
        while after < stop and reach(place, edge, most, i, entry[after]) == 0.0:
            lev = level[entry[after]]
            top_start = max(top_start, lev if lev >= 0 else t)
            after += 1
        nearest = following[s - begin]
        if nearest >= last_free or base + reach(place, edge, most, i, entry[nearest]) >= horizon:
            s = after
            continue
        free = 0
        total = 0
        z = 0  # level of the k-th largest share, free rows above all
        above = 0  # frozen records above level z, and the sum of their shares
        worth = 0.0
        q = s
        while q < stop:
            cost = base + reach(place, edge, most, i, entry[q])
            if cost >= horizon:
                break
            stretch = reach(place, edge, most, i, entry[q])
            while q < stop and reach(place, edge, most, i, entry[q]) == stretch:
                j = entry[q]
                w = records[j]
                lev = level[j]
                total += w
                if lev < 0:
                    free += w
                else:
                    held[lev] += w
                    if lev > z:
                        above += w
                        worth += w * value[lev]
                q += 1
            if total < k or free == 0:
                continue
            if free >= k:
                if tau <= cost:
                    quiet = min(quiet, cost)
                    break
            else:
                while above >= k - free:
                    z += 1
                    above -= held[z]
                    worth -= held[z] * value[z]
                frozen = worth + (k - free - above) * value[z]
                if free * tau + frozen <= k * cost:
                    quiet = min(quiet, (k * cost - frozen) / free)
                    if top_start < z:  # without its first place the window would be as heavy
                        break
                    continue
            for p in range(s, q):
                j = entry[p]
                if level[j] < 0:
                    level[j] = t - 1
                    held[t - 1] += records[j]
            free = 0
            top_start = min(top_start, t - 1) if top_start == t else top_start
            z = 0
            above = 0
            worth = 0.0
            for lev in range(1, t):
                above += held[lev]
                worth += held[lev] * value[lev]
            # the window may grow on: what is free from here on comes on top of k frozen records
        for p in range(s, q):
            lev = level[entry[p]]
            if lev >= 0:
                held[lev] = 0
        s = after
    return quiet


def grow_shares(
    swept: Swept,
    cube: Cube,
    k: int,
    value: NDArray[np.float64],
    floor: NDArray[np.float64],
    look_ahead: float,
) -> NDArray[np.int32]:
    """The level at which each row's share stops to rise; `value` rises from 0.

    In every window of every cell that holds k records the mean of the k largest shares stays at most
    what the window costs. Cells wait in the queue until the level at which one of their windows could
    break; frozen rows make that later, never earlier. A visit looks ahead by a factor `look_ahead`.
    """
    level = np.full(swept.held.size, -1, dtype=np.int32)
    head = np.full(value.size + 1, -1, dtype=np.int64)
    after = np.searchsorted(value, floor, side="right")  # where each cell waits at first
    held = np.zeros(value.size + 1, dtype=np.int64)
    _grow(swept, cube, k, value, look_ahead, level, head, after, held, np.empty(level.size, dtype=np.int64))
    level[level < 0] = value.size - 1
    return level


@entry
def _grow(swept, cube, k, value, look_ahead, level, head, after, held, following):
    """Raise all shares level by level: each cell waits in a list for the level that may break a window."""
    levels = value.size
    entry, start, cost = cube.entry, cube.start, cube.cost
    for c in range(cost.size - 1, -1, -1):
        t = after[c]
        if t < levels:
            after[c] = head[t]
            head[t] = c
    for t in range(1, levels):
        while head[t] >= 0:
            c = head[t]
            head[t] = after[c]
            begin, stop = start[c], start[c + 1]
            free, last, to = _quiet_until(swept.held, entry, begin, stop, level, t, value, cost[c], k, held)
            if free == 0:
                continue
            if to <= t:
                horizon = value[t] * look_ahead
                time = _scan(
                    swept, entry, begin, stop, last, level, t, value, cost[c], k, horizon, held, following
                )
                to = max(t + 1, _level_above(value, time))
            if to < levels:
                after[c] = head[to]
                head[to] = c

"""Raise a share for every row until the boxes that hold it can bear no more."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.queue import reach

__all__ = ["cell_floors", "grow_shares"]


@njit(cache=True, nogil=True)
def cell_floors(swept, cube, k, cap):
    """Per cell the least its windows of at least k records can cost, and the rows in all its windows.

    Windows start at each place of the sweep and cost at most `cap`: what a look at the whole cell takes.
    """
    cells = cube.cost.size
    floor = np.empty(cells)
    looks = np.zeros(cells, dtype=np.int64)
    for c in range(cells):
        begin, stop = cube.start[c], cube.start[c + 1]
        least = np.inf
        first = begin
        near = begin  # first row whose window to here costs at most the cap
        starts = 0  # places from there on
        records = 0
        for t in range(begin, stop):
            i = cube.entry[t]
            records += swept.held[i]
            while records - swept.held[cube.entry[first]] >= k:
                records -= swept.held[cube.entry[first]]
                first += 1
            if records >= k:
                least = min(least, reach(swept, cube.entry[first], i))
            starts += t == begin or reach(swept, cube.entry[t - 1], i) > 0.0
            while near < t and cube.cost[c] + reach(swept, cube.entry[near], i) > cap:
                near += 1
                starts -= reach(swept, cube.entry[near - 1], cube.entry[near]) > 0.0
            looks[c] += starts
        floor[c] = cube.cost[c] + least
    return floor, looks


@njit(cache=True, nogil=True, inline="always")
def _level_above(value, time):
    """The first level whose value exceeds `time`."""
    return np.searchsorted(value, time, side="right")


@njit(cache=True, nogil=True)
def _quiet_until(swept, entry, begin, stop, level, t, value, base, k, held):
    """Look at a whole cell: its free records, its last free place, and a level before which it is quiet.

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
            free += swept.held[i]
            last = p + 1
        else:
            held[lev] += swept.held[i]
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


@njit(cache=True, nogil=True)
def _scan(swept, entry, begin, stop, last_free, level, t, value, base, k, horizon, held, following):
    """Freeze the free rows of every window of a cell that level t would break.

    Returns a time before which no window of the cell can break, at most `horizon`.
    """
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
        while after < stop and reach(swept, i, entry[after]) == 0.0:
            lev = level[entry[after]]
            top_start = max(top_start, lev if lev >= 0 else t)
            after += 1
        nearest = following[s - begin]
        if nearest >= last_free or base + reach(swept, i, entry[nearest]) >= horizon:
            s = after
            continue
        free = 0
        total = 0
        z = 0  # level of the k-th largest share, free rows above all
        above = 0  # frozen records above level z, and the sum of their shares
        worth = 0.0
        q = s
        while q < stop:
            cost = base + reach(swept, i, entry[q])
            if cost >= horizon:
                break
            stretch = reach(swept, i, entry[q])
            while q < stop and reach(swept, i, entry[q]) == stretch:
                j = entry[q]
                w = swept.held[j]
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
                    held[t - 1] += swept.held[j]
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


@njit(cache=True, nogil=True)
def grow_shares(swept, cube, k, value, base, floor, look_ahead):
    """The level at which each row's share stops growing; `value` rises from 0.

    In every window of every cell that holds k records the mean of the k largest shares stays at most
    what the window costs. Cells wait in the queue until the level at which one of their windows could
    break; frozen rows make that later, never earlier. A visit looks ahead by a factor `look_ahead`.
    """
    m = swept.held.size
    levels = value.size
    cells = cube.cost.size
    level = np.full(m, -1, dtype=np.int32)
    head = np.full(levels + 1, -1, dtype=np.int32)
    after = np.full(cells, -1, dtype=np.int32)
    held = np.zeros(levels + 1, dtype=np.int64)
    following = np.empty(m, dtype=np.int64)
    for c in range(cells - 1, -1, -1):
        if floor[c] < np.inf:
            t = _level_above(value, floor[c])
            if t < levels:
                after[c] = head[t]
                head[t] = c
    for t in range(1, levels):
        while head[t] >= 0:
            c = head[t]
            head[t] = after[c]
            begin, stop = cube.start[c], cube.start[c + 1]
            free, last, to = _quiet_until(swept, cube.entry, begin, stop, level, t, value, base[c], k, held)
            if free == 0:
                continue
            if to <= t:
                horizon = value[t] * look_ahead
                time = _scan(
                    swept,
                    cube.entry,
                    begin,
                    stop,
                    last,
                    level,
                    t,
                    value,
                    base[c],
                    k,
                    horizon,
                    held,
                    following,
                )
                to = max(t + 1, _level_above(value, time))
            if to < levels:
                after[c] = head[to]
                head[to] = c
    for i in range(m):
        if level[i] < 0:
            level[i] = levels - 1
    return level

"""Whether every window of every cell can bear its shares; the search for them shares nothing with this."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.heaviest import insert, mean_of
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.crowd.cheapest_first import Swept
from shoal.kernels.crowd.cube import Cube
from shoal.kernels.threads import over_rows

__all__ = ["all_bear"]

PARTS = (0.9, 0.8, 0.7, 0.6, 0.45)
"""Heights tried for each cell, as parts of what its cheapest window of k records costs."""
ROOM = 1e-13
"""Of the dearest window: what running sums may be off."""


def all_bear(swept: Swept, cube: Cube, k: int, share: NDArray[np.float64], tolerance: float) -> bool:
    """Whether every window bears its shares: the k largest mean at most 1 + `tolerance` times its cost.

    A window is a run of a cell's rows with at least k records.
    """
    bears = np.ones(cube.cost.size, dtype=np.bool_)
    line = (swept.held, swept.place, swept.edge, swept.most)
    cells = (cube.entry, cube.start, cube.cost)
    over_rows(
        cube.cost.size,
        lambda low, high: _bear(*line, *cells, k, share, 1.0 + tolerance, low, high, bears),
    )
    return bool(bears.all())


@inner
def _cheapest(held, place, edge, most, entry, low, high, k):
    """The cheapest window that bears: the shortest run from `low` to `high` with k records, or below 0."""
    least = -1.0
    records = 0
    left = low
    for t in range(low, high):
        i = entry[t]
        records += held[i]
        while records - held[entry[left]] >= k:
            records -= held[entry[left]]
            left += 1
        if records >= k:
            first = entry[left]
            run = place[i] - place[first] if i < edge else (most if first < edge else 0.0)
            if least < 0.0 or run < least:
                least = run
    return least


@inner
def _bears_at(held, place, edge, most, entry, low, high, k, share, height, limit, slack):
    """Whether every window bears: none has more above a height than its cost leaves; Lemma (one level).

    `limit` is what a window without any run may have above it; true is certain, false says nothing.
    """
    above = 0.0  # of the window that has most beyond its run, of all that end here
    since = 0.0  # of all rows that miss the sweep
    whole = 0.0
    before = 0.0
    for t in range(low, high):
        i = entry[t]
        part = max(0.0, share[i] - height) * held[i]
        whole += part
        if i >= edge:
            since += part
            if since > limit or whole > limit + k * slack * most:
                return False
            continue
        above = max(0.0, above - k * slack * (place[i] - before)) + part
        before = place[i]
        if above > limit:
            return False
    return True


@entry
def _bear(held, place, edge, most, entry, start, cost, k, share, slack, low, high, bears):
    """Whether the windows of every cell bear their shares: the loop of the check `all_bear`.

    Rows stand at `place` on the sweep; from `edge` on they miss it, and a run across costs `most`.
    """
    longest = 0
    for c in range(low, high):
        longest = max(longest, start[c + 1] - start[c])
    best = np.empty(min(longest, k) + 2)
    times = np.empty(min(longest, k) + 2, dtype=np.int64)
    begin = np.empty(longest + 1, dtype=np.int64)  # of rows in one place
    top, upto, onwards = np.empty(longest), np.empty(longest), np.empty(longest)
    for c in range(low, high):
        least = _cheapest(held, place, edge, most, entry, start[c], start[c + 1], k)
        is_sure = least < 0.0
        for part in PARTS:
            if is_sure:
                break
            height = part * (cost[c] + least)
            limit = k * (cost[c] * slack - height - ROOM * (cost[c] + most))
            is_sure = limit >= 0.0 and _bears_at(
                held, place, edge, most, entry, start[c], start[c + 1], k, share, height, limit, slack
            )
        if is_sure:
            continue
        # what the rows of each place have at most, and the k largest of all up to there
        places = 0
        used, total = 0, 0
        for t in range(start[c], start[c + 1]):
            i = entry[t]
            before = entry[max(t - 1, start[c])]
            if t == start[c] or place[before] != place[i] or (before < edge) != (i < edge):
                begin[places] = t
                top[places] = 0.0
                places += 1
            top[places - 1] = max(top[places - 1], share[i])
            used, total = insert(best, times, used, total, share[i], held[i], k)
            upto[places - 1] = mean_of(best, times, used, k) if t + 1 == start[c + 1] else -1.0
        begin[places] = start[c + 1]
        if total < k or upto[places - 1] <= cost[c] * slack:
            continue  # no window of the cell has more than all its rows
        used, total = 0, 0
        for x in range(places):
            for t in range(begin[x], begin[x + 1]):
                used, total = insert(best, times, used, total, share[entry[t]], held[entry[t]], k)
            upto[x] = mean_of(best, times, used, k)
        used, total = 0, 0
        for x in range(places - 1, -1, -1):
            for t in range(begin[x], begin[x + 1]):
                used, total = insert(best, times, used, total, share[entry[t]], held[entry[t]], k)
            onwards[x] = mean_of(best, times, used, k)
        for s in range(places):
            first = entry[begin[s]]
            last = places - 1
            while last >= s:  # windows that end later cost more than any that end there can have
                i = entry[begin[last]]
                run = place[i] - place[first] if i < edge else (most if first < edge else 0.0)
                if min(onwards[s], upto[last]) > (cost[c] + run) * slack:
                    break
                last -= 1
            used, total = 0, 0
            for x in range(s, last + 1):
                i = entry[begin[x]]
                run = place[i] - place[first] if i < edge else (most if first < edge else 0.0)
                limit = (cost[c] + run) * slack
                if onwards[s] <= limit:
                    break
                if total >= k and top[x] <= best[used - 1]:
                    continue  # nothing new at a higher cost
                for t in range(begin[x], begin[x + 1]):
                    used, total = insert(best, times, used, total, share[entry[t]], held[entry[t]], k)
                if total >= k and mean_of(best, times, used, k) > limit:
                    bears[c] = False
                if total >= k and top[s] < best[used - 1]:
                    break  # a window that starts later is as heavy and costs less

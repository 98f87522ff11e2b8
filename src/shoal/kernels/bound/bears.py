"""Whether every window of every cell can bear its shares; the search for them shares nothing with this."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.crowd.cheapest_first import Swept
from shoal.kernels.crowd.cube import Cube
from shoal.kernels.threads import over_rows

__all__ = ["all_bear"]


@inner
def _insert(best, times, used, total, share, records, k):
    """Put records into a list of the k largest shares, largest first; its length and its records."""
    if total >= k and share <= best[used - 1]:
        return used, total
    at = used
    while at > 0 and best[at - 1] < share:
        best[at] = best[at - 1]
        times[at] = times[at - 1]
        at -= 1
    best[at] = share
    times[at] = records
    used += 1
    total += records
    while total - times[used - 1] >= k:
        used -= 1
        total -= times[used]
    return used, total


@inner
def _mean(best, times, used, k):
    """The mean of the k largest shares of a list."""
    left = k
    worth = 0.0
    for t in range(used):
        part = min(left, times[t])
        worth += part * best[t]
        left -= part
    return worth / k


def all_bear(swept: Swept, cube: Cube, k: int, share: NDArray[np.float64], tolerance: float) -> bool:
    """Whether the k largest shares of each window have a mean of at most 1 + `tolerance` times its cost.

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


@entry
def _bear(held, place, edge, most, entry, start, cost, k, share, slack, low, high, bears):
    """Rows stand at `place` on the sweep; from `edge` on they miss it, and a run across costs `most`."""
    longest = 0
    for c in range(low, high):
        longest = max(longest, start[c + 1] - start[c])
    best = np.empty(min(longest, k) + 2)
    times = np.empty(min(longest, k) + 2, dtype=np.int64)
    for c in range(low, high):
        end = start[c + 1]
        used, total = 0, 0
        for t in range(start[c], end):
            used, total = _insert(best, times, used, total, share[entry[t]], held[entry[t]], k)
        if total < k:
            continue
        top = _mean(best, times, used, k)  # no window of the cell has more
        for s in range(start[c], end):
            if top <= cost[c] * slack:
                break
            first = entry[s]
            before = entry[max(s - 1, start[c])]
            if before != first and place[before] == place[first] and (first < edge) == (before < edge):
                continue  # the window from the row before holds more at the same cost
            used, total = 0, 0
            largest = 0.0  # of the rows where the window starts
            for t in range(s, end):
                last = entry[t]
                run = place[last] - place[first] if last < edge else (most if first < edge else 0.0)
                limit = (cost[c] + run) * slack
                if top <= limit or (run > 0.0 and total >= k and largest < best[used - 1]):
                    break  # in the second case a window that starts later is as heavy and costs less
                if run == 0.0:
                    largest = max(largest, share[last])
                used, total = _insert(best, times, used, total, share[last], held[last], k)
                if total >= k and best[0] > limit and _mean(best, times, used, k) > limit:
                    bears[c] = False

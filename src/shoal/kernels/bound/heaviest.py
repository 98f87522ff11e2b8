"""For the checks: the k largest shares of some records, a list with the largest first, and their mean.

Searches for shares keep a heap of their own (`largest.py`): what confirms shares has nothing of them.
"""

from __future__ import annotations

from shoal.kernels.compile.decorators import inner

__all__ = ["insert", "mean_of"]


@inner
def insert(best, times, used, total, share, records, k):
    """To check them, put records among the k largest shares: how many entries there are, and records."""
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
def mean_of(best, times, used, k):
    """To check it, the mean of the k largest shares; where there are fewer, 0 for the others."""
    left = k
    worth = 0.0
    for t in range(used):
        part = min(left, times[t])
        worth += part * best[t]
        left -= part
    return worth / k

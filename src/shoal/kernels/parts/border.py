"""How far every row is from the rows of other parts of a tree of cuts."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.spans import span

__all__ = ["ways_out"]


@entry
def ways_out(codes, metric, axis, first, many, edge, child, out):
    """The least that any row of another part costs together with each row, or less, into `out`.

    At each cut on the way to its part a row is as far from the other sides as from their nearest code; what
    lies beyond in the other columns is not looked at. Infinite where nothing is cut.
    """
    for i in range(codes.shape[0]):
        node = np.int64(0)
        least = np.inf
        while axis[node] >= 0:
            a = axis[node]
            code = codes[i, a]
            begin, end = first[node], first[node] + many[node]
            low, high = begin, end
            while high - low > 1:
                middle = (low + high) >> 1
                if edge[middle] <= code:
                    low = middle
                else:
                    high = middle
            mine = child[low]
            e = low - 1  # the nearest other side below: codes are farther the farther they stand
            while e >= begin and child[e] == mine:
                e -= 1
            if e >= begin:
                least = min(least, span(metric, a, np.int32(edge[e + 1] - 1), code))
            e = low + 1
            while e < end and child[e] == mine:
                e += 1
            if e < end:
                least = min(least, span(metric, a, code, np.int32(edge[e])))
            node = mine
        out[i] = least

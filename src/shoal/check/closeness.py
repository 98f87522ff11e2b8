"""t-closeness: how far a class's distribution of a sensitive value is from the whole table's.

N. Li, T. Li, S. Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.check.mix import Mix

__all__ = ["equal_distances", "ordered_distances", "shares_of"]

Floats = NDArray[np.float64]


def equal_distances(mix: Mix, sizes: Floats, whole: Floats | None = None) -> Floats:
    """The distance of each class where all values are equally far apart: half the sum of |p - q|.

    `whole` has the share of each value in the whole table, where the classes are not all of it.
    """
    whole = shares_of(mix) if whole is None else whole
    starts = mix.start[:-1]
    p = mix.records / np.repeat(sizes, np.diff(mix.start))
    q = whole[mix.value]
    # values that a class lacks differ by their whole share: 1 less the shares of those it has
    here = np.add.reduceat(np.abs(p - q) - q, starts)
    distances: Floats = np.maximum(0.0, (here + 1.0) / 2)
    return distances


def ordered_distances(mix: Mix, sizes: Floats, whole: Floats | None = None) -> Floats:
    """The earth mover's distance of each class where values stand in a row, 1 from first to last.

    Per class the sum over the m - 1 gaps between neighbouring values of |P - Q| / (m - 1), P and Q
    summed up to the gap. Between two values that a class has, P is constant and Q rises, so a run of
    gaps is two differences of prefix sums: no table of classes by values is ever made.
    """
    if mix.values < 2:
        return np.zeros(sizes.size)
    up_to = np.cumsum(shares_of(mix) if whole is None else whole)[:-1]
    total = np.r_[0.0, np.cumsum(up_to)]
    gaps = up_to.size
    starts, entries = mix.start[:-1], np.diff(mix.start)
    share = mix.records / np.repeat(sizes, entries)
    running = np.cumsum(share)
    before = np.r_[0.0, running][starts]
    level = running - np.repeat(before, entries)
    begin = np.minimum(mix.value, gaps)
    end = np.minimum(np.r_[mix.value[1:], 0], gaps)
    end[mix.start[1:] - 1] = gaps
    split = np.clip(np.searchsorted(up_to, level), begin, end)
    below = level * (split - begin) - (total[split] - total[begin])
    above = (total[end] - total[split]) - level * (end - split)
    lead = total[np.minimum(mix.value[starts], gaps)]  # gaps before the first value, where P is 0
    distances: Floats = np.maximum(0.0, (np.add.reduceat(below + above, starts) + lead) / gaps)
    return distances


def shares_of(mix: Mix) -> Floats:
    """The share of each value in all classes."""
    counts = np.zeros(mix.values)
    np.add.at(counts, mix.value, mix.records)
    shares: Floats = counts / counts.sum()
    return shares

"""One ordered column alone: the least loss of any groups of its records, or a bound for it.

`position` holds the records in order, copies apart. Groups need be no runs: two records far out on both
sides may stand together around a crowd. But some best groups are made of stretches that lie apart, and a
stretch of fewer than 2k records is one group, one of fewer than 3k a group around another
(docs/proofs/line-bound.md). A longer one is charged less than it costs, so the sum is a bound; where no
best sum needs one, it is the best. A record may also be left out for `most`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner

__all__ = ["OUT", "TRACKED", "Aside", "cheapest_stretches", "is_affordable", "sort_aside"]

OUT = 0
"""The length of a stretch that is a record left out."""


WORK, ROOM = 1e9, 10_000_000
"""Steps and entries that are granted: some seconds, and 200 MB."""
TRACKED = 32
"""Records withheld that are counted one by one; beyond, any number of them may be."""


def is_affordable(records: int, k: int, states: int) -> bool:
    """Whether the search for stretches of the line is within reason."""
    return records * (6.0 * k * k + 6.0 * k * states) <= WORK and (records + 1) * states <= ROOM


class Aside(NamedTuple):
    """What becomes of missing cells where u = 0, 1, ... present ones are left out; the last for all beyond.

    `lost[u]` missing cells lose the whole column, infinite where u cannot be: `joined[u]` of them stand in
    one group with present ones, the others are withheld, as are `out[u]` of the present ones.
    """

    lost: NDArray[np.float64]
    joined: NDArray[np.int64]
    out: NDArray[np.int64]
    saturate: bool


def sort_aside(absent: int, k: int, quota: int) -> Aside:
    """On a line: the cheapest way for so many missing cells; present ones left out go too, or are withheld.

    Missing cells that neither stand with present ones nor are withheld make groups of their own. A quota
    too large to be tracked may be anything: `lost` is what they lose at least, and the rest means nothing.

    >>> sort_aside(1, 3, 0).lost, sort_aside(4, 3, 0).lost, sort_aside(0, 3, 1).lost
    (array([inf, inf,  1.,  1.]), array([0., 4., 1., 1.]), array([0., 0.]))
    """
    nothing = np.zeros(1, dtype=np.int64)
    if quota > TRACKED:
        return Aside(np.array([float(absent if absent < k else 0)]), nothing, nothing, True)
    if absent == 0:
        many = np.arange(quota + 1)
        return Aside(np.zeros(quota + 1), 0 * many, many, False)
    lost = np.full(k + quota + 1, np.inf)
    joined, out = np.zeros(lost.size, dtype=np.int64), np.zeros(lost.size, dtype=np.int64)
    for u in range(lost.size):
        for its_out in range(min(quota, u) + 1):
            beside = u - its_out
            for withheld in range(min(quota - its_out, absent) + 1):
                fewest = max(1, k - beside) if beside else 0
                # where the rest is too few for a group, all come along
                for its_joined in (fewest, absent - withheld) if beside else (0,):
                    rest = absent - withheld - its_joined
                    fits = its_joined >= fewest and (rest == 0 or rest >= k)
                    if fits and its_joined + withheld < lost[u]:
                        lost[u], joined[u], out[u] = its_joined + withheld, its_joined, its_out
    return Aside(lost, joined, out, True)


@entry
def shares_of(position, k):
    """The narrowest k records in a row on the line that hold each record. Needs at least k records."""
    n = position.size
    share = np.full(n, np.inf)
    for start in range(n - k + 1):
        width = position[start + k - 1] - position[start]
        for at in range(start, start + k):
            share[at] = min(share[at], width)
    return share


@inner
def _fill_costs(position, share, up_to, k, start, longest, cost, inside, narrow, top):
    """What stretches of the line of 1..longest records from `start` cost at least; inside[m]: inner group.

    `narrow` and `top` are scratch: the narrowest t records inside so far, and the k largest shares.
    """
    last = min(longest, position.size - start)
    narrow[:] = np.inf
    held = 0
    for m in range(1, last + 1):
        stop = start + m - 1
        width = position[stop] - position[start]
        if m >= 3 and m < 3 * k:  # windows that end right before the last record
            for t in range(k, min(m - 2, 2 * k - 1) + 1):
                narrow[t] = min(narrow[t], position[stop - 1] - position[stop - t])
        if held < k or share[stop] > top[held - 1]:
            at = held if held < k else k - 1
            while at > 0 and top[at - 1] < share[stop]:
                top[at] = top[at - 1]
                at -= 1
            top[at] = share[stop]
            held = min(held + 1, k)
        cost[m] = np.inf
        inside[m] = 0
        if m < k:
            continue
        if m < 2 * k:
            cost[m] = m * width
        elif m < 3 * k:
            for t in range(k, m - k + 1):
                both = (m - t) * width + t * narrow[t]
                if both < cost[m]:
                    cost[m] = both
                    inside[m] = t
        else:
            least = k * width + up_to[stop + 1] - up_to[start]
            for at in range(k):
                least -= top[at]
            cost[m] = max(least, 0.0)
    return last


@entry
def cheapest_stretches(position, k, most, states, saturate, longest):
    """The least cost of a line's records with u = 0..states-1 left out, and the stretches that reach it.

    The last u means that many or more where `saturate` is set. Stretches have at most `longest` records:
    3k - 1 for groups, 6k - 1 for a bound. Returns the costs by u, and for every u and every place the
    length of the stretch that ends there, OUT for a record left out, the size of its inner group, and the u
    before it.
    """
    n = position.size
    best = np.full((states, n + 1), np.inf)
    length = np.full((states, n + 1), -1, dtype=np.int32)
    inner_size = np.zeros((states, n + 1), dtype=np.int32)
    came = np.zeros((states, n + 1), dtype=np.int32)
    best[0, 0] = 0.0
    share = shares_of(position, k) if n >= k else np.zeros(n)
    up_to = np.zeros(n + 1)
    up_to[1:] = np.cumsum(share)
    cost = np.full(longest + 1, np.inf)
    inside = np.zeros(longest + 1, dtype=np.int64)
    narrow = np.empty(2 * k)
    top = np.empty(k)
    for start in range(n):
        last = -1
        for u in range(states):
            so_far = best[u, start]
            if so_far == np.inf:
                continue
            if last < 0:
                last = _fill_costs(position, share, up_to, k, start, longest, cost, inside, narrow, top)
            for m in range(k, last + 1):
                found = so_far + cost[m]
                if found < best[u, start + m]:
                    best[u, start + m] = found
                    length[u, start + m] = m
                    inner_size[u, start + m] = inside[m]
                    came[u, start + m] = u
            if u + 1 < states or saturate:
                then = min(u + 1, states - 1)
                if so_far + most < best[then, start + 1]:
                    best[then, start + 1] = so_far + most
                    length[then, start + 1] = OUT
                    came[then, start + 1] = u
    return best[:, n], length, inner_size, came

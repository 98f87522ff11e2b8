"""Runs of an ordered line of items: the best places to cut.

`up_to[i]` is the weight of the first i items: a run of items j..i-1 weighs up_to[i] - up_to[j]. A run costs
its weight times its width, position[i - 1] - position[j]; where `missing` is set the last item has no
position, and a run that holds it and others is `most` wide.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inlined, inner

__all__ = ["cheapest_bounded_runs", "cheapest_runs", "cuts_within", "least_limit"]


@inner
def _can_cut(up_to, k, limit, reach, seen):
    """Whether a line can be cut into intervals of k..limit; fills reach[i]: the first i items can.

    `seen[i]` counts the reachable places before i.
    """
    n = up_to.size - 1
    reach[0] = True
    seen[0] = 0
    first = 0
    last = 0  # places first..last-1 can begin a run that ends at i
    for i in range(1, n + 1):
        seen[i] = seen[i - 1] + (1 if reach[i - 1] else 0)
        while up_to[i] - up_to[first] > limit:
            first += 1
        while last < i and up_to[i] - up_to[last] >= k:
            last += 1
        reach[i] = last > first and seen[last] > seen[first]
    return reach[n]


@entry
def least_limit(up_to, k):
    """The least weight of the heaviest interval, over all cuts into runs of at least k. Needs k in all."""
    n = up_to.size - 1
    reach = np.zeros(n + 1, dtype=np.bool_)
    seen = np.zeros(n + 1, dtype=np.int64)
    low = k
    for i in range(n):
        low = max(low, up_to[i + 1] - up_to[i])
    high = up_to[n]
    while low < high:
        middle = (low + high) // 2
        if _can_cut(up_to, k, middle, reach, seen):
            high = middle
        else:
            low = middle + 1
    return low


@inner
def _starts_of(before, n):
    """The first item of each interval, from the start of the run that ends at each place."""
    runs = 0
    at = n
    while at > 0:
        at = before[at]
        runs += 1
    starts = np.empty(runs, dtype=np.int64)
    at = n
    while at > 0:
        at = before[at]
        runs -= 1
        starts[runs] = at
    return starts


@entry
def cuts_within(up_to, k, limit):
    """The first item of each interval, all runs within k..limit. Needs `limit` to be reachable."""
    n = up_to.size - 1
    reach = np.zeros(n + 1, dtype=np.bool_)
    seen = np.zeros(n + 1, dtype=np.int64)
    _can_cut(up_to, k, limit, reach, seen)
    before = np.zeros(n + 1, dtype=np.int64)
    at = n
    while at > 0:
        j = at - 1
        while not (reach[j] and up_to[at] - up_to[j] >= k):
            j -= 1
        before[at] = j
        at = j
    return _starts_of(before, n)


@inlined
def _cost(up_to, position, j, i, missing, most):
    """What the interval of items j..i-1 costs."""
    weight = up_to[i] - up_to[j]
    if missing and i == up_to.size - 1:
        return 0.0 if j == i - 1 else weight * most
    return weight * (position[i - 1] - position[j])


@entry
def cheapest_bounded_runs(up_to, position, k, limit, missing, most):
    """The first item of each interval of the cheapest cuts whose runs all weigh k..limit."""
    n = up_to.size - 1
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    before = np.zeros(n + 1, dtype=np.int64)
    first = 0
    for i in range(1, n + 1):
        while up_to[i] - up_to[first] > limit:
            first += 1
        for j in range(first, i):
            if up_to[i] - up_to[j] < k:
                break
            if best[j] < np.inf:
                cost = best[j] + _cost(up_to, position, j, i, missing, most)
                if cost < best[i]:  # strict: the longest run wins a tie
                    best[i] = cost
                    before[i] = j
    return _starts_of(before, n)


@entry
def cheapest_runs(up_to, position, k, missing, most):
    """The first item of each interval of the cheapest cuts into runs of at least k.

    Of two starts the later one, once it is better, stays better for all later ends (quadrangle
    inequality): a queue of starts, each with the end from which it wins.
    """
    n = up_to.size - 1
    plain = n - 1 if missing else n
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    before = np.zeros(n + 1, dtype=np.int64)
    queue = np.empty(n + 1, dtype=np.int64)
    wins = np.empty(n + 1, dtype=np.int64)
    head = 0
    tail = 0
    ready = 0  # starts below this one have been offered
    for i in range(1, plain + 1):
        while ready < i and up_to[i] - up_to[ready] >= k:
            new = ready
            ready += 1
            if best[new] == np.inf:
                continue
            since = i
            while tail > head:
                other = queue[tail - 1]
                begin = max(wins[tail - 1], i)
                if _beats(best, up_to, position, new, other, begin):
                    tail -= 1
                    continue
                # the first end at which the new start wins, by bisection
                low, high = begin + 1, plain + 1
                while low < high:
                    middle = (low + high) // 2
                    if _beats(best, up_to, position, new, other, middle):
                        high = middle
                    else:
                        low = middle + 1
                since = low
                break
            if since <= plain:
                queue[tail] = new
                wins[tail] = since
                tail += 1
        while tail - head > 1 and wins[head + 1] <= i:
            head += 1
        if tail > head:
            j = queue[head]
            best[i] = best[j] + _cost(up_to, position, j, i, False, most)
            before[i] = j
    if missing:
        for j in range(n):
            if up_to[n] - up_to[j] < k:
                break
            cost = best[j] + _cost(up_to, position, j, n, True, most)
            if cost < best[n]:
                best[n] = cost
                before[n] = j
    return _starts_of(before, n)


@inlined
def _beats(best, up_to, position, new, old, end):
    """Whether an interval from `new` to `end` leaves less in all than from `old`. Needs end <= items."""
    one = best[new] + (up_to[end] - up_to[new]) * (position[end - 1] - position[new])
    other = best[old] + (up_to[end] - up_to[old]) * (position[end - 1] - position[old])
    return one < other

"""Groups that cost size * radius each: crowds taken greedily, and records that move while the cost falls.

Pieces are as in `kernels/assignment.py`: `amount[p]` records of `row[p]` stand in group `group[p]`, -1 for
none. Nothing here is random or parallel: the same input gives the same groups.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.duals import AHEAD, FEW, sink, sort_by
from shoal.kernels.index import DEPTH, ball
from shoal.kernels.space import apart

__all__ = ["settle", "take_crowds"]


@njit(cache=True)
def take_crowds(index, space, count, k, quota, first, waiting, key, label, centre):
    """The closest crowd first: a free row with k free records around it takes all within that distance.

    `waiting` and `key` are the rows by reach, which only widens as rows are taken; `label` is -1 before.
    Returns how many groups there are; fewer than k records stay free, or no more than the quota.
    """
    rows = index.place.size
    line = index.place.copy()
    place = np.empty(count.size, dtype=np.int64)
    left = 0
    for at in range(rows):
        place[line[at]] = at
        left += count[line[at]]
    live = rows
    out = np.empty(rows, dtype=np.int32)
    far = np.empty(rows)
    stack = np.empty(DEPTH, dtype=np.int64)
    groups = 0
    while key[0] < np.inf and left > quota:
        v = waiting[0]
        if label[v] >= 0:
            sink(key, waiting, np.inf, v)
            continue
        horizon = max(AHEAD * key[0], first)
        many = 0
        if FEW * live < rows:
            for at in range(live):
                out[at] = line[at]
                far[at] = apart(space, v, line[at])
            many = live
            horizon = np.inf
        else:
            found = ball(index, space, v, horizon, stack, out)
            for at in range(found):
                if label[out[at]] < 0:
                    out[many] = out[at]
                    far[many] = apart(space, v, out[at])
                    many += 1
            if found == rows:
                horizon = np.inf
        sort_by(far, out, many)
        held = 0
        at = 0
        while at < many and held < k:
            held += count[out[at]]
            at += 1
        if held < k:
            sink(key, waiting, horizon, v)
            continue
        radius = far[at - 1]
        second = np.inf
        for child in range(1, min(3, rows)):
            second = min(second, key[child])
        if radius > second:
            sink(key, waiting, radius, v)
            continue
        for at in range(many):
            if far[at] > radius:
                break
            row = out[at]
            label[row] = groups
            left -= count[row]
            live -= 1
            last = line[live]
            line[place[row]] = last
            place[last] = place[row]
        centre[groups] = v
        groups += 1
    return groups


@njit(cache=True)
def _cheapest(space, row, many, but, centre, radius, size):
    """The group, other than `but`, where so many records of a row cost least, and what they cost there."""
    least = np.inf
    best = -1
    for g in range(centre.size):
        if g == but or size[g] == 0 or many * radius[g] >= least:
            continue
        far = apart(space, row, centre[g])
        cost = many * radius[g] if far <= radius[g] else many * far + size[g] * (far - radius[g])
        if cost < least:
            least = cost
            best = g
    return best, least


@njit(cache=True)
def settle(space, k, quota, row, amount, group, centre, radius, size, order, head, chain):
    """One sweep over the groups in `order`: records leave for where they cost less; returns what is saved.

    From each group the farthest pieces leave, as many as save most, or all of them; then single pieces that
    cost less elsewhere. No group falls below k records but to 0. Up to `quota` records may stand in no
    group, at no cost; where more do, the cheapest join groups first. `head` and `chain` list the pieces of
    each group.
    """
    pieces = row.size
    its = np.empty(pieces, dtype=np.int32)
    far = np.empty(pieces)
    to = np.empty(pieces, dtype=np.int64)
    before = np.empty(pieces)
    out = 0
    for p in range(pieces):
        if group[p] < 0:
            out += amount[p]
    saved = 0.0
    while out > quota:  # the cheapest of those in no group first
        least = np.inf
        best = -1
        into = -1
        for p in range(pieces):
            if group[p] < 0:
                h, price = _cheapest(space, row[p], amount[p], -1, centre, radius, size)
                if price < least * amount[p]:
                    least = price / amount[p]
                    best = p
                    into = h
        saved -= least * amount[best]
        radius[into] = max(radius[into], apart(space, row[best], centre[into]))
        size[into] += amount[best]
        out -= amount[best]
        group[best] = into
        chain[best] = head[into]
        head[into] = best
    for g in order:
        if size[g] == 0:
            continue
        many = 0
        p = head[g]
        while p >= 0:
            its[many] = p
            far[many] = apart(space, row[p], centre[g])
            many += 1
            p = chain[p]
        sort_by(far, its, many)
        cost = size[g] * radius[g]
        # the farthest go one by one, and come back from after the best stand
        spent = 0.0
        best = -1e-9 * cost
        last = many
        at = many
        left = size[g]
        while at > 0:
            p = its[at - 1]
            h = -1
            price = 0.0
            if amount[p] + out > quota:
                h, price = _cheapest(space, row[p], amount[p], g, centre, radius, size)
            spent += price
            if spent >= cost + best:
                break
            at -= 1
            to[at] = h
            if h >= 0:
                before[at] = radius[h]
                radius[h] = max(radius[h], apart(space, row[p], centre[h]))
                size[h] += amount[p]
            else:
                out += amount[p]
            left -= amount[p]
            if 0 < left < k:
                continue
            after = left * far[at - 1] if at > 0 else 0.0
            if after + spent - cost < best:
                best = after + spent - cost
                last = at
        while at < last:
            p = its[at]
            if to[at] >= 0:
                radius[to[at]] = before[at]
                size[to[at]] -= amount[p]
            else:
                out -= amount[p]
            at += 1
        if last < many:
            saved -= best
            for at in range(last, many):
                size[g] -= amount[its[at]]
            radius[g] = far[last - 1] if last > 0 else 0.0
        # pieces inside the ball of a narrower group
        for at in range(last):
            p = its[at]
            to[at] = g
            if size[g] - amount[p] >= k and row[p] != centre[g]:
                gain = amount[p] * radius[g]
                h, price = _cheapest(space, row[p], amount[p], g, centre, radius, size)
                if price < gain * (1 - 1e-9):
                    saved += gain - price
                    radius[h] = max(radius[h], apart(space, row[p], centre[h]))
                    size[h] += amount[p]
                    size[g] -= amount[p]
                    to[at] = h
        head[g] = -1
        for at in range(many):
            p = its[at]
            h = to[at]
            group[p] = h
            if h >= 0:
                chain[p] = head[h]
                head[h] = p
    return saved

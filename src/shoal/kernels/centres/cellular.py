"""Groups that cost size * radius each: crowds taken greedily, and records that move while the cost falls.

Pieces are as in `assignment.py`: `amount[p]` records of `row[p]` stand in group `group[p]`, -1 for
none. Nothing here is random or parallel: the same input gives the same groups.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.basics.heap import sink
from shoal.kernels.basics.sort import sort_by
from shoal.kernels.centres.duals import AHEAD
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.rows import apart, apart_from

__all__ = ["settle", "take_crowds"]


@entry
def take_crowds(space, rows, starts, table, count, k, quota, first, waiting, key, label, centre):
    """Cellular groups to begin with: the closest crowd of k free records takes all within its distance.

    Arrays have a place for each of `rows`; `waiting` and `key` are these by reach, which only widens as
    rows are taken; `label` is -1 before. Returns how many groups there are; fewer than k records stay free,
    or no more than the quota.
    """
    n = rows.size
    free = rows.copy()  # those that are free stand first; `who` and `place` lead to their places and back
    who = np.empty(n, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    left = 0
    for i in range(n):
        who[i] = i
        place[i] = i
        left += count[i]
    live = n
    out = np.empty(n, dtype=np.int32)
    away = np.empty(n)
    far = np.empty(n)
    groups = 0
    while key[0] < np.inf and left > quota:
        v = waiting[0]
        if label[v] >= 0:
            sink(key, waiting, np.inf, v)
            continue
        horizon = max(AHEAD * key[0], first)
        apart_from(space, rows[v], free[:live], starts, table, away)
        many = 0
        for at in range(live):
            if away[at] <= horizon:
                out[many] = who[at]
                far[many] = away[at]
                many += 1
        if many == live:
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
        for child in range(1, min(3, n)):
            second = min(second, key[child])
        if radius > second:
            sink(key, waiting, radius, v)
            continue
        for at in range(many):
            if far[at] > radius:
                break
            i = out[at]
            label[i] = groups
            left -= count[i]
            live -= 1
            last = who[live]
            free[place[i]] = rows[last]
            who[place[i]] = last
            place[last] = place[i]
        centre[groups] = v
        groups += 1
    return groups


@inner
def _cheapest(space, row, many, but, least, centre, radius, size):
    """Cellular cost: the group, other than `but`, where so many records of a row cost least, and how much.

    -1 and `least` where they cost no less than that anywhere.
    """
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


@entry
def settle(space, k, quota, row, amount, group, centre, fixed, radius, size, order, head, chain):
    """One sweep over cellular groups in `order`: records leave for where they cost less; what is saved.

    From each group the farthest pieces leave, as many as save most, or all of them; then single pieces that
    cost less elsewhere. No group falls below k records but to 0. Up to `quota` records may stand in no
    group, at no cost; where more do, the cheapest join groups first. `head` and `chain` list the pieces of
    each group, and `fixed` is what a group costs besides, as long as it has records.
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
                h, price = _cheapest(space, row[p], amount[p], -1, np.inf, centre, radius, size)
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
        cost = size[g] * radius[g] + fixed[g]
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
                room = cost + best - spent
                h, price = _cheapest(space, row[p], amount[p], g, room, centre, radius, size)
                if h < 0:
                    break
            spent += price
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
            after = left * far[at - 1] + fixed[g] if at > 0 else 0.0
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
                least = gain * (1 - 1e-9)
                h, price = _cheapest(space, row[p], amount[p], g, least, centre, radius, size)
                if h >= 0:
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

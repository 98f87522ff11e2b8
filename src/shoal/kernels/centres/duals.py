"""Shares that rise together until balls are full: the duals of cellular clustering and the growth bound.

A cluster is a ball: a centre v and one of its distances r, with at least k records inside. Every row
has a share u, the same for all that still rise. A ball is full when

    sum over the `top` largest shares of (u - r)  +  sum over all others of (u - r, if above 0)

reaches opening[v] + raised * r; then the rows in it that still rise stop. With top = 1 these are the duals
of paper 000, section 3 (raised = k in the variant with k); with top = k and raised = 0 the growth bound.

For one centre the radii are its sorted distances and a ball's time is linear in what it lacks. Rows that
stop only put times off, so each centre waits in a heap under a time that is never too late.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.heap import sink
from shoal.kernels.basics.sort import sort_by
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart_from
from shoal.kernels.neighbours.box_tree import ball

__all__ = ["Duals", "by_reach", "open_clusters", "raise_duals", "without_largest"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

AHEAD = 2.0
"""How far one look at a centre sees ahead: fewer looks for wider balls."""


class Duals(NamedTuple):
    """Where every share stopped, and the clusters that stopped them, in the order of time.

    `share` is of each row; those that never stopped stand at `end`. `witness` is the cluster that stopped a
    row, -1 for none. Clusters are `centre`, `radius` and `time`.
    """

    share: Floats
    witness: Rows
    centre: Rows
    radius: Floats
    time: Floats
    end: float


def raise_duals(
    space: Any,
    count: Counts,
    reach: Floats,
    opening: Floats,
    *,
    top: int,
    raised: float,
    widest: float = np.inf,
    quota: int = 0,
) -> Duals:
    """Raise the duals, a share per row, until records of no more than `quota` still rise.

    `reach` is the least distance around a row that holds k records; balls wider than `widest` are left
    aside. `end` is infinite where no ball can stop enough of the rows.
    """
    rows = np.flatnonzero(count > 0).astype(np.int32)
    waiting, key, first = by_reach(reach[rows])
    key[key > widest] = np.inf
    positive = opening[rows][opening[rows] > 0]
    starts = short_axes(space)
    share, witness = np.full(rows.size, -1.0), np.full(rows.size, -1, dtype=np.int32)
    centre = np.empty(rows.size, dtype=np.int32)
    radius, time = np.empty(rows.size), np.empty(rows.size)
    events, end = _raise(
        space,
        rows,
        starts,
        np.empty(starts[-1]),
        count[rows],
        reach[rows],
        opening[rows],
        top,
        float(raised),
        float(widest),
        quota,
        min(first, float(positive.min(initial=first))),
        waiting,
        key,
        share,
        witness,
        centre,
        radius,
        time,
    )
    shares, witnesses = np.zeros(count.size), np.full(count.size, -1, dtype=np.int32)
    shares[rows] = np.where(share < 0, end, share)
    witnesses[rows] = witness
    return Duals(shares, witnesses, rows[centre[:events]], radius[:events], time[:events], end)


def by_reach(reach: Floats) -> tuple[Counts, Floats, float]:
    """Before duals rise: places by reach, which is a heap; their reach; and the least above 0, or 1."""
    waiting = np.argsort(reach, kind="stable")
    key = reach[waiting]
    return waiting, key, float(key[np.searchsorted(key, 0.0, side="right")]) if key[-1] > 0 else 1.0


def without_largest(share: Floats, count: Counts, quota: int) -> float:
    """The sum of dual shares over records, the `quota` records with the largest set aside."""
    order = np.argsort(-share, kind="stable")
    after = np.cumsum(count[order])
    many = np.clip(after - quota, 0, count[order])
    used = many > 0
    return float(share[order][used] @ many[used])


@inner
def _insert(best_share, best_many, kept, top, share, many):
    """Put a dual share among the `top` largest of a ball, the largest first; returns how many are kept."""
    slot = kept
    if kept == top:
        if best_share[kept - 1] >= share:
            return kept
        slot -= 1
    while slot > 0 and best_share[slot - 1] < share:
        best_share[slot] = best_share[slot - 1]
        best_many[slot] = best_many[slot - 1]
        slot -= 1
    best_share[slot] = share
    best_many[slot] = many
    return min(kept + 1, top)


@inner
def _full(r, owed, rising, above, total, top, kept, best_share, best_many, now):
    """When duals fill a ball: `owed` less what stopped shares pay, by how many rise; `now` at least."""
    lacks = owed - (total - above * r)
    if rising + above < top:
        need = top - rising
        for slot in range(kept):
            taken = min(need, best_many[slot])
            lacks += taken * max(0.0, r - best_share[slot])
            need -= taken
            if need == 0:
                break
    return max(r + max(lacks, 0.0) / rising, now)


@entry
def _raise(
    space,
    rows,
    starts,
    table,
    count,
    reach,
    opening,
    top,
    raised,
    widest,
    quota,
    first,
    waiting,
    key,
    share,
    witness,
    centre,
    radius,
    time,
):
    """Raise the duals event by event: full balls stop the shares inside; how many clusters, the last time.

    All arrays but those of the space have a place for each of `rows`.
    """
    n = rows.size
    left = 0
    for i in range(n):
        left += count[i]
    away = np.empty(n)
    out = np.empty(n, dtype=np.int32)
    far = np.empty(n)
    stopped = np.zeros(n, dtype=np.int64)  # per event, its records in the ball at hand
    best_share = np.empty(top + 1)
    best_many = np.empty(top + 1, dtype=np.int64)
    events = 0
    now = 0.0
    while left > quota:
        v = waiting[0]
        if key[0] == np.inf:
            now = np.inf
            break
        apart_from(space, rows[v], rows, starts, table, away)
        near = np.inf
        farthest = 0.0
        for i in range(n):
            if share[i] < 0 and away[i] < near:
                near = away[i]
            farthest = max(farthest, away[i])
        # a ball that grows holds k records and a row that rises, and none is full before its radius
        least = max(reach[v], near)
        horizon = max(AHEAD * max(key[0], now), first)
        if least > min(horizon, widest):
            sink(key, waiting, least if least <= widest else np.inf, v)
            continue
        if farthest <= horizon:
            horizon = np.inf
        # the least ball bounds the time from above, and with it the radii worth a look
        rising = 0
        above = 0  # records whose stopped shares exceed the radius, and the sum of these
        total = 0.0
        kept = 0  # the largest stopped shares, the largest first
        for i in range(n):
            if away[i] <= least:
                if share[i] < 0:
                    rising += count[i]
                else:
                    if share[i] > least:
                        above += count[i]
                        total += count[i] * share[i]
                    if top > 1:
                        kept = _insert(best_share, best_many, kept, top, share[i], count[i])
        limit = min(horizon, widest)
        if rising > 0:
            owed = opening[v] + raised * least
            limit = min(
                limit, _full(least, owed, rising, above, total, top, kept, best_share, best_many, now)
            )
        # in wider balls a stopped share counts where it exceeds the radius or is one of the `top` largest
        enough = np.inf
        need = top - rising
        for slot in range(kept):
            if need <= 0:
                break
            need -= best_many[slot]
            enough = best_share[slot]
        least_share = min(enough, least)
        found = 0
        for i in range(n):
            if away[i] <= limit and (
                share[i] < 0 or share[i] > least_share or (share[i] >= enough and away[i] <= least)
            ):
                out[found] = i
                far[found] = away[i]
                found += 1
        sort_by(far, out, found)
        best = np.inf
        wide = 0.0
        rising = 0
        above = 0
        total = 0.0
        passed = 0
        kept = 0
        for at in range(found):
            r = max(far[at], least)
            if r >= best:
                break
            i = out[at]
            if share[i] < 0:
                rising += count[i]
            else:
                if share[i] > r:
                    above += count[i]
                    total += count[i] * share[i]
                    stopped[witness[i]] += count[i]
                if top > 1:
                    kept = _insert(best_share, best_many, kept, top, share[i], count[i])
            if at + 1 < found and far[at + 1] <= r:
                continue
            while passed < events and time[passed] <= r:
                above -= stopped[passed]
                total -= stopped[passed] * time[passed]
                passed += 1
            if above == 0:
                total = 0.0
            if rising == 0:
                continue
            owed = opening[v] + raised * r
            full = _full(r, owed, rising, above, total, top, kept, best_share, best_many, now)
            if full < best:
                best = full
                wide = r
        for at in range(found):
            if witness[out[at]] >= 0:
                stopped[witness[out[at]]] = 0
        if best > horizon and horizon < widest:
            sink(key, waiting, horizon, v)
            continue
        second = np.inf
        for child in range(1, min(3, n)):
            second = min(second, key[child])
        if best > second or best == np.inf:
            sink(key, waiting, best, v)
            continue
        now = best
        for i in range(n):
            if away[i] <= wide and share[i] < 0:
                share[i] = now
                witness[i] = events
                left -= count[i]
        centre[events] = v
        radius[events] = wide
        time[events] = now
        events += 1
    return events, now


@entry
def open_clusters(index, space, sight, share, order, centre, radius, inside, owner, blocker):
    """After the duals: clusters in `order`, widest first, open where no tight row is taken, and take these.

    A row is tight where it lies in the ball and its share reaches the radius; only rows `inside` count.
    Fills `owner` (the open cluster that took a row) and `blocker` (the open cluster that kept one shut),
    both -1 before.
    """
    out = np.empty(index.place.size, dtype=np.int32)
    for c in order:
        found = ball(index, space, sight, centre[c], radius[c], out)
        for at in range(found):
            row = out[at]
            if inside[row] and share[row] >= radius[c] and owner[row] >= 0:
                blocker[c] = owner[row]
                break
        if blocker[c] >= 0:
            continue
        for at in range(found):
            if inside[out[at]] and share[out[at]] >= radius[c]:
                owner[out[at]] = c

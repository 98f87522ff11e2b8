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
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.index import DEPTH, Index, ball
from shoal.kernels.space import apart

__all__ = ["Duals", "by_reach", "open_clusters", "raise_duals", "sink", "sort_by", "without_largest"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

AHEAD = 1.3
"""How far one look at a centre sees ahead: fewer looks for wider balls."""
FEW = 3
"""Where less than this part of the rows still rise, rows are looked up by share and not by place."""


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
    index: Index,
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
    """Raise all shares until records of no more than `quota` still rise.

    `reach` is the least distance around a row that holds k records; balls wider than `widest` are left
    aside. `end` is infinite where no ball can stop enough of the rows.
    """
    rows = np.ascontiguousarray(index.place, dtype=np.int32)
    waiting, key, first = by_reach(index, reach)
    key[key > widest] = np.inf
    positive = opening[rows][opening[rows] > 0]
    share = np.where(count > 0, -1.0, 0.0)
    witness = np.full(count.size, -1, dtype=np.int32)
    centre = np.empty(rows.size, dtype=np.int32)
    radius, time = np.empty(rows.size), np.empty(rows.size)
    events, end = _raise(
        index,
        space,
        count,
        reach,
        opening,
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
    share[share < 0] = end
    return Duals(share, witness, centre[:events], radius[:events], time[:events], end)


def by_reach(index: Index, reach: Floats) -> tuple[Rows, Floats, float]:
    """The rows by reach, which is a heap; their reach; and the least above 0, or 1."""
    rows = np.ascontiguousarray(index.place, dtype=np.int32)
    waiting = rows[np.lexsort((rows, reach[rows]))]
    key = reach[waiting]
    return waiting, key, float(key[np.searchsorted(key, 0.0, side="right")]) if key[-1] > 0 else 1.0


def without_largest(share: Floats, count: Counts, quota: int) -> float:
    """The sum of shares over records when the `quota` records with the largest are set aside."""
    order = np.argsort(-share, kind="stable")
    after = np.cumsum(count[order])
    many = np.clip(after - quota, 0, count[order])
    used = many > 0
    return float(share[order][used] @ many[used])


@njit(cache=True)
def sort_by(far, row, many):
    """Sort the first rows by distance, in place; by Shell: Numba's own sort takes seconds to compile."""
    gap = 1
    while gap < many // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for start in range(gap, many):
            its = far[start]
            who = row[start]
            at = start
            while at >= gap and far[at - gap] > its:
                far[at] = far[at - gap]
                row[at] = row[at - gap]
                at -= gap
            far[at] = its
            row[at] = who
        gap //= 3


@njit(cache=True)
def sink(key, row, its, who):
    """Put an item in place of the first of a heap."""
    at = 0
    child = 1
    while child < row.size:
        if child + 1 < row.size and (
            key[child + 1] < key[child] or (key[child + 1] == key[child] and row[child + 1] < row[child])
        ):
            child += 1
        if its < key[child] or (its == key[child] and who < row[child]):
            break
        key[at] = key[child]
        row[at] = row[child]
        at = child
        child = 2 * at + 1
    key[at] = its
    row[at] = who


@njit(cache=True)
def _raise(
    index,
    space,
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
    """The loop of events; returns how many clusters there are and the last time."""
    n = count.size
    rows = index.place.size
    # rows that rise stand first; the others follow in the order in which they stopped, the last one first
    line = index.place.copy()
    place = np.empty(n, dtype=np.int64)
    left = 0
    for at in range(rows):
        place[line[at]] = at
        left += count[line[at]]
    live = rows
    out = np.empty(rows, dtype=np.int32)
    far = np.empty(rows)
    stack = np.empty(DEPTH, dtype=np.int64)
    stopped = np.zeros(rows, dtype=np.int64)  # per event, its records in the ball at hand
    best_share = np.empty(top + 1)
    best_many = np.empty(top + 1, dtype=np.int64)
    events = 0
    now = 0.0
    while left > quota:
        v = waiting[0]
        if key[0] == np.inf:
            now = np.inf
            break
        horizon = max(AHEAD * max(key[0], now), first)
        least = reach[v]  # no ball is smaller, nor one that grows smaller than the nearest row that rises
        found = 0
        if FEW * live < rows:
            near = np.inf
            for at in range(live):
                far[at] = apart(space, v, line[at])
                out[at] = line[at]
                near = min(near, far[at])
            least = max(least, near)
            if least > horizon:
                # no ball is full before its radius
                sink(key, waiting, least if least <= widest else np.inf, v)
                continue
            # in a ball so wide shares below its radius count only among the `top` largest
            found = live
            inside = 0
            while found < rows and FEW * found < 2 * rows:
                row = line[found]
                if inside >= top and share[row] <= least:
                    break
                out[found] = row
                far[found] = apart(space, v, row)
                if far[found] <= least:
                    inside += count[row]
                found += 1
            if found < rows and FEW * found >= 2 * rows:
                found = 0
        if found > 0:
            horizon = np.inf
        else:
            found = ball(index, space, v, min(horizon, widest), stack, out)
            for at in range(found):
                far[at] = apart(space, v, out[at])
            if found == rows:
                horizon = np.inf
        sort_by(far, out, found)
        best = np.inf
        wide = 0.0
        rising = 0
        above = 0  # records whose stopped shares exceed the radius, and the sum of these
        total = 0.0
        passed = 0
        kept = 0  # the largest stopped shares, the largest first
        for at in range(found):
            r = max(far[at], least)
            if r >= best or r > widest:
                break
            row = out[at]
            if share[row] < 0:
                rising += count[row]
            else:
                if share[row] > r:
                    above += count[row]
                    total += count[row] * share[row]
                    stopped[witness[row]] += count[row]
                if top > 1:
                    slot = kept
                    if kept == top:
                        slot = kept - 1 if best_share[kept - 1] < share[row] else top
                    if slot < top:
                        while slot > 0 and best_share[slot - 1] < share[row]:
                            best_share[slot] = best_share[slot - 1]
                            best_many[slot] = best_many[slot - 1]
                            slot -= 1
                        best_share[slot] = share[row]
                        best_many[slot] = count[row]
                        kept = min(kept + 1, top)
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
            lacks = opening[v] + raised * r - (total - above * r)
            if rising + above < top:
                need = top - rising
                for slot in range(kept):
                    taken = min(need, best_many[slot])
                    lacks += taken * max(0.0, r - best_share[slot])
                    need -= taken
                    if need == 0:
                        break
            full = max(r + max(lacks, 0.0) / rising, now)
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
        for child in range(1, min(3, rows)):
            second = min(second, key[child])
        if best > second or best == np.inf:
            sink(key, waiting, best, v)
            continue
        now = best
        for at in range(found):
            row = out[at]
            if far[at] <= wide and share[row] < 0:
                share[row] = now
                witness[row] = events
                left -= count[row]
                live -= 1
                last = line[live]
                line[place[row]] = last
                place[last] = place[row]
                line[live] = row
                place[row] = live
        centre[events] = v
        radius[events] = wide
        time[events] = now
        events += 1
    return events, now


@njit(cache=True)
def open_clusters(index, space, share, order, centre, radius, inside, owner, blocker):
    """Clusters in `order`, the widest first, open if none of their tight rows is taken, and take these.

    A row is tight where it lies in the ball and its share reaches the radius; only rows `inside` count.
    Fills `owner` (the open cluster that took a row) and `blocker` (the open cluster that kept one shut),
    both -1 before.
    """
    out = np.empty(index.place.size, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    for c in order:
        found = ball(index, space, centre[c], radius[c], stack, out)
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

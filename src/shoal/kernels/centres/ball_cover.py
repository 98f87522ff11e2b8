"""How few balls of one radius can hold all rows: shares of rows, of which no ball bears more than 1.

So many balls as the shares sum to, rounded up, are needed at least. Shares and balls are the two sides of a
linear program. Some rows that are hard to cover have shares, others none, until balls that cover those
leave them uncovered; some balls are looked at, others when they bear too much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.cuts import CutPool
from shoal.kernels.bound.steps import take_steps
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart_from
from shoal.kernels.threads import over_rows

__all__ = ["Cover", "far_rows", "least_cover", "share_out"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FIRST, ROOM = 300, 30_000_000
"""Rows that have shares at first, and pairs of such rows and centres that may be looked at at a time."""
STEPS, PACE, ROUNDS = 40, 0.5, 60
"""Primal-dual steps between two looks at all balls, how far shares go in one, and looks at most."""
PRICED, MORE, APART = 4, 80, 0.25
"""Looks from one search for rows left uncovered to the next, how many get shares then, and which part of
the radius these are apart at least."""
OVER, UNDER, SURE = 1e-3, 0.97, 1e-6
"""Balls that bear so much more than 1 are looked at from now on; rows covered by less than UNDER are left
uncovered; what shares must exceed the number of balls by."""


UNCOVERED = -2
"""Of a row that no ball holds."""


class Cover(NamedTuple):
    """The linear program of a ball cover: rows with shares, the shares, and whether these are enough."""

    rows: Rows
    share: Floats
    enough: bool


def far_rows(space: Any, rows: Rows, many: int) -> Rows:
    """Some rows that are hard to cover: each is the farthest from those before."""
    short = short_axes(space)
    table, away, near = np.empty(short[-1] + 1), np.empty(rows.size), np.full(rows.size, np.inf)
    chosen = [int(rows[0])]
    while len(chosen) <= min(many, rows.size):
        apart_from(space, chosen[-1], rows, short, table, away)
        np.minimum(near, away, out=near)
        chosen.append(int(rows[near.argmax()]))
    return np.unique(np.array(chosen[1:], dtype=np.int32))


def least_cover(
    space: Any, count: Counts, reach: Floats, most: int, ends: tuple[float, float], halvings: int
) -> tuple[float, NDArray[np.float32]] | None:
    """The widest radius found at which more than `most` balls are needed to cover all, and a share per row.

    It is sought between `ends` by halving; a centre needs a `reach` within the radius. None where there is
    no such radius, or no room to look for one.
    """
    alive = np.flatnonzero(count > 0).astype(np.int32)
    many = min(FIRST, ROOM // (4 * alive.size))
    if many <= most:
        return None
    rows = far_rows(space, alive, many)
    low, high = ends
    best = None
    for _ in range(halvings):
        radius = (low + high) / 2
        if not low < radius < high:
            break
        found = share_out(space, rows, alive[reach[alive] <= radius], alive, radius, most)
        rows = found.rows
        if not found.enough:
            high = radius
            continue
        low, best = radius, np.zeros(count.size, dtype=np.float32)
        best[rows] = np.nextafter(found.share.astype(np.float32), np.float32(0))
    return None if best is None else (low, best)


def share_out(space: Any, rows: Rows, centres: Rows, alive: Rows, radius: float, most: int) -> Cover:
    """Shares for `rows`, and for others of those `alive`, that sum to more than `most` if they can.

    No ball of that radius around one of the `centres` bears more than 1.
    """
    near = _near(space, rows, centres, radius)
    share = np.full(rows.size, most / rows.size)
    chosen, part = np.zeros(0, dtype=np.int64), np.zeros(0)
    pace = PACE * most / rows.size
    best = Cover(rows, np.zeros(rows.size), enough=False)
    for number in range(ROUNDS):
        loads, worst = np.empty(centres.size), np.empty(rows.size, dtype=np.int64)
        _weigh(near, share, 1.0 + OVER, loads, worst)
        if (worst == UNCOVERED).any():  # no centre holds the row at all
            return Cover(rows, (worst == UNCOVERED) * (most + 1.0), enough=True)
        chosen, part = _joined(chosen, part, np.unique(worst[worst >= 0]))
        lowered = share.copy()
        broken = np.flatnonzero(loads > 1.0)
        _lower(near, broken[np.argsort(-loads[broken], kind="stable")], lowered)
        if lowered.sum() > best.share.sum():
            best = Cover(rows, lowered, enough=bool(lowered.sum() > most * (1.0 + SURE)))
        if best.enough:
            return best
        if number % PRICED == PRICED - 1:
            covered = _covered(space, centres[chosen], part, alive, radius)
            if 0.0 < part.sum() <= most * covered.min():
                return best  # balls in parts that cover all rows are no more: shares cannot sum to more
            more = _uncovered(space, alive, covered, radius)
            more = more[~np.isin(more, rows)][: max(0, ROOM // centres.size - rows.size)]
            rows = np.concatenate([rows, more])
            near = np.concatenate([near, _near(space, more, centres, radius)])
            share = np.concatenate([share, np.full(more.size, 0.5 * share.mean())])
            idle = (part <= 0.0) & (loads[chosen] < 1.0 - 50 * OVER)
            chosen, part = chosen[~idle], part[~idle]
        pool = _pool(near, chosen, part)
        ones = np.ones(rows.size)
        share, part = take_steps(pool, ones, share, ones, STEPS, pace)
    return best


def _near(space: Any, rows: Rows, centres: Rows, radius: float) -> Flags:
    """Which centres of a ball cover hold which rows."""
    near = np.empty((rows.size, centres.size), dtype=np.bool_)
    short = short_axes(space)

    def work(first: int, last: int) -> None:
        """Some rows."""
        table, away = np.empty(short[-1] + 1), np.empty(centres.size)
        for at in range(first, last):
            apart_from(space, rows[at], centres, short, table, away)
            np.less_equal(away, radius, out=near[at])

    over_rows(rows.size, work, 16)
    return near


def _joined(
    chosen: NDArray[np.int64], part: Floats, more: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Floats]:
    """Balls that are looked at, with others; the parts of these are 0 as yet."""
    both = np.union1d(chosen, more)
    parts = np.zeros(both.size)
    parts[np.searchsorted(both, chosen)] = part
    return both, parts


def _pool(near: Flags, chosen: NDArray[np.int64], part: Floats) -> CutPool:
    """Balls as sets whose shares may sum to 1."""
    inside = np.ascontiguousarray(near[:, chosen].T)
    start = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    row = np.nonzero(inside)[1].astype(np.int32)
    return CutPool(start, row, np.ones(row.size), np.ones(chosen.size), part)


def _covered(space: Any, centres: Rows, part: Floats, alive: Rows, radius: float) -> Floats:
    """By how much the parts of balls cover each row."""
    short = short_axes(space)
    table, away, covered = np.empty(short[-1] + 1), np.empty(alive.size), np.zeros(alive.size)
    for at in np.flatnonzero(part > 0.0):
        apart_from(space, centres[at], alive, short, table, away)
        covered += np.where(away <= radius, part[at], 0.0)
    return covered


def _uncovered(space: Any, alive: Rows, covered: Floats, radius: float) -> Rows:
    """Some rows that a cover leaves, the least covered first, apart from one another."""
    order = np.argsort(covered, kind="stable")
    left = alive[order[covered[order] < UNDER]]
    found: list[int] = []
    short = short_axes(space)
    table = np.empty(short[-1] + 1)
    while left.size and len(found) < MORE:
        found.append(int(left[0]))
        away = np.empty(left.size)
        apart_from(space, left[0], left, short, table, away)
        left = left[away > APART * radius]
    return np.array(found, dtype=np.int32)


@entry
def _weigh(near, share, limit, loads, worst):
    """What each ball of a cover bears, and the worst of each row's, -1 where none bears too much."""
    loads[:] = 0.0
    for s in range(share.size):
        if share[s] > 0.0:
            for c in range(loads.size):
                if near[s, c]:
                    loads[c] += share[s]
    for s in range(share.size):
        worst[s] = UNCOVERED
        most = limit
        for c in range(loads.size):
            if near[s, c]:
                worst[s] = max(worst[s], -1)
                if loads[c] > most:
                    most = loads[c]
                    worst[s] = c


@entry
def _lower(near, balls, share):
    """Lower shares until no ball of a cover bears more than 1: they are multiplied by what it may bear."""
    for c in balls:
        load = 0.0
        for s in range(share.size):
            if near[s, c]:
                load += share[s]
        if load > 1.0:
            for s in range(share.size):
                if near[s, c]:
                    share[s] /= load

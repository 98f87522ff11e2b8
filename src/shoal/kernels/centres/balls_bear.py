"""Whether every ball can bear its shares; the search for them has no part in this check."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.sort import sort_by
from shoal.kernels.bound.heaviest import insert, mean_of
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart_from
from shoal.kernels.threads import over_rows

__all__ = ["all_balls_bear"]

RINGS = 64


class RingRoom(NamedTuple):
    """Room to look at the balls of one row."""

    short: NDArray[np.int64]
    table: NDArray[np.float64]
    away: NDArray[np.float64]
    far: NDArray[np.float64]
    member: NDArray[np.int32]
    after: NDArray[np.int64]
    head: NDArray[np.int64]
    best: NDArray[np.float64]
    times: NDArray[np.int64]


def all_balls_bear(
    space: Any, count: NDArray[np.int64], k: int, share: NDArray[np.float64], tolerance: float
) -> bool:
    """Whether in every ball of at least k records the mean of the k largest shares is at most its radius.

    It may be more by the part `tolerance`. Balls stand around every row with records.
    """
    rows = np.flatnonzero(count > 0).astype(np.int32)
    held, its, short = count[rows], np.ascontiguousarray(share[rows]), short_axes(space)
    bears = np.zeros(rows.size, dtype=np.bool_)

    def work(first: int, last: int) -> None:
        """The balls of some rows."""
        room = RingRoom(
            short,
            np.empty(short[-1] + 1),
            np.empty(rows.size),
            np.empty(rows.size),
            np.empty(rows.size, dtype=np.int32),
            np.empty(rows.size, dtype=np.int64),
            np.empty(RINGS, dtype=np.int64),
            np.empty((2, k + 1)),
            np.empty((2, k + 1), dtype=np.int64),
        )
        _bear(space, rows, held, its, k, 1.0 + tolerance, first, last, room, bears)

    over_rows(rows.size, work)
    return bool(bears.all())


@entry
def _bear(space, rows, count, share, k, slack, first, last, room, bears):
    """Whether the balls around some rows bear their shares: the loop of the check `all_balls_bear`.

    A ball that does not holds a share above its radius. Its rows stand in rings around the centre, and
    a ring is sorted by distance only where all shares up to it are too much for its nearest row.
    """
    away, far, member, after, head = room.away, room.far, room.member, room.after, room.head
    for v in range(first, last):
        apart_from(space, rows[v], rows, room.short, room.table, away)
        bears[v] = True
        top = 0.0
        for i in range(rows.size):
            if share[i] > away[i]:
                top = max(top, share[i])
        if top == 0.0:
            continue
        head[:] = -1
        for i in range(rows.size):
            if away[i] < top:
                ring = min(RINGS - 1, int(RINGS * (away[i] / top)))
                after[i] = head[ring]
                head[ring] = i
        used, total = 0, 0
        for ring in range(RINGS):
            inner_used, inner_total = used, total
            room.best[1, :used] = room.best[0, :used]
            room.times[1, :used] = room.times[0, :used]
            many = 0
            low = np.inf
            i = head[ring]
            while i >= 0:
                member[many] = i
                far[many] = away[i]
                low = min(low, away[i])
                many += 1
                used, total = insert(room.best[0], room.times[0], used, total, share[i], count[i], k)
                i = after[i]
            if total < k or many == 0 or mean_of(room.best[0], room.times[0], used, k) <= low * slack:
                continue
            sort_by(far, member, many)
            for p in range(many):
                i = member[p]
                inner_used, inner_total = insert(
                    room.best[1], room.times[1], inner_used, inner_total, share[i], count[i], k
                )
                if inner_total < k or (p + 1 < many and far[p + 1] == far[p]):
                    continue
                if mean_of(room.best[1], room.times[1], inner_used, k) > far[p] * slack:
                    bears[v] = False

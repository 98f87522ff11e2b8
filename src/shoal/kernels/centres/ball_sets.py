"""Balls that bear too much: the worst of each centre, as sets of k records, and shares that are lowered.

In every ball that holds k records the k largest shares may sum to k times its radius. For one centre
rows are put into shells by their distance; only the shells in which a ball may bear too much are sorted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.sort import sort_by
from shoal.kernels.bound.cuts import CutPool
from shoal.kernels.bound.largest import TINY, put
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart_from, radii
from shoal.kernels.threads import over_rows

__all__ = [
    "BallTable",
    "Broken",
    "Near",
    "group_balls",
    "lower_in_balls",
    "rows_near",
    "table_of",
    "worst_balls",
]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

SHELLS = 128
ROOM = 8_000_000
"""Rows near centres that are kept, with their distances."""


class BallTable(NamedTuple):
    """Rows with records, how many they have, and k; all else here is by place among these rows."""

    space: Any
    rows: Rows
    records: Counts
    k: int


class BallRoom(NamedTuple):
    """Room for a look at the balls of one centre."""

    short: Counts
    table: Floats
    away: Floats
    near: Floats
    at: Rows
    shell: Counts
    value: Floats
    many: Counts
    value_before: Floats
    many_before: Counts


def table_of(space: Any, count: Counts, k: int) -> BallTable:
    """A table as a search for balls sees it."""
    rows = np.flatnonzero(count > 0).astype(np.int32)
    return BallTable(space, rows, count[rows], k)


def _scratch(its: BallTable) -> BallRoom:
    """Room to look at the balls of a centre."""
    short, n, k = short_axes(its.space), its.rows.size, its.k
    return BallRoom(
        short,
        np.empty(short[-1] + 1),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.int32),
        np.empty(SHELLS + 1, dtype=np.int64),
        np.empty(k + 2),
        np.empty(k + 2, dtype=np.int64),
        np.empty(k + 2),
        np.empty(k + 2, dtype=np.int64),
    )


class Broken(NamedTuple):
    """The worst balls of some centres: sets of k records, what each bears beyond its own, its radius."""

    cuts: CutPool
    over: Floats
    centre: Counts
    radius: Floats


class Near(NamedTuple):
    """Rows around some centres, nearest first: those of the f-th from `start[f]` to `start[f + 1]`."""

    centre: Counts
    start: Counts
    row: Rows
    far: Floats


def worst_balls(its: BallTable, share: Floats, slack: float, near: Near | None = None) -> Broken:
    """The worst ball of each centre that has one which bears too much; of all centres, or as `near` tells.

    Those that exceed k times their radius by less than the part `slack` are left out.
    """
    centre = np.arange(its.rows.size) if near is None else near.centre
    most = min(its.k, its.rows.size)
    row, amount = np.empty((centre.size, most), dtype=np.int32), np.empty((centre.size, most))
    size = np.zeros(centre.size, dtype=np.int64)
    limit, over, radius = np.empty(centre.size), np.empty(centre.size), np.empty(centre.size)

    def work(first: int, last: int) -> None:
        """Some centres."""
        part = slice(first, last)
        words = (row[part], amount[part], size[part], limit[part], over[part], radius[part])
        if near is None:
            _cut(its, _scratch(its), share, slack, centre[part], *words)
        else:
            value, many = np.empty(its.k + 2), np.empty(its.k + 2, dtype=np.int64)
            start = near.start[first : last + 1]
            _cut_near(its, start, near.row, near.far, share, slack, value, many, *words)

    over_rows(centre.size, work, 64)
    found = size > 0
    inside = np.arange(most) < size[:, None]
    start = np.concatenate([[0], np.cumsum(size[found])])
    cuts = CutPool(start, row[inside], amount[inside], limit[found], np.zeros(start.size - 1))
    return Broken(cuts, over[found], centre[found], radius[found])


def rows_near(its: BallTable, centre: Counts, radius: Floats) -> Near:
    """The rows within a radius of each of these centres of balls, each its own; shortest lists, if many."""
    size = np.zeros(centre.size, dtype=np.int64)
    start = np.zeros(centre.size + 1, dtype=np.int64)
    row, far = np.empty(0, dtype=np.int32), np.empty(0)

    def work(first: int, last: int) -> None:
        """Some centres."""
        _list(its, _scratch(its), centre, radius, first, last, size, start, row, far)

    over_rows(centre.size, work, 64)
    if int(size.sum()) > ROOM:
        shortest = np.argsort(size, kind="stable")
        some = np.sort(shortest[np.cumsum(size[shortest]) <= ROOM])
        centre, radius, size, start = centre[some], radius[some], size[some], start[: some.size + 1]
    np.cumsum(size, out=start[1:])
    row, far = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
    if row.size:
        over_rows(centre.size, work, 64)
    return Near(centre, start, row, far)


def lower_in_balls(its: BallTable, share: Floats) -> tuple[Floats, Broken]:
    """The shares, lowered until every ball bears its k largest, and the balls that did not before.

    A lower share breaks no ball, so centres whose balls hold at first need no second look.
    """
    lowered = np.where(share < TINY, 0.0, share)
    broken = worst_balls(its, lowered, 0.0)
    _lower(its, _scratch(its), lowered, broken.centre[np.argsort(-broken.over, kind="stable")])
    return lowered, broken


def group_balls(its: BallTable, distinct: Rows, group: Rows, count: Counts, centre: Rows) -> CutPool:
    """Every group of a release as a set of records that bears its size times its radius."""
    kept = group >= 0
    order = np.lexsort((distinct[kept], group[kept]))
    row, group_of, amount = distinct[kept][order], group[kept][order], count[kept][order].astype(np.float64)
    start = np.flatnonzero(np.r_[True, group_of[1:] != group_of[:-1], True])
    limit = radii(its.space, row, group_of, centre) * np.add.reduceat(amount, start[:-1])
    return CutPool(
        start, np.searchsorted(its.rows, row).astype(np.int32), amount, limit, np.ones(limit.size)
    )


@inner
def _worst(its, room, share, slack, v):
    """The worst ball of a centre: its radius, or below 0, and what it bears beyond its own."""
    rows, count, k = its.rows, its.records, its.k
    away, near, at, shell, value, many = room.away, room.near, room.at, room.shell, room.value, room.many
    apart_from(its.space, rows[v], rows, room.short, room.table, away)
    widest = 0.0  # a ball that bears too much holds a share above its radius
    for i in range(rows.size):
        if share[i] > widest and share[i] > away[i]:
            widest = share[i]
    if widest == 0.0:
        return -1.0, 0.0
    shell[:] = 0
    for i in range(rows.size):
        if away[i] < widest:
            shell[min(SHELLS - 1, int(SHELLS * (away[i] / widest))) + 1] += 1
    for s in range(SHELLS):
        shell[s + 1] += shell[s]
    # `shell[s]` is where the next row of a shell goes, and in the end where the next shell begins
    for i in range(rows.size):
        if away[i] < widest:
            s = min(SHELLS - 1, int(SHELLS * (away[i] / widest)))
            at[shell[s]] = i
            near[shell[s]] = away[i]
            shell[s] += 1
    size, total, worth = 0, 0, 0.0
    radius, over = -1.0, 0.0
    begin = 0
    for s in range(SHELLS):
        end = shell[s]
        if end == begin:
            continue
        size_before, total_before, worth_before = size, total, worth
        for t in range(size):
            room.value_before[t] = value[t]
            room.many_before[t] = many[t]
        least = np.inf
        for p in range(begin, end):
            least = min(least, near[p])
            size, total, worth = put(value, many, size, total, worth, share[at[p]], count[at[p]], k)
        if total >= k:
            bears = worth - (total - k) * value[0]
            if bears - k * least * (1.0 + slack) > over:
                size, total, worth = size_before, total_before, worth_before
                for t in range(size):
                    value[t] = room.value_before[t]
                    many[t] = room.many_before[t]
                sort_by(near[begin:end], at[begin:end], end - begin)
                for p in range(begin, end):
                    size, total, worth = put(value, many, size, total, worth, share[at[p]], count[at[p]], k)
                    if total < k or (p + 1 < end and near[p + 1] == near[p]):
                        continue
                    beyond = worth - (total - k) * value[0] - k * near[p] * (1.0 + slack)
                    if beyond > over:
                        over = beyond
                        radius = near[p]
        begin = end
    return radius, over


@inner
def _largest(its, room, share, radius):
    """In a ball: the least of its k largest shares, how many records of it count, and the sum of all k."""
    size, total, worth = 0, 0, 0.0
    for i in range(its.rows.size):
        if room.away[i] <= radius:
            size, total, worth = put(
                room.value, room.many, size, total, worth, share[i], its.records[i], its.k
            )
    least = room.value[0]
    left = its.k
    for i in range(its.rows.size):
        if room.away[i] <= radius and share[i] > least:
            left -= its.records[i]
    return least, left, worth - (total - its.k) * least


@inner
def _write(its, share, i, far, least, left, f, row, amount, size, limit):
    """Write a row of a ball into its set: all above the k-th share, some equal to it; how many are left."""
    if share[i] < least or (share[i] == least and left <= 0):
        return left
    records = its.records[i]
    if share[i] == least:
        records = min(left, records)
        left -= records
    row[f, size[f]] = i
    amount[f, size[f]] = records
    size[f] += 1
    limit[f] = max(limit[f], its.k * far)
    return left


@entry
def _cut(its, room, share, slack, centres, row, amount, size, limit, over, radius):
    """Write the set of each centre's worst ball: its rows, amounts and limit; size 0 where none breaks."""
    for f in range(centres.size):
        size[f] = 0
        radius[f], over[f] = _worst(its, room, share, slack, centres[f])
        if radius[f] < 0.0:
            continue
        least, left, _ = _largest(its, room, share, radius[f])
        limit[f] = 0.0
        for i in range(its.rows.size):
            if room.away[i] <= radius[f]:
                left = _write(its, share, i, room.away[i], least, left, f, row, amount, size, limit)


@entry
def _list(its, room, centres, radius, first, last, size, start, row, far):
    """Count, and where there is room write, the rows near each centre of a ball, nearest first."""
    fill = row.size > 0
    for f in range(first, last):
        apart_from(its.space, its.rows[centres[f]], its.rows, room.short, room.table, room.away)
        found = 0
        for i in range(its.rows.size):
            if room.away[i] <= radius[f]:
                room.near[found] = room.away[i]
                room.at[found] = i
                found += 1
        size[f] = found
        if fill:
            sort_by(room.near, room.at, found)
            for p in range(found):
                row[start[f] + p] = room.at[p]
                far[start[f] + p] = room.near[p]


@entry
def _cut_near(its, start, rows, far, share, slack, value, many, row, amount, size, limit, over, radius):
    """Write the set of each centre's worst ball of those that its list of near rows holds."""
    k = its.k
    for f in range(size.size):
        size[f] = 0
        over[f] = 0.0
        heap, total, worth = 0, 0, 0.0
        end = -1
        least = 0.0
        for p in range(start[f], start[f + 1]):
            i = rows[p]
            heap, total, worth = put(value, many, heap, total, worth, share[i], its.records[i], k)
            if total < k or (p + 1 < start[f + 1] and far[p + 1] == far[p]):
                continue
            beyond = worth - (total - k) * value[0] - k * far[p] * (1.0 + slack)
            if beyond > over[f]:
                over[f] = beyond
                end = p + 1
                least = value[0]
        if end < 0:
            continue
        radius[f] = far[end - 1]
        limit[f] = 0.0
        left = k
        for p in range(start[f], end):
            if share[rows[p]] > least:
                left -= its.records[rows[p]]
        for p in range(start[f], end):
            left = _write(its, share, rows[p], far[p], least, left, f, row, amount, size, limit)


@entry
def _lower(its, room, share, centres):
    """Lower shares: the largest of a centre's worst ball are multiplied by what it bears, until none is."""
    for v in centres:
        while True:
            radius, _ = _worst(its, room, share, 0.0, v)
            if radius < 0.0:
                break
            least, _, worth = _largest(its, room, share, radius)
            # sums are rounded in another order here: less in any case, so that this does not go on for ever
            part = min(its.k * radius / worth, 1.0) * (1.0 - 1e-12)
            for i in range(its.rows.size):
                if room.away[i] <= radius and share[i] >= least:
                    share[i] = share[i] * part if share[i] * part >= TINY else 0.0

"""Who stands near whom, in any distance of `kernels/distance/rows.py`: exact, without an n x n matrix.

Queries are rows of the table, and each writes its own slot: the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.lookup import push_nearer_first, short_axes
from shoal.kernels.distance.rows import GIVEN, apart, apart_from
from shoal.kernels.neighbours.box_tree import (
    AIR,
    Index,
    ball,
    face,
    far_at,
    key_at,
    key_of,
    least_key,
    sight_of,
    sweep,
    tally,
)
from shoal.kernels.threads import over_rows

__all__ = ["best_centres", "count_within", "crowds", "list_within", "nearest", "reach_distances", "shell"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

TINY = 1e-300
NO_ROWS = np.zeros(0, dtype=np.int32)
WIDE, ASKED = 0.02, 32
"""Balls that hold so many of all rows, of those asked: one row against all is faster than a tree there."""


def reach_distances(index: Index, space: Any, count: Counts, k: int) -> Floats:
    """For each row the exact least distance with k records in it, itself included; 0 without records."""
    return crowds(index, space, count, k)[0]


def crowds(index: Index, space: Any, count: Counts, k: int) -> tuple[Floats, Counts]:
    """The exact least distance that holds k records, per row, and how many stand within it: k or more."""
    reach, records = np.zeros(count.size), np.zeros(count.size, dtype=np.int64)

    def work(first: int, last: int) -> None:
        """Some rows of the index."""
        near, many = np.empty(k + 2), np.empty(k + 2, dtype=np.int64)
        _reach(index, space, sight_of(index, space), first, last, k, near, many, reach, records)

    over_rows(index.place.size, work)
    return reach, records


def count_within(index: Index, space: Any, rows: Rows, radius: float) -> Counts:
    """Exact neighbours: for each of `rows` the records of the index within `radius`."""
    records = np.zeros(rows.size, dtype=np.int64)
    wide = rows.size > ASKED and _is_wide(index, space, radius)
    short = short_axes(space)

    def work(first: int, last: int) -> None:
        if wide:
            away, table = np.empty(index.place.size), np.empty(short[-1] + 1)
            _count_all(
                space, index.place, index.count, first, last, rows, radius, short, table, away, records
            )
            return
        _count(index, space, sight_of(index, space), first, last, rows, float(radius), records)

    over_rows(rows.size, work)
    return records


def _is_wide(index: Index, space: Any, radius: float) -> bool:
    """Whether a ball of an exact search holds so much that all rows may as well be looked at."""
    some = index.place[:: max(1, -(-index.place.size // ASKED))]
    held = int(count_within(index, space, some, radius).sum())
    return bool(held >= WIDE * some.size * int(index.records[0]))


def list_within(index: Index, space: Any, rows: Rows, radius: Floats) -> tuple[Counts, Rows]:
    """Exact neighbours: for each of `rows` the rows of the index within its own `radius`, in order.

    Returns starts and rows: those of query q are rows[starts[q] : starts[q + 1]]. Memory is that of the
    answer: ask in blocks where it may be large.
    """
    found = np.zeros(rows.size, dtype=np.int64)
    starts = np.zeros(rows.size + 1, dtype=np.int64)
    out = NO_ROWS

    def work(first: int, last: int) -> None:
        near = np.empty(index.place.size, dtype=np.int32)
        _list(index, space, sight_of(index, space), first, last, rows, radius, near, found, starts, out)

    over_rows(rows.size, work)
    np.cumsum(found, out=starts[1:])
    if starts[-1]:
        out = np.empty(starts[-1], dtype=np.int32)
        over_rows(rows.size, work)
        out = out[np.lexsort((out, np.repeat(np.arange(rows.size), found)))]
    return starts, out


def nearest(index: Index, space: Any, rows: Rows, most: Floats | None = None) -> tuple[Rows, Floats]:
    """For each of `rows` exactly the nearest row of the index, of equals the first, and its distance.

    Where none is within `most`, if that is given, -1 and `most`.
    """
    return best_centres(index, space, np.zeros(int(index.place.max()) + 1), rows, most)


def best_centres(
    index: Index, space: Any, price: Floats, rows: Rows, most: Floats | None = None
) -> tuple[Rows, Floats]:
    """For each of `rows` the row c with exactly the least max(distance, price[c]), and that value.

    Where nothing is at most `most`, if that is given, -1 and `most`.
    """
    prices = price[index.place]
    cheapest = np.empty(index.start.size)
    _cheapest(index, prices, cheapest)
    chosen = np.empty(rows.size, dtype=np.int32)
    least = np.full(rows.size, np.inf) if most is None else most.copy()

    def work(first: int, last: int) -> None:
        sight = sight_of(index, space)
        _least(index, space, sight, first, last, prices, cheapest, rows, chosen, least)

    over_rows(rows.size, work)
    return chosen, least


def shell(index: Index, space: Any, low: float, high: float, most: int) -> Floats | None:
    """The exact, distinct distances above `low` up to `high`; None for more than `most` pairs."""
    many = np.zeros(index.place.size, dtype=np.int64)
    starts, out = many, np.zeros(0)
    wide, short = _is_wide(index, space, high), short_axes(space)

    def work(first: int, last: int) -> None:
        ends = (first, last, float(low), float(high))
        if wide:
            away, table = np.empty(many.size), np.empty(short[-1] + 1)
            _pairs(space, index.place, *ends, short, table, away, many, starts, out)
            return
        near = np.empty(index.place.size, dtype=np.int32)
        _shell(index, space, sight_of(index, space), *ends, near, many, starts, out)

    over_rows(many.size, work)
    if int(many.sum()) > (most if wide else 2 * most):
        return None
    starts, out = np.cumsum(many) - many, np.empty(int(many.sum()))
    if out.size:
        over_rows(many.size, work)
    return np.unique(out)


@entry
def _count(index, space, sight, first, last, rows, radius, out):
    """Exact neighbours: how many records stand within a radius of each row."""
    for q in range(first, last):
        out[q] = tally(index, space, sight, rows[q], radius, index.count, index.records)


@entry
def _count_all(space, place, count, first, last, rows, radius, short, table, away, out):
    """The same exact count, every row looked at."""
    for q in range(first, last):
        apart_from(space, rows[q], place, short, table, away)
        held = 0
        for p in range(place.size):
            if away[p] <= radius:
                held += count[p]
        out[q] = held


@entry
def _list(index, space, sight, first, last, rows, radius, near, found, starts, out):
    """Exact neighbours: count, and where `out` has room write, the rows within the radius of each row."""
    fill = out.size > 0
    for q in range(first, last):
        found[q] = ball(index, space, sight, rows[q], radius[q], near)
        if fill:
            for at in range(found[q]):
                out[starts[q] + at] = near[at]


@inner
def _keep(near, many, kept, far, count):
    """Add a row to the heap of the nearest kept in an exact search, the farthest first."""
    at = kept
    while at > 0 and near[(at - 1) // 2] < far:
        near[at] = near[(at - 1) // 2]
        many[at] = many[(at - 1) // 2]
        at = (at - 1) // 2
    near[at] = far
    many[at] = count


@inner
def _drop_farthest(near, many, kept):
    """Take the farthest out of the heap of an exact search; `kept` is how many there are then."""
    far = near[kept]
    count = many[kept]
    at = 0
    child = 1
    while child < kept:
        if child + 1 < kept and near[child + 1] > near[child]:
            child += 1
        if near[child] <= far:
            break
        near[at] = near[child]
        many[at] = many[child]
        at = child
        child = 2 * at + 1
    near[at] = far
    many[at] = count


@entry
def _reach(index, space, sight, first, last, k, near, many, out, records):
    """Exact answers from the tree of boxes: how far the k-th nearest record is, and how many within."""
    kind, all_codes, all_points = space.kind, space.codes, sight.points
    codes, points, place, count = index.codes, index.points, index.place, index.count
    start, end, child, low, high = index.start, index.end, index.child, index.low, index.high
    starts, table, stack, bounds = sight.starts, sight.table, sight.stack, sight.bounds
    for q in range(first, last):
        i = place[q]
        face(space, sight, i)
        query, point = all_codes[i], all_points[i]
        kept = 0
        held = 0
        ties = 0  # records as far as the farthest that is kept, but not kept
        worst = np.inf
        if q > first and kind != GIVEN:  # what is around the row before is not much farther from this one
            worst = (out[place[q - 1]] + apart(space, i, place[q - 1])) * (1 + AIR) + TINY
        limit = key_of(kind, worst, AIR)
        stack[0] = 0
        bounds[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            if bounds[top] > limit:
                continue
            node = stack[top]
            if child[node] >= 0:
                node = child[node]
                left = least_key(space, kind, query, point, low, high, node, starts, table)
                right = least_key(space, kind, query, point, low, high, node + 1, starts, table)
                push_nearer_first(node, left, right, stack, bounds, top)
                top += 2
                continue
            for at in range(start[node], end[node]):
                key = key_at(space, kind, i, query, point, codes, points, place, at, starts, table)
                if key > limit:
                    continue
                far = far_at(kind, point, points, at, key)
                if far >= worst:
                    if far == worst:
                        ties += count[at]
                    continue
                _keep(near, many, kept, far, count[at])
                kept += 1
                held += count[at]
                if held < k:
                    continue
                before = worst
                while held - many[0] >= k:  # the farthest is not needed any more
                    if near[0] < worst:
                        worst = near[0]
                        ties = 0
                    ties += many[0]
                    held -= many[0]
                    kept -= 1
                    _drop_farthest(near, many, kept)
                if near[0] < worst:
                    worst = near[0]
                    ties = 0
                if worst < before:
                    limit = key_of(kind, worst, AIR)
        out[i] = worst
        records[i] = held + ties


@entry
def _cheapest(index, price, out):
    """For an exact search by price: the least price in each node; `price` is by the index's rows."""
    for node in range(index.start.size - 1, -1, -1):
        if index.child[node] >= 0:
            out[node] = min(out[index.child[node]], out[index.child[node] + 1])
            continue
        out[node] = np.inf
        for at in range(index.start[node], index.end[node]):
            out[node] = min(out[node], price[at])


@entry
def _least(index, space, sight, first, last, price, cheapest, rows, chosen, least):
    """Exact search by price: for each row the first row c with the least max(distance, price[c])."""
    kind, all_codes, all_points = space.kind, space.codes, sight.points
    codes, points, place = index.codes, index.points, index.place
    start, end, child, low, high = index.start, index.end, index.child, index.low, index.high
    starts, table, stack, bounds = sight.starts, sight.table, sight.stack, sight.bounds
    for q in range(first, last):
        i = rows[q]
        face(space, sight, i)
        query, point = all_codes[i], all_points[i]
        best = least[q]
        limit = key_of(kind, best, AIR)
        its = np.int32(-1)
        stack[0] = 0
        bounds[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            # not >=: an equal value may belong to an earlier row
            if bounds[top] > limit or cheapest[node] > best:
                continue
            if child[node] >= 0:
                node = child[node]
                left = least_key(space, kind, query, point, low, high, node, starts, table)
                right = least_key(space, kind, query, point, low, high, node + 1, starts, table)
                push_nearer_first(node, left, right, stack, bounds, top)
                top += 2
                continue
            for at in range(start[node], end[node]):
                if price[at] > best:
                    continue
                key = key_at(space, kind, i, query, point, codes, points, place, at, starts, table)
                if key > limit:
                    continue
                value = max(far_at(kind, point, points, at, key), price[at])
                if value < best or (value == best and (its < 0 or place[at] < its)):
                    best = value
                    its = place[at]
                    limit = key_of(kind, best, AIR)
        chosen[q] = its
        least[q] = best


@entry
def _shell(index, space, sight, first, last, low, high, near, many, starts, out):
    """Exact distances: count, and where `out` has room write, those above low and at most high, per row."""
    fill = out.size > 0
    nearer = key_of(space.kind, low, -AIR)
    for q in range(first, last):
        i = index.place[q]
        found = 0
        for p in range(sweep(index, space, sight, i, high, nearer, index.count, index.records, near)):
            far = apart(space, i, index.place[near[p]])
            if far > low:
                if fill:
                    out[starts[q] + found] = far
                found += 1
        many[q] = found


@entry
def _pairs(space, place, first, last, low, high, short, table, away, many, starts, out):
    """The same exact distances, of each row to those after it: every pair is looked at."""
    fill = out.size > 0
    for q in range(first, last):
        after = place[q + 1 :]
        apart_from(space, place[q], after, short, table, away)
        found = 0
        for p in range(after.size):
            if low < away[p] <= high:
                if fill:
                    out[starts[q] + found] = away[p]
                found += 1
        many[q] = found

"""Rows go to other groups, or change places, where all together then lose less.

Only rows of groups that are wider than their rows begin; whom they change places with may be anybody. Rows
take turns: those of one turn all look for their best exchange among groups as they are, on many threads,
and then exchange one after the other, each unless a group of its exchange has just changed. It looks again
when its turn comes. So the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.standing.held import Present, may_show
from shoal.kernels.standing.least import (
    close_box,
    floors_of,
    least_box,
    mend_box,
    price_of,
    price_of_box,
    price_with,
    room_for,
)
from shoal.kernels.threads import over_rows

__all__ = ["exchange_rows"]

LARGE = 256
"""Groups of more rows are left as they are: copies of one point, as a rule."""
COPIES = 3
"""Rows of one point that one may change places with."""
LITTLE = 1e-9
TURNS = 16
"""Turns in which all rows look once."""


class _Changing(NamedTuple):
    """Groups while rows change places.

    By group: its box `low`..`high`, its rows (`size`, and the first of them, `head`), its `price` and when
    it has `changed`. By row: its group (`label`), the next row of it (`chain`), and what it loses at least
    (`floor`).
    """

    low: Any
    high: Any
    size: Any
    head: Any
    price: Any
    changed: Any
    label: Any
    chain: Any
    floor: Any


class _Choice(NamedTuple):
    """The best exchange of each row of a turn: to which `group`, -1 for none, for which `row` or none.

    And the boxes of both groups afterwards, as their ends.
    """

    group: Any
    row: Any
    mine: Any
    theirs: Any


def exchange_rows(
    metric: Any,
    present: Present,
    rows: NDArray[np.int64],
    near: NDArray[np.int32],
    label: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    k: int,
    passes: int,
) -> NDArray[np.int64]:
    """Labels after `rows` have moved, or changed places with rows of their `near` points, where that gains.

    `near` has the places of points near each of `rows`; `label` is each row's group, `low` and `high` the
    groups' boxes.
    """
    size = np.bincount(label, minlength=len(low))
    head, chain = _chains(label, len(low))
    groups = _Changing(
        *(low.copy(), high.copy(), size, head, price_of(metric, low, high)),
        *(np.zeros(len(low), np.int64), label.copy(), chain, floors_of(metric, present, k)),
    )
    moved: NDArray[np.int64] = groups.label
    looked = np.full(rows.size, -1, np.int64)
    clock = 0
    for _ in range(passes):
        before = clock
        for turn in range(TURNS):
            many = len(range(turn, rows.size, TURNS))
            best = _Choice(
                *(np.empty(many, np.int64), np.empty(many, np.int64)),
                *(np.empty((many, 2, low.shape[1]), np.int32) for _ in range(2)),
            )

            def work(
                first: int, last: int, turn: int = turn, best: _Choice = best, now: int = clock
            ) -> None:
                _look(metric, present, rows, near, groups, looked, k, now, turn, best, first, last)

            over_rows(many, work)
            clock = _exchange(metric, groups, rows[turn::TURNS], best, clock)
        if clock == before:
            break
    return moved


@entry
def _chains(label, groups):
    """The first row of each group, and the next one after each row."""
    head = np.full(groups, -1, np.int64)
    chain = np.full(label.size, -1, np.int64)
    for row in range(label.size - 1, -1, -1):
        chain[row] = head[label[row]]
        head[label[row]] = row
    return head, chain


@inner
def _others(groups, group, without, out):
    """Write the rows of a group without one of them; how many, and the highest floor among them."""
    count = 0
    floor = 0.0
    row = groups.head[group]
    while row >= 0:
        if row != without:
            out[count] = row
            count += 1
            floor = max(floor, groups.floor[row])
        row = groups.chain[row]
    return count, floor


@inner
def _take_out(groups, group, row):
    """Take a row out of the chain of its group."""
    at = groups.head[group]
    if at == row:
        groups.head[group] = groups.chain[row]
        return
    while groups.chain[at] != row:
        at = groups.chain[at]
    groups.chain[at] = groups.chain[row]


@inner
def _put_in(groups, group, row):
    """Put a row into the chain of a group."""
    groups.chain[row] = groups.head[group]
    groups.head[group] = row
    groups.label[row] = group


@inner
def _around(points, rows, count, low, high):
    """Write the box around rows, whatever was shown of them. Closing it would not change its price."""
    for axis in range(low.size):
        least = most = points[rows[0], axis]
        for at in range(1, count):
            x = points[rows[at], axis]
            least, most = min(least, x), max(most, x)
        low[axis], high[axis] = least, most


@inner
def _is_news(present, groups, near, g, last):
    """Whether a row's group or one near it has changed since it looked."""
    if groups.changed[g] > last:
        return True
    for place in near:
        if place < 0:
            break
        begin = present.first[place]
        for j in range(begin, min(present.first[place + 1], begin + COPIES)):
            if groups.changed[groups.label[j]] > last:
                return True
    return False


@entry
def _look(metric, present, rows, near, groups, looked, k, now, turn, best, first, last):
    """Write the best exchange of some rows of a turn; who has nothing new to look at has none."""
    axes = groups.low.shape[1]
    room = room_for(present)
    stack, cut_low, cut_high = room[0], room[1], room[2]
    mine = np.empty(LARGE + 1, np.int64)
    theirs = np.empty(LARGE + 1, np.int64)
    tried = np.empty(near.shape[1] * COPIES, np.int64)
    left = np.empty((2, axes), np.int32)  # without the row
    rest = np.empty((2, axes), np.int32)  # the same, whatever was shown of them
    one = np.empty((2, axes), np.int32)
    other = np.empty((2, axes), np.int32)
    low, high, size, price, points = groups.low, groups.high, groups.size, groups.price, present.points
    for line in range(first, last):
        at = turn + line * TURNS
        i = rows[at]
        g = groups.label[i]
        best.group[line] = best.row[line] = -1
        if price[g] == 0.0 or size[g] > LARGE or not _is_news(present, groups, near[at], g, looked[at]):
            continue
        of_all = groups.changed[g] > looked[at]  # else only groups that have changed since can gain now
        when, looked[at] = looked[at], now
        count, its_floor = _others(groups, g, i, mine)
        lost = size[g] * price[g]
        _around(points, mine, count, rest[0], rest[1])
        can_leave = size[g] > k
        gained = 0.0
        if can_leave:
            its, _ = least_box(metric, present, mine, count, left[0], left[1], k, np.inf, room)
            gained = lost - count * its
        most = LITTLE
        looks = 0
        for place in near[at]:
            if place < 0:
                break
            begin = present.first[place]
            for j in range(begin, min(present.first[place + 1], begin + COPIES)):
                h = groups.label[j]
                if h == g or not (of_all or groups.changed[h] > when):
                    continue
                known = False
                for look in range(looks):
                    if tried[look] == h:
                        known = True
                        break
                if not known:
                    tried[looks] = h
                    looks += 1
                if can_leave and not known:
                    its = max(price_with(metric, points, i, low[h], high[h]), groups.floor[i])
                    if gained - size[h] * (its - price[h]) - its > most:
                        for axis in range(axes):
                            x = points[i, axis]
                            other[0, axis], other[1, axis] = close_box(
                                metric, axis, min(low[h, axis], x), max(high[h, axis], x)
                            )
                        if not may_show(present, i, other[0], other[1], k, stack, cut_low, cut_high):
                            mend_box(metric, present, i, other[0], other[1], k, room)
                        its = price_of_box(metric, other[0], other[1])
                        gain = gained - size[h] * (its - price[h]) - its
                        if gain > most:
                            most, best.group[line], best.row[line] = gain, h, -1
                            best.mine[line], best.theirs[line] = left, other
                if size[h] > LARGE:
                    continue
                # what both groups lose at least, then just that: as soon as it is too much, no exchange
                own = max(price_with(metric, points, j, rest[0], rest[1]), its_floor, groups.floor[j])
                all_lost = lost + size[h] * price[h] - most
                if size[g] * own + size[h] * groups.floor[i] >= all_lost:
                    continue
                many, floor = _others(groups, h, j, theirs)
                _around(points, theirs, many, other[0], other[1])
                its = max(price_with(metric, points, i, other[0], other[1]), floor, groups.floor[i])
                if size[g] * own + size[h] * its >= all_lost:
                    continue
                theirs[many] = i
                limit = (all_lost - size[g] * own) / size[h]
                its, _ = least_box(metric, present, theirs, many + 1, other[0], other[1], k, limit, room)
                if size[g] * own + size[h] * its >= all_lost:
                    continue
                mine[count] = j
                limit = (all_lost - size[h] * its) / size[g]
                own, _ = least_box(metric, present, mine, count + 1, one[0], one[1], k, limit, room)
                gain = lost + size[h] * price[h] - size[g] * own - size[h] * its
                if gain > most:
                    most, best.group[line], best.row[line] = gain, h, j
                    best.mine[line], best.theirs[line] = one, other


@entry
def _exchange(metric, groups, rows, best, clock):
    """Let the rows of a turn exchange, unless a group has changed in this turn; when it ended."""
    began = clock
    for line in range(rows.size):
        i, h, j = rows[line], best.group[line], best.row[line]
        g = groups.label[i]
        if h < 0 or groups.changed[g] > began or groups.changed[h] > began:
            continue
        _take_out(groups, g, i)
        if j >= 0:
            _take_out(groups, h, j)
            _put_in(groups, g, j)
        else:
            groups.size[g] -= 1
            groups.size[h] += 1
        _put_in(groups, h, i)
        groups.low[g], groups.high[g] = best.mine[line, 0], best.mine[line, 1]
        groups.low[h], groups.high[h] = best.theirs[line, 0], best.theirs[line, 1]
        groups.price[g] = price_of_box(metric, groups.low[g], groups.high[g])
        groups.price[h] = price_of_box(metric, groups.low[h], groups.high[h])
        clock += 1
        groups.changed[g] = groups.changed[h] = clock
    return clock

"""Rows go to other groups, or change places, where all together then lose less.

Only rows of groups that are wider than their rows begin; whom they change places with may be anybody.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import span
from shoal.kernels.standing.held import may_show
from shoal.kernels.standing.least import close_box, least_box, mend_box, price_of_box, room_for

__all__ = ["exchange_rows"]

LARGE = 256
"""Groups of more rows are left as they are: copies of one point, as a rule."""
COPIES = 3
"""Rows of one point that one may change places with."""
LITTLE = 1e-9


@inner
def _others(chain, head, group, without, out):
    """Write the rows of a group without one of them; how many."""
    count = 0
    row = head[group]
    while row >= 0:
        if row != without:
            out[count] = row
            count += 1
        row = chain[row]
    return count


@inner
def _take_out(chain, head, group, row):
    """Take a row out of the chain of its group."""
    at = head[group]
    if at == row:
        head[group] = chain[row]
        return
    while chain[at] != row:
        at = chain[at]
    chain[at] = chain[row]


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
def _price_with(metric, points, row, low, high):
    """What a row of a box loses that holds one row more."""
    total = 0.0
    for axis in range(low.size):
        x = points[row, axis]
        total += span(metric, axis, min(low[axis], x), max(high[axis], x))
    return total


@entry
def exchange_rows(metric, present, rows, near, label, low, high, size, k, passes):
    """Let `rows` move or change places with rows of their `near` points, as long as that gains.

    `near` has the places of points near each of `rows`; `label` is each row's group, `low`, `high` and
    `size` the groups'; all four are changed. Returns how often rows moved, and changed places.
    """
    axes = low.shape[1]
    groups = low.shape[0]
    head = np.full(groups, -1, np.int64)
    chain = np.full(label.size, -1, np.int64)
    for row in range(label.size - 1, -1, -1):
        chain[row] = head[label[row]]
        head[label[row]] = row
    price = np.empty(groups)
    for group in range(groups):
        price[group] = price_of_box(metric, low[group], high[group])
    changed = np.zeros(groups, np.int64)
    looked = np.full(rows.size, -1, np.int64)
    clock = 0
    room = room_for(present)
    stack, cut_low, cut_high = room[0], room[1], room[2]
    mine = np.empty(LARGE + 1, np.int64)
    theirs = np.empty(LARGE + 1, np.int64)
    tried = np.empty(near.shape[1] * COPIES, np.int64)
    left = np.empty((2, axes), np.int32)  # without the row
    rest = np.empty((2, axes), np.int32)  # the same, whatever was shown of them
    one = np.empty((2, axes), np.int32)
    other = np.empty((2, axes), np.int32)
    best_one = np.empty((2, axes), np.int32)
    best_other = np.empty((2, axes), np.int32)
    moves = 0
    swaps = 0
    for _ in range(passes):
        before = moves + swaps
        for at in range(rows.size):
            i = rows[at]
            g = label[i]
            if price[g] == 0.0 or size[g] > LARGE:
                continue
            is_new = changed[g] > looked[at]
            for place in near[at]:
                if is_new or place < 0:
                    break
                for member in range(present.first[place], present.first[place + 1]):
                    if member - present.first[place] >= COPIES:
                        break
                    if changed[label[present.members[member]]] > looked[at]:
                        is_new = True
                        break
            if not is_new:
                continue
            last, looked[at] = looked[at], clock
            of_all = changed[g] > last  # else only groups that have changed since can gain now
            count = _others(chain, head, g, i, mine)
            lost = size[g] * price[g]
            _around(present.points, mine, count, rest[0], rest[1])
            can_leave = size[g] > k
            gained = 0.0
            if can_leave:
                least_box(metric, present, mine, count, left[0], left[1], k, room)
                gained = lost - count * price_of_box(metric, left[0], left[1])
            best = LITTLE
            best_group, best_row = -1, -1
            looks = 0
            for place in near[at]:
                if place < 0:
                    break
                for member in range(present.first[place], present.first[place + 1]):
                    if member - present.first[place] >= COPIES:
                        break
                    j = present.members[member]
                    h = label[j]
                    if h == g or not (of_all or changed[h] > last):
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
                        its = _price_with(metric, present.points, i, low[h], high[h])
                        if gained - size[h] * (its - price[h]) - its > best:
                            for axis in range(axes):
                                x = present.points[i, axis]
                                other[0, axis], other[1, axis] = close_box(
                                    metric, axis, min(low[h, axis], x), max(high[h, axis], x)
                                )
                            if not may_show(present, i, other[0], other[1], k, stack, cut_low, cut_high):
                                mend_box(metric, present, i, other[0], other[1], k, room)
                                its = price_of_box(metric, other[0], other[1])
                            gain = gained - size[h] * (its - price[h]) - its
                            if gain > best:
                                best, best_group, best_row = gain, h, -1
                                best_one[:] = left
                                best_other[:] = other
                    if size[h] > LARGE:
                        continue
                    own = _price_with(metric, present.points, j, rest[0], rest[1])
                    if lost - size[g] * own + size[h] * price[h] <= best:
                        continue
                    many = _others(chain, head, h, j, theirs)
                    _around(present.points, theirs, many, other[0], other[1])
                    its = _price_with(metric, present.points, i, other[0], other[1])
                    if lost - size[g] * own + size[h] * (price[h] - its) <= best:
                        continue
                    mine[count] = j
                    least_box(metric, present, mine, count + 1, one[0], one[1], k, room)
                    own = price_of_box(metric, one[0], one[1])
                    if lost - size[g] * own + size[h] * (price[h] - its) <= best:
                        continue
                    theirs[many] = i
                    least_box(metric, present, theirs, many + 1, other[0], other[1], k, room)
                    its = price_of_box(metric, other[0], other[1])
                    gain = lost - size[g] * own + size[h] * (price[h] - its)
                    if gain > best:
                        best, best_group, best_row = gain, h, j
                        best_one[:] = one
                        best_other[:] = other
            if best_group < 0:
                continue
            h = best_group
            _take_out(chain, head, g, i)
            if best_row >= 0:
                _take_out(chain, head, h, best_row)
                chain[best_row] = head[g]
                head[g] = best_row
                label[best_row] = g
                swaps += 1
            else:
                size[g] -= 1
                size[h] += 1
                moves += 1
            chain[i] = head[h]
            head[h] = i
            label[i] = h
            low[g], high[g] = best_one[0], best_one[1]
            low[h], high[h] = best_other[0], best_other[1]
            price[g] = price_of_box(metric, low[g], high[g])
            price[h] = price_of_box(metric, low[h], high[h])
            clock += 1
            changed[g] = changed[h] = clock
        if moves + swaps == before:
            break
    return moves, swaps

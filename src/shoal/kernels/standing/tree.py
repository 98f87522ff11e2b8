"""Boxes in a tree, to find the cheapest that covers a point or that costs least to join.

A node keeps, per axis, the least and greatest of its boxes' lower ends and of their upper ends, and the
least price: no box below it is cheaper, covers more, or is joined for less than these allow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import span

__all__ = [
    "BoxTree",
    "build_boxes",
    "cheapest_cover",
    "cheapest_join",
    "count_inside",
    "go_inside",
    "price_of",
]

BUCKET = 8
DEEP = 128
"""Nodes that wait at one time: halving never leaves more."""


class BoxTree(NamedTuple):
    """A tree over boxes: node v holds order[start[v]..end[v]], its children are child[v] and child[v] + 1.

    `least_low`, `most_low`, `least_high` and `most_high` are per node and axis.
    """

    order: Any
    start: Any
    end: Any
    child: Any
    least_low: Any
    most_low: Any
    least_high: Any
    most_high: Any
    price: Any


@entry
def price_of(metric, low, high):
    """What a row of each box loses."""
    out = np.zeros(low.shape[0])
    for b in range(low.shape[0]):
        for axis in range(low.shape[1]):
            out[b] += span(metric, axis, low[b, axis], high[b, axis])
    return out


@entry
def build_boxes(low, high, price, which, size):
    """A tree over the boxes `which`; `size` are the codes of each axis."""
    count = which.size
    axes = low.shape[1]
    most = max(1, 4 * (count // BUCKET + 1))
    order = which.copy()
    start = np.zeros(most, np.int64)
    end = np.zeros(most, np.int64)
    child = np.full(most, -1, np.int64)
    least_low = np.zeros((most, axes), np.int32)
    most_low = np.zeros((most, axes), np.int32)
    least_high = np.zeros((most, axes), np.int32)
    most_high = np.zeros((most, axes), np.int32)
    cheapest = np.full(most, np.inf)
    end[0] = count
    nodes = 1
    v = 0
    while v < nodes:
        a, z = start[v], end[v]
        for axis in range(axes):
            if a < z:
                least_low[v, axis] = most_low[v, axis] = low[order[a], axis]
                least_high[v, axis] = most_high[v, axis] = high[order[a], axis]
            for at in range(a, z):
                b = order[at]
                least_low[v, axis] = min(least_low[v, axis], low[b, axis])
                most_low[v, axis] = max(most_low[v, axis], low[b, axis])
                least_high[v, axis] = min(least_high[v, axis], high[b, axis])
                most_high[v, axis] = max(most_high[v, axis], high[b, axis])
        for at in range(a, z):
            cheapest[v] = min(cheapest[v], price[order[at]])
        if z - a > BUCKET:
            widest, best = -1.0, 0
            for axis in range(axes):
                wide = (
                    most_low[v, axis] + most_high[v, axis] - least_low[v, axis] - least_high[v, axis]
                ) / size[axis]
                if wide > widest:
                    widest, best = wide, axis
            keys = np.empty(z - a, np.int64)
            for at in range(a, z):
                keys[at - a] = np.int64(low[order[at], best]) + high[order[at], best]
            sorted_ = np.argsort(keys, kind="mergesort")
            part = order[a:z].copy()
            for at in range(z - a):
                order[a + at] = part[sorted_[at]]
            middle = (a + z) // 2
            child[v] = nodes
            start[nodes], end[nodes] = a, middle
            start[nodes + 1], end[nodes + 1] = middle, z
            nodes += 2
        v += 1
    return BoxTree(
        order,
        start[:nodes],
        end[:nodes],
        child[:nodes],
        least_low[:nodes],
        most_low[:nodes],
        least_high[:nodes],
        most_high[:nodes],
        cheapest[:nodes],
    )


@inner
def _lies_in(low, high, b, own_low, own_high):
    for axis in range(own_low.size):
        if low[b, axis] < own_low[axis] or high[b, axis] > own_high[axis]:
            return False
    return True


@inner
def _covers(low, high, b, point):
    for axis in range(point.size):
        if point[axis] < low[b, axis] or point[axis] > high[b, axis]:
            return False
    return True


@entry
def cheapest_cover(tree, low, high, price, points):
    """Per point the cheapest box that covers it, the first of equals, and its price; -1 where none does."""
    many = points.shape[0]
    at = np.full(many, -1, np.int64)
    cost = np.full(many, np.inf)
    stack = np.empty(DEEP, np.int64)
    for i in range(many):
        depth = 1
        stack[0] = 0
        while depth:
            depth -= 1
            v = stack[depth]
            if tree.price[v] > cost[i]:
                continue
            out = False
            for axis in range(points.shape[1]):
                x = points[i, axis]
                if x < tree.least_low[v, axis] or x > tree.most_high[v, axis]:
                    out = True
                    break
            if out:
                continue
            if tree.child[v] >= 0:
                one, other = tree.child[v], tree.child[v] + 1
                if tree.price[one] < tree.price[other]:  # the cheaper one is looked at first
                    one, other = other, one
                stack[depth] = one
                stack[depth + 1] = other
                depth += 2
                continue
            for place in range(tree.start[v], tree.end[v]):
                b = tree.order[place]
                if price[b] > cost[i] or (price[b] == cost[i] and b > at[i]):
                    continue
                if _covers(low, high, b, points[i]):
                    at[i], cost[i] = b, price[b]
    return at, cost


@entry
def go_inside(tree, low, high, price, points, box, rows, size, k, short):
    """Rows that go to a cheaper box inside their own, one after the other; `box` and `size` are changed.

    No box that has k rows is left with fewer. A box with fewer than k seems `short` of its price. Returns
    how many rows went.
    """
    stack = np.empty(DEEP, np.int64)
    went = 0
    for i in rows:
        own = box[i]
        if size[own] == k:
            continue
        best, cost = own, price[own]
        if size[own] < k:
            cost *= short
        depth = 1
        stack[0] = 0
        while depth:
            depth -= 1
            v = stack[depth]
            if short * tree.price[v] >= cost:
                continue
            out = False
            for axis in range(points.shape[1]):
                x = points[i, axis]
                if x < tree.least_low[v, axis] or x > tree.most_high[v, axis]:
                    out = True
                    break
            if out:
                continue
            if tree.child[v] >= 0:
                stack[depth] = tree.child[v]
                stack[depth + 1] = tree.child[v] + 1
                depth += 2
                continue
            for place in range(tree.start[v], tree.end[v]):
                b = tree.order[place]
                its = price[b]
                if 0 < size[b] < k:
                    its *= short
                elif size[b] == 0:
                    continue
                if its >= cost or b == own:
                    continue
                if _covers(low, high, b, points[i]) and _lies_in(low, high, b, low[own], high[own]):
                    best, cost = b, its
        if best != own:
            size[own] -= 1
            size[best] += 1
            box[i] = best
            went += 1
    return went


@entry
def cheapest_join(
    tree, metric, low, high, size, price, cluster, own_low, own_high, own_size, own_price, own
):
    """The box outside cluster `own` that is joined with one of `own_size` rows for least, and the cost."""
    best, cost = np.int64(-1), np.inf
    stack = np.empty(DEEP, np.int64)
    depth = 1
    stack[0] = 0
    axes = own_low.size
    while depth:
        depth -= 1
        v = stack[depth]
        both = 0.0
        for axis in range(axes):
            least = min(own_low[axis], tree.most_low[v, axis])
            most = max(own_high[axis], tree.least_high[v, axis])
            both += span(metric, axis, least, most)
        if own_size * (both - own_price) > cost:
            continue
        if tree.child[v] >= 0:
            stack[depth] = tree.child[v]
            stack[depth + 1] = tree.child[v] + 1
            depth += 2
            continue
        for place in range(tree.start[v], tree.end[v]):
            b = tree.order[place]
            if cluster[b] == own:
                continue
            both = 0.0
            for axis in range(axes):
                both += span(
                    metric, axis, min(own_low[axis], low[b, axis]), max(own_high[axis], high[b, axis])
                )
            added = own_size * (both - own_price) + size[b] * (both - price[b])
            if added < cost or (added == cost and b < best):
                best, cost = b, added
    return best, cost


@entry
def count_inside(low, high, points, order, most):
    """Per box how many points it holds, up to `most`; `order` sorts points by their first axis."""
    out = np.zeros(low.shape[0], np.int64)
    first = np.empty(order.size, np.int32)
    for at in range(order.size):
        first[at] = points[order[at], 0]
    for b in range(low.shape[0]):
        at = np.searchsorted(first, low[b, 0])
        while at < order.size and first[at] <= high[b, 0] and out[b] < most:
            if _covers(low, high, b, points[order[at]]):
                out[b] += 1
            at += 1
    return out

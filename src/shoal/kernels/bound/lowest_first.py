"""The cheapest box around a record that holds k: farthest records first, and of all boxes the lowest first.

The tree of the farthest-first search is the same: a node is a box of a few records, its children join one
of those before the last to it, in the order of what that costs. But here the lowest of all open children
is looked at next. So what is known when looks run out is the lowest price that is left, and none was spent
on boxes dearer than that (docs/proofs/own-box.md, Lemma 2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.basics.heap import sink
from shoal.kernels.basics.sort import sort_by
from shoal.kernels.bound.farthest_first import SAME, Desk, join, join_all, take
from shoal.kernels.compile.decorators import inner
from shoal.kernels.distance.single import DOWN

__all__ = ["Front", "front_for", "lowest"]

PER_NODE, FEWEST_NODES = 16, 64
"""Looks that a box is worth, for room; and boxes that there is room for, at least."""
MOST_LOOKS = 1_000_000
"""There is no room for more, whatever a receipt may say."""
SPARSE = 6
"""Where fewer than one in so many rows are open, they are joined to a box one by one."""


class Front(NamedTuple):
    """Scratch of one thread: boxes in the order they were opened, and a heap of those with open children.

    Box v has `size[v]` children from `start[v]` on: `item`, `price`, and `left`, their records that are not
    in the box. `after[v]` is the next of them; the box is `low`, `high` and `bits`, it costs `paid[v]`, and
    `took[v]` joined box `above[v]` to it.
    """

    item: Any
    price: Any
    left: Any
    order: Any
    cost: Any
    start: Any
    size: Any
    after: Any
    above: Any
    took: Any
    depth: Any
    paid: Any
    low: Any
    high: Any
    bits: Any
    key: Any
    node: Any


def front_for(desk: Desk, most: int, looks: int) -> Front:
    """Scratch of a lowest-first search with so many looks at lists of `most` rows."""
    looks = max(0, min(looks, MOST_LOOKS))
    room = looks + 2 * (most + 2)
    nodes = max(FEWEST_NODES, looks // PER_NODE)
    return Front(
        item=np.empty(room, dtype=np.int32),
        price=np.empty(room, dtype=np.float32),
        left=np.empty(room, dtype=np.int32),
        order=np.empty(most + 2, dtype=np.int32),
        cost=np.empty(most + 2, dtype=np.float32),
        start=np.empty(nodes, dtype=np.int64),
        size=np.empty(nodes, dtype=np.int64),
        after=np.empty(nodes, dtype=np.int64),
        above=np.empty(nodes, dtype=np.int64),
        took=np.empty(nodes, dtype=np.int64),
        depth=np.empty(nodes, dtype=np.int64),
        paid=np.empty(nodes, dtype=np.float32),
        low=np.empty((nodes, desk.line.shape[0]), dtype=np.float32),
        high=np.empty((nodes, desk.line.shape[0]), dtype=np.float32),
        bits=np.empty((nodes, desk.label.shape[0]), dtype=np.int64),
        key=np.empty(nodes, dtype=np.float32),
        node=np.empty(nodes, dtype=np.int64),
    )


@inner
def _open(front, desk, v, above, took, depth, paid, slot):
    """Lowest first: box v is what stands in a slot of the desk."""
    front.above[v] = above
    front.took[v] = took
    front.depth[v] = depth
    front.paid[v] = paid
    for a in range(desk.line.shape[0]):
        front.low[v, a] = desk.low[slot, a]
        front.high[v, a] = desk.high[slot, a]
    for s in range(desk.label.shape[0]):
        front.bits[v, s] = desk.bits[slot, s]


@inner
def _first(front, v, need):
    """Lowest first: the first child of a box with enough records up to it; its size where there is none."""
    start = front.start[v]
    records = 0
    for x in range(front.size[v]):
        records += front.left[start + x]
        if records >= need:
            return x
    return front.size[v]


@inner
def _push(front, many, price, v):
    """Lowest first: one more box in the heap of those with open children."""
    at = many
    while at > 0:
        up = (at - 1) // 2
        if front.key[up] < price or (front.key[up] == price and front.node[up] < v):
            break
        front.key[at] = front.key[up]
        front.node[at] = front.node[up]
        at = up
    front.key[at] = price
    front.node[at] = v


@inner
def _note(front, desk, v, t, need):
    """Where a lowest-first search ends: the set of a box, its child t, and the first ones before that."""
    found = desk.found
    at = 0
    up = v
    while front.depth[up] > 0:
        found[at] = front.took[up]
        at += 1
        up = front.above[up]
    start = front.start[v]
    found[at] = front.item[start + t]
    at += 1
    need -= 1
    for x in range(t + 1):
        copies = front.left[start + x] - (1 if x == t else 0)
        for _ in range(min(copies, need)):
            found[at] = front.item[start + x]
            at += 1
        need -= min(copies, need)


@inner
def lowest(front, desk, k, many, deepest, looks, best):
    """Lowest first: min(best, what the cheapest box around a record and k - 1 of its list costs), or less.

    Needs the list seen, in the order of its costs, with counts. Returns the number, and whether
    `desk.found` holds the places of k - 1 records of a set that costs just so.
    """
    _open(front, desk, 0, np.int64(-1), np.int64(-1), np.int64(0), np.float32(0.0), np.int64(0))
    front.start[0] = 0
    front.size[0] = many
    low = np.float32(np.inf)
    for x in range(many - 1, -1, -1):  # nearly in order: none is above those behind it
        low = min(low, desk.cost[x])
        front.item[x] = x
        front.price[x] = low
        front.left[x] = desk.count[x]
    used = many
    nodes = 1
    open_boxes = 0
    first = _first(front, 0, k - 1)
    if first < many:
        front.after[0] = first
        _push(front, 0, front.price[first], np.int64(0))
        open_boxes = 1
    while open_boxes > 0:
        price = front.key[0]
        if DOWN * price >= best:
            return best, False
        v = front.node[0]
        t = front.after[v]
        start = front.start[v]
        depth = front.depth[v]
        need = k - 1 - depth
        if need == 1 or price <= front.paid[v] * SAME:
            _note(front, desk, v, t, need)
            return DOWN * price, True
        if depth + 1 >= deepest or looks <= 0 or nodes == front.node.size or used + t >= front.item.size:
            return DOWN * price, False
        front.after[v] = t + 1
        if t + 1 < front.size[v]:
            sink(front.key[:open_boxes], front.node[:open_boxes], front.price[start + t + 1], v)
        else:
            open_boxes -= 1
            if open_boxes > 0:
                its, who = front.key[open_boxes], front.node[open_boxes]
                sink(front.key[:open_boxes], front.node[:open_boxes], its, who)
        for a in range(desk.line.shape[0]):
            desk.low[1, a] = front.low[v, a]
            desk.high[1, a] = front.high[v, a]
        for s in range(desk.label.shape[0]):
            desk.bits[1, s] = front.bits[v, s]
        its = front.item[start + t]
        inside = take(desk, np.int64(1), its)
        last = t + 1 if front.left[start + t] > 1 else t
        looks -= last
        found = _join_before(front, desk, start, last, inside, np.float32(best / DOWN * SAME))
        sort_by(front.cost, front.order, found)
        front.start[nodes] = used
        front.size[nodes] = found
        for x in range(found):
            at = start + front.order[x]
            front.item[used + x] = front.item[at]
            front.price[used + x] = max(price, front.cost[x])  # no child is lower, but for rounding
            front.left[used + x] = front.left[at] - (1 if front.order[x] == t else 0)
        first = _first(front, nodes, need - 1)
        if first == found:
            continue
        _open(front, desk, nodes, v, its, depth + 1, price, np.int64(2))
        front.after[nodes] = first
        _push(front, open_boxes, front.price[used + first], nodes)
        open_boxes += 1
        nodes += 1
        used += found
    return best, False


@inner
def _join_before(front, desk, start, last, inside, limit):
    """Lowest first: what the desk's box costs with each of the first children of another, below a limit."""
    reach = 0
    for x in range(last):
        reach = max(reach, front.item[start + x] + 1)
    together = SPARSE * last >= reach
    if together:
        join_all(desk, np.int64(2), reach, inside)
    found = 0
    for x in range(last):
        other = front.item[start + x]
        cost = desk.sums[other] if together else join(desk, np.int64(2), other, inside, limit)
        if cost < limit:
            front.cost[found] = cost
            front.order[found] = x
            found += 1
    return found

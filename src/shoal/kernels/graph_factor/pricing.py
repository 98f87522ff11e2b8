"""The edges that a price per row makes cheapest: exact, over all pairs, without listing them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.lookup import box_apart, codes_apart, look, push_nearer_first
from shoal.kernels.distance.spans import distance

__all__ = ["cheapest_edges", "node_prices", "pair_distances"]


@entry
def node_prices(tree, price):
    """Pricing: the highest price of a row in each node of the tree; `price` is by the tree's rows."""
    top = np.empty(tree.start.size)
    for node in range(tree.start.size):
        most = -np.inf
        for row in range(tree.start[node], tree.end[node]):
            most = max(most, price[row])
        top[node] = most
    return top


@entry
def cheapest_edges(tree, metric, starts, price, top_price, rows, limit, known_start, known, near, cost):
    """Pricing of edges: per row those with the least distance - price[v] below its limit, least first.

    As many as `near` has columns, -1 where there are fewer. Rows known[known_start[u] :
    known_start[u + 1]], ascending, and the row itself are passed over. All rows are the tree's.
    """
    table = np.empty(starts[-1] + 1)
    stack = np.empty(tree.start.size + 2, dtype=np.int64)
    bounds = np.empty(tree.start.size + 2)
    room = near.shape[1]
    for at in range(rows.size):
        mine = rows[at]
        query = tree.codes[mine]
        look(metric, query, starts, table)
        kept = 0
        worst = limit[at]
        stack[0] = 0
        bounds[0] = -np.inf
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if bounds[top] >= worst:
                continue
            child = tree.child[node]
            if child >= 0:
                left = box_apart(metric, tree.low, tree.high, child, query, starts, table)
                right = box_apart(metric, tree.low, tree.high, child + 1, query, starts, table)
                left -= top_price[child]
                right -= top_price[child + 1]
                push_nearer_first(child, left, right, stack, bounds, top)
                top += 2
                continue
            for row in range(tree.start[node], tree.end[node]):
                value = codes_apart(metric, tree.codes, row, query, starts, table) - price[row]
                if value >= worst or row == mine:
                    continue
                low, high = known_start[mine], known_start[mine + 1]
                while low < high:
                    middle = (low + high) // 2
                    if known[middle] < row:
                        low = middle + 1
                    else:
                        high = middle
                if low < known_start[mine + 1] and known[low] == row:
                    continue
                to = min(kept, room - 1)
                while to > 0 and cost[at, to - 1] > value:
                    cost[at, to] = cost[at, to - 1]
                    near[at, to] = near[at, to - 1]
                    to -= 1
                cost[at, to] = value
                near[at, to] = row
                kept = min(kept + 1, room)
                if kept == room:
                    worst = min(worst, cost[at, room - 1])
        for to in range(kept, room):
            near[at, to] = -1
            cost[at, to] = np.inf


@entry
def pair_distances(codes, metric, one, other):
    """The distance of each pair of rows: the weight of an edge, before its price."""
    out = np.empty(one.size)
    for at in range(one.size):
        out[at] = distance(metric, codes[one[at]], codes[other[at]])
    return out

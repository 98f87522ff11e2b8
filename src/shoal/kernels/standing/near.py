"""The points nearest to some points, by spans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.lookup import box_apart, codes_apart, look, push_nearer_first, short_axes
from shoal.kernels.neighbours.box_tree import Index
from shoal.kernels.threads import over_rows

__all__ = ["near_places"]


def near_places(index: Index, metric: Any, queries: NDArray[np.int32], many: int) -> NDArray[np.int32]:
    """For each query the places of the index nearest to it, nearest first, -1 after the last."""
    near = np.full((len(queries), many), -1, np.int32)
    starts = short_axes(metric)

    def work(first: int, last: int) -> None:
        table, nodes = np.empty(starts[-1] + 1), index.start.size + 2
        room = np.empty(nodes, np.int64), np.empty(nodes), np.empty(many)
        _near(index, metric, starts, table, room, queries, first, last, near)

    over_rows(len(queries), work)
    return near


@entry
def _near(index, metric, starts, table, room, queries, first, last, near):
    stack, bounds, far = room
    many = near.shape[1]
    for q in range(first, last):
        query = queries[q]
        look(metric, query, starts, table)
        kept = 0
        worst = np.inf
        stack[0] = 0
        bounds[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            if bounds[top] >= worst:
                continue
            node = stack[top]
            if index.child[node] >= 0:
                node = index.child[node]
                left = box_apart(metric, index.low, index.high, node, query, starts, table)
                right = box_apart(metric, index.low, index.high, node + 1, query, starts, table)
                push_nearer_first(node, left, right, stack, bounds, top)
                top += 2
                continue
            for at in range(index.start[node], index.end[node]):
                apart = codes_apart(metric, index.codes, at, query, starts, table)
                if apart >= worst:
                    continue
                place = kept if kept < many else many - 1
                while place > 0 and far[place - 1] > apart:
                    far[place] = far[place - 1]
                    near[q, place] = near[q, place - 1]
                    place -= 1
                far[place] = apart
                near[q, place] = at
                if kept < many:
                    kept += 1
                if kept == many:
                    worst = far[many - 1]

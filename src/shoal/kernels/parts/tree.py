"""A tree of cuts that is written down, so that rows which it was not learnt from find their part.

The cuts are those of `kernels/mondrian`, the dearest to cross first: between the children of a high node of
a tree rather than inside a line of numbers, since no good group crosses those, and bounds that look at one
part at a time lose nothing there. A node sends a code to the child of the last edge at or below it,
whatever the form of the axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import LINE, SET, TREE, span
from shoal.kernels.mondrian import find_parts, list_codes, move_records, order_by_part, run_loss, two_parts

__all__ = ["grow_tree", "route"]

Integers = NDArray[np.int64]


def grow_tree(
    all_codes: NDArray[np.int32], all_count: Integers, metric, least: int
) -> tuple[Integers, Integers, NDArray[np.int32]]:
    """Cut while every part keeps `least` records: where it is dearest to cross, then where most is won.

    Returns nodes (axis, first, many), edges (code, child), and the part of each row.
    """
    room = 4 * (int(all_count.sum()) // max(1, least)) + 16
    width = 64 * room
    n = all_count.size
    set_size = np.where(metric.form == SET, metric.size, 0)
    while True:
        codes, count = all_codes.copy(), all_count.astype(np.int64)
        label = np.full(n, -1, dtype=np.int32)
        scratch = np.zeros((4, int(metric.size.max(initial=1))), dtype=np.int64)
        node = np.full((room, 3), -1, dtype=np.int64)
        edge = np.zeros((width, 2), dtype=np.int64)
        nodes, edges = _grow(
            codes,
            np.arange(n, dtype=np.int32),
            count,
            metric,
            least,
            label,
            scratch[0],
            scratch[1],
            scratch[2],
            scratch[3],
            np.zeros(scratch.shape[1] + 2, dtype=np.int64),
            np.zeros(int(set_size.sum()), dtype=np.int64),
            np.cumsum(set_size) - set_size,
            np.arange(n),
            np.empty_like(codes),
            np.empty(n, dtype=np.int32),
            np.empty_like(count),
            np.empty((n + 1, 3), dtype=np.int64),
            np.empty(n + 1),
            node,
            edge,
        )
        if nodes >= 0:
            return node[:nodes], edge[:edges], label
        room, width = 4 * room, 4 * width


@inner
def _halve_children(codes, count, metric, axis, start, end, records, k, held, used, part):
    """Two parts of a TREE axis whose children hold too little alone: a run of them against the others."""
    many = list_codes(codes, count, axis, start, end, held, used)
    whole = span(metric, axis, used[0], used[many - 1])
    best = np.int64(-1)
    least = records + 1
    left = 0
    for u in range(many - 1):
        left += held[used[u]]
        off = abs(2 * left - records)
        fits = left >= k and records - left >= k and off < least
        if fits and span(metric, axis, used[u], used[u + 1]) == whole:
            least = off
            best = u + 1
    for u in range(many):
        held[used[u]] = 0
    if best < 0:
        return np.int64(0)
    two_parts(used, part, many, best)
    return np.int64(2)


@inner
def _crossing(metric, axis, absent, codes, start, end):
    """What any group pays at least that crosses the cut of a node on one axis; inside a line, nothing."""
    if metric.form[axis] == SET:
        return metric.data[metric.offset[axis]]
    if metric.form[axis] == LINE:
        return metric.most[axis] if absent else 0.0
    low = codes[start, axis]
    high = low
    for i in range(start + 1, end):
        code = codes[i, axis]
        if code < low:
            low = code
        elif code > high:
            high = code
    return span(metric, axis, low, high)


@entry
def _grow(
    codes,
    place,
    count,
    metric,
    k,
    label,
    held,
    part,
    used,
    weight,
    ends,
    seen,
    seen_start,
    order,
    spare,
    spare_place,
    spare_count,
    stack,
    losses,
    node,
    edge,
):
    """Nodes and edges that were written; -1 where there was no room for them."""
    n, axes = codes.shape
    zero, stamp = np.int64(0), np.int64(1)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, 0
    losses[0] = run_loss(codes, count, metric, order, zero, n, seen, seen_start, stamp)
    top, groups, nodes, written = 1, 0, 1, 0
    while top > 0:
        top -= 1
        start, end, me = stack[top, 0], stack[top, 1], stack[top, 2]
        best = losses[top]
        dearest = -1.0
        records = np.int64(0)
        for i in range(start, end):
            records += count[i]
        best_option = np.int64(-1)
        if records >= 2 * k and best > 0.0:
            for turn in range(2 * axes + 1):
                chosen = turn == 2 * axes
                option = best_option if chosen else turn
                if option < 0:
                    break
                axis = option // 2
                absent = option % 2 == 1
                if metric.most[axis] == 0.0 or (
                    absent and (metric.form[axis] != LINE or metric.missing[axis] < 0)
                ):
                    continue
                parts = find_parts(
                    codes, count, metric, axis, start, end, records, k, absent, held, used, part, weight
                )
                if parts == 0 and metric.form[axis] == TREE:
                    parts = _halve_children(
                        codes, count, metric, axis, start, end, records, k, held, used, part
                    )
                if parts == 0:
                    continue
                dear = _crossing(metric, axis, absent, codes, start, end)
                order_by_part(codes, axis, start, end, parts, part, ends, order)
                after = 0.0
                begin = zero
                for p in range(parts):
                    stamp += 1
                    loss = run_loss(codes, count, metric, order, begin, ends[p], seen, seen_start, stamp)
                    after += loss
                    if chosen:
                        slot = top + parts - 1 - p  # the first part is looked at first
                        stack[slot, 0] = start + begin
                        stack[slot, 1] = start + ends[p]
                        stack[slot, 2] = nodes + p
                        losses[slot] = loss
                    begin = ends[p]
                if chosen:
                    top += parts
                    many = list_codes(codes, count, axis, start, end, held, used)
                    for u in range(many):
                        held[used[u]] = 0
                    if nodes + parts > node.shape[0] or written + many > edge.shape[0]:
                        return np.int64(-1), np.int64(-1)
                    whole = span(metric, axis, used[0], used[many - 1])
                    node[me, 0], node[me, 1] = axis, written
                    for u in range(many):
                        if u > 0 and part[used[u]] == part[used[u - 1]]:
                            continue
                        at = used[u] if u > 0 else 0
                        if u > 0 and metric.form[axis] == TREE:  # a child begins before its first seen leaf
                            while at - 1 > used[u - 1] and span(metric, axis, at - 1, used[u]) < whole:
                                at -= 1
                        edge[written, 0], edge[written, 1] = at, nodes + part[used[u]]
                        written += 1
                    node[me, 2] = written - node[me, 1]
                    nodes += parts
                    move_records(
                        codes, place, count, start, end - start, order, spare, spare_place, spare_count
                    )
                elif dear > dearest or (dear == dearest and after < best):
                    best = after
                    dearest = dear
                    best_option = option
        if best_option < 0:
            node[me, 0], node[me, 1], node[me, 2] = -1, groups, 0
            for i in range(start, end):
                label[place[i]] = groups
            groups += 1
    return nodes, written


@entry
def route(codes, axis, first, many, edge, child, out):
    """The part of each row, into `out`."""
    for i in range(codes.shape[0]):
        node = 0
        while axis[node] >= 0:
            code = codes[i, axis[node]]
            low, high = first[node], first[node] + many[node]
            while high - low > 1:
                middle = (low + high) >> 1
                if edge[middle] <= code:
                    low = middle
                else:
                    high = middle
            node = child[low]
        out[i] = first[node]

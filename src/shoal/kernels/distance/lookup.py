"""How one row of codes sees all others: distances to the codes of short axes are looked up.

On LINE and TREE axes a code's distance to a run of codes is that to the nearer end, because distances grow
away from it on both sides; on a SET axis it is 0 inside the run and one step outside. Their sum bounds
every distance into a box from below. `metric` is a metric or a space: both have what is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import inner, leaf
from shoal.kernels.distance.spans import LINE, SET, span

__all__ = [
    "box_apart",
    "box_within",
    "codes_apart",
    "look",
    "look_along",
    "push_nearer_first",
    "short_axes",
]

SHORT = 512
"""Axes of at most this many codes are looked up where one row is measured against many."""


def short_axes(metric: Any) -> NDArray[np.int64]:
    """Where each short axis begins in a lookup table, -1 for long ones; and how long the table is."""
    short = metric.size <= SHORT
    ends = np.cumsum(np.where(short, metric.size, 0))
    starts = np.where(short, ends - metric.size, -1)
    return np.append(starts, ends[-1] if ends.size else 0)


@inner
def look_along(metric, axis, mine, table, at):
    """Fill the lookup table of one TREE axis, from `at` on: a run's span is its largest gap."""
    base = metric.offset[axis]
    far = 0.0
    for code in range(mine + 1, metric.size[axis]):
        far = max(far, metric.data[base + code - 1])
        table[at + code] = far
    far = 0.0
    for code in range(mine - 1, -1, -1):
        far = max(far, metric.data[base + code])
        table[at + code] = far
    table[at + mine] = 0.0


@inner
def look(metric, query, starts, table):
    """Fill the lookup table of one row: the distance of every code to the query's, for the short axes."""
    for axis in range(query.size):
        at = starts[axis]
        if at < 0:
            continue
        mine = query[axis]
        size = metric.size[axis]
        base = metric.offset[axis]
        if metric.form[axis] == SET:
            for code in range(size):
                table[at + code] = metric.data[base]
        elif metric.form[axis] == LINE:
            for code in range(size):
                table[at + code] = abs(metric.data[base + code] - metric.data[base + mine])
            missing = metric.missing[axis]
            if missing >= 0:
                table[at + missing] = metric.most[axis]
            if mine == missing:
                for code in range(size):
                    table[at + code] = metric.most[axis]
        else:
            look_along(metric, axis, mine, table, at)
        table[at + mine] = 0.0


@leaf
def _pair(metric, axis, one, other):
    """The distance of two codes of an axis too long for a lookup table."""
    if one < other:
        return span(metric, axis, one, other)
    return span(metric, axis, other, one)


@leaf
def codes_apart(metric, codes, row, query, starts, table):
    """The distance of a row to the query by lookup, axes in order: every path gives the same sum."""
    total = 0.0
    for axis in range(query.size):
        at = starts[axis]
        if at >= 0:
            total += table[at + codes[row, axis]]
        else:
            total += _pair(metric, axis, query[axis], codes[row, axis])
    return total


@leaf
def box_apart(metric, low, high, node, query, starts, table):
    """By lookup: no row of the node is nearer to the query than this distance."""
    total = 0.0
    for axis in range(query.size):
        code = query[axis]
        end = code
        if code < low[node, axis]:
            end = np.int32(low[node, axis])
        elif code > high[node, axis]:
            end = np.int32(high[node, axis])
        if end != code:
            at = starts[axis]
            total += table[at + end] if at >= 0 else _pair(metric, axis, code, end)
    return total


@leaf
def box_within(metric, low, high, node, query, starts, table):
    """By lookup: no row of the node is farther from the query than this distance."""
    total = 0.0
    for axis in range(query.size):
        code = query[axis]
        left = np.int32(low[node, axis])
        right = np.int32(high[node, axis])
        if metric.form[axis] == SET and left < code < right:
            total += metric.data[metric.offset[axis]]
            continue
        at = starts[axis]
        if at >= 0:
            total += max(table[at + left], table[at + right])
        else:
            total += max(_pair(metric, axis, code, left), _pair(metric, axis, code, right))
    return total


@leaf
def push_nearer_first(child, left, right, stack, bounds, top):
    """After a lookup push both children of a node with their bounds, the nearer one on top."""
    swap = 1 if right < left else 0
    stack[top] = child + 1 - swap
    bounds[top] = left if swap else right
    stack[top + 1] = child + swap
    bounds[top + 1] = right if swap else left

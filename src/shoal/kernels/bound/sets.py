"""Sets of records as cuts: the k largest shares of a window, and the groups of a release."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.boxes import Boxes
from shoal.kernels.bound.cuts import CutPool
from shoal.kernels.bound.largest import put
from shoal.kernels.bound.windows import Windows
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.crowd.cheapest_first import reach
from shoal.kernels.distance.spans import span
from shoal.kernels.threads import over_rows

__all__ = ["cut_windows", "group_cuts", "row_cuts"]


def cut_windows(boxes: Boxes, share: NDArray[np.float64], windows: Windows) -> CutPool:
    """Sets as cuts: the k largest shares of each window, which bear k times the set's own cost."""
    k = boxes.k
    many = windows.cell.size
    room = np.concatenate([[0], np.cumsum(np.minimum(windows.stop - windows.begin, k))])
    row, amount = np.empty(room[-1], dtype=np.int32), np.empty(room[-1])
    size, limit = np.empty(many, dtype=np.int64), np.empty(many)

    def cut(low: int, high: int) -> None:
        """The sets of some windows, on a thread."""
        its = slice(low, high)
        _cut(
            boxes.swept,
            boxes.cube.entry,
            boxes.axes,
            boxes.metric,
            k,
            share,
            windows.begin[its],
            windows.stop[its],
            room[its],
            row,
            amount,
            size[its],
            limit[its],
        )

    over_rows(many, cut)
    start = np.concatenate([[0], np.cumsum(size)])
    taken = np.arange(start[-1]) + np.repeat(room[:-1] - start[:-1], size)
    return CutPool(start, row[taken], amount[taken], limit, np.zeros(many))


def group_cuts(
    boxes: Boxes, distinct: NDArray[np.int32], group: NDArray[np.int32], count: NDArray[np.int64]
) -> CutPool:
    """Every group of a release as a set of records that bears its own loss; none of those withheld."""
    kept = group >= 0
    order = np.lexsort((distinct[kept], group[kept]))
    its_group = group[kept][order]
    start = np.flatnonzero(np.r_[True, its_group[1:] != its_group[:-1], True])
    records = count[kept][order].astype(np.float64)
    return row_cuts(boxes, start, distinct[kept][order], records, np.ones(start.size - 1))


def row_cuts(
    boxes: Boxes,
    start: NDArray[np.int64],
    distinct: NDArray[np.int32],
    amount: NDArray[np.float64],
    part: NDArray[np.float64],
) -> CutPool:
    """Sets of distinct rows as cuts: the shares of each may sum to its records times what it costs."""
    place = np.full(int(boxes.swept.row.max()) + 1, -1, dtype=np.int32)
    place[boxes.swept.row] = np.arange(boxes.swept.row.size)
    row = place[distinct]
    limit = np.empty(start.size - 1)
    _limits(boxes.swept, boxes.axes, boxes.metric, start, row, amount, limit)
    return CutPool(start, row, amount, limit, part)


@inner
def _cost_of(swept, axes, metric, row, first, last):
    """What a set of rows gives up in the cheapest box that holds it: `boxes.py` says which there are."""
    low, high = row[first], row[first]
    for t in range(first + 1, last):
        low, high = min(low, row[t]), max(high, row[t])
    total = reach(swept.place, swept.edge, swept.most, low, high)
    for q in range(axes.size):
        lo = swept.code[q, row[first]]
        hi = lo
        for t in range(first + 1, last):
            c = swept.code[q, row[t]]
            lo, hi = min(lo, c), max(hi, c)
        total += span(metric, axes[q], lo, hi)
    return total


@entry
def _limits(swept, axes, metric, start, row, amount, limit):
    """Write what the shares of each set may sum to: its records times what the set costs."""
    for f in range(limit.size):
        size = 0.0
        for t in range(start[f], start[f + 1]):
            size += amount[t]
        limit[f] = size * _cost_of(swept, axes, metric, row, start[f], start[f + 1])


@entry
def _cut(swept, entry, axes, metric, k, share, begin, stop, room, row, amount, many, limit):
    """Write the set of each window f from slot `room[f]` on: all above the k-th share, some equal to it."""
    value = np.empty(k + 2)
    held = np.empty(k + 2, dtype=np.int64)
    for f in range(begin.size):
        size, total, worth = 0, 0, 0.0
        for t in range(begin[f], stop[f]):
            i = entry[t]
            size, total, worth = put(value, held, size, total, worth, share[i], swept.held[i], k)
        least = value[0]
        left = k
        for t in range(begin[f], stop[f]):
            if share[entry[t]] > least:
                left -= swept.held[entry[t]]
        at = room[f]
        for t in range(begin[f], stop[f]):
            i = entry[t]
            if share[i] > least:
                row[at] = i
                amount[at] = swept.held[i]
                at += 1
            elif share[i] == least and left > 0:
                row[at] = i
                amount[at] = min(left, swept.held[i])
                left -= min(left, swept.held[i])
                at += 1
        many[f] = at - room[f]
        limit[f] = k * _cost_of(swept, axes, metric, row, room[f], at)

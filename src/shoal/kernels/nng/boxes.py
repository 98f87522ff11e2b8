"""Boxes around near rows: disjoint ones picked, every row given to one, groups cut small.

Boxes are runs of codes, both ends included, on LINE axes; missing is the last code. A run that mixes
missing with present codes covers the whole axis and is written so.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import span

__all__ = ["nearest_boxes", "pick_disjoint", "smallest_boxes", "widths"]

CELLS = 256


@entry
def widths(metric, low, high):
    """The sum of sides of each nng box."""
    out = np.zeros(low.shape[0])
    for box in range(low.shape[0]):
        for axis in range(low.shape[1]):
            out[box] += span(metric, axis, low[box, axis], high[box, axis])
    return out


@entry
def pick_disjoint(metric, low, high, order, axis):
    """Pick disjoint boxes for nng, in the given order, as many as fit.

    Picked boxes are filed along one axis, so that a box is compared with those near it only.
    """
    size = metric.size[axis]
    cells = min(CELLS, size)
    head = np.full(cells, -1, dtype=np.int64)
    follow = np.empty(order.size + cells, dtype=np.int64)
    filed = np.empty(order.size + cells, dtype=np.int64)
    many = 0
    picked = np.empty(order.size, dtype=np.int64)
    found = 0
    for at in range(order.size):
        box = order[at]
        first = low[box, axis] * cells // size
        last = high[box, axis] * cells // size
        free = True
        cell = first
        while free and cell <= last:
            entry = head[cell]
            while free and entry >= 0:
                other = filed[entry]
                apart = False
                for a in range(low.shape[1]):
                    if low[box, a] > high[other, a] or high[box, a] < low[other, a]:
                        apart = True
                        break
                free = apart
                entry = follow[entry]
            cell += 1
        if not free:
            continue
        picked[found] = box
        found += 1
        for cell in range(first, last + 1):
            if many == filed.size:
                wider = np.empty(2 * many, dtype=np.int64)
                wider[:many] = filed
                filed = wider
                longer = np.empty(2 * many, dtype=np.int64)
                longer[:many] = follow
                follow = longer
            filed[many] = box
            follow[many] = head[cell]
            head[cell] = many
            many += 1
    return picked[:found]


@inner
def _gap(metric, axis, code, low, high):
    """How far a code is from a side of an nng box, a run of codes."""
    if code < low:
        return span(metric, axis, code, low)
    if code > high:
        return span(metric, axis, high, code)
    return 0.0


@entry
def nearest_boxes(metric, codes, low, high, axis):
    """For each row the nng box with the smallest largest gap; of equals the smaller sum, then the first.

    Boxes must be sorted by `low` on `axis`; `reach` of the loop is the widest of them there.
    """
    boxes = low.shape[0]
    widest = 0.0
    for box in range(boxes):
        widest = max(widest, span(metric, axis, low[box, axis], high[box, axis]))
    out = np.empty(codes.shape[0], dtype=np.int64)
    for row in range(codes.shape[0]):
        code = codes[row, axis]
        start = 0
        end = boxes
        while start < end:
            middle = (start + end) // 2
            if low[middle, axis] <= code:
                start = middle + 1
            else:
                end = middle
        best = -1
        largest = np.inf
        total = np.inf
        for side in range(2):
            box = start if side else start - 1
            while 0 <= box < boxes:
                begin = low[box, axis]
                if side:
                    if span(metric, axis, code, begin) > largest:
                        break
                elif code != metric.missing[axis] and span(metric, axis, begin, code) - widest > largest:
                    break
                most = 0.0
                sums = 0.0
                for a in range(low.shape[1]):
                    gap = _gap(metric, a, codes[row, a], low[box, a], high[box, a])
                    sums += gap
                    if gap > most:
                        most = gap
                        if most > largest:
                            break
                if most < largest or (most == largest and (sums < total or (sums == total and box < best))):
                    largest = most
                    total = sums
                    best = box
                box += 1 if side else -1
        out[row] = best
    return out


@inner
def _search(metric, codes, count, near, many, k, row, best, limit, low, high, tried, order, grown):
    """Search nng's smallest box: the least sum of sides around `row` with k records, below `best`; steps.

    Depth first over boxes: each level widens the box by one more row, cheapest first; a row tried at a
    level may not lie in the boxes of its later branches, so that no box is looked at twice.
    """
    axes = codes.shape[1]
    for axis in range(axes):
        low[0, axis] = codes[row, axis]
        high[0, axis] = codes[row, axis]
    depth = 0
    steps = 0
    tried[:many] = -1
    fresh = True
    at = np.zeros(low.shape[0], dtype=np.int64)
    width = np.zeros(low.shape[0], dtype=np.int64)
    while depth >= 0:
        if fresh:
            fresh = False
            steps += 1
            if steps > limit:
                return best, steps
            held = 0
            barred = False
            found = 0
            for p in range(many):
                inside = True
                whole = 0.0
                for axis in range(axes):
                    code = codes[near[p], axis]
                    if code < low[depth, axis]:
                        inside = False
                        whole += span(metric, axis, code, high[depth, axis])
                    elif code > high[depth, axis]:
                        inside = False
                        whole += span(metric, axis, low[depth, axis], code)
                    else:
                        whole += span(metric, axis, low[depth, axis], high[depth, axis])
                if inside:
                    held += count[near[p]]
                    if tried[p] >= 0:
                        barred = True
                        break
                elif tried[p] < 0 and whole < best:
                    place = found
                    while place > 0 and grown[depth, place - 1] > whole:
                        grown[depth, place] = grown[depth, place - 1]
                        order[depth, place] = order[depth, place - 1]
                        place -= 1
                    grown[depth, place] = whole
                    order[depth, place] = p
                    found += 1
            at[depth] = 0
            width[depth] = 0 if barred else found
            if not barred and held >= k:
                total = 0.0
                for axis in range(axes):
                    total += span(metric, axis, low[depth, axis], high[depth, axis])
                best = min(best, total)
                width[depth] = 0
        if at[depth] < width[depth] and grown[depth, at[depth]] < best:
            p = order[depth, at[depth]]
            at[depth] += 1
            for axis in range(axes):
                code = codes[near[p], axis]
                low[depth + 1, axis] = min(low[depth, axis], code)
                high[depth + 1, axis] = max(high[depth, axis], code)
            depth += 1
            fresh = True
            continue
        for place in range(at[depth]):
            tried[order[depth, place]] = -1
        depth -= 1
        if depth >= 0:
            tried[order[depth, at[depth] - 1]] = depth
    return best, steps


@entry
def smallest_boxes(metric, codes, count, start, near, ceiling, k, limit):
    """For each row nng's smallest box: the least sum of sides with k records; -1 where not found in time.

    Rows near row i, itself included, are near[start[i]:start[i + 1]]; a box of `ceiling[i]` is known, and
    no smaller one reaches beyond them. At most `limit` steps a row.
    """
    rows = start.size - 1
    out = np.empty(rows)
    most = 1
    for row in range(rows):
        most = max(most, start[row + 1] - start[row])
    deep = min(most, k) + 2
    low = np.empty((deep, codes.shape[1]), dtype=np.int32)
    high = np.empty((deep, codes.shape[1]), dtype=np.int32)
    tried = np.empty(most, dtype=np.int64)
    order = np.empty((deep, most), dtype=np.int64)
    grown = np.empty((deep, most))
    for row in range(rows):
        its = near[start[row] : start[row + 1]]
        best, steps = _search(
            metric, codes, count, its, its.size, k, row, ceiling[row], limit, low, high, tried, order, grown
        )
        out[row] = -1.0 if steps > limit else best
    return out

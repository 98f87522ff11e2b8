"""Boxes made finer: k rows that all lie in one another's boxes stand together in a new one.

Every box of theirs contains all their points, and so the new box: what was shown of each, cut with what
will be, holds k (docs/proofs/series.md, lemma of refining).
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import span

__all__ = ["refine_boxes"]

NEAR = 48
"""Rows that may come to stand with one."""


@inner
def _can_leave(size, b, k):
    """A box keeps k rows, or had fewer, or loses all."""
    return b < 0 or size[b] > k or size[b] < k


@entry
def refine_boxes(metric, points, order, first, low, high, price, box, bound, size, k, seeds):
    """Labels of new boxes, -1 for rows that stay; `size` is changed along.

    `order` sorts the rows by their first axis, `first` is that axis in this order. `bound` rows may go
    only where their box reaches; the others were never shown.
    """
    rows, axes = points.shape
    label = np.full(rows, -1, np.int64)
    found = 0
    near = np.empty(NEAR, np.int64)
    far = np.empty(NEAR)
    chosen = np.empty(k, np.int64)
    least = np.empty(axes, np.int32)
    most = np.empty(axes, np.int32)
    inner_low = np.empty(axes, np.int32)
    inner_high = np.empty(axes, np.int32)
    for seed in seeds:
        if label[seed] >= 0 or not _can_leave(size, box[seed], k):
            continue
        own = box[seed]
        budget = price[own] if own >= 0 else np.inf
        count = 0
        worst = np.inf
        start, stop = 0, rows
        if bound[seed]:
            start = np.searchsorted(first, low[own, 0])
            stop = np.searchsorted(first, high[own, 0], side="right")
        for at in range(start, stop):
            q = order[at]
            if q == seed or label[q] >= 0 or not _can_leave(size, box[q], k):
                continue
            apart = 0.0
            fits = True
            for axis in range(axes):
                x, y = points[q, axis], points[seed, axis]
                if bound[seed] and (x < low[own, axis] or x > high[own, axis]):
                    fits = False
                    break
                if bound[q] and (y < low[box[q], axis] or y > high[box[q], axis]):
                    fits = False
                    break
                apart += span(metric, axis, min(x, y), max(x, y))
                if apart >= worst or apart >= budget:
                    fits = False
                    break
            if not fits:
                continue
            place = min(count, NEAR - 1)
            if count < NEAR:
                count += 1
            while place > 0 and far[place - 1] > apart:
                near[place], far[place] = near[place - 1], far[place - 1]
                place -= 1
            near[place], far[place] = q, apart
            if count == NEAR:
                worst = far[NEAR - 1]
        if count < k - 1:
            continue
        for axis in range(axes):
            least[axis] = most[axis] = points[seed, axis]
            inner_low[axis], inner_high[axis] = 0, metric.size[axis] - 1
            if bound[seed]:
                inner_low[axis], inner_high[axis] = low[own, axis], high[own, axis]
        chosen[0] = seed
        have = 1
        gone = 0.0 if own < 0 else price[own]
        width = 0.0
        while have < k:
            best, best_width, best_price = -1, np.inf, 0.0
            for at in range(count):
                q = near[at]
                if q < 0:
                    continue
                if far[at] > best_width:
                    break
                wide = 0.0
                fits = True
                for axis in range(axes):
                    x = points[q, axis]
                    if x < inner_low[axis] or x > inner_high[axis]:
                        fits = False
                        break
                    if bound[q] and (least[axis] < low[box[q], axis] or most[axis] > high[box[q], axis]):
                        fits = False
                        break
                    wide += span(metric, axis, min(least[axis], x), max(most[axis], x))
                if not fits:
                    near[at] = -1  # it will not fit later either
                    continue
                its = 10.0 if box[q] < 0 else price[box[q]]
                if wide < best_width or (wide == best_width and its > best_price):
                    best, best_width, best_price = at, wide, its
            if best < 0:
                break
            q = near[best]
            near[best] = -1
            chosen[have] = q
            have += 1
            width = best_width
            gone += best_price
            for axis in range(axes):
                x = points[q, axis]
                least[axis], most[axis] = min(least[axis], x), max(most[axis], x)
                if bound[q]:
                    inner_low[axis] = max(inner_low[axis], low[box[q], axis])
                    inner_high[axis] = min(inner_high[axis], high[box[q], axis])
        if have < k or gone <= k * width + 1e-9:
            continue
        for at in range(k):
            if box[chosen[at]] >= 0:
                size[box[chosen[at]]] -= 1
        kept = True
        for at in range(k):
            b = box[chosen[at]]
            if b >= 0 and 0 < size[b] < k:
                back = size[b]
                for other in range(k):
                    back += box[chosen[other]] == b
                if back >= k:  # it had k and would be left with fewer
                    kept = False
                    break
        if not kept:
            for at in range(k):
                if box[chosen[at]] >= 0:
                    size[box[chosen[at]]] += 1
            continue
        for at in range(k):
            label[chosen[at]] = found
        found += 1
    return label, found

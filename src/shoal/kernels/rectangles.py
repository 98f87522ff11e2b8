"""Cutting points of the plane into rectangles of at least k records.

Points are moved together with their codes and counts, so that a part is a run of memory.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inlined, inner

__all__ = ["cut_rectangles"]


@inlined
def _swap(x, y, count, place, i, j):
    """Swap two points of a rectangle."""
    x[i], x[j] = x[j], x[i]
    y[i], y[j] = y[j], y[i]
    count[i], count[j] = count[j], count[i]
    place[i], place[j] = place[j], place[i]


@inner
def _around(along, x, y, count, place, start, end, target):
    """Before a rectangle is cut: arrange its points so that the weighted quantile along one axis is known.

    `along` is x or y. Returns (a, b, weight before a, weight before b): points start..a-1 lie below the
    quantile's coordinate, a..b-1 on it, b..end-1 above; the weight before a is at most `target`, that
    before b above it.
    """
    low, high = start, end
    before = 0
    while True:
        # median of three, by position: the same arrangement gives the same result
        first, middle, last = along[low], along[(low + high) // 2], along[high - 1]
        pivot = max(min(first, middle), min(max(first, middle), last))
        a, at, b = low, low, high
        below = 0
        on = 0
        while at < b:
            value = along[at]
            if value < pivot:
                below += count[at]
                if at != a:
                    _swap(x, y, count, place, a, at)
                a += 1
                at += 1
            elif value > pivot:
                b -= 1
                _swap(x, y, count, place, at, b)
            else:
                on += count[at]
                at += 1
        if target < before + below:
            high = a
        elif target < before + below + on:
            return a, b, before + below, before + below + on
        else:
            before += below + on
            low = b
            if low >= high:
                return high, high, before, before


@inlined
def _limit(weight, aim):
    """The least largest group that a rectangle of this weight can hope for."""
    groups = max(weight // aim, 1)
    return (weight + groups - 1) // groups


@inner
def _best_cut(along, x, y, count, place, start, end, weight, k, aim, target):
    """The better of a rectangle's two cuts around the target: cost and place; -1 where neither is legal."""
    a, b, before, after = _around(along, x, y, count, place, start, end, target)
    cost, cut = np.int64(-1), end
    for at, left in ((a, before), (b, after)):
        if left < k or weight - left < k:
            continue
        this = max(_limit(left, aim), _limit(weight - left, aim))
        if cost < 0 or this < cost:
            cost, cut = this, at
    return cost, cut


@entry
def cut_rectangles(x, y, count, x_place, y_place, k, aim):
    """Cut points into rectangles, boxes that do not meet and hold at least k: labels; or one label.

    `x` and `y` are codes, `x_place[code]` and `y_place[code]` their positions; the first three arrays are
    used up. A part of weight w aims at floor(w / aim) groups, aim >= k: it is cut where both sides get
    their share of them. Of the cuts between distinct coordinates the best one is next to that share, so two
    per axis are looked at; the cut that promises the smaller largest group wins, on a tie the one across
    the longer side. A part is cut as long as any cut leaves k on both sides.
    """
    n = x.size
    place = np.arange(n)
    label = np.empty(n, dtype=np.int32)
    starts = [np.int64(0)]
    ends = [np.int64(n)]
    groups = 0
    while len(starts) > 0:
        start, end = starts.pop(), ends.pop()
        weight = np.int64(0)
        x_low, x_high, y_low, y_high = x[start], x[start], y[start], y[start]
        for i in range(start, end):
            weight += count[i]
            x_low, x_high = min(x_low, x[i]), max(x_high, x[i])
            y_low, y_high = min(y_low, y[i]), max(y_high, y[i])
        cut = end
        if weight >= 2 * k:
            share = max(weight // aim, 2)
            target = weight * (share // 2) // share
            across_x = x_place[x_high] - x_place[x_low] >= y_place[y_high] - y_place[y_low]
            ideal = _limit(weight, aim)
            if across_x:
                cost, cut = _best_cut(x, x, y, count, place, start, end, weight, k, aim, target)
            else:
                cost, cut = _best_cut(y, x, y, count, place, start, end, weight, k, aim, target)
            if cost < 0 or cost > ideal:
                if across_x:
                    other, other_cut = _best_cut(y, x, y, count, place, start, end, weight, k, aim, target)
                else:
                    other, other_cut = _best_cut(x, x, y, count, place, start, end, weight, k, aim, target)
                if other >= 0 and (cost < 0 or other < cost):
                    cost, cut = other, other_cut
                elif cost >= 0:  # the second look moved the points: arrange them again
                    if across_x:
                        cost, cut = _best_cut(x, x, y, count, place, start, end, weight, k, aim, target)
                    else:
                        cost, cut = _best_cut(y, x, y, count, place, start, end, weight, k, aim, target)
            if cost < 0:
                cut = end
        if cut == end:
            for i in range(start, end):
                label[place[i]] = groups
            groups += 1
            continue
        starts.append(cut)
        ends.append(end)
        starts.append(start)
        ends.append(cut)
    return label

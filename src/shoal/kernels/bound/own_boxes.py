"""The cheapest box around every row that holds k records, or a bound below it.

Not every row need be asked: the box of another row and a row of its tile holds k records too, and costs at
most the other's box and their distance. So what the others' boxes cost is known but for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.sort import sort_by
from shoal.kernels.bound.farthest_first import DOWN, desk_for, greedy, least, see
from shoal.kernels.compile.decorators import entry
from shoal.kernels.neighbours.tiles import SLACK, TOGETHER, Tiles, listing_for, near_lists
from shoal.kernels.threads import over_rows

__all__ = ["own_boxes"]

NEAREST = 4
"""Rows among which a first box is grown, as a multiple of k."""


def own_boxes(
    tiles: Tiles, metric: Any, k: int, *, most: int, deepest: int, looks: int, every: int
) -> NDArray[np.float64]:
    """For each row of the tiles at most, and nearly, what the cheapest box around it and k records costs.

    One row in `every` is asked: its `most` nearest rows are searched, so many records deep, with so many
    looks at them. Needs at least k records.
    """
    out = np.zeros(tiles.place.size)
    weight = float(metric.most.sum())

    def work(first: int, last: int) -> None:
        desk = desk_for(metric, k, most)
        listing = listing_for(tiles, most)
        _own_boxes(tiles, metric, first, last, every, k, most, deepest, looks, weight, desk, listing, out)

    over_rows(tiles.begin.size - 1, work, 4)
    return out


@entry
def _own_boxes(tiles, metric, first, last, every, k, most, deepest, looks, weight, desk, listing, out):
    far, who, many, limit = listing.far, listing.who, listing.many, listing.limit
    rows = np.empty(most + 1, dtype=np.int32)
    for tile in range(first, last):
        for begin in range(tiles.begin[tile], tiles.begin[tile + 1], TOGETHER * every):
            end = min(begin + TOGETHER * every, tiles.begin[tile + 1])
            near_lists(tiles, metric, tile, begin, end, every, most, listing)
            for q in range((end - begin + every - 1) // every):
                row = begin + q * every
                if tiles.count[row] >= k:
                    continue
                sort_by(far[q], who[q], many[q])
                size = 0
                if tiles.count[row] > 1:
                    rows[0] = row
                    desk.count[0] = tiles.count[row] - 1
                    size = 1
                for x in range(many[q]):
                    rows[size] = who[q, x]
                    desk.count[size] = tiles.count[who[q, x]]
                    size += 1
                see(desk, tiles.codes, metric, row, rows, size)
                best = max(0.0, limit[q] * DOWN - SLACK * weight)
                best = k * min(best, greedy(desk, min(size, NEAREST * k), np.int64(k - 1)))
                value, _, _ = least(desk, k, size, deepest, looks, best)
                value /= k
                out[row] = max(out[row], value)
                if every == 1:
                    continue
                for x in range(many[q]):  # Lemma 4 (a neighbour's box)
                    other = who[q, x]
                    if begin <= other < end:
                        out[other] = max(out[other], value - far[q, x] / DOWN - SLACK * weight)

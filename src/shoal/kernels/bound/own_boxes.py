"""The cheapest box around every row that holds k records, or a bound below it.

Not every row need be asked: the box of another row and a row of its tile holds k records too, and costs at
most the other's box and their distance. So what the others' boxes cost is known but for that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.sort import sort_by
from shoal.kernels.bound.farthest_first import desk_for, greedy, see
from shoal.kernels.bound.lowest_first import front_for, lowest
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.single import DOWN, down_for, slack_for
from shoal.kernels.neighbours.tiles import TOGETHER, Tiles, listing_for, near_lists
from shoal.kernels.threads import over_rows

__all__ = ["Lists", "listed_boxes", "one_in", "own_boxes"]

NEAREST = 4
"""Rows among which a first box is grown, as a multiple of k."""


class Lists(NamedTuple):
    """The nearest rows of every row: row[i, : many[i]] at the distances far[i], nearest first.

    All others are at least radius[i] away. `sets` holds the k rows of a cheap set, the
    cheapest where it was found, -1 where none is known.
    """

    row: Any
    far: Any
    many: Any
    radius: Any
    sets: Any


def own_boxes(
    tiles: Tiles,
    metric: Any,
    k: int,
    *,
    most: int,
    deepest: int,
    looks: int,
    asked: NDArray[np.int64],
) -> NDArray[np.float64]:
    """For each row of the tiles at most, and nearly, what the cheapest box around it and k records costs.

    The `most` nearest rows of those `asked` (by their order in the tiles, which rises) are searched, so
    many records deep, with so many looks at them. Needs at least k records.
    """
    return _boxes(tiles, metric, k, most, deepest, looks, asked, _lists(0, most, k))


def one_in(every: int, tiles: Tiles) -> NDArray[np.int64]:
    """One row in `every` of each tile, and the first in any case."""
    if every == 1:
        return np.arange(tiles.place.size)
    sizes = np.diff(tiles.begin)
    many = -(-sizes // every)
    behind = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    chosen: NDArray[np.int64] = np.repeat(tiles.begin[:-1], many) + every * behind
    return chosen


def listed_boxes(
    tiles: Tiles, metric: Any, k: int, *, most: int, deepest: int, looks: int
) -> tuple[NDArray[np.float64], Lists]:
    """The same for every row, and the lists."""
    lists = _lists(tiles.place.size, most, k)
    return _boxes(tiles, metric, k, most, deepest, looks, one_in(1, tiles), lists), lists


def _lists(rows: int, most: int, k: int) -> Lists:
    return Lists(
        row=np.empty((rows, most), dtype=np.int32),
        far=np.empty((rows, most), dtype=np.float32),
        many=np.empty(rows, dtype=np.int64),
        radius=np.empty(rows),
        sets=np.full((rows, k), -1, dtype=np.int32),
    )


def _boxes(
    tiles: Tiles,
    metric: Any,
    k: int,
    most: int,
    deepest: int,
    looks: int,
    asked: NDArray[np.int64],
    lists: Lists,
) -> NDArray[np.float64]:
    out = np.zeros(tiles.place.size)
    starts = np.searchsorted(asked, tiles.begin)
    columns = metric.most.size
    slack = slack_for(columns, float(metric.most.sum()))

    def work(first: int, last: int) -> None:
        desk = desk_for(metric, k, most)
        front = front_for(desk, most, looks)
        listing = listing_for(tiles, most)
        _own_boxes(
            tiles,
            metric,
            first,
            last,
            asked,
            starts,
            k,
            most,
            deepest,
            looks,
            slack,
            desk,
            front,
            listing,
            lists,
            out,
        )

    over_rows(tiles.begin.size - 1, work, 1 if tiles.sieve.most.size else 4)
    return out * down_for(columns)


@entry
def _own_boxes(
    tiles, metric, first, last, asked, starts, k, most, deepest, looks, slack, desk, front, listing,
    lists, out,
):  # fmt: skip
    far, who, many, limit = listing.far, listing.who, listing.many, listing.limit
    keep = lists.many.size > 0
    rows = np.empty(most + 1, dtype=np.int32)
    for tile in range(first, last):
        begin, end = tiles.begin[tile], tiles.begin[tile + 1]
        for some in range(starts[tile], starts[tile + 1], TOGETHER):
            mine = asked[some : min(some + TOGETHER, starts[tile + 1])]
            near_lists(tiles, metric, tile, mine, most, listing)
            for q in range(mine.size):
                row = mine[q]
                sort_by(far[q], who[q], many[q])
                radius = max(0.0, limit[q] * DOWN - slack)
                if keep:
                    lists.many[row] = many[q]
                    lists.radius[row] = radius
                    for x in range(many[q]):
                        lists.row[row, x] = who[q, x]
                        lists.far[row, x] = far[q, x]
                if tiles.count[row] >= k:
                    continue
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
                grown = greedy(desk, min(size, NEAREST * k), np.int64(k - 1))
                value, exact = lowest(front, desk, k, size, deepest, looks, min(radius, grown))
                if keep and (exact or grown < np.inf):
                    lists.sets[row, 0] = row
                    for at in range(k - 1):
                        lists.sets[row, at + 1] = rows[desk.found[at]]
                out[row] = max(out[row], value)
                if starts[tile + 1] - starts[tile] == end - begin:
                    continue
                for x in range(many[q]):  # Lemma 4 (a neighbour's box)
                    other = who[q, x]
                    if begin <= other < end:
                        out[other] = max(out[other], value - far[q, x] / DOWN - slack)

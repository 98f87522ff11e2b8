"""How far the k-th record is in tables of many columns, where a tree of boxes leaves little aside.

Rows are cut into tiles. A tile whose box is too far from a row is left out; of the others all rows are
compared, together on the columns that differ most, then one by one where that is not yet too far.
Distances are added in single precision and rounded down, so none is above the true one. Never n x n
memory, and the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.lookup import look
from shoal.kernels.distance.single import DOWN, down_for
from shoal.kernels.distance.spans import SET, span
from shoal.kernels.mondrian import cut_apart
from shoal.kernels.threads import over_rows

__all__ = ["least_reaches"]

TILE = 64
"""Records in a tile, at least."""
SIFTING = 8
"""Columns on which a whole tile is compared."""
TOGETHER = 8
"""Queries that look at a tile while it is in the cache."""


def least_reaches(
    codes: NDArray[np.int32], count: NDArray[np.int64], metric: Any, k: int
) -> NDArray[np.float64]:
    """Neighbours in many columns: for each row at most, and nearly, the least distance with k records.

    0 for rows without records. Needs at least k records.
    """
    tile = cut_apart(codes, count, metric, min(TILE, int(count.sum())))
    place = np.argsort(tile, kind="stable")
    place = place[tile[place] >= 0]
    tiles = np.searchsorted(tile[place], np.arange(tile.max() + 2))
    out = np.zeros(len(codes))
    spread = np.zeros(codes.shape[1])
    _spread(codes[place], metric, spread)
    axes = np.argsort(-spread, kind="stable")
    lines = np.ascontiguousarray(codes[place][:, axes])
    columns = np.ascontiguousarray(lines.T)
    low = np.minimum.reduceat(lines, tiles[:-1])
    high = np.maximum.reduceat(lines, tiles[:-1])
    held = count[place]
    sizes = metric.size[axes].astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    by_axis = np.empty_like(starts)
    by_axis[axes] = starts
    found = np.empty(place.size)

    def work(first: int, last: int) -> None:
        """The reach of some rows in many columns."""
        tables = np.empty((TOGETHER, int(sizes.sum())), dtype=np.float32)
        near = np.empty((TOGETHER, k + 2), dtype=np.float32)
        many = np.empty((TOGETHER, k + 2), dtype=np.int64)
        kept = np.empty((TOGETHER, 2), dtype=np.int64)
        sums = np.empty(int(np.diff(tiles).max()), dtype=np.float32)
        _reach(
            lines,
            columns,
            tiles,
            low,
            high,
            held,
            metric,
            axes,
            starts,
            by_axis,
            first,
            last,
            k,
            tables,
            near,
            many,
            kept,
            sums,
            np.empty(axes.size, dtype=np.int32),
            found,
        )

    over_rows(place.size, work)
    out[place] = found * DOWN * down_for(axes.size)
    return out


@entry
def _spread(codes, metric, spread):
    """To order many columns: the sum of distances on each axis over some pairs of rows."""
    rows, axes = codes.shape
    for i in range(rows):
        other = (i * 7919 + 1) % rows
        for axis in range(axes):
            low = min(codes[i, axis], codes[other, axis])
            spread[axis] += span(metric, axis, low, max(codes[i, axis], codes[other, axis]))


@inner
def _keep(near, many, kept, k, far, records):
    """Put a distance among a row's nearest, in order, and drop those that k records do without."""
    at = kept[0]
    while at > 0 and near[at - 1] > far:
        near[at] = near[at - 1]
        many[at] = many[at - 1]
        at -= 1
    near[at] = far
    many[at] = records
    kept[0] += 1
    kept[1] += records
    while kept[1] - many[kept[0] - 1] >= k:
        kept[0] -= 1
        kept[1] -= many[kept[0]]


@inner
def _box_apart(metric, axes, starts, table, line, low, high, limit):
    """No row of a tile of rows is nearer than this, over many columns; at least `limit` if it is above."""
    total = np.float32(0.0)
    for a in range(axes.size):
        code = line[a]
        if low[a] <= code <= high[a]:
            continue
        if metric.form[axes[a]] == SET or code < low[a]:
            total += table[starts[a] + low[a]]
        else:
            total += table[starts[a] + high[a]]
        if total >= limit:
            break
    return total


@entry
def _reach(
    lines,
    columns,
    tiles,
    low,
    high,
    held,
    metric,
    axes,
    starts,
    by_axis,
    first,
    last,
    k,
    tables,
    near,
    many,
    kept,
    sums,
    query,
    found,
):
    """In many columns, tile by tile: how far the k-th record is; columns that differ most come first."""
    used = axes.size
    sifting = min(SIFTING, used)
    own = 0
    for begin in range(first, last, TOGETHER):
        while tiles[own + 1] <= begin:
            own += 1
        queries = min(TOGETHER, last - begin)
        for q in range(queries):
            kept[q, 0] = 0
            kept[q, 1] = 0
            for a in range(used):
                query[axes[a]] = lines[begin + q, a]
            look(metric, query, by_axis, tables[q])
        for step in range(tiles.size - 1):  # its own tile first: there the near ones stand
            tile = (own + step) % (tiles.size - 1)
            at = tiles[tile]
            many_rows = tiles[tile + 1] - at
            for q in range(queries):
                limit = near[q, kept[q, 0] - 1] if kept[q, 1] >= k else np.float32(np.inf)
                line = lines[begin + q]
                if _box_apart(metric, axes, starts, tables[q], line, low[tile], high[tile], limit) >= limit:
                    continue
                for t in range(many_rows):
                    sums[t] = np.float32(0.0)
                for a in range(sifting):
                    column = columns[a]
                    table = tables[q, starts[a] :]
                    for t in range(many_rows):
                        sums[t] += table[column[at + t]]
                for t in range(many_rows):
                    if sums[t] >= limit:
                        continue
                    far = sums[t]
                    for a in range(sifting, used):
                        far += tables[q, starts[a] + lines[at + t, a]]
                        if far >= limit:
                            break
                    if far < limit:
                        _keep(near[q], many[q], kept[q], k, far, held[at + t])
                        if kept[q, 1] >= k:
                            limit = near[q, kept[q, 0] - 1]
        for q in range(queries):
            found[begin + q] = near[q, kept[q, 0] - 1]

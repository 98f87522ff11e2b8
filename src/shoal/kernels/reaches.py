"""How far the k-th record is in tables of many columns, where no tree of boxes leaves anything aside.

Every row is compared with every other: tile by tile on the columns that differ most, then one by one
where that is not yet too far. Distances are added in single precision and rounded down, so none is above
the true one. Never n x n memory, and the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import entry, inner
from shoal.kernels.spans import span
from shoal.kernels.threads import over_rows

__all__ = ["least_reaches"]

TILE = 512
SIFTING = 8
"""Columns on which a whole tile is compared."""
TOGETHER = 8
"""Queries that look at a tile while it is in the cache."""
DOWN = 1.0 - 1e-5
"""Single precision may add up to a little more than is true: 1e-7 a column."""


def least_reaches(
    codes: NDArray[np.int32], count: NDArray[np.int64], metric: Any, k: int
) -> NDArray[np.float64]:
    """For each row at most, and nearly, the least distance within which k records stand, itself included.

    0 for rows without records. Needs at least k records.
    """
    place = np.flatnonzero(count > 0)
    out = np.zeros(len(codes))
    spread = np.zeros(codes.shape[1])
    _spread(codes[place], metric, spread)
    axes = np.argsort(-spread, kind="stable")
    lines = np.ascontiguousarray(codes[place][:, axes])
    columns = np.ascontiguousarray(lines.T)
    held = count[place]
    sizes = metric.size[axes].astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    found = np.empty(place.size)

    def work(first: int, last: int) -> None:
        tables = np.empty((TOGETHER, int(sizes.sum())), dtype=np.float32)
        near = np.empty((TOGETHER, k + 2), dtype=np.float32)
        many = np.empty((TOGETHER, k + 2), dtype=np.int64)
        kept = np.empty((TOGETHER, 2), dtype=np.int64)
        sums = np.empty(TILE, dtype=np.float32)
        _reach(
            lines,
            columns,
            held,
            metric,
            axes,
            starts,
            first,
            last,
            k,
            tables,
            near,
            many,
            kept,
            sums,
            found,
        )

    over_rows(place.size, work)
    out[place] = found * DOWN
    return out


@entry
def _spread(codes, metric, spread):
    """The sum of distances on each axis over some pairs of rows."""
    rows, axes = codes.shape
    for i in range(rows):
        other = (i * 7919 + 1) % rows
        for axis in range(axes):
            low = min(codes[i, axis], codes[other, axis])
            spread[axis] += span(metric, axis, low, max(codes[i, axis], codes[other, axis]))


@inner
def _keep(near, many, kept, k, far, records):
    """Put a distance among the nearest, in order, and drop those that k records do without."""
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


@entry
def _reach(
    lines, columns, held, metric, axes, starts, first, last, k, tables, near, many, kept, sums, found
):
    rows = columns.shape[1]
    used = axes.size
    sifting = min(SIFTING, used)
    tiles = (rows + TILE - 1) // TILE
    for begin in range(first, last, TOGETHER):
        queries = min(TOGETHER, last - begin)
        for q in range(queries):
            kept[q, 0] = 0
            kept[q, 1] = 0
            for a in range(used):
                code = columns[a, begin + q]
                for other in range(metric.size[axes[a]]):
                    low = min(code, np.int32(other))
                    tables[q, starts[a] + other] = span(metric, axes[a], low, max(code, np.int32(other)))
        for step in range(tiles):  # its own tile first: there the near ones stand
            tile = (begin // TILE + step) % tiles * TILE
            many_rows = min(TILE, rows - tile)
            for q in range(queries):
                limit = near[q, kept[q, 0] - 1] if kept[q, 1] >= k else np.float32(np.inf)
                for t in range(many_rows):
                    sums[t] = np.float32(0.0)
                for a in range(sifting):
                    column = columns[a]
                    table = tables[q, starts[a] :]
                    for t in range(many_rows):
                        sums[t] += table[column[tile + t]]
                for t in range(many_rows):
                    if sums[t] >= limit:
                        continue
                    far = sums[t]
                    for a in range(sifting, used):
                        far += tables[q, starts[a] + lines[tile + t, a]]
                        if far >= limit:
                            break
                    if far < limit:
                        _keep(near[q], many[q], kept[q], k, far, held[tile + t])
                        if kept[q, 1] >= k:
                            limit = near[q, kept[q, 0] - 1]
        for q in range(queries):
            found[begin + q] = near[q, kept[q, 0] - 1]

"""The rows nearest to each row, by spans, for many or few columns: asked by tiles of rows that stand close.

A tile is a node of a tree of boxes with few rows. All rows of a tile walk the tree together, from their own
tile outwards, and leave out nodes and tiles that are too far. What is left is measured row by row on the
columns that differ most, then on the others where that is not yet too far. Where columns are many, a sieve
of small whole numbers chooses rows, and only those that it leaves are measured. Distances are in single
precision: they serve to choose, and `distance/single.py` says by how much a radius must be lowered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.lookup import SHORT, look_along
from shoal.kernels.distance.spans import LINE, SET, TREE, span
from shoal.kernels.neighbours.box_tree import build_tree
from shoal.kernels.neighbours.sieve import BEYOND, distance_of, make_sieve, sift

__all__ = [
    "FEW_COLUMNS",
    "TILE",
    "TOGETHER",
    "Listing",
    "Tiles",
    "cut_tiles",
    "listing_for",
    "near_lists",
]

TILE, WIDE_TILE = 64, 512
"""Rows in a tile, at most, but for rows that no column tells apart: few, or many where columns are so many
that hardly any tile is left out."""
NARROW = 10
"""Columns up to which tiles are small; beyond, they are large and go through a sieve."""
FEW_COLUMNS = 16
TOGETHER = 64
"""Rows that walk the tree together."""
SIFTING = 6
"""Columns on which a whole tile is compared before it is seen how many rows are still near."""
FEW = 8
"""Where at most this part of a tile is still near, its rows are compared one by one."""
MORE = 16
"""Rows that are listed beyond those asked for before the farthest are dropped; at least 1."""
FAR = 1e30
"""Where missing stands on a line: farther than all, so that the distance is the whole column."""


class Tiles(NamedTuple):
    """Rows in the order of a tree of boxes, by tiles.

    `place` is a row's index in the table, `count` its records, `codes` its codes. Tile q holds rows
    begin[q] .. begin[q + 1]; its node is node[q]. `cells` holds the tiles one after the other, each
    column by column, `axes` in order: positions on a line, else codes; the first `quick` axes are quick to
    measure. The `sieve` has planes where columns are many. The nodes are those of the tree, and short
    trees have tables of distances from `starts` on.
    """

    codes: Any
    place: Any
    count: Any
    cells: Any
    axes: Any
    quick: Any
    sieve: Any
    begin: Any
    node: Any
    tile_of: Any
    child: Any
    parent: Any
    low: Any
    high: Any
    starts: Any


def cut_tiles(codes: NDArray[np.int32], count: NDArray[np.int64], metric: Any) -> Tiles:
    """Tiles of the rows that have records. Needs at least one."""
    tree = build_tree(codes, count, metric)
    parent = np.full(tree.start.size, -1, dtype=np.int64)
    inside = np.flatnonzero(tree.child >= 0)
    parent[tree.child[inside]] = inside
    parent[tree.child[inside] + 1] = inside
    size = tree.end - tree.start
    used = np.flatnonzero(metric.most > 0.0)
    is_wide = bool(used.size > NARROW)
    last = (size <= (WIDE_TILE if is_wide else TILE)) | (tree.child < 0)
    node = np.flatnonzero(last & ((parent < 0) | ~last[parent]))
    node = node[np.argsort(tree.start[node], kind="stable")]
    begin = np.append(tree.start[node], tree.place.size)
    tile_of = np.full(tree.start.size, -1, dtype=np.int64)
    tile_of[node] = np.arange(node.size)
    spread = np.zeros(metric.form.size)
    _spread(tree.codes, metric, spread)
    long = (metric.form == TREE) & (metric.size > SHORT)
    axes = used[np.lexsort((-spread[used], long[used]))]
    cells = np.empty(tree.place.size * axes.size, dtype=np.float32)
    _lay(tree.codes, metric, axes, begin, cells)
    short = (metric.form == TREE) & ~long
    ends = np.cumsum(np.where(short, metric.size, 0))
    starts = np.append(np.where(short, ends - metric.size, -1), ends[-1])
    return Tiles(
        tree.codes,
        tree.place,
        tree.count,
        cells,
        axes,
        int(np.sum(~long[used])),
        make_sieve(tree.codes, begin, metric, many=is_wide),
        begin,
        node,
        tile_of,
        tree.child,
        parent,
        tree.low,
        tree.high,
        starts,
    )


class Listing(NamedTuple):
    """Where the lists of some rows are made; two threads must not share one.

    Those of the q-th row are who[q, : many[q]], by their order in the tiles, and far[q] how far, unsorted;
    all rows that are not listed are at least limit[q] away, but for what single precision adds.
    """

    far: Any
    who: Any
    many: Any
    limit: Any
    tables: Any
    sums: Any
    units: Any
    bar: Any
    stack: Any
    gaps: Any
    box: Any


def listing_for(tiles: Tiles, most: int) -> Listing:
    """Room for lists of at most `most` rows."""
    rows = int(np.diff(tiles.begin).max())
    return Listing(
        far=np.empty((TOGETHER, most + MORE + rows), dtype=np.float32),
        who=np.empty((TOGETHER, most + MORE + rows), dtype=np.int32),
        many=np.empty(TOGETHER, dtype=np.int64),
        limit=np.empty(TOGETHER, dtype=np.float32),
        tables=np.empty((TOGETHER, int(tiles.starts[-1]) + 1), dtype=np.float32),
        sums=np.empty(rows, dtype=np.float32),
        units=np.empty(rows, dtype=np.uint16),
        bar=np.empty(TOGETHER, dtype=np.uint16),
        stack=np.empty(2 * tiles.node.size + 64, dtype=np.int64),
        gaps=np.empty(2 * tiles.node.size + 64),
        box=np.empty((2, tiles.codes.shape[1]), dtype=np.int32),
    )


@entry
def _spread(codes, metric, spread):
    """The sum of distances on each axis over some pairs of rows."""
    rows, axes = codes.shape
    step = max(1, rows // 4096)
    for i in range(0, rows, step):
        other = (i * 7919 + 1) % rows
        for axis in range(axes):
            low = min(codes[i, axis], codes[other, axis])
            spread[axis] += span(metric, axis, low, max(codes[i, axis], codes[other, axis]))


@entry
def _lay(codes, metric, axes, begin, cells):
    for tile in range(begin.size - 1):
        first = begin[tile]
        rows = begin[tile + 1] - first
        at = first * axes.size
        for a in range(axes.size):
            axis = axes[a]
            for r in range(rows):
                cells[at] = _cell(codes, metric, first + r, axis)
                at += 1


@leaf
def _cell(codes, metric, row, axis):
    """Where a row stands on an axis: a position on a line, else a code."""
    code = codes[row, axis]
    if metric.form[axis] == LINE:
        return FAR if code == metric.missing[axis] else metric.data[metric.offset[axis] + code]
    return float(code)


@inner
def _box(codes, rows, box):
    """The box of some rows, which lie closer together than all of their tile where they are few of it."""
    for axis in range(codes.shape[1]):
        least = greatest = codes[rows[0], axis]
        for row in rows[1:]:
            least = min(least, codes[row, axis])
            greatest = max(greatest, codes[row, axis])
        box[0, axis], box[1, axis] = least, greatest


@inner
def _gap(metric, box, low, high, node):
    """No row of a node is nearer to one of a box than this."""
    total = 0.0
    for axis in range(low.shape[1]):
        if box[1, axis] < low[node, axis]:
            total += span(metric, axis, box[1, axis], np.int32(low[node, axis]))
        elif high[node, axis] < box[0, axis]:
            total += span(metric, axis, np.int32(high[node, axis]), box[0, axis])
    return total


@inner
def _gap_to(metric, axes, codes, row, low, high, node, limit):
    """No row of the node is nearer to a row than this; some number of at least `limit` if it is above."""
    total = 0.0
    for axis in axes:
        code = codes[row, axis]
        if code < low[node, axis]:
            total += span(metric, axis, code, np.int32(low[node, axis]))
        elif code > high[node, axis]:
            total += span(metric, axis, np.int32(high[node, axis]), code)
        if total >= limit:
            break
    return total


@inner
def _look(metric, codes, row, starts, table):
    """The distance of every code to the row's code, for short trees."""
    for axis in range(codes.shape[1]):
        if starts[axis] >= 0:
            look_along(metric, axis, codes[row, axis], table, starts[axis])


@inner
def _add(metric, axis, mine, starts, table, cells, sums):
    """Add the distances on one axis, a line, a set or a short tree."""
    rows = cells.size
    if metric.form[axis] == LINE:
        most = np.float32(metric.most[axis])
        for r in range(rows):
            far = abs(cells[r] - mine)
            sums[r] += far if far < most else most
    elif metric.form[axis] == SET:
        step = np.float32(metric.data[metric.offset[axis]])
        for r in range(rows):
            sums[r] += np.float32(0.0) if cells[r] == mine else step
    else:
        short = table[starts[axis] :]
        for r in range(rows):
            sums[r] += short[np.uint32(np.int32(cells[r]))]  # unsigned: no look for places from the end


@inner
def _rest(metric, axes, first, codes, row, other, starts, table, far, limit):
    """The distance to another row, from what the first axes make; stops at `limit`."""
    for a in range(first, axes.size):
        axis = axes[a]
        code = codes[row, axis]
        its = codes[other, axis]
        if code != its:
            if starts[axis] >= 0:
                far += table[starts[axis] + its]
            else:
                far += np.float32(span(metric, axis, min(code, its), max(code, its)))
        if far >= limit:
            break
    return far


@inner
def _keep_nearest(far, who, many, most):
    """Move the `most` nearest of the first `many` to the front; the least distance of those left out."""
    low = 0
    high = many - 1
    while low < high:  # quickselect: far[most] gets its place
        pivot = far[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while far[i] < pivot:
                i += 1
            while far[j] > pivot:
                j -= 1
            if i <= j:
                far[i], far[j] = far[j], far[i]
                who[i], who[j] = who[j], who[i]
                i += 1
                j -= 1
        if most <= j:
            high = j
        elif most >= i:
            low = i
        else:
            break
    return far[most]


@inner
def near_lists(tiles, metric, tile, asked, most, listing):
    """List the `most` nearest others of some rows of a tile, at most TOGETHER."""
    far, who, many, limit = listing.far, listing.who, listing.many, listing.limit
    tables, sums, stack, gaps = listing.tables, listing.sums, listing.stack, listing.gaps
    codes, cells, axes, begin = tiles.codes, tiles.cells, tiles.axes, tiles.begin
    low, high, child, starts = tiles.low, tiles.high, tiles.child, tiles.starts
    used = axes.size
    quick = tiles.quick
    sieve, units = tiles.sieve, listing.units
    sieved = sieve.most.size > 0
    bar, box = listing.bar, listing.box
    queries = asked.size
    _box(codes, asked, box)
    for q in range(queries):
        many[q] = 0
        limit[q] = np.inf
        bar[q] = BEYOND
        _look(metric, codes, asked[q], starts, tables[q])
    top = 0
    own = tiles.node[tile]
    node = own
    while tiles.parent[node] >= 0:
        node = tiles.parent[node]
        top += 1
    depth = top
    node = own
    while tiles.parent[node] >= 0:
        above = tiles.parent[node]
        other = child[above] + 1 if child[above] == node else child[above]
        depth -= 1
        stack[depth] = other  # the nearest are on top
        gaps[depth] = _gap(metric, box, low, high, other)
        node = above
    stack[top] = own
    gaps[top] = 0.0
    top += 1
    while top > 0:
        top -= 1
        node = stack[top]
        widest = np.float32(0.0)
        for q in range(queries):
            widest = max(widest, limit[q])
        if gaps[top] >= widest:
            continue
        if tiles.tile_of[node] < 0:
            left = child[node]
            one = _gap(metric, box, low, high, left)
            two = _gap(metric, box, low, high, left + 1)
            nearer = 1 if two < one else 0
            stack[top] = left + 1 - nearer
            gaps[top] = one if nearer else two
            stack[top + 1] = left + nearer
            gaps[top + 1] = two if nearer else one
            top += 2
            continue
        its = tiles.tile_of[node]
        at = begin[its]
        rows = begin[its + 1] - at
        for q in range(queries):
            row = asked[q]
            if node != own and _gap_to(metric, axes, codes, row, low, high, node, limit[q]) >= limit[q]:
                continue
            if sieved:
                if sift(sieve, begin[tile], begin[tile + 1], row, at, rows, bar[q], units) == 0:
                    continue
                found = many[q]
                for r in range(rows):
                    if units[r] < bar[q] and at + r != row:
                        far[q, found] = units[r]
                        who[q, found] = at + r
                        found += 1
                if found >= most + MORE:
                    bar[q] = np.uint16(_keep_nearest(far[q], who[q], found, most))
                    limit[q] = distance_of(sieve, bar[q])
                    found = most
                many[q] = found
                continue
            for r in range(rows):
                sums[r] = np.float32(0.0)
            measured = 0
            near = rows
            while measured < quick and FEW * near > rows:
                until = min(measured + SIFTING, quick)
                for a in range(measured, until):
                    axis = axes[a]
                    mine = np.float32(_cell(codes, metric, row, axis))
                    column = cells[at * used + a * rows : at * used + (a + 1) * rows]
                    _add(metric, axis, mine, starts, tables[q], column, sums)
                measured = until
                near = 0
                for r in range(rows):
                    near += 1 if sums[r] < limit[q] else 0
            if near == 0:
                continue
            found = many[q]
            for r in range(rows):
                if sums[r] >= limit[q] or at + r == row:
                    continue
                distance = sums[r]
                if measured < used:
                    distance = _rest(
                        metric, axes, measured, codes, row, at + r, starts, tables[q], sums[r], limit[q]
                    )
                if distance < limit[q]:
                    far[q, found] = distance
                    who[q, found] = at + r
                    found += 1
            if found >= most + MORE:
                limit[q] = _keep_nearest(far[q], who[q], found, most)
                found = most
            many[q] = found
    for q in range(queries):
        if many[q] > most:
            limit[q] = _keep_nearest(far[q], who[q], many[q], most)
            many[q] = most
            if sieved:
                limit[q] = distance_of(sieve, limit[q])
        for x in range(many[q] if sieved else 0):
            start = np.float32(0.0)
            far[q, x] = _rest(
                metric, axes, 0, codes, asked[q], who[q, x], starts, tables[q], start, np.float32(np.inf)
            )

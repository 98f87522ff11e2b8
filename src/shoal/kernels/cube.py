"""All boxes worth a look: the closed cells of a table, rows of each in sweep order.

One LINE axis, the sweep, stays out: any run of a cell's rows in sweep order is a box. Every other axis
becomes a dimension with nested partitions of its codes (sheets, finest first). A cell takes one node of
one sheet per dimension; it is closed when no node can be replaced by a smaller one that holds the same
rows. Only closed cells of at least k records are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.spans import LINE, SET, TREE, span

__all__ = ["Cube", "Shape", "build_cube", "lay_out", "shape_of"]


class Shape(NamedTuple):
    """How a table is seen as a cube.

    `sweep` is the axis of the sweep, -1 where there is no LINE; `axis` the other axes in the order in
    which they are cut; `height` the sheets above the finest of each; `size` its codes.
    `node[offset[q] + s * size[q] + code]` is the node of a code on sheet s: its id is below size[q], and
    sheets are nested.
    """

    sweep: int
    axis: NDArray[np.int64]
    height: NDArray[np.int64]
    size: NDArray[np.int64]
    offset: NDArray[np.int64]
    node: NDArray[np.int32]


class Cube(NamedTuple):
    """Cells: `entry[start[c] : start[c + 1]]` are rows in sweep order, `cost[c]` what the cell gives up.

    `cost` leaves out the sweep; bit q of `open_sets[c]` says that dimension q is a SET of which the cell
    holds more than one member. Its windows' own members decide what they cost; `cost` charges two.
    `whole` is False where the room ran out and cells are missing.
    """

    entry: NDArray[np.int32]
    start: NDArray[np.int64]
    cost: NDArray[np.float64]
    open_sets: NDArray[np.int64]
    whole: bool


def shape_of(codes: NDArray[np.int32], count: NDArray[np.int64], metric, halvings: int = 4) -> Shape:
    """Choose the sweep and lay the other axes out, those that tell rows apart best first.

    LINE axes other than the sweep are halved by records again and again, at most `halvings` times;
    with -1 they are left out.
    """
    axes = codes.shape[1]
    spread = np.zeros(axes)
    held = []
    for axis in range(axes):
        records = np.bincount(codes[:, axis], weights=count, minlength=metric.size[axis]).astype(np.float64)
        held.append(records)
        share = records[records > 0] / max(records.sum(), 1.0)
        spread[axis] = -(share @ np.log(share)) if share.size else 0.0
    free = metric.most > 0.0
    lines = [axis for axis in range(axes) if metric.form[axis] == LINE and free[axis]]
    sweep = max(lines, key=lambda axis: (metric.most[axis] * spread[axis], -axis), default=-1)
    # an axis that costs nothing or has one code in use divides nothing
    rest = [axis for axis in range(axes) if axis != sweep and free[axis] and spread[axis] > 0.0]
    if halvings < 0:
        rest = [axis for axis in rest if metric.form[axis] != LINE]
    rest.sort(key=lambda axis: (-spread[axis], axis))
    sheets = []
    for axis in rest:
        size = int(metric.size[axis])
        if metric.form[axis] == TREE:
            at = metric.level_offset[axis]
            rows = metric.height[axis] + 1
            sheets.append(metric.level[at : at + rows * size].reshape(rows, size))
        elif metric.form[axis] == LINE:
            sheets.append(_halves(held[axis], int(metric.missing[axis]), halvings))
        else:
            sheets.append(np.stack([np.arange(size), np.zeros(size)]).astype(np.int32))
    return lay_out(sweep, rest, sheets)


def lay_out(sweep: int, axes: list[int], sheets: list[NDArray[np.int32]]) -> Shape:
    """Pack nested sheets (finest first, one row per sheet) of the given axes."""
    sizes = [sheet.size for sheet in sheets]
    return Shape(
        sweep=int(sweep),
        axis=np.array(axes, dtype=np.int64),
        height=np.array([len(sheet) - 1 for sheet in sheets], dtype=np.int64),
        size=np.array([sheet.shape[1] for sheet in sheets], dtype=np.int64),
        offset=np.cumsum([0, *sizes], dtype=np.int64)[:-1],
        node=np.concatenate([np.zeros(0, dtype=np.int32), *(sheet.ravel() for sheet in sheets)]),
    )


def _halves(records: NDArray[np.float64], missing: int, halvings: int) -> NDArray[np.int32]:
    """Sheets of a line: single codes, then parts halved by records; missing joins at the root."""
    size = records.size
    present = size if missing < 0 else missing
    below = np.concatenate([[0.0], np.cumsum(records[:present])])
    parts = np.zeros(size, dtype=np.int32)
    rows = [parts]
    for _ in range(halvings):
        finer = rows[-1].copy()
        for first in np.unique(rows[-1][:present]):
            inside = np.flatnonzero(rows[-1][:present] == first)
            low, high = inside[0], inside[-1] + 1
            if high - low < 2:
                continue
            middle = (below[low] + below[high]) / 2
            cut = low + 1 + int(np.argmin(np.abs(below[low + 1 : high] - middle)))
            finer[cut:high] = cut
        if missing >= 0:
            finer[missing:] = missing
        rows.append(finer)
    rows.append(np.arange(size, dtype=np.int32))
    return np.stack(rows[::-1]).astype(np.int32)


@njit(cache=True, nogil=True)
def _split(code, count, buffer, depth, begin, stop, shape, sheet, metric, k, room, work, seg, cost, many):
    """Partition rows buffer[depth, begin:stop] by the nodes of a sheet into buffer[depth + 1].

    Keeps nodes of at least k records that are single codes or hold two nodes of the sheet below, and
    that cost at most `room`. Returns how many; seg, cost and many (open SET) are filled per node.
    """
    held, low, high, members, slot, touched, seen = work
    q = depth
    axis = shape.axis[q]
    size = shape.size[q]
    form = metric.form[axis]
    base = shape.offset[q] + sheet * size
    finer = base - size
    found = 0
    mine = code[q]
    node = shape.node
    for t in range(begin, stop):
        i = buffer[depth, t]
        c = mine[i]
        v = node[base + c]
        if held[v] == 0:
            touched[found] = v
            found += 1
            low[v] = c
            high[v] = c
            members[v] = 0
        elif c < low[v]:
            low[v] = c
        elif c > high[v]:
            high[v] = c
        held[v] += count[i]
        if form == SET and seen[c] == 0:
            seen[c] = 1
            members[v] += 1
    kept = 0
    total = 0
    for f in range(found):
        v = touched[f]
        slot[v] = -1
        good = held[v] >= k
        if good and sheet > 0:
            good = node[finer + low[v]] != node[finer + high[v]]
        if good:
            is_open = False
            if form == SET:
                is_open = members[v] > 1
                price = metric.data[metric.offset[axis]] if is_open else 0.0
            else:
                price = span(metric, axis, low[v], high[v])
            if price <= room:
                slot[v] = kept
                seg[kept] = 0
                cost[kept] = price
                many[kept] = is_open
                kept += 1
    if kept > 0:
        for t in range(begin, stop):  # sizes, then places, then rows in order
            v = slot[node[base + mine[buffer[depth, t]]]]
            if v >= 0:
                seg[v] += 1
        for v in range(kept):
            size_v = seg[v]
            seg[v] = total
            total += size_v
        for t in range(begin, stop):
            i = buffer[depth, t]
            v = slot[node[base + mine[i]]]
            if v >= 0:
                buffer[depth + 1, seg[v]] = i
                seg[v] += 1
        for v in range(kept, 0, -1):
            seg[v] = seg[v - 1]
        seg[0] = 0
    for f in range(found):
        held[touched[f]] = 0
    if form == SET:
        for t in range(begin, stop):
            seen[mine[buffer[depth, t]]] = 0
    return kept


@njit(cache=True, nogil=True)
def _is_closed(code, rows, begin, stop, shape, sheet, depth):
    """Whether the nodes chosen on the dimensions before `depth` are still the smallest around the rows."""
    for q in range(depth):
        s = sheet[q]
        if s == 0:
            continue
        base = shape.offset[q] + (s - 1) * shape.size[q]
        v = shape.node[base + code[q, rows[begin]]]
        tight = False
        for t in range(begin + 1, stop):
            if shape.node[base + code[q, rows[t]]] != v:
                tight = True
                break
        if not tight:
            return False
    return True


@njit(cache=True, nogil=True)
def _tight_cost(code, rows, begin, stop, shape, metric, mask):
    """What rows give up on all dimensions; two members where a SET is open."""
    total = 0.0
    for q in range(shape.axis.size):
        axis = shape.axis[q]
        if metric.form[axis] == SET:
            if (mask >> q) & 1:
                total += metric.data[metric.offset[axis]]
            continue
        low = code[q, rows[begin]]
        high = low
        for t in range(begin + 1, stop):
            c = code[q, rows[t]]
            if c < low:
                low = c
            elif c > high:
                high = c
        total += span(metric, axis, low, high)
    return total


@njit(cache=True, nogil=True)
def build_cube(code, count, shape, metric, k, cap, room, work_room):
    """The closed cells of at least k records that cost at most `cap` outside the sweep.

    `code[q]` holds the codes of dimension q, rows in sweep order, every count positive. Stops once the
    cells would hold more than `room` entries, or where more than `work_room` rows were looked at. The
    cell of all rows is the last one, whatever it costs.
    """
    dims, m = code.shape
    widest = 1
    has_line = False
    for q in range(dims):
        widest = max(widest, shape.size[q])
        if metric.form[shape.axis[q]] == LINE:
            has_line = True
    buffer = np.empty((dims + 1, m), dtype=np.int32)
    for i in range(m):
        buffer[0, i] = i
    held = np.zeros(widest, dtype=np.int64)
    low = np.zeros(widest, dtype=np.int32)
    high = np.zeros(widest, dtype=np.int32)
    members = np.zeros(widest, dtype=np.int32)
    slot = np.zeros(widest, dtype=np.int32)
    touched = np.zeros(widest, dtype=np.int32)
    seen = np.zeros(widest, dtype=np.uint8)
    work = (held, low, high, members, slot, touched, seen)
    parts = min(widest, m) + 1
    seg = np.zeros((dims + 1, parts), dtype=np.int64)
    price = np.zeros((dims + 1, parts))
    many = np.zeros((dims + 1, parts), dtype=np.bool_)
    begin = np.zeros(dims + 1, dtype=np.int64)
    stop = np.zeros(dims + 1, dtype=np.int64)
    sheet = np.full(dims + 1, -1, dtype=np.int64)
    kept = np.zeros(dims + 1, dtype=np.int64)
    at = np.zeros(dims + 1, dtype=np.int64)
    spent = np.zeros(dims + 1)
    flags = np.zeros(dims + 1, dtype=np.int64)
    entry = np.empty(min(room + m, max(1024, 8 * m)), dtype=np.int32)
    start = np.zeros(max(64, m), dtype=np.int64)
    cost = np.zeros(max(64, m))
    open_sets = np.zeros(max(64, m), dtype=np.int64)
    cells = 0
    filled = 0
    looked = 0
    whole = True
    root = False
    depth = 0
    stop[0] = m
    if dims == 0:
        depth = -1
    while depth >= 0:
        if at[depth] == kept[depth]:
            sheet[depth] += 1
            if sheet[depth] > shape.height[depth]:
                depth -= 1
                continue
            looked += stop[depth] - begin[depth]
            if looked > work_room:
                whole = False
                break
            kept[depth] = _split(
                code,
                count,
                buffer,
                depth,
                begin[depth],
                stop[depth],
                shape,
                sheet[depth],
                metric,
                k,
                cap - spent[depth],
                work,
                seg[depth],
                price[depth],
                many[depth],
            )
            at[depth] = 0
            continue
        v = at[depth]
        at[depth] += 1
        s, e = seg[depth, v], seg[depth, v + 1]
        if e - s < stop[depth] - begin[depth] and not _is_closed(
            code, buffer[depth + 1], s, e, shape, sheet, depth
        ):
            continue
        now = spent[depth] + price[depth, v]
        mask = flags[depth]
        if many[depth, v]:
            mask |= np.int64(1) << depth
        if depth + 1 < dims:
            depth += 1
            begin[depth] = s
            stop[depth] = e
            sheet[depth] = -1
            kept[depth] = 0
            at[depth] = 0
            spent[depth] = now
            flags[depth] = mask
            continue
        if filled + e - s > room:
            whole = False
            break
        if has_line:  # later dimensions may have drawn the lines in
            now = _tight_cost(code, buffer[dims], s, e, shape, metric, mask)
        if e - s == m:
            root = True
        if filled + e - s > entry.size:
            wider = np.empty(min(room + m, 2 * (filled + e - s)), dtype=np.int32)
            wider[:filled] = entry[:filled]
            entry = wider
        if cells + 2 >= start.size:
            start = np.concatenate((start, np.zeros_like(start)))
            cost = np.concatenate((cost, np.zeros_like(cost)))
            open_sets = np.concatenate((open_sets, np.zeros_like(open_sets)))
        for t in range(s, e):
            entry[filled + t - s] = buffer[dims, t]
        filled += e - s
        cost[cells] = now
        open_sets[cells] = mask
        cells += 1
        start[cells] = filled
    if not root:
        mask = np.int64(0)
        for q in range(dims):
            if metric.form[shape.axis[q]] == SET:
                for i in range(1, m):
                    if code[q, i] != code[q, 0]:
                        mask |= np.int64(1) << q
                        break
        wider = np.empty(filled + m, dtype=np.int32)
        wider[:filled] = entry[:filled]
        entry = wider
        for i in range(m):
            entry[filled + i] = i
        filled += m
        cost[cells] = _tight_cost(code, buffer[0], 0, m, shape, metric, mask)
        open_sets[cells] = mask
        cells += 1
        start[cells] = filled
    return Cube(entry[:filled], start[: cells + 1], cost[:cells], open_sets[:cells], whole)

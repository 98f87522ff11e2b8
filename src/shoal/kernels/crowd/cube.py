"""All boxes worth a look: the closed cells of a table, rows of each in sweep order.

One LINE axis, the sweep, stays out: any run of a cell's rows in sweep order is a box. Every other axis
becomes a dimension with nested partitions of its codes (sheets, finest first). A cell takes one node of
one sheet per dimension; it is closed when no node can be replaced by a smaller one that holds the same
rows. Only closed cells of at least k records are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.spans import LINE, SET, TREE, span

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
    The bits count to 64: with more dimensions none may be a number, or costs are wrong (bounds leave
    numbers out, crowd has few columns).
    `whole` is False where the room ran out and cells are missing.
    """

    entry: NDArray[np.int32]
    start: NDArray[np.int64]
    cost: NDArray[np.float64]
    open_sets: NDArray[np.int64]
    whole: bool


def shape_of(codes: NDArray[np.int32], count: NDArray[np.int64], metric, halvings: int = 4) -> Shape:
    """The shape of a cube: choose the sweep and lay out the other axes, first those that part rows best.

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
    """Lay out the cube's dimensions: nested sheets (finest first, one row per sheet) of the given axes."""
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
    """Sheets of a cube's line: single codes, then parts halved by records; missing joins at the root."""
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


HELD, LOW, HIGH, MEMBERS, SLOT, TOUCHED, SEEN = 0, 1, 2, 3, 4, 5, 6
"""Lines of `work`, one place per node or code: records, least and greatest code, members, part, .."""
BEGIN, STOP, SHEET, KEPT, NEXT, FLAGS = 0, 1, 2, 3, 4, 5
"""Lines of `at`, one place per depth: its rows, the sheet, the parts kept, the next part, open SETs."""


def build_cube(
    code: NDArray[np.int32],
    count: NDArray[np.int64],
    shape: Shape,
    metric,
    k: int,
    cap: float,
    room: int,
    work_room: int,
) -> Cube:
    """The cube of boxes: the closed cells of at least k records that cost at most `cap` outside the sweep.

    `code[q]` holds the codes of dimension q, rows in sweep order, every count positive. Stops once the
    cells would hold more than `room` entries, or where more than `work_room` rows were looked at. The
    cell of all rows is the last one, whatever it costs.
    """
    dims, m = code.shape
    widest = int(shape.size.max(initial=1))
    parts = min(widest, m) + 1
    buffer = np.empty((dims + 1, m), dtype=np.int32)
    buffer[0] = np.arange(m)
    at = np.zeros((6, dims + 1), dtype=np.int64)
    at[STOP, 0] = m
    at[SHEET] = -1
    entry, start, cost, open_sets, cells, whole = _build(
        code,
        count,
        shape,
        metric,
        k,
        cap,
        room,
        work_room,
        bool((metric.form[shape.axis] == LINE).any()),
        buffer,
        np.zeros((7, widest), dtype=np.int64),
        np.zeros((dims + 1, parts), dtype=np.int64),
        np.zeros((2, dims + 1, parts)),
        at,
        np.zeros(dims + 1),
    )
    return Cube(entry[: start[cells]], start[: cells + 1], cost[:cells], open_sets[:cells], bool(whole))


@inner
def _split(code, count, buffer, depth, begin, stop, shape, sheet, metric, k, room, work, seg, price):
    """Cut a cell of the cube: rows buffer[depth, begin:stop] by the nodes of a sheet into the next depth.

    Keeps nodes of at least k records that are single codes or hold two nodes of the sheet below, and
    that cost at most `room`. Returns how many; seg and price (cost, open SET) are filled per node.
    """
    node = shape.node
    axis = shape.axis[depth]
    size = shape.size[depth]
    is_set = metric.form[axis] == SET
    base = shape.offset[depth] + sheet * size
    found = 0
    for t in range(begin, stop):
        i = buffer[depth, t]
        c = np.int64(code[depth, i])
        v = node[base + c]
        if work[HELD, v] == 0:
            work[TOUCHED, found] = v
            found += 1
            work[LOW, v] = c
            work[HIGH, v] = c
            work[MEMBERS, v] = 0
        elif c < work[LOW, v]:
            work[LOW, v] = c
        elif c > work[HIGH, v]:
            work[HIGH, v] = c
        work[HELD, v] += count[i]
        if is_set and work[SEEN, c] == 0:
            work[SEEN, c] = 1
            work[MEMBERS, v] += 1
    kept = 0
    for f in range(found):
        v = work[TOUCHED, f]
        work[SLOT, v] = -1
        good = work[HELD, v] >= k
        if good and sheet > 0:
            good = node[base - size + work[LOW, v]] != node[base - size + work[HIGH, v]]
        work[HELD, v] = 0
        if good:
            is_open = is_set and work[MEMBERS, v] > 1
            cost = 0.0
            if not is_set:
                cost = span(metric, axis, work[LOW, v], work[HIGH, v])
            elif is_open:
                cost = metric.data[metric.offset[axis]]
            if cost <= room:
                work[SLOT, v] = kept
                seg[depth, kept] = 0
                price[0, depth, kept] = cost
                price[1, depth, kept] = 1.0 if is_open else 0.0
                kept += 1
    if kept > 0:
        for t in range(begin, stop):  # sizes, then places, then rows in order
            v = work[SLOT, node[base + code[depth, buffer[depth, t]]]]
            if v >= 0:
                seg[depth, v] += 1
        total = 0
        for v in range(kept):
            total += seg[depth, v]
            seg[depth, v] = total - seg[depth, v]
        for t in range(begin, stop):
            i = buffer[depth, t]
            v = work[SLOT, node[base + code[depth, i]]]
            if v >= 0:
                buffer[depth + 1, seg[depth, v]] = i
                seg[depth, v] += 1
        for v in range(kept, 0, -1):
            seg[depth, v] = seg[depth, v - 1]
        seg[depth, 0] = 0
    if is_set:
        for t in range(begin, stop):
            work[SEEN, code[depth, buffer[depth, t]]] = 0
    return kept


@inner
def _is_closed(code, buffer, begin, stop, node, offset, size, sheets, depth):
    """Whether the cell's nodes on the dimensions before `depth` are still the smallest around its rows."""
    for q in range(depth):
        if sheets[SHEET, q] == 0:
            continue
        base = offset[q] + (sheets[SHEET, q] - 1) * size[q]
        v = node[base + code[q, buffer[depth + 1, begin]]]
        tight = False
        for t in range(begin + 1, stop):
            if node[base + code[q, buffer[depth + 1, t]]] != v:
                tight = True
                break
        if not tight:
            return False
    return True


@inner
def _tight_cost(code, buffer, depth, begin, stop, axes, metric, mask):
    """What the rows of a cell of the cube give up on all dimensions; two members where a SET is open."""
    total = 0.0
    for q in range(axes.size):
        axis = axes[q]
        if metric.form[axis] == SET:
            if (mask >> q) & 1:
                total += metric.data[metric.offset[axis]]
            continue
        low = code[q, buffer[depth, begin]]
        high = low
        for t in range(begin + 1, stop):
            c = code[q, buffer[depth, t]]
            if c < low:
                low = c
            elif c > high:
                high = c
        total += span(metric, axis, low, high)
    return total


@entry
def _build(
    code, count, shape, metric, k, cap, room, work_room, has_line, buffer, work, seg, price, at, spent
):
    """Walk the cube dimension by dimension, depth first, and list its closed cells with rows and cost."""
    dims, m = code.shape
    entry = np.empty(min(room + m, max(1024, 8 * m)), dtype=np.int32)
    start = np.empty(max(64, m), dtype=np.int64)
    cost = np.empty(max(64, m))
    open_sets = np.empty(max(64, m), dtype=np.int64)
    start[0] = 0
    cells = np.int64(0)
    filled = np.int64(0)
    looked = 0
    whole = True
    root = False
    depth = np.int64(0 if dims > 0 else -1)
    while depth >= 0 or not root:
        if depth < 0:  # at last the cell of all rows, if it was none of the others
            layer = np.int64(0)
            s, e = np.int64(0), np.int64(m)
            mask = np.int64(0)
            for q in range(dims):
                if metric.form[shape.axis[q]] == SET:
                    for i in range(1, m):
                        if code[q, i] != code[q, 0]:
                            mask |= np.int64(1) << q
                            break
            now = _tight_cost(code, buffer, layer, s, e, shape.axis, metric, mask)
        else:
            begin, stop = at[BEGIN, depth], at[STOP, depth]
            v = at[NEXT, depth]
            if v == at[KEPT, depth]:
                at[SHEET, depth] += 1
                if at[SHEET, depth] > shape.height[depth]:
                    depth -= 1
                    continue
                looked += stop - begin
                if looked > work_room:
                    whole = False
                    depth = np.int64(-1)
                    continue
                at[KEPT, depth] = _split(
                    code,
                    count,
                    buffer,
                    depth,
                    begin,
                    stop,
                    shape,
                    at[SHEET, depth],
                    metric,
                    k,
                    cap - spent[depth],
                    work,
                    seg,
                    price,
                )
                at[NEXT, depth] = 0
                continue
            at[NEXT, depth] = v + 1
            s, e = seg[depth, v], seg[depth, v + 1]
            if e - s < stop - begin and not _is_closed(
                code, buffer, s, e, shape.node, shape.offset, shape.size, at, depth
            ):
                continue
            now = spent[depth] + price[0, depth, v]
            mask = at[FLAGS, depth]
            if price[1, depth, v] > 0.0:
                mask |= np.int64(1) << depth
            if depth + 1 < dims:
                depth += 1
                at[BEGIN, depth] = s
                at[STOP, depth] = e
                at[SHEET, depth] = -1
                at[KEPT, depth] = 0
                at[NEXT, depth] = 0
                spent[depth] = now
                at[FLAGS, depth] = mask
                continue
            if filled + e - s > room:
                whole = False
                depth = np.int64(-1)
                continue
            layer = depth + 1
            if has_line:  # later dimensions may have drawn the lines in
                now = _tight_cost(code, buffer, layer, s, e, shape.axis, metric, mask)
        root = root or e - s == m
        if filled + e - s > entry.size:
            wider = np.empty(max(filled + e - s, min(room + m, 2 * (filled + e - s))), dtype=np.int32)
            for t in range(filled):
                wider[t] = entry[t]
            entry = wider
        if cells + 2 > start.size - 1:
            start, open_sets = _doubled(start), _doubled(open_sets)
            wider_cost = np.empty(2 * cost.size)
            for c in range(cells):
                wider_cost[c] = cost[c]
            cost = wider_cost
        for t in range(s, e):
            entry[filled + t - s] = buffer[layer, t]
        filled += e - s
        cost[cells] = now
        open_sets[cells] = mask
        cells += 1
        start[cells] = filled
    return entry, start, cost, open_sets, cells, whole


@leaf
def _doubled(values):
    """The same list of the cube's cells with room for twice as many."""
    wider = np.empty(2 * values.size, dtype=np.int64)
    for c in range(values.size):
        wider[c] = values[c]
    return wider

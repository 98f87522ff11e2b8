"""A small table of groups that knows its costs: pieces linked into groups, boxes, and what joining costs.

A piece is some copies of one row in one group. A group knows its box: least and greatest code per axis;
on a SET axis the second number counts the members and `bits` says which. The last group stands for the
withheld records: it costs their full weight, has no least size and holds at most the quota.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.spans import LINE, SET, span

__all__ = [
    "AFTER",
    "COPIES",
    "FORM",
    "GROUPS",
    "HEAD",
    "HOME",
    "PIECES",
    "QUOTA",
    "ROW",
    "SIZE",
    "Ruler",
    "State",
    "best_group",
    "box_cost",
    "box_without",
    "drop_group",
    "drop_piece",
    "grow_box",
    "join",
    "joined_cost",
    "leave",
    "link",
    "load_state",
    "make_ruler",
    "measure",
    "new_group",
    "new_piece",
    "pair_cost",
    "read_state",
    "start_box",
    "transfer",
    "unlink",
    "width",
]

PAIRS = 3
"""A form of our own: a LINE or TREE with so few codes that the spans of all pairs stand in a table."""
MOST_PAIRS = 256
FORM, LENGTH, AT, MISSING = 0, 1, 2, 3
ROW, COPIES, HOME, AFTER, BEFORE = 0, 1, 2, 3, 4
HEAD, SIZE = 0, 1
PIECES, GROUPS, QUOTA, SPARE_PIECE, SPARE_GROUP, WORD = 0, 1, 2, 3, 4, 5


class Ruler(NamedTuple):
    """The metric in two arrays, for short compiling: per axis form, length, place in `data`, missing code.

    A LINE has its positions and then its whole span in `data`, a TREE its running maxima of gaps, a SET
    the price of one more member, PAIRS the span of low..high at low * length + high.
    """

    shape: np.ndarray
    data: np.ndarray


class State(NamedTuple):
    """Pieces (row, copies, home, after, before), groups (head, size), boxes, bits, costs per record.

    `stock` holds the number of spare pieces and groups, the quota of withheld records, the first spare
    piece and group (spares are chained by AFTER and HEAD), then the first word in `bits` of each axis.
    """

    codes: np.ndarray
    piece: np.ndarray
    group: np.ndarray
    box: np.ndarray
    bits: np.ndarray
    cost: np.ndarray
    stock: np.ndarray


@njit(cache=True, nogil=True)
def make_ruler(metric):
    """The ruler of a packed metric."""
    axes = metric.form.size
    shape = np.zeros((axes, 4), dtype=np.int64)
    total = 0
    for axis in range(axes):
        size = metric.size[axis]
        form = np.int64(metric.form[axis])
        if form != SET and size <= MOST_PAIRS:
            form = PAIRS
        shape[axis] = (form, size, total, metric.missing[axis])
        if form == PAIRS:
            total += size * size
        elif form == LINE:
            total += size + 1
        else:
            stop = metric.offset[axis + 1] if axis + 1 < axes else metric.data.size
            total += stop - metric.offset[axis]
    data = np.zeros(total)
    for axis in range(axes):
        size = metric.size[axis]
        at = shape[axis, AT]
        if shape[axis, FORM] == PAIRS:
            for low in range(size):
                for high in range(low + 1, size):
                    data[at + low * size + high] = span(metric, axis, low, high)
            continue
        stop = metric.offset[axis + 1] if axis + 1 < axes else metric.data.size
        for i in range(metric.offset[axis], stop):
            data[at + i - metric.offset[axis]] = metric.data[i]
        if shape[axis, FORM] == LINE:
            data[at + size] = metric.most[axis]
    return Ruler(shape, data)


@njit(cache=True, nogil=True)
def width(ruler, axis, low, high):
    """The span of low..high on an axis that is no SET. Needs low < high."""
    form = ruler.shape[axis, FORM]
    at = ruler.shape[axis, AT]
    if form == PAIRS:
        return ruler.data[at + low * ruler.shape[axis, LENGTH] + high]
    if form == LINE:
        if high == ruler.shape[axis, MISSING]:
            return ruler.data[at + ruler.shape[axis, LENGTH]]
        return ruler.data[at + high] - ruler.data[at + low]
    reach = 1
    length = high - low
    while 2 * reach <= length:
        reach *= 2
        at += ruler.shape[axis, LENGTH]
    return max(ruler.data[at + low], ruler.data[at + high - reach])


@njit(cache=True, nogil=True)
def load_state(codes, ruler, k, distinct, group, count, quota, full):
    """A state of the pieces given; group -1 is withheld, other groups have any numbers.

    There is room for as many groups as the records allow, and for some pieces to be split.
    """
    pieces = distinct.size
    axes = codes.shape[1]
    top = np.int64(0)
    records = np.int64(0)
    for p in range(pieces):
        top = max(top, np.int64(group[p]) + 1)
        records += count[p]
    name = np.full(top + 1, -1, dtype=np.int64)
    groups = np.int64(0)
    for p in range(pieces):
        if group[p] >= 0 and name[group[p]] < 0:
            name[group[p]] = groups
            groups += 1
    most = pieces + pieces // 2 + 32
    places = max(groups, min(records // k, groups + groups // 2 + 8)) + 1
    own = np.zeros((most, axes), dtype=np.int32)
    for p in range(pieces):
        for axis in range(axes):
            own[p, axis] = codes[distinct[p], axis]
    stock = np.zeros(WORD + axes + 1, dtype=np.int64)
    for axis in range(axes):
        stock[WORD + axis + 1] = stock[WORD + axis]
        if ruler.shape[axis, FORM] == SET:  # local numbers keep the bits few
            local = np.full(ruler.shape[axis, LENGTH], -1, dtype=np.int32)
            seen = 0
            for p in range(pieces):
                code = own[p, axis]
                if local[code] < 0:
                    local[code] = seen
                    seen += 1
                own[p, axis] = local[code]
            stock[WORD + axis + 1] += (seen + 63) // 64
    state = State(
        own,
        np.full((most, 5), -1, dtype=np.int64),
        np.zeros((places, 2), dtype=np.int64),
        np.zeros((places, 2, axes), dtype=np.int32),
        np.zeros((places, max(1, stock[WORD + axes])), dtype=np.uint64),
        np.zeros(places),
        stock,
    )
    stock[QUOTA] = quota
    stock[SPARE_PIECE] = -1
    stock[SPARE_GROUP] = -1
    for p in range(most - 1, pieces - 1, -1):
        drop_piece(state, p)
    for g in range(places - 2, groups - 1, -1):
        drop_group(state, g)
    for g in range(groups):
        state.group[g, HEAD] = -1
    state.group[places - 1, HEAD] = -1
    state.cost[places - 1] = full
    for p in range(pieces):
        state.piece[p, ROW] = distinct[p]
        state.piece[p, COPIES] = count[p]
        link(state, p, name[group[p]] if group[p] >= 0 else places - 1)
    for g in range(groups):
        measure(ruler, state, g)
    return state


@njit(cache=True, nogil=True)
def drop_piece(state, p):
    """Put a loose piece among the spares."""
    state.piece[p, HOME] = -1
    state.piece[p, AFTER] = state.stock[SPARE_PIECE]
    state.stock[SPARE_PIECE] = p
    state.stock[PIECES] += 1


@njit(cache=True, nogil=True)
def new_piece(state, like, copies):
    """A loose piece of the same row as `like`. Needs a spare."""
    p = state.stock[SPARE_PIECE]
    state.stock[SPARE_PIECE] = state.piece[p, AFTER]
    state.stock[PIECES] -= 1
    for axis in range(state.codes.shape[1]):
        state.codes[p, axis] = state.codes[like, axis]
    state.piece[p, ROW] = state.piece[like, ROW]
    state.piece[p, COPIES] = copies
    return p


@njit(cache=True, nogil=True)
def drop_group(state, g):
    """Put an empty group among the spares."""
    state.group[g, SIZE] = 0
    state.cost[g] = 0.0
    state.group[g, HEAD] = state.stock[SPARE_GROUP]
    state.stock[SPARE_GROUP] = g
    state.stock[GROUPS] += 1


@njit(cache=True, nogil=True)
def new_group(state):
    """An empty group. Needs a spare."""
    g = state.stock[SPARE_GROUP]
    state.stock[SPARE_GROUP] = state.group[g, HEAD]
    state.stock[GROUPS] -= 1
    state.group[g, HEAD] = -1
    return g


@njit(cache=True, nogil=True)
def link(state, p, g):
    """Hang piece p into group g; the box is left as it is."""
    state.piece[p, HOME] = g
    state.piece[p, AFTER] = state.group[g, HEAD]
    state.piece[p, BEFORE] = -1
    if state.group[g, HEAD] >= 0:
        state.piece[state.group[g, HEAD], BEFORE] = p
    state.group[g, HEAD] = p
    state.group[g, SIZE] += state.piece[p, COPIES]


@njit(cache=True, nogil=True)
def unlink(state, p):
    """Take piece p from its group; the box is left as it is."""
    g = state.piece[p, HOME]
    if state.piece[p, BEFORE] >= 0:
        state.piece[state.piece[p, BEFORE], AFTER] = state.piece[p, AFTER]
    else:
        state.group[g, HEAD] = state.piece[p, AFTER]
    if state.piece[p, AFTER] >= 0:
        state.piece[state.piece[p, AFTER], BEFORE] = state.piece[p, BEFORE]
    state.group[g, SIZE] -= state.piece[p, COPIES]
    state.piece[p, HOME] = -1


@njit(cache=True, nogil=True)
def box_cost(ruler, box):
    """The cost per record of a box; on a SET axis `high` counts the members."""
    total = 0.0
    for axis in range(box.shape[1]):
        if ruler.shape[axis, FORM] == SET:
            total += ruler.data[ruler.shape[axis, AT]] * (box[1, axis] - 1)
        elif box[0, axis] != box[1, axis]:
            total += width(ruler, axis, box[0, axis], box[1, axis])
    return total


@njit(cache=True, nogil=True)
def start_box(ruler, state, p, box, bits):
    """The box of one piece."""
    for axis in range(box.shape[1]):
        code = state.codes[p, axis]
        if ruler.shape[axis, FORM] == SET:
            for w in range(state.stock[WORD + axis], state.stock[WORD + axis + 1]):
                bits[w] = 0
            bits[state.stock[WORD + axis] + (code >> 6)] = np.uint64(1) << np.uint64(code & 63)
            box[0, axis] = 0
            box[1, axis] = 1
        else:
            box[0, axis] = code
            box[1, axis] = code


@njit(cache=True, nogil=True)
def grow_box(ruler, state, p, box, bits):
    """Enlarge a box by one piece."""
    for axis in range(box.shape[1]):
        code = state.codes[p, axis]
        if ruler.shape[axis, FORM] == SET:
            w = state.stock[WORD + axis] + (code >> 6)
            bit = np.uint64(1) << np.uint64(code & 63)
            if (bits[w] & bit) == np.uint64(0):
                bits[w] |= bit
                box[1, axis] += 1
        elif code < box[0, axis]:
            box[0, axis] = code
        elif code > box[1, axis]:
            box[1, axis] = code


@njit(cache=True, nogil=True)
def box_without(ruler, state, g, skip, box, bits):
    """Write the box of group g without piece `skip`; its cost per record, 0 when nothing is left."""
    first = True
    p = state.group[g, HEAD]
    while p >= 0:
        if p != skip:
            if first:
                start_box(ruler, state, p, box, bits)
                first = False
            else:
                grow_box(ruler, state, p, box, bits)
        p = state.piece[p, AFTER]
    if first:
        return 0.0
    return box_cost(ruler, box)


@njit(cache=True, nogil=True)
def measure(ruler, state, g):
    """Take the box and cost of group g from its pieces."""
    state.cost[g] = box_without(ruler, state, g, np.int64(-1), state.box[g], state.bits[g])


@njit(cache=True, nogil=True)
def joined_cost(ruler, state, box, bits, p, limit):
    """The cost per record of a box once piece p joins; some number of at least `limit` if it is above."""
    total = 0.0
    for axis in range(box.shape[1]):
        code = state.codes[p, axis]
        if ruler.shape[axis, FORM] == SET:
            held = (bits[state.stock[WORD + axis] + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1)
            total += ruler.data[ruler.shape[axis, AT]] * (box[1, axis] - np.int64(held))
        else:
            least = min(box[0, axis], code)
            greatest = max(box[1, axis], code)
            if least != greatest:
                total += width(ruler, axis, least, greatest)
        if total >= limit:
            return total
    return total


@njit(cache=True, nogil=True)
def pair_cost(ruler, state, p, q):
    """The distance of two pieces."""
    total = 0.0
    for axis in range(state.codes.shape[1]):
        a = state.codes[p, axis]
        b = state.codes[q, axis]
        if a != b:
            if ruler.shape[axis, FORM] == SET:
                total += ruler.data[ruler.shape[axis, AT]]
            else:
                total += width(ruler, axis, min(a, b), max(a, b))
    return total


@njit(cache=True, nogil=True)
def best_group(ruler, state, p, copies, limit, but):
    """The group, but one, where `copies` of piece p add least, and the loss added; (-1, limit) if none."""
    best = limit
    at = np.int64(-1)
    out = state.cost.size - 1
    withheld = state.cost[out] * copies
    if but != out and state.group[out, SIZE] + copies <= state.stock[QUOTA] and withheld < best:
        best = withheld
        at = out
    for g in range(out):
        size = state.group[g, SIZE]
        cost = state.cost[g]
        if size == 0 or g == but or cost * copies >= best:
            continue
        # the loss added is joined * (size + copies) - cost * size
        roof = (best + cost * size) / (size + copies)
        joined = joined_cost(ruler, state, state.box[g], state.bits[g], p, roof)
        if joined < roof:
            best = joined * (size + copies) - cost * size
            at = g
    return at, best


@njit(cache=True, nogil=True)
def join(ruler, state, p, g):
    """Put a loose piece into group g."""
    empty = state.group[g, SIZE] == 0
    link(state, p, g)
    if g == state.cost.size - 1:
        return
    if empty:
        start_box(ruler, state, p, state.box[g], state.bits[g])
    else:
        grow_box(ruler, state, p, state.box[g], state.bits[g])
    state.cost[g] = box_cost(ruler, state.box[g])


@njit(cache=True, nogil=True)
def leave(ruler, state, p):
    """Take piece p out of its group."""
    g = state.piece[p, HOME]
    unlink(state, p)
    if g != state.cost.size - 1:
        measure(ruler, state, g)


@njit(cache=True, nogil=True)
def transfer(ruler, state, p, copies, g):
    """Move some copies of piece p to group g."""
    if copies == state.piece[p, COPIES]:
        leave(ruler, state, p)
        join(ruler, state, p, g)
    else:
        q = new_piece(state, p, copies)
        state.piece[p, COPIES] -= copies
        state.group[state.piece[p, HOME], SIZE] -= copies
        join(ruler, state, q, g)


@njit(cache=True, nogil=True)
def read_state(state):
    """The pieces of a state: (distinct, group, copies), withheld as -1, groups renumbered."""
    out = state.cost.size - 1
    name = np.full(out + 1, -1, dtype=np.int32)
    groups = 0
    pieces = 0
    for p in range(state.piece.shape[0]):
        g = state.piece[p, HOME]
        if g < 0:
            continue
        pieces += 1
        if g != out and name[g] < 0:
            name[g] = groups
            groups += 1
    distinct = np.empty(pieces, dtype=np.int32)
    group = np.empty(pieces, dtype=np.int32)
    copies = np.empty(pieces, dtype=np.int64)
    at = 0
    for p in range(state.piece.shape[0]):
        if state.piece[p, HOME] >= 0:
            distinct[at] = state.piece[p, ROW]
            group[at] = name[state.piece[p, HOME]]
            copies[at] = state.piece[p, COPIES]
            at += 1
    return distinct, group, copies

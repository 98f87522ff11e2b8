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
    "AT",
    "CLOCK",
    "COPIES",
    "FORM",
    "GROUPS",
    "HEAD",
    "HOME",
    "KIND",
    "LENGTH",
    "PIECES",
    "QUOTA",
    "ROW",
    "SEEN",
    "SIZE",
    "TWIN",
    "Ruler",
    "State",
    "best_group",
    "box_cost",
    "box_without",
    "clear_stock",
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
FORM, LENGTH, AT, MISSING, KIND = 0, 1, 2, 3, 4
ROW, COPIES, HOME, AFTER, BEFORE, TWIN, LAST_TWIN = 0, 1, 2, 3, 4, 5, 6
HEAD, SIZE, SEEN = 0, 1, 2
PIECES, GROUPS, QUOTA, SPARE_PIECE, SPARE_GROUP, CLOCK, WORD = 0, 1, 2, 3, 4, 5, 6


class Ruler(NamedTuple):
    """The metric in two arrays, for short compiling: form, length, place in `data`, missing, kind.

    A LINE has its positions and then its whole span in `data`, a TREE its running maxima of gaps, a SET
    the price of one more member, PAIRS the span of low..high at low * length + high; `kind` is the form
    before PAIRS.
    """

    shape: np.ndarray
    data: np.ndarray


class State(NamedTuple):
    """Pieces (row, copies, home, after, before, twins), groups (head, size, seen), boxes, bits, costs.

    `codes` has a line per row, `near` its first piece and then the rows near it, if they were listed.
    `stock` holds the number of spare pieces and groups, the quota of withheld records, the first spare
    piece and group (spares are chained by AFTER and HEAD), a clock that tells which groups have been
    seen, and the first word in `bits` of each axis.
    """

    codes: np.ndarray
    piece: np.ndarray
    group: np.ndarray
    box: np.ndarray
    bits: np.ndarray
    cost: np.ndarray
    stock: np.ndarray
    near: np.ndarray


@njit(cache=True, nogil=True)
def make_ruler(metric, codes):
    """A small table, codes numbered 0, 1, .. in order per axis, and the ruler that measures them."""
    rows, axes = codes.shape
    shape = np.zeros((axes, 5), dtype=np.int64)
    own = np.empty((rows, axes), dtype=np.int32)
    value = np.empty((axes, rows), dtype=np.int64)
    total = 0
    for axis in range(axes):
        name = np.full(metric.size[axis], -1, dtype=np.int32)
        for i in range(rows):
            name[codes[i, axis]] = 0
        size = 0
        for code in range(name.size):
            if name[code] == 0:
                name[code] = size
                value[axis, size] = code
                size += 1
        for i in range(rows):
            own[i, axis] = name[codes[i, axis]]
        kind = np.int64(metric.form[axis])
        form = PAIRS if kind != SET and size <= MOST_PAIRS else kind
        missing = metric.missing[axis]
        shape[axis, FORM] = form
        shape[axis, LENGTH] = size
        shape[axis, AT] = total
        shape[axis, MISSING] = name[missing] if missing >= 0 else -1
        shape[axis, KIND] = kind
        if form == PAIRS:
            total += size * size
        elif form == LINE:
            total += size + 1
        elif form == SET:
            total += 1
        else:
            reach = 1
            total += size
            while 2 * reach <= size:
                total += size
                reach *= 2
    data = np.zeros(total)
    for axis in range(axes):
        form, size, at = shape[axis, FORM], shape[axis, LENGTH], shape[axis, AT]
        if form == PAIRS:
            for low in range(size):
                for high in range(low + 1, size):
                    data[at + low * size + high] = span(metric, axis, value[axis, low], value[axis, high])
        elif form == LINE:
            for code in range(size):
                data[at + code] = metric.data[metric.offset[axis] + value[axis, code]]
            data[at + size] = metric.most[axis]
        elif form == SET:
            data[at] = metric.data[metric.offset[axis]]
        else:
            for code in range(size - 1):
                data[at + code] = span(metric, axis, value[axis, code], value[axis, code + 1])
            reach = 1
            while 2 * reach <= size:
                for code in range(size):
                    data[at + size + code] = data[at + code]
                    if code + reach < size:
                        data[at + size + code] = max(data[at + code], data[at + code + reach])
                at += size
                reach *= 2
    return own, Ruler(shape, data)


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
def load_state(codes, ruler, near, k, distinct, group, count, quota, full):
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
    stock = np.zeros(WORD + axes + 1, dtype=np.int64)
    for axis in range(axes):
        stock[WORD + axis + 1] = stock[WORD + axis]
        if ruler.shape[axis, FORM] == SET:
            stock[WORD + axis + 1] += (ruler.shape[axis, LENGTH] + 63) // 64
    state = State(
        codes,
        np.full((most, 7), -1, dtype=np.int64),
        np.zeros((places, 3), dtype=np.int64),
        np.zeros((places, 2, axes), dtype=np.int32),
        np.zeros((places, max(1, stock[WORD + axes])), dtype=np.uint64),
        np.zeros(places),
        stock,
        near,
    )
    clear_stock(state)
    stock[QUOTA] = quota
    state.cost[places - 1] = full
    for _ in range(groups):
        new_group(state)  # the spares lie in order: groups 0, 1, ..
    for i in range(pieces):
        p = new_piece(state, distinct[i], count[i])
        link(state, p, name[group[i]] if group[i] >= 0 else places - 1)
    for g in range(groups):
        measure(ruler, state, g)
    return state


@njit(cache=True, nogil=True)
def clear_stock(state):
    """Make all pieces and groups spare."""
    state.stock[PIECES] = 0
    state.stock[GROUPS] = 0
    state.stock[SPARE_PIECE] = -1
    state.stock[SPARE_GROUP] = -1
    for p in range(state.piece.shape[0] - 1, -1, -1):
        drop_piece(state, p)
    last = state.cost.size - 1
    for g in range(last - 1, -1, -1):
        drop_group(state, g)
    state.group[last, HEAD] = -1
    state.group[last, SIZE] = 0


@njit(cache=True, nogil=True)
def drop_piece(state, p):
    """Put a loose piece among the spares."""
    row = state.piece[p, ROW]
    if row >= 0 and row < state.near.shape[0]:
        twin, last = state.piece[p, TWIN], state.piece[p, LAST_TWIN]
        if last >= 0:
            state.piece[last, TWIN] = twin
        else:
            state.near[row, 0] = twin
        if twin >= 0:
            state.piece[twin, LAST_TWIN] = last
    state.piece[p, ROW] = -1
    state.piece[p, HOME] = -1
    state.piece[p, AFTER] = state.stock[SPARE_PIECE]
    state.stock[SPARE_PIECE] = p
    state.stock[PIECES] += 1


@njit(cache=True, nogil=True)
def new_piece(state, row, copies):
    """A loose piece of a row. Needs a spare."""
    p = state.stock[SPARE_PIECE]
    state.stock[SPARE_PIECE] = state.piece[p, AFTER]
    state.stock[PIECES] -= 1
    state.piece[p, ROW] = row
    state.piece[p, COPIES] = copies
    if row < state.near.shape[0]:
        twin = state.near[row, 0]
        state.piece[p, TWIN] = twin
        state.piece[p, LAST_TWIN] = -1
        if twin >= 0:
            state.piece[twin, LAST_TWIN] = p
        state.near[row, 0] = p
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
    row = state.piece[p, ROW]
    for axis in range(box.shape[1]):
        code = state.codes[row, axis]
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
    row = state.piece[p, ROW]
    for axis in range(box.shape[1]):
        code = state.codes[row, axis]
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
    row = state.piece[p, ROW]
    for axis in range(box.shape[1]):
        code = state.codes[row, axis]
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
    one, other = state.piece[p, ROW], state.piece[q, ROW]
    total = 0.0
    for axis in range(state.codes.shape[1]):
        a = state.codes[one, axis]
        b = state.codes[other, axis]
        if a != b:
            if ruler.shape[axis, FORM] == SET:
                total += ruler.data[ruler.shape[axis, AT]]
            else:
                total += width(ruler, axis, min(a, b), max(a, b))
    return total


@njit(cache=True, nogil=True)
def added_loss(ruler, state, p, copies, g, limit):
    """The loss that `copies` of piece p add to group g; some number of at least `limit` if it is above."""
    size = state.group[g, SIZE]
    cost = state.cost[g]
    if cost * copies >= limit:
        return limit
    # joined * (size + copies) - cost * size must stay below the limit
    roof = (limit + cost * size) / (size + copies)
    joined = joined_cost(ruler, state, state.box[g], state.bits[g], p, roof)
    if joined >= roof:
        return limit
    return joined * (size + copies) - cost * size


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
    if state.near.shape[1] > 1:
        state.stock[CLOCK] += 1
        clock = state.stock[CLOCK]
        row = state.piece[p, ROW]
        q = state.near[row, 0]
        for n in range(1, state.near.shape[1] + 1):
            while q >= 0:
                g = state.piece[q, HOME]
                if g >= 0 and g not in (out, but) and state.group[g, SEEN] != clock:
                    state.group[g, SEEN] = clock
                    price = added_loss(ruler, state, p, copies, g, best)
                    if price < best:
                        best = price
                        at = g
                q = state.piece[q, TWIN]
            if n < state.near.shape[1] and state.near[row, n] >= 0:
                q = state.near[state.near[row, n], 0]
        if at >= 0 or limit < np.inf:
            return at, best
    for g in range(out):
        if state.group[g, SIZE] > 0 and g != but:
            price = added_loss(ruler, state, p, copies, g, best)
            if price < best:
                best = price
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
        q = new_piece(state, state.piece[p, ROW], copies)
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

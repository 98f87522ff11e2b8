"""A small table of groups that knows its costs: pieces linked into groups, boxes, and what joining costs.

A piece is some copies of one row in one group. A group knows its box: least and greatest code per axis;
on a SET axis the second number counts the members and `bits` says which. The last group stands for the
withheld records: it costs their full weight, has no least size and holds at most the quota.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner, leaf
from shoal.kernels.distance.packed import AT, FORM, LENGTH, PackedMetric, width
from shoal.kernels.distance.spans import SET

__all__ = [
    "AFTER",
    "CLOCK",
    "COPIES",
    "GROUPS",
    "HEAD",
    "HOME",
    "PIECES",
    "QUOTA",
    "ROW",
    "SEEN",
    "SIZE",
    "TWIN",
    "WORD",
    "State",
    "add_row",
    "best_group",
    "box_cost",
    "box_without",
    "drop_group",
    "drop_piece",
    "empty_state",
    "join",
    "joined_cost",
    "leave",
    "link",
    "load_state",
    "new_group",
    "new_piece",
    "read_state",
    "unlink",
]

ROW, COPIES, HOME, AFTER, BEFORE, TWIN, LAST_TWIN = 0, 1, 2, 3, 4, 5, 6
HEAD, SIZE, SEEN = 0, 1, 2
PIECES, GROUPS, QUOTA, SPARE_PIECE, SPARE_GROUP, CLOCK, WORD = 0, 1, 2, 3, 4, 5, 6


class State(NamedTuple):
    """Pieces (row, copies, home, after, before, twins), groups (head, size, seen), boxes, bits, costs.

    `codes` has a line per row, `near` its first piece and then the rows near it, if they were listed.
    `stock` holds the number of spare pieces and groups, the quota of withheld records, the first spare
    piece and group (spares are chained by AFTER and HEAD), a clock that tells which groups have been
    seen, and the first word in `bits` of each axis.
    """

    codes: NDArray[np.int32]
    piece: NDArray[np.int64]
    group: NDArray[np.int64]
    box: NDArray[np.int32]
    bits: NDArray[np.uint64]
    cost: NDArray[np.float64]
    stock: NDArray[np.int64]
    near: NDArray[np.int64]


def empty_state(
    codes: NDArray[np.int32],
    packed: PackedMetric,
    near: NDArray[np.int64],
    pieces: int,
    groups: int,
    full: float,
) -> State:
    """An empty state of groups with room for so many pieces and groups, all of them spare, and no quota."""
    axes = codes.shape[1]
    words = np.where(packed.shape[:, FORM] == SET, (packed.shape[:, LENGTH] + 63) // 64, 0)
    state = State(
        codes,
        np.full((pieces, 7), -1, dtype=np.int64),
        np.zeros((groups + 1, 3), dtype=np.int64),
        np.zeros((groups + 1, 2, axes), dtype=np.int32),
        np.zeros((groups + 1, max(1, int(words.sum()))), dtype=np.uint64),
        np.zeros(groups + 1),
        np.zeros(WORD + axes + 1, dtype=np.int64),
        near,
    )
    state.piece[:-1, AFTER] = np.arange(1, pieces)
    state.group[:, HEAD] = np.arange(1, groups + 2)
    state.group[-2:, HEAD] = -1
    state.cost[groups] = full
    state.stock[WORD + 1 :] = np.cumsum(words)
    state.stock[PIECES] = pieces
    state.stock[GROUPS] = groups
    state.stock[SPARE_GROUP] = 0 if groups else -1
    return state


def load_state(
    codes: NDArray[np.int32],
    packed: PackedMetric,
    near: NDArray[np.int64],
    k: int,
    row: NDArray[np.int64],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    quota: int,
    full: float,
    more: int = 0,
) -> State:
    """The state of groups of the pieces given; group -1 is withheld, other groups have any numbers.

    There is room for as many groups as the records allow, for some pieces to be split, and for `more`.
    """
    names, home = np.unique(group[group >= 0], return_inverse=True)
    groups = names.size
    places = max(groups, min(int(count.sum()) // k, groups + groups // 2 + 8))
    state = empty_state(codes, packed, near, row.size + row.size // 2 + 32 + more, places, full)
    state.stock[QUOTA] = quota
    into = np.full(row.size, places, dtype=np.int64)
    into[group >= 0] = home
    _fill(packed, state, row, into, count, groups)
    return state


@entry
def _fill(packed, state, row, into, count, groups):
    """Make the groups of a state and hang every piece into its own."""
    for _ in range(groups):
        new_group(state.group, state.stock)  # the spares lie in order: groups 0, 1, ..
    for i in range(row.size):
        p = new_piece(state.piece, state.stock, state.near, row[i], count[i])
        join(packed, state, p, into[i])


def read_state(state: State) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """The pieces of a state: (row, group, copies), withheld as -1, groups renumbered."""
    piece = state.piece[state.piece[:, HOME] >= 0]
    names, group = np.unique(piece[:, HOME], return_inverse=True)
    if names.size and names[-1] == state.cost.size - 1:
        group[group == names.size - 1] = -1
    return piece[:, ROW].copy(), group.astype(np.int32), piece[:, COPIES].copy()


@leaf
def drop_piece(piece, stock, near, p):
    """Put a loose piece among the state's spares."""
    row = piece[p, ROW]
    if row < near.shape[0]:
        twin, last = piece[p, TWIN], piece[p, LAST_TWIN]
        if last >= 0:
            piece[last, TWIN] = twin
        else:
            near[row, 0] = twin
        if twin >= 0:
            piece[twin, LAST_TWIN] = last
    piece[p, HOME] = -1
    piece[p, AFTER] = stock[SPARE_PIECE]
    stock[SPARE_PIECE] = p
    stock[PIECES] += 1


@leaf
def new_piece(piece, stock, near, row, copies):
    """A loose piece of a row, from the state's spares. Needs one."""
    p = stock[SPARE_PIECE]
    stock[SPARE_PIECE] = piece[p, AFTER]
    stock[PIECES] -= 1
    piece[p, ROW] = row
    piece[p, COPIES] = copies
    if row < near.shape[0]:
        twin = near[row, 0]
        piece[p, TWIN] = twin
        piece[p, LAST_TWIN] = -1
        if twin >= 0:
            piece[twin, LAST_TWIN] = p
        near[row, 0] = p
    return p


@leaf
def drop_group(group, stock, cost, g):
    """Put an empty group among the state's spares."""
    group[g, SIZE] = 0
    cost[g] = 0.0
    group[g, HEAD] = stock[SPARE_GROUP]
    stock[SPARE_GROUP] = g
    stock[GROUPS] += 1


@leaf
def new_group(group, stock):
    """An empty group of the state. Needs a spare."""
    g = stock[SPARE_GROUP]
    stock[SPARE_GROUP] = group[g, HEAD]
    stock[GROUPS] -= 1
    group[g, HEAD] = -1
    return g


@leaf
def link(piece, group, p, g):
    """Hang piece p into group g of the state; the box is left as it is."""
    head = group[g, HEAD]
    piece[p, HOME] = g
    piece[p, AFTER] = head
    piece[p, BEFORE] = -1
    if head >= 0:
        piece[head, BEFORE] = p
    group[g, HEAD] = p
    group[g, SIZE] += piece[p, COPIES]


@leaf
def unlink(piece, group, p):
    """Take piece p from its group in the state; the box is left as it is."""
    g, before, after = piece[p, HOME], piece[p, BEFORE], piece[p, AFTER]
    if before >= 0:
        piece[before, AFTER] = after
    else:
        group[g, HEAD] = after
    if after >= 0:
        piece[after, BEFORE] = before
    group[g, SIZE] -= piece[p, COPIES]
    piece[p, HOME] = -1


@inner
def box_cost(shape, data, box, g):
    """The cost per record of the state's box g; on a SET axis its greatest counts the members."""
    total = 0.0
    for axis in range(box.shape[2]):
        low, high = np.int64(box[g, 0, axis]), np.int64(box[g, 1, axis])
        if shape[axis, FORM] == SET:
            total += data[shape[axis, AT]] * (high - 1)
        elif low != high:
            total += width(shape, data, axis, low, high)
    return total


@inner
def add_row(shape, stock, codes, row, held, box, bits, g):
    """Enlarge the state's box g of `held` rows or more by a row; where `held` is 0, to that row alone."""
    is_first = held == 0
    for axis in range(box.shape[2]):
        code = codes[row, axis]
        if shape[axis, FORM] == SET:
            if is_first:
                for word in range(stock[WORD + axis], stock[WORD + axis + 1]):
                    bits[g, word] = 0
                box[g, 1, axis] = 0
            word = stock[WORD + axis] + (code >> 6)
            bit = np.uint64(1) << np.uint64(code & 63)
            if (bits[g, word] & bit) == np.uint64(0):
                bits[g, word] |= bit
                box[g, 1, axis] += 1
        elif is_first:
            box[g, 0, axis] = code
            box[g, 1, axis] = code
        elif code < box[g, 0, axis]:
            box[g, 0, axis] = code
        elif code > box[g, 1, axis]:
            box[g, 1, axis] = code


@inner
def box_without(packed, state, g, skip, box, bits, at):
    """Write the state's box of group g without piece `skip` as box `at`; its cost, 0 if nothing is left."""
    piece = state.piece
    held = np.int64(0)
    p = state.group[g, HEAD]
    while p >= 0:
        if p != skip:
            add_row(packed.shape, state.stock, state.codes, piece[p, ROW], held, box, bits, at)
            held += 1
        p = piece[p, AFTER]
    if held == 0:
        return 0.0
    return box_cost(packed.shape, packed.data, box, at)


@inner
def joined_cost(shape, data, stock, codes, row, box, bits, g, limit):
    """The cost per record of the state's box g once a row joins; at least `limit` if it is above."""
    total = 0.0
    for axis in range(codes.shape[1]):
        code = np.int64(codes[row, axis])
        low, high = np.int64(box[g, 0, axis]), np.int64(box[g, 1, axis])
        if shape[axis, FORM] == SET:
            held = (bits[g, stock[WORD + axis] + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1)
            total += data[shape[axis, AT]] * (high - np.int64(held))
        else:
            if code < low:
                low = code
            elif code > high:
                high = code
            if low != high:
                total += width(shape, data, axis, low, high)
        if total >= limit:
            return total
    return total


@inner
def _added_loss(packed, state, row, copies, g, limit):
    """The loss that `copies` of a row add to the state's group g; at least `limit` if it is above."""
    size = state.group[g, SIZE]
    cost = state.cost[g]
    if cost * copies >= limit:
        return limit
    # joined * (size + copies) - cost * size must stay below the limit
    roof = (limit + cost * size) / (size + copies)
    joined = joined_cost(
        packed.shape, packed.data, state.stock, state.codes, row, state.box, state.bits, g, roof
    )
    if joined >= roof:
        return limit
    return joined * (size + copies) - cost * size


@inner
def best_group(packed, state, row, copies, limit, but):
    """The state's group, but one, where `copies` of a row add least, and that loss; (-1, limit) if none."""
    piece, group, near, stock = state.piece, state.group, state.near, state.stock
    best = limit
    at = np.int64(-1)
    out = state.cost.size - 1
    withheld = state.cost[out] * copies
    if but != out and group[out, SIZE] + copies <= stock[QUOTA] and withheld < best:
        best = withheld
        at = out
    if near.shape[0] > 0:
        stock[CLOCK] += 1
        clock = stock[CLOCK]
        q = near[row, 0]
        for n in range(1, near.shape[1] + 1):
            while q >= 0:
                g = piece[q, HOME]
                if g >= 0 and g != out and g != but and group[g, SEEN] != clock:  # noqa: PLR1714
                    group[g, SEEN] = clock
                    price = _added_loss(packed, state, row, copies, g, best)
                    if price < best:
                        best = price
                        at = g
                q = piece[q, TWIN]
            if n < near.shape[1] and near[row, n] >= 0:
                q = near[near[row, n], 0]
        if at >= 0 or limit < np.inf:
            return at, best
    for g in range(out):
        if group[g, SIZE] > 0 and g != but:
            price = _added_loss(packed, state, row, copies, g, best)
            if price < best:
                best = price
                at = g
    return at, best


@inner
def join(packed, state, p, g):
    """Put a loose piece into group g of the state, box and cost too."""
    held = state.group[g, SIZE]
    link(state.piece, state.group, p, g)
    if g < state.cost.size - 1:
        row = state.piece[p, ROW]
        add_row(packed.shape, state.stock, state.codes, row, held, state.box, state.bits, g)
        state.cost[g] = box_cost(packed.shape, packed.data, state.box, g)


@inner
def leave(packed, state, p):
    """Take piece p out of its group in the state, box and cost too."""
    g = state.piece[p, HOME]
    unlink(state.piece, state.group, p)
    if g < state.cost.size - 1:
        state.cost[g] = box_without(packed, state, g, np.int64(-1), state.box, state.bits, g)

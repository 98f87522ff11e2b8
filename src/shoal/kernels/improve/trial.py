"""A trial: groups that the rows of a pool may become, made beside those that stand.

They are taken from the pool's boxes, the cheapest run first, or grown row by row; rows left over join
where they add least. A trial that is worth it takes the place of the groups the pool came from.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import inner
from shoal.kernels.improve.pool import FAR
from shoal.kernels.improve.state import (
    AFTER,
    COPIES,
    GROUPS,
    HEAD,
    PIECES,
    ROW,
    SIZE,
    add_row,
    best_group,
    box_cost,
    drop_group,
    drop_piece,
    join,
    link,
    new_group,
    new_piece,
)

__all__ = ["adopt", "clear", "insert_rest", "take_runs"]

BUCKETS = 256


@inner
def take_runs(packed, scratch, trial, k, cells, place, free, most, low, high, least):
    """Groups of a trial: take the cheapest run of at least k free records of a pool, again and again.

    Every row has a `place` on the sweep, where two are never farther apart than `most`, and `free` copies,
    which are taken. A row whose price is below `least` times what a cell costs is not taken from there: it
    may stand in a cheaper one.
    """
    pool, price, cell_of, entry = scratch.pool, scratch.price, scratch.cell, scratch.entry
    bucket = np.empty(BUCKETS + 1, dtype=np.int64)
    for now in range(BUCKETS + 1):
        bucket[now] = -1
    scale = BUCKETS / (high - low)
    for now in range(-1, BUCKETS + 1):
        # before the first bucket every cell is looked at once, to be filed
        limit = low + (now + 1) / scale if now < BUCKETS else high
        cell = np.int64(0) if now < 0 else bucket[now]
        while cell >= 0 and cell < cells:
            if now >= 0:
                bucket[now] = cell_of[cell, 2]
            start = cell_of[cell, 0]
            stop = start + cell_of[cell, 1]
            write = start
            begin = start
            held = np.int64(0)
            paid = 0.0
            best = FAR
            is_taken = False
            base = scratch.cell_cost[cell]
            spared = least * base
            for e in range(start, stop):
                row = entry[e]
                if free[row] == 0 or price[row] < spared:
                    continue
                entry[write] = row
                write += 1
                held += free[row]
                paid += price[row] * free[row]
                if held < k:
                    continue
                first = entry[begin]
                while held - free[first] >= k:
                    held -= free[first]
                    paid -= price[first] * free[first]
                    begin += 1
                    first = entry[begin]
                key = base - paid / held + min(place[row] - place[first], most)
                if key < limit and now >= 0:
                    g = new_group(trial.group, trial.stock)
                    over = held - k
                    for t in range(begin, write):
                        member = entry[t]
                        copies = free[member]
                        if t == begin:
                            copies -= over
                        free[member] -= copies
                        q = new_piece(trial.piece, trial.stock, trial.near, pool[member, 0], copies)
                        link(trial.piece, trial.group, q, g)
                        add_row(
                            packed.shape,
                            trial.stock,
                            trial.codes,
                            pool[member, 0],
                            t - begin,
                            trial.box,
                            trial.bits,
                            g,
                        )
                    trial.cost[g] = box_cost(packed.shape, packed.data, trial.box, g)
                    is_taken = True
                    write = begin + 1 if over > 0 else begin
                    held = over
                    paid = over * price[first]
                elif key < best:
                    best = key
            cell_of[cell, 1] = write - start
            if is_taken:  # runs across the gap have not been looked at
                best = low
            if best < high and now < BUCKETS:
                to = np.int64((best - low) * scale)
                to = min(max(to, now + 1), BUCKETS)
                cell_of[cell, 2] = bucket[to]
                bucket[to] = cell
            cell = cell + 1 if now < 0 else bucket[now]


@inner
def insert_rest(packed, trial, pool, free, rows, limit):
    """Put what a trial leaves free where it adds least; its loss then, or something above `limit`."""
    total = 0.0
    for g in range(trial.cost.size):
        total += trial.cost[g] * trial.group[g, SIZE]
    for t in range(rows):
        copies = free[t]
        if copies > 0 and total <= limit:
            g, price = best_group(packed, trial, pool[t, 0], copies, FAR, np.int64(-1))
            total += price
            if g >= 0:
                q = new_piece(trial.piece, trial.stock, trial.near, pool[t, 0], copies)
                join(packed, trial, q, g)
    return total


@inner
def clear(piece, group, stock, near, cost):
    """Make all pieces and groups of a trial spare again."""
    out = cost.size - 1
    for g in range(cost.size):
        if group[g, SIZE] > 0:
            p = group[g, HEAD]
            while p >= 0:
                following = piece[p, AFTER]
                drop_piece(piece, stock, near, p)
                p = following
            if g < out:
                drop_group(group, stock, cost, g)
    group[out, SIZE] = 0
    group[out, HEAD] = -1


@inner
def adopt(state, trial, chosen, groups):
    """Put a trial in the place of the chosen groups; False, with nothing done, when there is no room."""
    piece, group, stock, near, cost = state.piece, state.group, state.stock, state.near, state.cost
    out = cost.size - 1
    last = trial.cost.size - 1
    freed = 0
    for c in range(groups):
        p = group[chosen[c], HEAD]
        while p >= 0:
            freed += 1
            p = piece[p, AFTER]
    pieces = trial.piece.shape[0] - trial.stock[PIECES]
    if pieces > stock[PIECES] + freed or last - trial.stock[GROUPS] > stock[GROUPS] + groups:
        return False
    for c in range(groups):
        p = group[chosen[c], HEAD]
        while p >= 0:
            following = piece[p, AFTER]
            drop_piece(piece, stock, near, p)
            p = following
        drop_group(group, stock, cost, chosen[c])
    for g in range(last + 1):
        if trial.group[g, SIZE] == 0:
            continue
        made = out
        if g < last:
            made = new_group(group, stock)
            cost[made] = trial.cost[g]
            for axis in range(state.box.shape[2]):
                state.box[made, 0, axis] = trial.box[g, 0, axis]
                state.box[made, 1, axis] = trial.box[g, 1, axis]
            for word in range(state.bits.shape[1]):
                state.bits[made, word] = trial.bits[g, word]
        q = trial.group[g, HEAD]
        while q >= 0:
            p = new_piece(piece, stock, near, trial.piece[q, ROW], trial.piece[q, COPIES])
            link(piece, group, p, made)
            q = trial.piece[q, AFTER]
    return True

"""Groups of near rows from the outside in, and moves and swaps that lower their sum of squares."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.squares import apart_squared, fill_table, from_mean

__all__ = ["far_point_groups", "lower_squares"]


@inner
def _mark(spread, row, share, value):
    """For MDAV: write `value` into the share of every node above a row."""
    for axis in range(spread.size.size):
        for level in range(spread.height[axis]):
            at = spread.start[axis] + level * spread.size[axis]
            share[at + spread.first[at + spread.code[row, axis]]] = value


@inner
def _farthest(spread, alive, many, mean, table):
    """MDAV's next seed: the row farthest from a mean; of equals the first."""
    best = alive[0]
    far = -1.0
    for p in range(many):
        there = from_mean(spread, alive[p], mean, table)
        if there > far:
            far = there
            best = alive[p]
    return best


@inner
def _nearest(spread, alive, many, free, need, mean, table, near, far):
    """MDAV's group: write the nearest rows that hold `need` records, nearest first; and how many rows."""
    found = 0
    held = 0
    for p in range(many):
        row = alive[p]
        there = from_mean(spread, row, mean, table)
        if held >= need and there >= far[found - 1]:  # of equals the first rows stay
            continue
        place = found
        while place > 0 and far[place - 1] > there:
            near[place] = near[place - 1]
            far[place] = far[place - 1]
            place -= 1
        near[place] = row
        far[place] = there
        found += 1
        held += free[row]
        while held - free[near[found - 1]] >= need:
            found -= 1
            held -= free[near[found]]
    return found


@inner
def _take(spread, alive, many, free, need, most, seed, group, share, table, mean, near, far, pieces, state):
    """Give an MDAV seed and its nearest records to a group; and how many rows are left alive."""
    if free[seed] >= need:  # alike in everything: all copies together cost nothing
        near[0] = seed
        found = 1
        left = min(free[seed], most)
    else:
        share[:] = 0.0
        _mark(spread, seed, share, 1.0)
        fill_table(spread, share, table)
        for axis in range(mean.size):
            mean[axis] = spread.line[seed, axis]
        found = _nearest(spread, alive, many, free, need, mean, table, near, far)
        left = need
    for place in range(found):
        row = near[place]
        taken = min(left, free[row])
        pieces[state[0], 0] = row
        pieces[state[0], 1] = group
        pieces[state[0], 2] = taken
        state[0] += 1
        free[row] -= taken
        left -= taken
    kept = 0
    for p in range(many):
        if free[alive[p]] > 0:
            alive[kept] = alive[p]
            kept += 1
    return kept


@entry
def far_point_groups(spread, free, k, pieces, alive, state, rounds):
    """MDAV: up to `rounds` rounds of two groups each; state = pieces, groups, rows alive, records left.

    Rows must be given in `alive`; stops for good when fewer than 2k records are left, which become the
    last group. Needs k records.
    """
    nodes = spread.first.size
    values = 0
    for axis in range(spread.size.size):
        values += spread.size[axis]
    share = np.empty(nodes)
    table = np.empty(values)
    mean = np.empty(spread.line.shape[1])
    seed_share = np.empty(nodes)
    near = np.empty(k + 1, dtype=np.int64)
    far = np.empty(k + 1)
    many = state[2]
    left = state[3]
    for _ in range(rounds):
        if left < 2 * k:
            break
        mean[:] = 0.0
        share[:] = 0.0
        for p in range(many):
            row = alive[p]
            for axis in range(mean.size):
                mean[axis] += free[row] * spread.line[row, axis]
            for axis in range(spread.size.size):
                for level in range(spread.height[axis]):
                    at = spread.start[axis] + level * spread.size[axis]
                    share[at + spread.first[at + spread.code[row, axis]]] += free[row]
        mean /= left
        share /= left
        fill_table(spread, share, table)
        seed = _farthest(spread, alive, many, mean, table)
        for turn in range(2):
            if turn == 1 and left < 2 * k:
                break
            if turn == 1:  # the row farthest from the first seed
                seed_share[:] = 0.0
                _mark(spread, seed, seed_share, 1.0)
                fill_table(spread, seed_share, table)
                for axis in range(mean.size):
                    mean[axis] = spread.line[seed, axis]
                seed = _farthest(spread, alive, many, mean, table)
            before = state[0]
            # what stays behind is nothing or at least k records
            most = left if free[seed] == left else left - k
            many = _take(
                spread,
                alive,
                many,
                free,
                k,
                most,
                seed,
                state[1],
                share,
                table,
                mean,
                near,
                far,
                pieces,
                state,
            )
            for p in range(before, state[0]):
                left -= pieces[p, 2]
            state[1] += 1
    state[2] = many
    state[3] = left


@entry
def lower_squares(spread, row, group, count, groups, k, passes):
    """After MDAV: move and swap pieces while that lowers the sum of squares; sizes stay at least k.

    `group` is changed in place; a group may come out empty. Memory is pieces squared.
    """
    many = row.size
    apart = np.empty((many, many))
    for i in range(many):
        apart[i, i] = 0.0
        for j in range(i):
            apart[i, j] = apart_squared(spread, row[i], row[j])
            apart[j, i] = apart[i, j]
    size = np.zeros(groups, dtype=np.int64)
    # to[x, g]: squared distances of a piece to all records of a group; pairs[g]: of all its pairs
    to = np.zeros((many, groups))
    pairs = np.zeros(groups)
    for j in range(many):
        size[group[j]] += count[j]
        for i in range(many):
            to[i, group[j]] += count[j] * apart[i, j]
    for i in range(many):
        pairs[group[i]] += 0.5 * count[i] * to[i, group[i]]
    for _ in range(passes):
        changed = False
        for x in range(many):
            home = group[x]
            moved = count[x]
            best = -1
            other = -1
            lowest = -1e-9
            alone = size[home] == moved
            if alone or size[home] - moved >= k:
                gain = -pairs[home] / size[home]
                if not alone:
                    gain += (pairs[home] - moved * to[x, home]) / (size[home] - moved)
                for g in range(groups):
                    if g == home or size[g] == 0:
                        continue
                    change = gain + (pairs[g] + moved * to[x, g]) / (size[g] + moved) - pairs[g] / size[g]
                    if change < lowest:
                        lowest = change
                        best = g
                        other = -1
            for y in range(many):
                g = group[y]
                if g == home:
                    continue
                if size[home] - moved + count[y] < k or size[g] - count[y] + moved < k:
                    continue
                both = moved * count[y] * apart[x, y]
                here = (pairs[home] - moved * to[x, home] + count[y] * to[y, home] - both) / (
                    size[home] - moved + count[y]
                )
                there = (pairs[g] - count[y] * to[y, g] + moved * to[x, g] - both) / (
                    size[g] - count[y] + moved
                )
                change = here + there - pairs[home] / size[home] - pairs[g] / size[g]
                if change < lowest:
                    lowest = change
                    best = g
                    other = y
            if best < 0:
                continue
            changed = True
            _shift(x, best, group, count, size, pairs, to, apart)
            if other >= 0:
                _shift(other, home, group, count, size, pairs, to, apart)
        if _dissolve(group, count, size, pairs, to, apart):
            changed = True
        if not changed:
            break


@inner
def _shift(x, target, group, count, size, pairs, to, apart):
    """Move a piece to another group, for a lower sum of squares."""
    home = group[x]
    pairs[home] -= count[x] * to[x, home]
    pairs[target] += count[x] * to[x, target]
    size[home] -= count[x]
    size[target] += count[x]
    if size[home] == 0:
        pairs[home] = 0.0
    for i in range(group.size):
        to[i, home] -= count[x] * apart[i, x]
        to[i, target] += count[x] * apart[i, x]
    group[x] = target


@inner
def _dissolve(group, count, size, pairs, to, apart):
    """After MDAV: give a group's pieces to others where that lowers the sum of squares; whether any did."""
    any_did = False
    groups = size.size
    for g in range(groups):
        if size[g] == 0:
            continue
        before = pairs[g] / size[g]
        added = 0.0
        # pieces go one by one, each to the best group as the earlier ones left it
        members = np.flatnonzero(group == g)
        for x in members:
            best = -1
            lowest = np.inf
            for other in range(groups):
                if other == g or size[other] == 0:
                    continue
                change = (pairs[other] + count[x] * to[x, other]) / (size[other] + count[x])
                change -= pairs[other] / size[other]
                if change < lowest:
                    lowest = change
                    best = other
            if best < 0:
                added = np.inf
                break
            added += lowest
            if added >= before - 1e-9:
                break
            _shift(x, best, group, count, size, pairs, to, apart)
        if added < before - 1e-9:
            any_did = True
            continue
        for x in members:
            if group[x] != g:
                _shift(x, g, group, count, size, pairs, to, apart)
    return any_did

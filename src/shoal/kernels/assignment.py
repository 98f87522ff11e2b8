"""Every centre gets k records: deficits filled, groups re-centred, rows moved, new groups opened.

A grouping on its way is three arrays of pieces: piece p puts `amount[p]` records of `row[p]` into group
`group[p]`; a group is a place in the list of centres. Nothing here is random or parallel: the same input
gives the same groups.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.index import DEPTH, ball
from shoal.kernels.space import apart

__all__ = ["fill_deficits", "move_to_nearest", "open_balls", "recentre"]


@njit(cache=True)
def fill_deficits(index, space, count, k, radius, centres, row, group, amount):
    """Move records until every centre has k of those within `radius`, along shortest chains of centres.

    Returns the first centre that cannot get its k, or -1, and the pieces as they are then. Every piece must
    be within `radius` of its centre, and stays so; centres stay with their own groups (where centres are
    farther apart than the radius, nobody else could take them).
    """
    n = count.size
    groups = centres.size
    used = row.size
    room = 2 * used + 64
    rows = np.empty(room, dtype=np.int32)
    owner = np.empty(room, dtype=np.int32)
    held = np.empty(room, dtype=np.int64)
    chain = np.empty(room, dtype=np.int64)
    head = np.full(n, -1, dtype=np.int64)
    size = np.zeros(groups, dtype=np.int64)
    for p in range(used):
        rows[p] = row[p]
        owner[p] = group[p]
        held[p] = amount[p]
        chain[p] = head[row[p]]
        head[row[p]] = p
        size[group[p]] += amount[p]
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    seen = np.full(groups, -1, dtype=np.int64)
    queue = np.empty(groups, dtype=np.int64)
    came_to = np.empty(groups, dtype=np.int64)
    came_by = np.empty(groups, dtype=np.int64)
    turn = 0
    bad = -1
    for c in range(groups):
        while size[c] < k and bad < 0:
            turn += 1
            seen[c] = turn
            queue[0] = c
            at = 0
            waiting = 1
            giver = -1
            while at < waiting and giver < 0:
                g = queue[at]
                at += 1
                for place in range(ball(index, space, centres[g], radius, stack, out)):
                    p = head[out[place]]
                    while p >= 0:
                        other = owner[p]
                        if held[p] > 0 and seen[other] != turn and rows[p] != centres[other]:
                            seen[other] = turn
                            came_to[other] = g
                            came_by[other] = p
                            queue[waiting] = other
                            waiting += 1
                            if size[other] > k:
                                giver = other
                                break
                        p = chain[p]
                    if giver >= 0:
                        break
            if giver < 0:
                bad = c
                break
            moved = min(k - size[c], size[giver] - k)
            g = giver
            while g != c:
                moved = min(moved, held[came_by[g]])
                g = came_to[g]
            g = giver
            while g != c:
                p = came_by[g]
                to = came_to[g]
                held[p] -= moved
                q = head[rows[p]]
                while q >= 0 and owner[q] != to:
                    q = chain[q]
                if q < 0:
                    if used == room:
                        room *= 2
                        rows = np.concatenate((rows, np.empty(room - used, dtype=np.int32)))
                        owner = np.concatenate((owner, np.empty(room - used, dtype=np.int32)))
                        held = np.concatenate((held, np.empty(room - used, dtype=np.int64)))
                        chain = np.concatenate((chain, np.empty(room - used, dtype=np.int64)))
                    q = used
                    used += 1
                    rows[q] = rows[p]
                    owner[q] = to
                    held[q] = 0
                    chain[q] = head[rows[p]]
                    head[rows[p]] = q
                held[q] += moved
                g = to
            size[c] += moved
            size[giver] -= moved
    kept = np.flatnonzero(held[:used] > 0)
    return bad, rows[kept], owner[kept], held[kept]


@njit(cache=True)
def recentre(space, row, starts, centre):
    """The member of each group with the least largest distance to the others, and that distance.

    Members of group g are row[starts[g]:starts[g + 1]]; of equals the present centre stays, if it is one.
    """
    groups = starts.size - 1
    best = np.empty(groups, dtype=np.int32)
    radius = np.empty(groups)
    for g in range(groups):
        first = starts[g]
        many = starts[g + 1] - first
        far = np.empty(many)
        member = False
        for at in range(many):
            far[at] = apart(space, centre[g], row[first + at])
            member = member or row[first + at] == centre[g]
        order = np.argsort(far, kind="mergesort")
        least = far[order[many - 1]] if member else np.inf
        its = centre[g]
        # the farthest members first, and before them whoever failed the rows before: most fail at once
        judges = order[::-1].copy()
        for at in range(many):
            c = row[first + order[at]]
            worst = 0.0
            for other in range(many):
                worst = max(worst, apart(space, c, row[first + judges[other]]))
                if worst >= least:
                    judge = judges[other]
                    for to in range(other, other // 2, -1):
                        judges[to] = judges[to - 1]
                    judges[other // 2] = judge
                    break
            if worst < least:
                least = worst
                its = c
        best[g] = its
        radius[g] = least
    return best, radius


@njit(cache=True)
def move_to_nearest(order, group, amount, size, target, k):
    """Pieces in `order` go over to their `target` group as far as their own keeps k records.

    Returns what goes: a number of records per piece. `size` is brought up to date.
    """
    moved = np.zeros(group.size, dtype=np.int64)
    for p in order:
        if target[p] == group[p]:
            continue
        many = min(amount[p], size[group[p]] - k)
        if many > 0:
            moved[p] = many
            size[group[p]] -= many
            size[target[p]] += many
    return moved


@njit(cache=True)
def open_balls(index, space, count, k, reach, order, label, size, radius, centre, most):
    """New groups inside old ones: k free records that stand closer together than their groups are wide.

    Rows in `order` (nearest crowd first) whose own ball of radius `reach` holds k records that their groups
    can spare become groups of these. `label` has a group per row, -1 for rows that must stay (in pieces, or
    withheld); centres stay too. Returns the new centres and the new labels, counted on from the old.
    """
    n = count.size
    old = size.size
    fixed = label < 0
    for g in range(old):
        fixed[centre[g]] = True
    new = label.copy()
    opened = np.empty(max(0, most - old), dtype=np.int32)
    taken = np.empty(n, dtype=np.int32)
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    spare = size - k
    many = 0
    for i in order:
        if many == opened.size:
            break
        if fixed[i] or reach[i] >= radius[label[i]] or spare[label[i]] < count[i]:
            continue
        found = ball(index, space, i, reach[i], stack, out)
        taken[0] = i
        rows = 1
        held = count[i]
        spare[label[i]] -= count[i]
        for at in range(found):
            row = out[at]
            if (
                row != i
                and not fixed[row]
                and spare[label[row]] >= count[row]
                and reach[i] <= radius[label[row]]
            ):
                spare[label[row]] -= count[row]
                held += count[row]
                taken[rows] = row
                rows += 1
        for at in range(rows):
            if held >= k:
                fixed[taken[at]] = True
                new[taken[at]] = old + many
            else:
                spare[label[taken[at]]] += count[taken[at]]
        if held >= k:
            opened[many] = i
            many += 1
    return opened[:many], new

"""Every centre gets k records: deficits filled, groups re-centred, rows moved, new groups opened.

A grouping on its way is three arrays of pieces: piece p puts `amount[p]` records of `row[p]` into group
`group[p]`; a group is a place in the list of centres. Nothing here is random or parallel: the same input
gives the same groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart, apart_from
from shoal.kernels.neighbours.box_tree import Index, ball, sight_of
from shoal.kernels.threads import over_rows

__all__ = ["fill_deficits", "move_to_nearest", "open_balls", "recentre"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

WIDER = 2.0
"""Rows within so many times a centre's reach are told that it is gone."""
REMEMBERED = 16
"""So many times the rows of the table may the balls that are remembered hold."""


def fill_deficits(
    index: Index,
    space: Any,
    count: Counts,
    k: int,
    radius: float,
    centres: Rows,
    row: Rows,
    group: Rows,
    amount: Counts,
) -> tuple[int, Rows, Rows, Counts]:
    """The assignment of k records within `radius` to every centre, along shortest chains of centres.

    Returns the first centre that cannot get its k, or -1, and the pieces as they are then. Every piece must
    be within `radius` of its centre, and stays so; centres stay with their own groups (where centres are
    farther apart than the radius, nobody else could take them).
    """
    bad, row, group, amount = _fill(
        index,
        space,
        sight_of(index, space),
        k,
        float(radius),
        centres,
        row,
        group,
        amount,
        np.full(count.size, -1, dtype=np.int64),
        np.bincount(group, weights=amount, minlength=centres.size).astype(np.int64),
        np.empty(count.size, dtype=np.int32),
        np.full((2, centres.size), -1, dtype=np.int64),
        np.empty((4, centres.size), dtype=np.int64),
        np.empty(min(centres.size, REMEMBERED) * count.size, dtype=np.int32),
    )
    kept = amount > 0
    return bad, row[kept], group[kept], amount[kept]


@inner
def _grown(old, many, room):
    """The first items of an assignment's list in an array with more room."""
    new = np.empty(room, dtype=old.dtype)
    for at in range(many):
        new[at] = old[at]
    return new


@entry
def _fill(
    index,
    space,
    sight,
    k,
    radius,
    centres,
    row,
    group,
    amount,
    head,
    size,
    out,
    marks,
    chains,
    balls,
):
    """The assignment in `fill_deficits`: pieces of a row are a list from `head` on; `balls` are kept."""
    seen, ball_start = marks[0], marks[1]
    queue, came_to, came_by, ball_size = chains[0], chains[1], chains[2], chains[3]
    used = row.size
    room = 2 * used + 64
    rows = _grown(row, used, room)
    owner = _grown(group, used, room)
    held = _grown(amount, used, room)
    chain = np.empty(room, dtype=np.int64)
    for p in range(used):
        chain[p] = head[row[p]]
        head[row[p]] = p
    remembered = 0
    turn = 0
    for c in range(centres.size):
        while size[c] < k:
            turn += 1
            seen[c] = turn
            queue[0] = c
            at = 0
            waiting = 1
            giver = -1
            while at < waiting and giver < 0:
                g = queue[at]
                at += 1
                if ball_start[g] >= 0:
                    near = balls[ball_start[g] : ball_start[g] + ball_size[g]]
                else:
                    ball_size[g] = ball(index, space, sight, centres[g], radius, out)
                    near = out[: ball_size[g]]
                    if remembered + near.size <= balls.size:
                        ball_start[g] = remembered
                        for place in range(near.size):
                            balls[remembered + place] = near[place]
                        remembered += near.size
                for place in range(near.size):
                    p = head[near[place]]
                    while p >= 0:
                        other = owner[p]
                        if seen[other] != turn and held[p] > 0 and rows[p] != centres[other]:
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
                return c, rows[:used], owner[:used], held[:used]
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
                        rows = _grown(rows, used, room)
                        owner = _grown(owner, used, room)
                        held = _grown(held, used, room)
                        chain = _grown(chain, used, room)
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
    return -1, rows[:used], owner[:used], held[:used]


def recentre(space: Any, row: Rows, starts: Counts, centre: Rows) -> tuple[Rows, Floats]:
    """The best centre of each assigned group: the member with the least largest distance, and that.

    Members of group g are row[starts[g]:starts[g + 1]]; of equals the present centre stays, if it is one.
    """
    groups, most = starts.size - 1, int(np.diff(starts).max(initial=0))
    best, radius = np.empty(groups, dtype=np.int32), np.empty(groups)

    def work(first: int, last: int) -> None:
        """New centres of some assigned groups."""
        short = short_axes(space)
        away, least = np.empty(most), np.empty(most)
        rows = np.empty(most, dtype=np.int32)
        table = np.empty(short[-1] + 1)
        _recentre(space, row, starts, centre, first, last, short, table, away, least, rows, best, radius)

    over_rows(groups, work)
    return best, radius


@entry
def _recentre(space, row, starts, centre, first, last, short, table, away, least, left, best, radius):
    """Centres of assigned groups: who can still be best is asked next, as the farthest seen members favour.

    `least` is what each of those `left` has to reach at least. Each that is asked shows another member
    that is far from it, which judges all others; so few are asked.
    """
    for g in range(first, last):
        its = row[starts[g] : starts[g + 1]]
        many = its.size  # of those left
        member = False
        for at in range(many):
            left[at] = its[at]
            least[at] = 0.0
            member = member or its[at] == centre[g]
        asked = centre[g]
        chosen = centre[g]
        narrow = np.inf
        while True:
            apart_from(space, asked, its, short, table, away)
            judge = 0
            for at in range(1, its.size):
                if away[at] > away[judge]:
                    judge = at
            if away[judge] < narrow and member:
                narrow = away[judge]
                chosen = asked
            member = True  # from now on members are asked
            apart_from(space, its[judge], left[:many], short, table, away)
            kept = 0
            ask = -1
            for at in range(many):
                floor = max(least[at], away[at])
                if floor < narrow and left[at] != asked:
                    left[kept] = left[at]
                    least[kept] = floor
                    if ask < 0 or floor < least[ask]:
                        ask = kept
                    kept += 1
            many = kept
            if kept == 0:
                break
            asked = left[ask]
        best[g] = chosen
        radius[g] = narrow


@entry
def move_to_nearest(order, group, amount, size, target, k, moved):
    """Pieces of an assignment go in `order` to their `target` group as far as their own keeps k records.

    What goes is written to `moved`: a number of records per piece. `size` is brought up to date.
    """
    for p in order:
        moved[p] = 0
        if target[p] == group[p]:
            continue
        many = min(amount[p], size[group[p]] - k)
        if many > 0:
            moved[p] = many
            size[group[p]] -= many
            size[target[p]] += many


@inner
def _mark_missing(index, space, sight, centre, count, reach, spared, out):
    """In an assignment: tell the rows around a centre that has gone that they miss it, if easily found."""
    for at in range(ball(index, space, sight, centre, WIDER * reach[centre], out)):
        row = out[at]
        if apart(space, row, centre) <= reach[row]:
            spared[row] -= count[centre]


@entry
def open_balls(index, space, sight, count, k, reach, crowd, order, label, size, radius, centre, most):
    """New centres in an assignment: k free records that stand closer together than their groups are wide.

    Rows in `order` (nearest crowd first) whose own ball of radius `reach` holds k records that their groups
    can spare become groups of these. `label` has a group per row, -1 for rows that must stay (in pieces, or
    withheld); centres stay too. `crowd` are the records within a row's reach: what a row can miss of
    them before fewer than k are left is soon lost to the centres around it, so few balls are looked at.
    Returns the new centres and the new labels, counted on from the old.
    """
    n = count.size
    old = size.size
    fixed = label < 0
    spared = crowd - k
    out = np.empty(n, dtype=np.int32)
    for g in range(old):
        if not fixed[centre[g]]:
            fixed[centre[g]] = True
            _mark_missing(index, space, sight, centre[g], count, reach, spared, out)
    new = label.copy()
    opened = np.empty(max(0, most - old), dtype=np.int32)
    taken = np.empty(n, dtype=np.int32)
    spare = size - k
    leaf = np.empty(n, dtype=np.int64)
    place, start, end = index.place, index.start, index.end
    for node in range(start.size):
        for at in range(start[node], end[node] if index.child[node] < 0 else start[node]):
            leaf[place[at]] = node
    many = 0
    for i in order:
        if many == opened.size:
            break
        if fixed[i] or spared[i] < 0 or reach[i] >= radius[label[i]] or spare[label[i]] < count[i]:
            continue
        # most balls lack a record among the nearest rows already
        lacks = 0
        for at in range(start[leaf[i]], end[leaf[i]]):
            row = place[at]
            stays = fixed[row] or spare[label[row]] < count[row] or radius[label[row]] < reach[i]
            if stays and row != i and apart(space, i, row) <= reach[i]:
                lacks += count[row]
        if lacks > crowd[i] - k:
            continue
        found = ball(index, space, sight, i, reach[i], out)
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
            _mark_missing(index, space, sight, i, count, reach, spared, out)
    return opened[:many], new

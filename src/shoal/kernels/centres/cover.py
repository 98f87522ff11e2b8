"""Centres whose balls cover the rows, chosen greedily, and the rows that no such ball can hold.

Nothing here is random or parallel: the same input gives the same centres. How every centre gets its k
records: `kernels/centres/assignment.py`.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.neighbours.box_tree import ball, sweep, tally

__all__ = ["greedy_centres", "heaviest_centres", "peel", "richest_centres", "take_balls"]


FREE, OUT = -1, -2


@inner
def _free_inside(index, inside):
    """Before a cover: rows `inside` are free to be covered; labels, and free records of rows and nodes."""
    place, count = index.place, index.count
    label = np.empty(inside.size, dtype=np.int32)
    rows, nodes = index.count.copy(), index.records.copy()
    for i in range(inside.size):
        label[i] = FREE if inside[i] else OUT
    for at in range(place.size):
        if not inside[place[at]]:
            _no_longer_free(index.child, index.end, at, count[at], rows, nodes)
    return label, rows, nodes


@inner
def _no_longer_free(child, end, at, many, rows, nodes):
    """A row is covered: take it out of what is free at its place and in the nodes that hold it."""
    rows[at] = 0
    node = 0
    while True:
        nodes[node] -= many
        node = child[node]
        if node < 0:
            return
        if at >= end[node]:
            node += 1


@inner
def _take(index, space, sight, i, radius, label, rows, nodes, out, name):
    """Cover: give the free rows within `radius` of centre i the label `name`."""
    place, child, end = index.place, index.child, index.end
    for p in range(sweep(index, space, sight, i, radius, -1.0, rows, nodes, out)):
        at = out[p]
        label[place[at]] = name
        _no_longer_free(child, end, at, rows[at], rows, nodes)


@entry
def greedy_centres(index, space, sight, count, radius, most):
    """Centres that cover, in order: a row out of reach becomes one and takes all free rows within `radius`.

    Returns the centres and each row's place among them; no centres where more than `most` are needed.
    """
    label, rows, nodes = _free_inside(index, count > 0)
    centres = np.empty(most, dtype=np.int32)
    out = np.empty(count.size, dtype=np.int32)
    many = 0
    for i in range(count.size):
        if label[i] != FREE:
            continue
        if many == most:
            return centres[:0], label
        centres[many] = i
        _take(index, space, sight, i, radius, label, rows, nodes, out, many)
        many += 1
    return centres[:many], label


@entry
def richest_centres(index, space, sight, count, order, wanted, allowed, radius, most, tries):
    """Cover the `wanted` rows, in `order`, by balls around `allowed` rows as centres.

    A row that no centre reaches opens, of at most `tries` allowed rows within `radius`, the one whose ball
    holds most records not yet covered. Returns as `greedy_centres`; rows that nobody wanted are taken too
    where a ball holds them.
    """
    label, rows, nodes = _free_inside(index, count > 0)
    centres = np.empty(most, dtype=np.int32)
    near = np.empty(count.size, dtype=np.int32)
    many = 0
    for i in order:
        if label[i] != FREE or not wanted[i]:
            continue
        if many == most:
            return centres[:0], label
        found = 0
        for at in range(ball(index, space, sight, i, radius, near)):
            if allowed[near[at]]:
                near[found] = near[at]
                found += 1
        if found == 0:
            return centres[:0], label
        chosen = np.int32(-1)
        richest = -1
        for turn in range(min(found, tries)):
            c = near[turn * found // min(found, tries)]
            rich = tally(index, space, sight, c, radius, rows, nodes)
            if rich > richest or (rich == richest and c < chosen):
                richest = rich
                chosen = c
        centres[many] = chosen
        _take(index, space, sight, chosen, radius, label, rows, nodes, near, many)
        label[chosen] = many  # a centre is a member of its group
        many += 1
    return centres[:many], label


@entry
def heaviest_centres(index, space, sight, count, inside, held, radius, most):
    """Up to `most` centres that cover rows `inside`: each time the one with most uncovered records near.

    `held` are the records within `radius` of each row, no fewer than those of them inside; they only
    shrink, so a row is counted again only when it stands first. A centre covers what is within twice the
    radius. Returns the centres and which rows are covered.
    """
    label, rows, nodes = _free_inside(index, inside)
    out = np.empty(count.size, dtype=np.int32)
    upper = held.copy()
    centres = np.empty(most, dtype=np.int32)
    many = 0
    while many < most:
        top = np.argmax(upper)
        if upper[top] == 0:
            break
        now = 0
        if label[top] == FREE:
            now = tally(index, space, sight, top, radius, rows, nodes)
        if now < upper[top]:
            upper[top] = now
            continue
        # nothing else can hold more; of equals the first
        centres[many] = top
        _take(index, space, sight, top, 2 * radius, label, rows, nodes, out, many)
        many += 1
    covered = np.empty(count.size, dtype=np.bool_)
    for i in range(count.size):
        covered[i] = label[i] >= 0
    return centres[:many], covered


@entry
def peel(index, space, sight, count, reach, k, radius, most):
    """Rows that no ball can cover: drop those with fewer than k records within `radius`, again and again.

    Returns which rows are left; none where more than `most` records would go.
    """
    n = count.size
    left = np.empty(n, dtype=np.bool_)
    where = np.empty(n, dtype=np.int64)
    held = np.empty(n, dtype=np.int64)
    out = np.empty(n, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    waiting = 0
    gone = 0
    for i in range(n):
        held[i] = -1
        left[i] = count[i] > 0 and reach[i] <= radius
        if count[i] > 0 and not left[i]:
            queue[waiting] = i
            waiting += 1
            gone += count[i]
    for at in range(index.place.size):
        where[index.place[at]] = at
    # what was not yet taken from the queue counts as there
    rows, nodes = index.count.copy(), index.records.copy()
    turn = 0
    while turn < waiting and gone <= most:
        dropped = queue[turn]
        turn += 1
        _no_longer_free(index.child, index.end, where[dropped], count[dropped], rows, nodes)
        for at in range(ball(index, space, sight, dropped, radius, out)):
            row = out[at]
            if not left[row]:
                continue
            if held[row] < 0:
                held[row] = tally(index, space, sight, row, radius, rows, nodes)
            else:
                held[row] -= count[dropped]
            if held[row] < k:
                left[row] = False
                queue[waiting] = row
                waiting += 1
                gone += count[row]
    for i in range(n):
        left[i] = left[i] and gone <= most
    return left


@entry
def take_balls(index, space, sight, count, order, inside, k, radius):
    """Rows in `order` whose ball covers k free records of those `inside` become groups of all of these.

    Returns the centres and each row's place among them, -1 for rows left over.
    """
    label, rows, nodes = _free_inside(index, inside)
    centres = np.empty(count.size, dtype=np.int32)
    out = np.empty(count.size, dtype=np.int32)
    many = 0
    for i in order:
        if tally(index, space, sight, i, radius, rows, nodes) >= k:
            _take(index, space, sight, i, radius, label, rows, nodes, out, many)
            centres[many] = i
            many += 1
    for i in range(count.size):
        label[i] = max(label[i], FREE)
    return centres[:many], label

"""Centres whose balls cover the rows, chosen greedily, and the rows that no such ball can hold.

Nothing here is random or parallel: the same input gives the same centres. How every centre gets its k
records: `kernels/assignment.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.index import DEPTH, ball

__all__ = ["greedy_centres", "heaviest_centres", "peel", "richest_centres", "take_balls"]


@njit(cache=True)
def greedy_centres(index, space, count, radius, most):
    """Rows in order: one that no centre reaches becomes a centre and takes all free rows within `radius`.

    Returns the centres and each row's place among them; no centres where more than `most` are needed.
    """
    n = count.size
    label = np.full(n, -1, dtype=np.int32)
    centres = np.empty(most, dtype=np.int32)
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    many = 0
    for i in range(n):
        if count[i] == 0 or label[i] >= 0:
            continue
        if many == most:
            return centres[:0], label
        centres[many] = i
        for at in range(ball(index, space, i, radius, stack, out)):
            if label[out[at]] < 0:
                label[out[at]] = many
        many += 1
    return centres[:many], label


@njit(cache=True)
def richest_centres(index, space, count, order, wanted, allowed, radius, most, tries):
    """Cover the `wanted` rows, in `order`, by balls around `allowed` rows.

    A row that no centre reaches opens, of at most `tries` allowed rows within `radius`, the one whose ball
    holds most records not yet covered. Returns as `greedy_centres`; rows that nobody wanted are taken too
    where a ball holds them.
    """
    n = count.size
    label = np.full(n, -1, dtype=np.int32)
    centres = np.empty(most, dtype=np.int32)
    near = np.empty(n, dtype=np.int32)
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    many = 0
    for i in order:
        if label[i] >= 0 or not wanted[i]:
            continue
        if many == most:
            return centres[:0], label
        found = 0
        for at in range(ball(index, space, i, radius, stack, out)):
            if allowed[out[at]]:
                near[found] = out[at]
                found += 1
        if found == 0:
            return centres[:0], label
        chosen = -1
        richest = -1
        for turn in range(min(found, tries)):
            c = near[turn * found // min(found, tries)]
            rich = 0
            for at in range(ball(index, space, c, radius, stack, out)):
                if label[out[at]] < 0:
                    rich += count[out[at]]
            if rich > richest or (rich == richest and c < chosen):
                richest = rich
                chosen = c
        centres[many] = chosen
        for at in range(ball(index, space, chosen, radius, stack, out)):
            if label[out[at]] < 0:
                label[out[at]] = many
        label[chosen] = many  # a centre is a member of its group
        many += 1
    return centres[:many], label


@njit(cache=True)
def heaviest_centres(index, space, count, inside, held, radius, most):
    """Up to `most` centres among the rows `inside`: each time the one with most uncovered records near it.

    `held` are the records inside within `radius` of each row; they only shrink, so a row is counted again
    only when it stands first. A centre covers what is within twice the radius. Returns the centres and
    which rows are covered.
    """
    n = count.size
    covered = np.zeros(n, dtype=np.bool_)
    centres = np.empty(most, dtype=np.int32)
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    upper = held.copy()
    for i in range(n):
        if not inside[i]:
            upper[i] = 0
    many = 0
    while many < most:
        chosen = -1
        weight = 0
        while True:
            top = np.argmax(upper)
            if upper[top] == 0:
                break
            now = 0
            if not covered[top]:
                for at in range(ball(index, space, top, radius, stack, out)):
                    if inside[out[at]] and not covered[out[at]]:
                        now += count[out[at]]
            if now == upper[top]:  # nothing else can hold more; of equals the first
                chosen = top
                weight = now
                break
            upper[top] = now
        if chosen < 0 or weight == 0:
            break
        centres[many] = chosen
        many += 1
        for at in range(ball(index, space, chosen, 2 * radius, stack, out)):
            if inside[out[at]]:
                covered[out[at]] = True
                upper[out[at]] = 0
    return centres[:many], covered


@njit(cache=True)
def peel(index, space, count, reach, k, radius, most):
    """Drop rows with fewer than k records within `radius` among the rows left, again and again.

    Returns which rows are left; none where more than `most` records would go.
    """
    n = count.size
    left = count > 0
    out = np.empty(n, dtype=np.int32)
    mine = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    queue = np.empty(n, dtype=np.int32)
    waiting = 0
    gone = 0
    for i in range(n):
        if left[i] and reach[i] > radius:
            left[i] = False
            queue[waiting] = i
            waiting += 1
            gone += count[i]
    at = 0
    while at < waiting and gone <= most:
        # whoever is dropped had few around it, so few have to be asked again
        near = ball(index, space, queue[at], radius, stack, out)
        at += 1
        for place in range(near):
            row = out[place]
            if not left[row]:
                continue
            held = 0
            many = ball(index, space, row, radius, stack, mine)
            for other in range(many):
                if left[mine[other]]:
                    held += count[mine[other]]
                    if held >= k:
                        break
            if held < k:
                left[row] = False
                queue[waiting] = row
                waiting += 1
                gone += count[row]
    if gone > most:
        left[:] = False
    return left


@njit(cache=True)
def take_balls(index, space, count, order, inside, k, radius):
    """Rows in `order` whose ball holds k free records of the rows `inside` become groups of all of these.

    Returns the centres and each row's place among them, -1 for rows left over.
    """
    n = count.size
    label = np.full(n, -1, dtype=np.int32)
    centres = np.empty(n, dtype=np.int32)
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(DEPTH, dtype=np.int64)
    many = 0
    for i in order:
        found = ball(index, space, i, radius, stack, out)
        held = 0
        for at in range(found):
            if inside[out[at]] and label[out[at]] < 0:
                held += count[out[at]]
        if held < k:
            continue
        for at in range(found):
            if inside[out[at]] and label[out[at]] < 0:
                label[out[at]] = many
        centres[many] = i
        many += 1
    return centres[:many], label

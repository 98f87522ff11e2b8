"""Improving connected groups of regions: borders move, groups are split, neighbours are cut anew.

Every step keeps groups connected and at least k, and lowers the heavier of the groups it touches, so
the largest group never grows. Random numbers come from a generator that is part of the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.basics.random import draw_word
from shoal.kernels.compile.decorators import entry, inner

__all__ = ["balance"]


@inner
def _walk(start, neighbour, nodes, group, mine, scratch, stamp, state):
    """Before borders move: a random depth-first order of some regions, and the size of each subtree.

    `nodes` are the regions whose group is `mine`; `seen[v] == stamp` marks visited ones. Returns how many
    were reached. Subtrees are runs of `order`.
    """
    order, size, seen, path, opened, offset = (
        scratch[0],
        scratch[1],
        scratch[2],
        scratch[4],
        scratch[5],
        scratch[6],
    )
    begin = nodes[draw_word(state) % np.uint64(nodes.size)]
    path[0] = 0  # places in `order`
    opened[0] = 0
    offset[0] = draw_word(state) % np.uint64(max(start[begin + 1] - start[begin], 1))
    seen[begin] = stamp
    order[0] = begin
    many = 1
    deep = 1
    while deep > 0:
        top = deep - 1
        v = order[path[top]]
        width = start[v + 1] - start[v]
        while opened[top] < width:
            u = neighbour[start[v] + (opened[top] + offset[top]) % width]
            opened[top] += 1
            if group[u] == mine and seen[u] != stamp:
                seen[u] = stamp
                order[many] = u
                path[deep] = many
                opened[deep] = 0
                offset[deep] = draw_word(state) % np.uint64(start[u + 1] - start[u])
                deep += 1
                many += 1
                break
        if deep == top + 1:
            size[path[top]] = many - path[top]
            deep -= 1
    return many


@inner
def _split_off(
    start, neighbour, weight, nodes, group, mine, fresh, total, target, low, high, tries, scratch, state
):
    """Borders by a split: a subtree of regions of weight low..high, nearest the target, becomes `fresh`.

    Returns the weight, 0 where no tree of the tries has such a subtree. Subtree or rest may be taken.
    """
    order, size, stamp, best_order = scratch[0], scratch[1], scratch[3], scratch[7]
    best = np.int64(-1)
    best_first = best_last = np.int64(0)
    best_weight = np.int64(0)
    sums = np.empty(nodes.size + 1, dtype=np.int64)
    for _ in range(tries):
        stamp[0] += 1
        many = _walk(start, neighbour, nodes, group, mine, scratch, stamp[0], state)
        sums[0] = 0
        for at in range(many):
            sums[at + 1] = sums[at] + weight[order[at]]
        found = False
        for at in range(1, many):
            below = sums[at + size[at]] - sums[at]
            for part in (below, total - below):
                if low <= part <= high and (best < 0 or abs(part - target) < best):
                    best = abs(part - target)
                    best_first, best_last = at, at + size[at]
                    best_weight = below
                    found = True
        if found:
            best_order[:many] = order[:many]
        if best == 0:
            break
    if best < 0:
        return np.int64(0)
    if abs(best_weight - target) == best and low <= best_weight <= high:
        for at in range(best_first, best_last):
            group[best_order[at]] = fresh
        return best_weight
    for at in range(nodes.size):
        if not best_first <= at < best_last:
            group[best_order[at]] = fresh
    return total - best_weight


@inner
def _relist(nodes, group, first_of, next_of, groups):
    """Write the lists of groups anew once their borders moved; `nodes` are all their regions."""
    for g in groups:
        first_of[g] = -1
    for at in range(nodes.size - 1, -1, -1):
        v = nodes[at]
        next_of[v] = first_of[group[v]]
        first_of[group[v]] = v


@inner
def _cut_anew(
    start,
    neighbour,
    weight,
    group,
    level,
    k,
    ours,
    parts,
    spare,
    gain,
    tries,
    first_of,
    next_of,
    scratch,
    state,
):
    """Move borders: pool the groups `ours`, cut them into `parts` connected ones, the heaviest lighter.

    Groups beyond those we had get the numbers from `spare` on. Returns whether it was done.
    """
    total = np.int64(0)
    heaviest = np.int64(0)
    for g in ours:
        total += level[g]
        heaviest = max(heaviest, level[g])
    allowed = heaviest - max(heaviest // gain, 1)  # smaller gains are not worth their time
    if parts * k > total or -(-total // parts) > allowed:
        return False
    count = 0
    for g in ours:
        v = first_of[g]
        while v >= 0:
            count += 1
            v = next_of[v]
    nodes = np.empty(count, dtype=np.int64)
    before = np.empty(count, dtype=np.int32)
    at = 0
    for g in ours:
        v = first_of[g]
        while v >= 0:
            nodes[at] = v
            before[at] = g
            at += 1
            v = next_of[v]
    names = np.empty(parts, dtype=np.int32)
    for p in range(parts):
        names[p] = ours[p] if p < ours.size else spare + p - ours.size
    pool = names[0]
    for v in nodes:
        group[v] = pool
    weights = np.empty(parts, dtype=np.int64)
    left, rest = total, nodes
    done = True
    for p in range(parts - 1, 0, -1):
        most = min(left - p * k, allowed)
        least = max(k, left - p * allowed)
        part = _split_off(
            start,
            neighbour,
            weight,
            rest,
            group,
            pool,
            names[p],
            left,
            left // (p + 1),
            least,
            most,
            tries,
            scratch,
            state,
        )
        if part == 0:
            done = False
            break
        weights[p] = part
        left -= part
        kept = 0
        for v in rest:
            kept += group[v] == pool
        smaller = np.empty(kept, dtype=np.int64)
        kept = 0
        for v in rest:
            if group[v] == pool:
                smaller[kept] = v
                kept += 1
        rest = smaller
    weights[0] = left
    if not done or weights.max() > allowed or weights.min() < k:
        for at in range(count):
            group[nodes[at]] = before[at]
        return False
    for p in range(parts):
        level[names[p]] = weights[p]
    _relist(nodes, group, first_of, next_of, names)
    return True


@entry
def balance(start, neighbour, weight, group, k, goal, sweeps, gain, tries, state):
    """Move borders of groups of regions until the largest is at most `goal` or nothing helps; the steps.

    Sweeps go from heavy groups to light ones. A group is split where it can be; else it is pooled with one
    neighbouring group, the lightest first, and then with two, and the pool is cut anew, into one group
    more where its weight allows. A step must lower the heaviest of its groups by 1 / `gain` of its weight.
    """
    n = group.size
    groups = 0
    for v in range(n):
        groups = max(groups, group[v] + 1)
    level = np.zeros(n + 1, dtype=np.int64)
    first_of = np.full(n + 1, -1, dtype=np.int64)
    next_of = np.full(n, -1, dtype=np.int64)
    for v in range(n - 1, -1, -1):
        if group[v] >= 0:
            level[group[v]] += weight[v]
            next_of[v] = first_of[group[v]]
            first_of[group[v]] = v
    scratch = (
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )
    met = np.zeros(n + 1, dtype=np.int64)
    turn = 0
    near = np.empty(n, dtype=np.int64)
    steps = 0
    for sweep in range(sweeps):
        helped = False
        for g in np.argsort(-level[:groups], kind="mergesort"):
            if level[g] <= goal:
                break
            many = 0
            v = first_of[g]
            turn += 1
            while v >= 0:
                for arc in range(start[v], start[v + 1]):
                    other = group[neighbour[arc]]
                    if other >= 0 and other != g and met[other] != turn:
                        met[other] = turn
                        near[many] = other
                        many += 1
                v = next_of[v]
            for at in range(1, many):  # lightest first
                other = near[at]
                before = at
                while before > 0 and level[near[before - 1]] > level[other]:
                    near[before] = near[before - 1]
                    before -= 1
                near[before] = other
            # alone, then with one neighbour, the lightest first, then with two of the four lightest
            few = min(many, 4) if sweep > 0 else 0
            for trial in range(1 + many + few * (few - 1) // 2):
                ours = np.full(3, g, dtype=np.int32)
                had = 1
                if 0 < trial <= many:
                    ours[1] = near[trial - 1]
                    had = 2
                elif trial > many:
                    pair = trial - many - 1
                    later = 1
                    while pair >= later:
                        pair -= later
                        later += 1
                    ours[1], ours[2] = near[pair], near[later]
                    had = 3
                parts = had + 1
                done = False
                while not done and parts >= max(had, 2):
                    done = _cut_anew(
                        start,
                        neighbour,
                        weight,
                        group,
                        level,
                        k,
                        ours[:had],
                        parts,
                        groups,
                        gain,
                        tries,
                        first_of,
                        next_of,
                        scratch,
                        state,
                    )
                    parts -= 1
                if done:
                    groups += parts + 1 - had
                    steps += 1
                    helped = True
                    break
        if level[:groups].max() <= goal or not helped:
            break
    return steps

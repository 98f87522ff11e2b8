"""Crowds grown among near rows, the cheapest first, where there are too many columns to list boxes.

A crowd starts at a row and takes the row that makes it give up least, out of those near any of its own,
until it holds k records. Every row could start one; the cheapest is taken, and those that lose rows by it
are grown again when their turn comes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.basics.heap import sink
from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.packed import PackedMetric, pack_metric
from shoal.kernels.improve.state import State, add_row, empty_state, joined_cost
from shoal.kernels.mondrian import cut_apart
from shoal.kernels.neighbours.approximate import near_rows
from shoal.kernels.threads import over_rows

__all__ = ["grow_crowds"]

FREE, NOBODY = -1, -2
"""Labels of a row that no crowd has taken, and of one that stands for no record."""
SLACK = 1e-12
"""A crowd costs what it did before but for rounding: the same rows may be summed in another order."""


def grow_crowds(
    codes: NDArray[np.int32],
    count: NDArray[np.int64],
    metric,
    k: int,
    near: NDArray[np.int64],
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], int]:
    """Grow crowds among near rows: labels, -1 where fewer than k are left or a row has none; groups.

    `near` lists the rows near each row as `near_rows` does. Rows whose near ones are all taken wait until
    lists as long are made anew among those left.
    """
    label = np.full(len(codes), -1, dtype=np.int32)
    free = np.arange(len(codes))
    groups = 0
    while count[free].sum() >= k:
        found, new = _take_all(codes[free], count[free], metric, k, near)
        if new == 0:  # too few are near one another: cuts always find a group
            found = cut_apart(codes[free], count[free], metric, k)
            new = int(found.max()) + 1
        label[free] = np.where(found >= 0, found + groups, -1)
        groups += new
        free = free[(found < 0) & (count[free] > 0)]
        near = near_rows(codes[free], metric, near.shape[1] - 1, random)
    return label, groups


def _take_all(
    codes: NDArray[np.int32], count: NDArray[np.int64], metric, k: int, near: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Crowds grown among the near rows of one list, all of them taken."""
    own, packed = pack_metric(metric, codes)
    label = np.where(count > 0, FREE, NOBODY).astype(np.int32)
    key = np.full(len(own), np.inf)

    def start(first: int, last: int) -> None:
        """Grow a crowd from each of some rows."""
        _start(
            packed, _empty_group(own, packed, near), count, k, label, key, *_room(own, near, k), first, last
        )

    over_rows(len(own), start)
    row = np.argsort(key, kind="stable")
    groups = _take(
        packed, _empty_group(own, packed, near), count, k, label, key[row], row, *_room(own, near, k)
    )
    return np.maximum(label, FREE), int(groups)


def _empty_group(codes: NDArray[np.int32], packed: PackedMetric, near: NDArray[np.int64]) -> State:
    """A state with room for the box of one crowd."""
    return empty_state(codes, packed, near, 1, 1, 0.0)


def _room(
    codes: NDArray[np.int32], near: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Room to grow a crowd: members, rows near it with what it costs with them, when each was listed."""
    most = min(len(codes), k * near.shape[1])
    return (
        np.empty(k, np.int64),
        np.empty(most, np.int64),
        np.empty(most),
        np.zeros(len(codes) + 1, np.int64),
    )


@inner
def _grow(packed, group, count, k, label, seed, member, waiting, bound, seen):
    """Grow a crowd of free rows; its rows in `member`, their number and its cost, infinite if too few."""
    shape, data, codes, near, stock = packed.shape, packed.data, group.codes, group.near, group.stock
    box, bits = group.box, group.bits
    g = np.int64(0)
    clock = seen[codes.shape[0]] + 1  # the last place of `seen` counts crowds
    seen[codes.shape[0]] = clock
    seen[seed] = clock
    many = 0
    held = np.int64(0)
    members = np.int64(0)
    cost = 0.0
    row = seed
    while True:
        add_row(shape, stock, codes, row, held, box, bits, g)
        held += count[row]
        member[members] = row
        members += 1
        if held >= k:
            return members, cost
        for n in range(1, near.shape[1]):
            other = near[row, n]
            if other < 0:
                break
            if label[other] == FREE and seen[other] != clock:
                seen[other] = clock
                waiting[many] = other
                bound[many] = cost
                many += 1
        cost = np.inf
        at = -1
        for w in range(many):
            if bound[w] < cost:  # joining only becomes dearer while a crowd grows
                its = joined_cost(shape, data, stock, codes, waiting[w], box, bits, g, cost)
                bound[w] = its
                if its < cost:
                    cost = its
                    at = w
        if at < 0:
            return members, np.inf
        row = waiting[at]
        many -= 1
        waiting[at] = waiting[many]
        bound[at] = bound[many]


@entry
def _start(packed, group, count, k, label, key, member, waiting, bound, seen, first, last):
    """What a crowd grown from each of these rows costs while all are free."""
    for row in range(first, last):
        if label[row] == FREE:
            _, key[row] = _grow(packed, group, count, k, label, row, member, waiting, bound, seen)


@entry
def _take(packed, group, count, k, label, key, row, member, waiting, bound, seen):
    """Take grown crowds off a heap of their starts, the cheapest first; how many there are."""
    groups = np.int32(0)
    while key[0] < np.inf:
        start = row[0]
        if label[start] >= 0:
            sink(key, row, np.inf, start)
            continue
        members, cost = _grow(packed, group, count, k, label, start, member, waiting, bound, seen)
        following = np.inf
        for child in range(1, min(3, key.size)):
            following = min(following, key[child])
        if cost == np.inf or cost > following * (1.0 + SLACK):
            sink(key, row, cost, start)
            continue
        for m in range(members):
            label[member[m]] = groups
        groups += 1
    return groups

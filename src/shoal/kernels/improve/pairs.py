"""Pairs and triples of records that may become groups of two and three: those that cost hardly too much.

Every record has a share, what it ought to cost. A set is listed if its loss is less than the shares of its
records and some more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.packed import AT, FORM, PackedMetric, width
from shoal.kernels.distance.spans import SET

__all__ = ["NOBODY", "list_pairs"]

NOBODY = -1
"""In the place of the third record of a pair."""
LOOKS = 2_000
"""Looks at triples for each row, on average, at most."""

Listed = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def list_pairs(
    codes: NDArray[np.int32],
    packed: PackedMetric,
    count: NDArray[np.int64],
    share: NDArray[np.float64],
    over: float,
    room: int,
) -> Listed | None:
    """The pairs and triples of copies of rows whose loss is less than their shares and `over`.

    Their rows, the one with the largest share first, their loss, and how much that is above their shares.
    None where there are more than `room`, or to look for them takes too long.
    """
    order = np.argsort(-share, kind="stable")
    sets = np.empty((room, 3), dtype=np.int64)
    loss, excess = np.empty(room), np.empty(room)
    near, far = np.empty(len(codes), dtype=np.int64), np.empty(len(codes))
    rows = (codes[order], count[order], share[order])
    many = _list(packed, *rows, over, LOOKS * len(codes), sets, loss, excess, near, far)
    return None if many < 0 else (np.append(order, NOBODY)[sets[:many]], loss[:many], excess[:many])


@inner
def _span(packed, codes, one, two, three):
    """What a record of a group of these rows loses."""
    total = 0.0
    for axis in range(codes.shape[1]):
        a, b, c = codes[one, axis], codes[two, axis], codes[three, axis]
        if packed.shape[axis, FORM] == SET:
            more = np.int64(b != a) + np.int64(c not in (a, b))
            total += packed.data[packed.shape[axis, AT]] * more
            continue
        low, high = min(a, b, c), max(a, b, c)
        if low < high:
            total += width(packed.shape, packed.data, axis, low, high)
    return total


@inner
def _note(sets, loss, excess, at, one, two, three, lost, paid, over):
    """Write a set to its place if it costs little enough; the next place, -1 without room."""
    if lost - paid >= over or at < 0:
        return at
    if at == loss.size:
        return np.int64(-1)
    sets[at, 0], sets[at, 1], sets[at, 2] = one, two, three
    loss[at] = lost
    excess[at] = lost - paid
    return at + 1


@entry
def _list(packed, codes, count, share, over, looks, sets, loss, excess, near, far):
    """List the sets of `list_pairs`; how many, -1 without room or after so many looks at triples.

    No row has a larger share than one before it: with a row, who is far has nobody who would pay for it.
    """
    rows = len(codes)
    at = np.int64(0)
    for i in range(rows):
        if count[i] == 0:
            continue
        if count[i] >= 2:
            at = _note(sets, loss, excess, at, i, i, NOBODY, 0.0, 2 * share[i], over)
        if count[i] >= 3:
            at = _note(sets, loss, excess, at, i, i, i, 0.0, 3 * share[i], over)
        found = 0
        for j in range(i + 1, rows):
            if count[j] == 0:
                continue
            span = _span(packed, codes, i, j, j)
            paid = share[i] + share[j]
            at = _note(sets, loss, excess, at, i, j, NOBODY, 2 * span, paid, over)
            if count[i] >= 2:
                at = _note(sets, loss, excess, at, i, i, j, 3 * span, paid + share[i], over)
            if count[j] >= 2:
                at = _note(sets, loss, excess, at, i, j, j, 3 * span, paid + share[j], over)
            if 3 * span - paid - share[i] < over:
                near[found] = j
                far[found] = span
                found += 1
        looks -= found * (found - 1) // 2
        if at < 0 or looks < 0:
            return np.int64(-1)
        for s in range(found):
            j = near[s]
            for t in range(s + 1, found):
                paid = share[i] + share[j] + share[near[t]]
                if 3 * max(far[s], far[t]) - paid < over:
                    span = _span(packed, codes, i, j, near[t])
                    at = _note(sets, loss, excess, at, i, j, near[t], 3 * span, paid, over)
    return at

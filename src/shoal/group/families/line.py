"""The groups of one number or date column alone that lose least, where they are not too many.

Stretches of the ordered records that lie apart: one group, or a group around another (`kernels/line.py`).
Copies of a value may go to different groups. Groups around several others are not looked for; where only
such are the best, which is rare, the bound lies below what is found here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.line import OUT, TRACKED, cheapest_stretches, is_affordable, sort_aside
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.task import Task

__all__ = ["group_on_line"]


def group_on_line(coded: Coded, task: Task) -> Grouping | None:
    """The groups; None where the table is not one ordered column, or too long for so large a k."""
    most = float(coded.metric.most[0])
    if coded.codes.shape[1] != 1 or coded.metric.form[0] != LINE or most <= 0.0 or task.withhold > TRACKED:
        return None
    present = coded.codes[:, 0] != int(coded.metric.missing[0])
    absent = int(coded.count[~present].sum())
    aside = sort_aside(absent, task.k, task.withhold)
    row = np.repeat(np.flatnonzero(present), coded.count[present])  # in the order of the column
    if not is_affordable(row.size, task.k, aside.lost.size):
        return None
    position = coded.metric.data[coded.codes[row, 0]]
    cost, *ways = cheapest_stretches(
        position, task.k, most, aside.lost.size, aside.saturate, 3 * task.k - 1
    )
    state = int(np.argmin(cost + most * aside.lost))
    label, groups = _walk(position, state, *ways)
    left_out = np.flatnonzero(label == WITHHELD)
    joined, out = int(aside.joined[state]), int(aside.out[state])
    label[left_out[out:]] = groups  # with missing ones
    rest = absent - int(aside.lost[state]) if np.isfinite(aside.lost[state]) else 0
    lone = np.repeat(np.flatnonzero(~present), coded.count[~present])
    its = np.r_[
        np.full(joined, groups), np.full(rest, groups + 1), np.full(absent - joined - rest, WITHHELD)
    ]
    every = np.r_[row, lone]
    return Grouping.of_pieces(
        every, np.r_[label, its].astype(np.int64), np.ones(every.size, dtype=np.int64)
    )


def _walk(
    position: NDArray[np.float64],
    state: int,
    length: NDArray[np.int32],
    inner_size: NDArray[np.int32],
    came: NDArray[np.int32],
) -> tuple[NDArray[np.int64], int]:
    """The group of each record from the end back, WITHHELD where it is left out; and how many there are."""
    label = np.full(position.size, WITHHELD, dtype=np.int64)
    groups = 0
    at = position.size
    while at > 0:
        many, inside = int(length[state, at]), int(inner_size[state, at])
        before = int(came[state, at])
        start = at - max(many, 1)
        if many != OUT:
            label[start:at] = groups
            groups += 1
            if inside:  # the narrowest so many records inside, of equals the first
                first = np.arange(start + 1, at - inside)
                least = int(first[np.argmin(position[first + inside - 1] - position[first])])
                label[least : least + inside] = groups
                groups += 1
        at, state = start, before
    return label, groups

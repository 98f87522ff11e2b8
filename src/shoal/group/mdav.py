"""mdav: groups of k near records from the outside in, for publishing means.

Problem
    Split the records into groups of at least k so that the squared distances to the groups' means add
    up to little.

Guarantee
    None proved; at least k records in each group.

Method
    The row farthest from the mean of all rows left makes a group with its k - 1 nearest records, then the
    row farthest from it does the same, until fewer than 2k records are left: they are the last group.
    Distances are squared, every column scaled to the variance 1 (`kernels/distance` says how trees, labels
    and missing cells are measured). With improve, pieces then move and swap between near groups, and groups
    are dissolved, while that lowers the sum; sizes stay at least k.

Cost
    Time O(n^2 / k), memory O(n), n distinct rows; improving takes blocks of some hundred pieces.

Reference
    J. Domingo-Ferrer, V. Torra. Ordinal, continuous and heterogeneous k-anonymity through
    microaggregation. Data Mining and Knowledge Discovery 11, 2005.
    Differs from the paper: works on distinct rows with counts; a tuple of at least k copies is a group of
    its own with all of them; all kinds of columns.

Example:
    >>> FACTS.objective
    'squares'

"""

from __future__ import annotations

import numpy as np

from shoal.errors import TooFewRows
from shoal.group.improve.blocks import cut_blocks
from shoal.kernels.distance.squares import Spread, spread_of
from shoal.kernels.mdav import far_point_groups, lower_squares
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

_ROUNDS_BETWEEN_REPORTS = 200
BLOCK = 1200
"""Pieces improved together: enough to choose from, few enough to hold all their distances."""
_ROUNDS = {"quick": 1, "normal": 3, "thorough": 8}

FACTS = Facts(
    title="MDAV",
    objective="squares",
    guarantee="none proved; at least k rows in each group",
    time="O(n^2 / k)",
    paper="Domingo-Ferrer and Torra, DMKD 2005",
    withholds=False,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    total = coded.total
    if total < task.k:
        raise TooFewRows(rows=total, k=task.k)
    spread = spread_of(coded.codes, coded.count, coded.metric, coded.owner, coded.weights)
    free = coded.count.copy()
    alive = np.flatnonzero(free)
    pieces = np.empty((alive.size + total // task.k + 2, 3), dtype=np.int64)
    state = np.array([0, 0, alive.size, total])
    going = True
    while going:
        task.progress("growing groups", 1 - int(state[3]) / total)
        before = int(state[3])
        far_point_groups(spread, free, task.k, pieces, alive, state, _ROUNDS_BETWEEN_REPORTS)
        going = int(state[3]) < before
    written, groups, left = int(state[0]), int(state[1]), alive[: state[2]]
    row = np.concatenate([pieces[:written, 0], left])
    label = np.concatenate([pieces[:written, 1], np.full(left.size, groups)])
    count = np.concatenate([pieces[:written, 2], free[left]])
    if not task.improve:
        return Grouping.of_pieces(row, label, count, steps=groups)
    label, steps = _improve(spread, row, label, count, task)
    return Grouping.of_pieces(row, label, count, steps=groups + steps)


def _improve(
    spread: Spread,
    row: np.ndarray[tuple[int], np.dtype[np.int64]],
    label: np.ndarray[tuple[int], np.dtype[np.int64]],
    count: np.ndarray[tuple[int], np.dtype[np.int64]],
    task: Task,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """Better labels, block by block, cut elsewhere in every round."""
    random = np.random.default_rng(task.seed)
    rounds = task.effort.steps if task.effort.steps is not None else _ROUNDS[task.effort.level or "normal"]
    label = label.copy()
    for number in range(rounds):
        task.progress("improving", number / rounds)
        used, place = np.unique(label, return_inverse=True)
        where = np.concatenate([spread.line, spread.code], axis=1)[row]
        held = np.bincount(place.ravel())
        middle = np.stack(
            [np.bincount(place.ravel(), weights=where[:, a]) / held for a in range(where.shape[1])], axis=1
        )
        ranks = np.argsort(np.argsort(middle, axis=0, kind="stable"), axis=0, kind="stable")
        order = np.argsort(place.ravel(), kind="stable")
        starts = np.r_[0, np.cumsum(held)]
        for items in cut_blocks(ranks, held, BLOCK, random):
            part = np.concatenate([order[starts[item] : starts[item + 1]] for item in items])
            if part.size > 4 * BLOCK:  # one group of many tuples: nothing to choose from
                continue
            inside, own = np.unique(label[part], return_inverse=True)
            own = own.ravel().astype(np.int64)
            lower_squares(spread, row[part], own, count[part], inside.size, task.k, 20)
            label[part] = inside[own]
        if used.size < 2:
            break
    return label, rounds

"""nng: boxes around nearest neighbours, so that the largest box is small.

Problem
    Split the records into groups of at least k so that the largest half-perimeter of a group's box (the
    sum of its weighted sides) is small.

Guarantee
    At most 4d times the best, d columns, and at most 4d times the bound: let r be the largest distance of
    a record to its (k-1)-th nearest other one, by the largest column gap. A box of k nearest records
    has sides of at most 2r; a record outside all picked boxes has a box of its own that meets a picked one,
    so it is at most r away from the nearest; a group's sides are at most 4r. And r is at most the same
    distance measured by the sum of gaps, which is at most the half-perimeter of that record's group in any
    release.

Method
    A box of each row with its k - 1 nearest records; disjoint ones are picked, small first, until every
    box meets a picked one. Rows inside a picked box form its group, the others join the box with the
    smallest largest gap. Groups of 2k or more records are cut, along the column and at the place where the
    larger part comes out smallest, into parts of k to 2k - 1. The whole table cut in the same way is tried
    as well, and the better of the two is kept. Then, unless `shrink=no`, the largest group is cut anew
    together with one or two near groups, as long as all parts come out smaller than it was.

Cost
    Time O(d n log n) for neighbours and picking on tables of few columns, O(d n^2) at worst; memory O(n k).
    Shrinking takes O(n / k) for finding near groups and O(d^2 k^2 log k) for cutting, a step.

Reference
    Paper 002: local-recoding generalization with quality guarantee.
    Differs from the paper: it proves 6d; nearest by the largest gap and touching boxes counted as
    overlapping give 4d. Shrinking is ours, and never makes the largest box larger. Distinct rows with
    counts; copies may be split; missing cells stand apart from all present ones by the whole column, which
    the proof allows.

Example:
    >>> FACTS.factor(5, 2)
    8.0

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.errors import TooFewRows
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.nng.boxes import nearest_boxes, pick_disjoint, widths
from shoal.kernels.nng.parts import cut_parts
from shoal.kernels.nng.shrink import shrink_largest
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option, read_yes
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

FACTS = Facts(
    title="Nearest-neighbour groups",
    objective="half-perimeter",
    guarantee="at most 4d times the best largest half-perimeter, d columns, also against the bound",
    time="O(d n^2) at worst",
    paper="002, Theorem 3",
    takes=frozenset({"number", "date"}),
    withholds=False,
    styles=frozenset({"generalize", "means"}),
    options={"shrink": Option(read_yes, True, "whether the largest boxes are cut anew: yes or no")},
    factor=lambda k, columns: 4.0 * columns,
)

NEAR = 8
"""Near groups that the largest is cut anew with."""
EFFORT = 20_000_000
"""Pieces looked at while cutting anew, some seconds: more than tables of groups of 10 or so need."""

Pieces = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    place = np.flatnonzero(coded.count)
    codes, count = coded.codes[place], coded.count[place]
    task.progress("finding neighbours", 0.0)
    low, high = _neighbour_boxes(coded, codes, count, task.k)
    task.progress("picking boxes", 0.4)
    axis = int(np.argmax(coded.metric.size))
    size = widths(coded.metric, low, high)
    picked = pick_disjoint(coded.metric, low, high, np.argsort(size, kind="stable"), axis)
    picked = picked[np.argsort(low[picked, axis], kind="stable")]
    label = nearest_boxes(coded.metric, codes, low[picked], high[picked], axis)
    task.progress("cutting groups", 0.7)
    ways = [_cut(coded, codes, count, label, task.k), _cut(coded, codes, count, 0 * label, task.k)]
    row, its, many = min(ways, key=lambda pieces: _largest(coded, codes, pieces))
    steps = int(picked.size)
    if task.options.get("shrink", True):
        task.progress("shrinking the largest box", 0.8)
        groups = int(its.max()) + 1
        pieces, done = shrink_largest(coded.metric, codes, row, its, many, groups, task.k, NEAR, EFFORT)
        row, its, many = pieces[:, 0], pieces[:, 1], pieces[:, 2]
        steps += int(done)
    return Grouping.of_pieces(place[row], its, many, steps=steps)


def _neighbour_boxes(
    coded: Coded, codes: NDArray[np.int32], count: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The box of each row with its nearest rows that hold k records together."""
    metric = coded.metric
    sides: list[NDArray[np.float64]] = []
    for axis in range(codes.shape[1]):
        at, missing = int(metric.offset[axis]), int(metric.missing[axis])
        position = metric.data[at : at + int(metric.size[axis])][codes[:, axis]].copy()
        gone = codes[:, axis] == missing
        if missing >= 0 and gone.any():
            # half-way along, and the whole column away in a direction of its own
            position[gone] = metric.most[axis] / 2
            sides.append(np.where(gone, metric.most[axis], 0.0))
        sides.append(position)
    tree = cKDTree(np.stack(sides, axis=1))
    most = min(k, len(codes))
    low, high = codes.copy(), codes.copy()
    block = max(1, 4_000_000 // most)
    for begin in range(0, len(codes), block):
        part = slice(begin, begin + block)
        _, found = tree.query(tree.data[part], k=np.arange(1, most + 1), p=np.inf)
        own = np.arange(begin, min(begin + block, len(codes)))
        # rows apart in columns of weight 0 only are as near as the row itself, which must come first
        near = np.asarray(found, dtype=np.int64)
        near = np.where(near == own[:, None], near[:, :1], near)
        near[:, 0] = own
        enough = np.cumsum(count[near], axis=1) - count[near] < k
        for axis in range(codes.shape[1]):
            its = codes[near, axis]
            its = np.where(enough, its, its[:, :1])
            low[part, axis], high[part, axis] = its.min(axis=1), its.max(axis=1)
    for axis in range(codes.shape[1]):
        mixed = (high[:, axis] == metric.missing[axis]) & (low[:, axis] < high[:, axis])
        low[mixed, axis] = 0
    return low, high


def _cut(
    coded: Coded, codes: NDArray[np.int32], count: NDArray[np.int64], label: NDArray[np.int64], k: int
) -> Pieces:
    """Groups of 2k or more records cut into parts of k to 2k - 1."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(label[order]) > 0, True])
    pieces = cut_parts(coded.metric, codes, count, order, starts.astype(np.int64), k)
    return pieces[:, 0], pieces[:, 1], pieces[:, 2]


def _largest(coded: Coded, codes: NDArray[np.int32], pieces: Pieces) -> float:
    """The largest half-perimeter."""
    row, label, _ = pieces
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(label[order]) > 0, True])
    return float(group_losses(codes, coded.metric, row[order].astype(np.int32), starts).max())

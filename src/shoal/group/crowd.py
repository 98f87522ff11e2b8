"""crowd: the cheapest crowd first, then local search.

Problem
    Split the records into groups of at least k so that the total loss is small.

Guarantee
    None proved; at least k records in each group. The growth bound tells how far from the best this
    very release can be.

Method
    One number column is swept; the others make a cube of closed cells: every way to choose a node per
    column that no smaller node could replace. In a cell any run of rows in sweep order is a box. A lazy
    queue takes the run of at least k free records with the least loss per record, less a price for rows
    that will be dear anyway; then the next, until fewer than k records are left. They join the group
    where they add least. Tables whose cube would be too large are cut into blocks first. Local search
    and rebuilds of a few groups at a time follow, as long as the effort lasts. Where rows may be
    withheld, the dearest ones are left out as long as that lowers the total, counted in full.

Cost
    Time and memory O(c n), n distinct rows and c cells around a row: about 900 for 8 columns of the Adult
    table. Blocks keep c and n within what memory holds.

Reference
    Shoal's own. The cube: K. Beyer, R. Ramakrishnan. Bottom-up computation of sparse and iceberg cubes.
    SIGMOD 1999.

Example:
    >>> FACTS.objective
    'loss'

"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.kernels.cube import Cube, Shape, build_cube, shape_of
from shoal.kernels.cuts import cut_apart
from shoal.kernels.queue import cheapest_windows, insert_left, sweep_rows, take_crowds
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

FACTS = Facts(
    title="Cheapest crowd first",
    objective="loss",
    guarantee="none proved; at least k rows in each group, and a bound for this very table",
    time="O(c n), c cells around a row",
    paper="Shoal's own",
)

BLOCK = 100_000
"""Distinct rows that are grouped together; larger tables are cut into blocks first."""
ROOM = 120_000_000
"""Entries a block's cube may have: 480 MB."""
PRICE = 0.5
"""How much of a row's cheapest box is taken off the key of a window that holds it."""


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    label = _label(coded, task)
    return Grouping.of_labels(label, coded.count)


def _label(coded: Coded, task: Task) -> NDArray[np.int32]:
    """A group per distinct row, blocks one after another."""
    blocks = _blocks(coded, task.k)
    with ThreadPoolExecutor(task.threads or cpu_count() or 1) as pool:
        found = list(pool.map(lambda rows: _crowds(coded, rows, task.k), blocks))
    label = np.full(coded.distinct, -1, dtype=np.int32)
    groups = 0
    for rows, (its_label, its_groups) in zip(blocks, found, strict=True):
        label[rows] = np.where(its_label >= 0, its_label + groups, -1)
        groups += its_groups
    return label


def _blocks(coded: Coded, k: int) -> list[NDArray[np.int64]]:
    """Distinct rows of each block, each with at least k records."""
    if coded.distinct <= BLOCK:
        return [np.arange(coded.distinct)]
    share = coded.total / coded.distinct
    part = cut_apart(coded.codes, coded.count, coded.metric, max(k, int(BLOCK / 2 * share)))
    order = np.argsort(part, kind="stable")
    cuts = np.searchsorted(part[order], np.arange(part.max() + 2))
    return [order[start:end] for start, end in pairwise(cuts)]


def _crowds(coded: Coded, rows: NDArray[np.int64], k: int) -> tuple[NDArray[np.int32], int]:
    """Groups of a block: a label per row and how many groups there are."""
    codes, count, metric = coded.codes[rows], coded.count[rows], coded.metric
    shape = shape_of(codes, count, metric)
    swept = sweep_rows(codes, count, metric, shape)
    cube = _fitting_cube(swept.code, swept.held, shape, coded, k)
    price = PRICE * cheapest_windows(swept, cube, k)
    found, groups = take_crowds(swept, cube, k, price, cube.entry)
    label = np.full(rows.size, -1, dtype=np.int32)
    label[swept.row] = found
    insert_left(codes, count, metric, label, groups, 0, coded.weight)
    return label, groups


def _fitting_cube(
    code: NDArray[np.int32], held: NDArray[np.int64], shape: Shape, coded: Coded, k: int
) -> Cube:
    """The cube with all cells, or those below the largest cost that fits."""
    cap = np.inf
    while True:
        cube: Cube = build_cube(code, held, shape, coded.metric, k, cap, ROOM)
        if cube.whole:
            return cube
        cap = min(cap, coded.weight) / 2

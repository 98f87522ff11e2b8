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
    where they add least. Where plain cuts of a block lose less, they are taken instead. The cube is built
    in stages: first the boxes that cost little, then dearer ones around the rows that are still free.
    Large tables are cut into blocks, and rows around which there are too many boxes are cut apart.
    Improvement follows, as long as the effort lasts; where rows may
    be withheld, it leaves out those whose absence lowers the total, counted in full.

Cost
    Time and memory O(c n), n distinct rows and c cells around a row: 900 for the 8 columns of the Adult
    table if all were built at once, 20 to 60 in stages.

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
from shoal.kernels.cube import build_cube, shape_of
from shoal.kernels.cuts import cut_apart
from shoal.kernels.leftovers import insert_left
from shoal.kernels.queue import cheapest_windows, grow_crowds, sweep_rows, take_crowds
from shoal.kernels.spans import group_losses
from shoal.model.coded import Coded, Metric
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
    improves=True,
)

WHOLE, BLOCK = 40_000, 10_000
"""Distinct rows that are grouped together; larger tables are cut into blocks of so many and up."""
HUGE, SMALLER_BLOCK = 4_000_000, 2_500
"""Tables from so many distinct rows on are cut into smaller blocks where the effort is quick."""
LOOKS = {"quick": 2_000, "normal": 6_000, "thorough": 20_000}
"""Rows looked at, for each row, while a cube is built; where that is not enough, rows are cut apart."""
LEAST_LOOKS, ROOM = 4_000_000, 80_000_000
"""Looks that are always granted, and entries that are never exceeded: 320 MB."""
HALVINGS = (4, 1)
"""How often number columns other than the sweep are halved, at first and where boxes are too many."""
PARTS, SMALL = 4, 2_000
"""Into how many parts rows are cut, and how many rows are grown to groups one by one instead."""
FIRST_CAP = 1.0 / 64
"""Boxes of the first stage cost at most this share of everything; each further stage doubles it."""
COPIES = 3
"""Records per distinct row from which on plain cuts are tried too: they lose less where copies are many."""
PRICES = (0.0, 0.5)
"""How much of a row's cheapest box is taken off the key of a window that holds it; the best is kept.
Blocks of large tables are grouped once, by the first."""

Rows = NDArray[np.int64]
Labels = NDArray[np.int32]


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    blocks = _blocks(coded, task)
    prices = PRICES if len(blocks) == 1 else PRICES[:1]
    looks = LOOKS[task.effort.level or "normal"]
    quota = task.withhold if len(blocks) == 1 else 0  # improvement withholds in the others
    tries = [(rows, price) for rows in blocks for price in prices]
    with ThreadPoolExecutor(task.threads or cpu_count() or 1) as pool:
        found = list(pool.map(lambda one: _crowds(coded, one[0], task.k, one[1], looks, quota), tries))
    label = np.full(coded.distinct, -1, dtype=np.int32)
    groups = 0
    for at, rows in enumerate(blocks):
        its = found[at * len(prices) : (at + 1) * len(prices)]
        if coded.count[rows].sum() >= COPIES * rows.size:
            its.append(_cuts(coded, rows, task.k))
        its_label, its_groups, _ = min(its, key=lambda one: one[2])  # the first wins a tie
        label[rows] = np.where(its_label >= 0, its_label + groups, -1)
        groups += its_groups
    return Grouping.of_labels(label, coded.count)


def _blocks(coded: Coded, task: Task) -> list[Rows]:
    """Distinct rows of each block, each with at least k records."""
    rows = np.flatnonzero(coded.count > 0)
    if rows.size <= WHOLE:
        return [rows]
    size = SMALLER_BLOCK if rows.size >= HUGE and task.effort.level == "quick" else BLOCK
    records = max(task.k, int(size * coded.total / rows.size))
    return [rows[part] for part in _parts(coded.codes[rows], coded.count[rows], coded.metric, records)]


def _crowds(
    coded: Coded, rows: Rows, k: int, price: float, looks: int, quota: int
) -> tuple[Labels, int, float]:
    """Groups of a block: a label per row, how many there are, and their loss.

    Stages with dearer and dearer boxes give what one cube of all boxes would give: no window left out
    can be due before the keys of the stage end, and most rows are gone before boxes become many.
    """
    codes, count, metric = coded.codes[rows], coded.count[rows], coded.metric
    label = np.full(rows.size, -1, dtype=np.int32)
    groups = 0
    todo = [(np.arange(rows.size), coded.weight * FIRST_CAP, HALVINGS[0])]
    while todo:
        free, cap, halvings = todo.pop()
        if count[free].sum() < k:
            continue
        if cap >= coded.weight:
            cap = np.inf
        its_codes, its_count = codes[free], count[free]
        shape = shape_of(its_codes, its_count, metric, halvings)
        swept = sweep_rows(its_codes, its_count, metric, shape)
        work = max(LEAST_LOOKS, looks * free.size)
        cube = build_cube(swept.code, swept.held, shape, metric, k, cap, ROOM, work)
        if cube.whole:
            off = price * np.minimum(cheapest_windows(swept, cube, k), cap)
            found, new = take_crowds(swept, cube, k, off, cube.entry, (1.0 - price) * cap)
            its_label = np.empty_like(found)
            its_label[swept.row] = found
        elif halvings > HALVINGS[1]:  # fewer boxes of number columns
            todo.append((free, cap, HALVINGS[1]))
            continue
        elif free.size > SMALL:
            parts = _parts(its_codes, its_count, metric, max(k, int(its_count.sum()) // PARTS))
            if len(parts) > 1:
                todo += [(free[part], cap, halvings) for part in reversed(parts)]
                continue
            its_label = cut_apart(its_codes, its_count, metric, k)
            new = int(its_label.max()) + 1
        else:
            its_label, new = grow_crowds(its_codes, its_count, metric, k)
        taken = its_label >= 0
        label[free[taken]] = its_label[taken] + groups
        groups += new
        todo.append((free[~taken], cap * 2.0, halvings))
    withheld = insert_left(codes, count, metric, label, k, quota, coded.weight)
    loss = _loss(codes, count, metric, label, groups) + withheld * coded.weight
    return label, groups, loss


def _cuts(coded: Coded, rows: Rows, k: int) -> tuple[Labels, int, float]:
    """Groups of a block by cuts alone: better where most tuples have many copies, and soon made."""
    codes, count = coded.codes[rows], coded.count[rows]
    label = cut_apart(codes, count, coded.metric, k)
    groups = int(label.max()) + 1
    return label, groups, _loss(codes, count, coded.metric, label, groups)


def _parts(codes: NDArray[np.int32], count: NDArray[np.int64], metric: Metric, records: int) -> list[Rows]:
    """Rows of each part after cuts that leave at least `records` in every one."""
    part = cut_apart(codes, count, metric, records)
    order = np.argsort(part, kind="stable")
    cuts = np.searchsorted(part[order], np.arange(part.max() + 2))
    return [order[start:end] for start, end in pairwise(cuts)]


def _loss(
    codes: NDArray[np.int32], count: NDArray[np.int64], metric: Metric, label: Labels, groups: int
) -> float:
    """Size times spans over the groups."""
    order = np.argsort(label, kind="stable").astype(np.int32)
    order = order[label[order] >= 0]
    starts = np.searchsorted(label[order], np.arange(groups + 1))
    sizes = np.bincount(label[order], weights=count[order])
    return float(group_losses(codes, metric, order, starts) @ sizes)

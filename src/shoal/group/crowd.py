"""crowd: the cheapest crowd first, then local search.

Problem
    Split the records into groups of at least k so that the total loss is small.

Guarantee
    None proved; at least k records in each group. The growth bound tells how far from the best this
    very release can be.

Method
    One number or date column alone is cut into the best stretches (`families/line`). Otherwise one
    number column is swept; the others make a cube of closed cells: every way to choose a node per
    column that no smaller node could replace. In a cell any run of rows in sweep order is a box. A lazy
    queue takes the run of at least k free records with the least loss per record, less a price for rows
    that will be dear anyway; then the next, until fewer than k records are left. They join the group
    where they add least. Where plain cuts of a block lose less, they are taken instead. The cube is built
    in stages: first the boxes that cost little, then dearer ones around the rows that are still free.
    Large tables are cut into blocks; how finely their number columns are halved, some of them try out.
    Tables of many columns have too many boxes: there a crowd is grown from every row, among the rows near
    its own, and the cheapest is taken first. So it is with labels, which have no order, if that loses
    less, and with the rows of a block around which boxes are too many. Improvement follows, as long as
    the effort lasts; where rows may be withheld, it leaves out those whose absence lowers the total,
    counted in full.

Cost
    Time and memory O(c n), n distinct rows and c cells around a row: 900 for the 8 columns of the Adult
    table if all were built at once, 20 to 60 in stages. Grown, O(l^2 n) for lists of l near rows.

Reference
    Shoal's own. The cube: K. Beyer, R. Ramakrishnan. Bottom-up computation of sparse and iceberg cubes.
    SIGMOD 1999. Near rows: W. Dong, M. Charikar, K. Li. Efficient k-nearest neighbor graph construction
    for generic similarity measures. WWW 2011.

Example:
    >>> FACTS.objective
    'loss'

"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.group.families.line import group_on_line
from shoal.kernels.crowd.cheapest_first import cheapest_windows, sweep_rows, take_crowds
from shoal.kernels.crowd.cube import build_cube, shape_of
from shoal.kernels.crowd.grow import grow_crowds
from shoal.kernels.crowd.leftovers import insert_left
from shoal.kernels.distance.spans import count_labels, group_losses
from shoal.kernels.mondrian import cut_apart
from shoal.kernels.neighbours.approximate import WIDE, WIDE_WHOLE, near_rows
from shoal.model.coded import Coded, Metric
from shoal.model.facts import Facts, Option, read_yes
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
    in_parts=True,
    options={"search": Option(read_yes, True, "whether local search follows: yes or no")},
)

WHOLE, BLOCK = 40_000, 10_000
"""Distinct rows that are grouped together; larger tables are cut into blocks of so many and up."""
LARGE, SMALLER_BLOCK = 200_000, 2_500
"""Tables from so many distinct rows on are cut into smaller blocks: that many lose hardly more by it."""
CUTTERS = 16
"""Into how many parts a large table is cut before the parts are cut side by side."""
LOOKS = {"quick": 2_000, "normal": 6_000, "thorough": 20_000}
"""Rows looked at, for each row, while a cube is built; where that is not enough, rows are cut apart."""
LEAST_LOOKS, ROOM = 4_000_000, 80_000_000
"""Looks that are always granted, and entries that are never exceeded: 320 MB."""
HALVINGS = ((2, 1), (0, 0))
"""How often number columns other than the sweep are halved, at first and where boxes are too many. Some
blocks of a large table are grouped by each, to find out which loses less."""
TRIED = 4
"""Blocks that try."""
LISTED = {"quick": 16, "normal": 24, "thorough": 48}
"""Near rows listed for each row where crowds are grown."""
FIRST_CAP = 1.0 / 64
"""Boxes of the first stage cost at most this share of everything; each further stage doubles it."""
COPIES = 3
"""Records per distinct row from which on plain cuts are tried too: they lose less where copies are many."""
PRICES = (0.0, 0.5)
"""How much of a row's cheapest box is taken off the key of a window that holds it; the best is kept.
Blocks of large tables are grouped once, by the first."""

Rows = NDArray[np.int64]
Labels = NDArray[np.int32]
Halvings = tuple[int, int]
Found = tuple[Labels, int, float]
"""A label per row of a block, how many groups there are, and their loss."""


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    alone = group_on_line(coded, task)
    if alone is not None:
        return alone
    with ThreadPoolExecutor(task.threads or cpu_count() or 1) as pool:
        blocks = _blocks(coded, task, pool)
        quota = task.withhold if len(blocks) == 1 else 0  # improvement withholds in the others
        is_wide = coded.codes.shape[1] > WIDE
        labels = count_labels(coded.metric.form, coded.metric.size)
        ways: list[list[Found]] = []  # for every way the groups of every block
        near = None
        if is_wide or (labels > 0 and coded.distinct < LARGE):
            lists = list(pool.map(lambda rows: _near(coded, rows, task), blocks))
            ways += [list(pool.map(partial(_grown, coded, task, quota), blocks, lists))]
            near = lists[0] if blocks[0].size == coded.distinct else None
        if not is_wide:
            prices = PRICES if len(blocks) == 1 and not ways else PRICES[:1]
            ways += _from_cubes(coded, blocks, prices, task, quota, pool)
        if coded.total >= COPIES * coded.distinct:
            ways += [list(pool.map(lambda rows: _cuts(coded, rows, task.k), blocks))]
    label = np.full(coded.distinct, -1, dtype=np.int32)
    groups = 0
    for rows, *its in zip(blocks, *ways, strict=True):
        its_label, its_groups, _ = min(its, key=lambda one: one[2])  # the first wins a tie
        label[rows] = np.where(its_label >= 0, its_label + groups, -1)
        groups += its_groups
    return Grouping.of_labels(label, coded.count, near=near)


def _blocks(coded: Coded, task: Task, pool: ThreadPoolExecutor) -> list[Rows]:
    """Distinct rows of each block, each with at least k records."""
    rows = np.flatnonzero(coded.count > 0)
    if rows.size <= (WIDE_WHOLE if coded.codes.shape[1] > WIDE else WHOLE):
        return [rows]
    size = SMALLER_BLOCK if rows.size >= LARGE else BLOCK
    records = max(task.k, int(size * coded.total / rows.size))

    def cut(some: Rows, most: int) -> list[Rows]:
        return [some[part] for part in _parts(coded.codes[some], coded.count[some], coded.metric, most)]

    first = cut(rows, max(records, coded.total // CUTTERS)) if rows.size >= LARGE else [rows]
    return [block for blocks in pool.map(lambda some: cut(some, records), first) for block in blocks]


def _from_cubes(
    coded: Coded,
    blocks: list[Rows],
    prices: tuple[float, ...],
    task: Task,
    quota: int,
    pool: ThreadPoolExecutor,
) -> list[list[Found]]:
    """Groups of every block, for every price."""

    def run(tries: list[tuple[Rows, float, Halvings]]) -> list[Found]:
        def one(its: tuple[Rows, float, Halvings]) -> Found:
            rows, price, halvings = its
            return _crowds(coded, rows, price, halvings, task, quota)

        return list(pool.map(one, tries))

    halvings = HALVINGS[0]
    if len(blocks) > 2 * TRIED:
        some = [blocks[at] for at in np.linspace(0, len(blocks) - 1, TRIED).astype(int)]
        found = run([(rows, prices[0], its) for its in HALVINGS for rows in some])
        losses = [sum(one[2] for one in found[at : at + TRIED]) for at in range(0, len(found), TRIED)]
        halvings = HALVINGS[int(np.argmin(losses))]
    found = run([(rows, price, halvings) for price in prices for rows in blocks])
    return [found[at : at + len(blocks)] for at in range(0, len(found), len(blocks))]


def _crowds(coded: Coded, rows: Rows, price: float, halvings: Halvings, task: Task, quota: int) -> Found:
    """Groups of a block: a label per row, how many there are, and their loss.

    Stages with dearer and dearer boxes give what one cube of all boxes would give: no window left out
    can be due before the keys of the stage end, and most rows are gone before boxes become many.
    """
    codes, count, metric, k = coded.codes[rows], coded.count[rows], coded.metric, task.k
    looks = LOOKS[task.effort.level or "normal"]
    label = np.full(rows.size, -1, dtype=np.int32)
    groups = 0
    free, cap, fine = np.arange(rows.size), coded.weight * FIRST_CAP, halvings[0]
    too_many = False
    while count[free].sum() >= k and not too_many:
        if cap >= coded.weight:
            cap = np.inf
        its_codes, its_count = codes[free], count[free]
        shape = shape_of(its_codes, its_count, metric, fine)
        swept = sweep_rows(its_codes, its_count, metric, shape)
        # by all rows of the block: few are free in the last stages, but around them boxes are many
        work = max(LEAST_LOOKS, looks * rows.size)
        cube = build_cube(swept.code, swept.held, shape, metric, k, cap, ROOM, work)
        if cube.whole:
            off = price * np.minimum(cheapest_windows(swept, cube, k), cap)
            found, new = take_crowds(swept, cube, k, off, cube.entry, (1.0 - price) * cap)
            its_label = np.empty_like(found)
            its_label[swept.row] = found
            taken = its_label >= 0
            label[free[taken]] = its_label[taken] + groups
            groups += new
            free, cap = free[~taken], cap * 2.0
        elif fine > halvings[1] and groups > 0:  # fewer boxes of number columns
            fine = halvings[1]
        else:
            too_many = True
    if not too_many:
        return _finished(coded, rows, label, groups, k, quota)
    grown = _grown(coded, task, quota, rows, _near(coded, rows, task))
    if groups == 0:
        return grown
    rest, new = _grow(coded, rows[free], _near(coded, rows[free], task), task)
    label[free] = np.where(rest >= 0, rest + groups, -1)
    mixed = _finished(coded, rows, label, groups + new, k, quota)
    return min(mixed, grown, key=lambda one: one[2])


def _grown(coded: Coded, task: Task, quota: int, rows: Rows, near: NDArray[np.int64]) -> Found:
    """Groups of a block, all of them grown."""
    label, groups = _grow(coded, rows, near, task)
    return _finished(coded, rows, label, groups, task.k, quota)


def _near(coded: Coded, rows: Rows, task: Task) -> NDArray[np.int64]:
    """Rows near each row of a block."""
    listed = LISTED[task.effort.level or "normal"]
    return near_rows(coded.codes[rows], coded.metric, listed, np.random.default_rng(task.seed))


def _grow(coded: Coded, rows: Rows, near: NDArray[np.int64], task: Task) -> tuple[Labels, int]:
    """Crowds grown row by row, and how many; some rows may be left over."""
    random = np.random.default_rng(task.seed)
    return grow_crowds(coded.codes[rows], coded.count[rows], coded.metric, task.k, near, random)


def _finished(coded: Coded, rows: Rows, label: Labels, groups: int, k: int, quota: int) -> Found:
    """The groups of a block once rows left over have joined them."""
    codes, count, metric = coded.codes[rows], coded.count[rows], coded.metric
    withheld = insert_left(codes, count, metric, label, k, quota, coded.weight)
    loss = _loss(codes, count, metric, label, groups) + withheld * coded.weight
    return label, groups, loss


def _cuts(coded: Coded, rows: Rows, k: int) -> Found:
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

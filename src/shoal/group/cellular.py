"""cellular: groups around centres, the sum of size * radius as small as possible.

Problem
    Split the records into groups of at least k, each around a row, so that the sum over groups of size
    times radius is as small as possible: every record knows how far it may be from what is published.
    With rows withheld, the worst may stay out.

Guarantee
    Up to 5,000 distinct rows at most 36 times the best possible; with withheld rows at most 72 times.
    Larger tables: none proved; at least k rows in each group. Each comes with a bound for this very table.

Method
    Shares of all rows rise together. A ball of at least k records is paid for when what shares exceed its
    radius by adds up to k times the radius; its rows stop there. Paid balls open by decreasing radius where
    no row that pays for them is taken; others join through the ball that stopped them. Open balls share
    their nearest records until each has k, and records of several are given to one. With withheld rows
    shares stop rising when no more than the quota rise, once for each largest radius of a grid. Larger
    tables are cut into blocks first. A second start takes the closest crowds of k records first. From each
    start, records move to where they cost less and centres to better rows while the cost falls, over the
    borders of blocks too; the best result is kept.

Cost
    Time O(n^2 log n) for blocks of n distinct rows, memory O(n).

Reference
    G. Aggarwal, R. Panigrahy, T. Feder, D. Thomas, K. Kenthapadi, S. Khuller, A. Zhu. Achieving anonymity
    via clustering. ACM Transactions on Algorithms 6(3), 2010. Section 3.
    Differs from the paper: the second start and the moves, which only lower the cost; balls share no more
    records than they lack; the variant with withheld rows is ours (docs/proofs/cellular.md).

Example:
    >>> FACTS.objective, FACTS.centres
    ('cellular', True)

"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.group.centres.opening import owners
from shoal.group.centres.radius import CENTRE, Survey, hand_over, survey
from shoal.group.centres.settle import settled
from shoal.group.centres.unshare import unshare
from shoal.kernels.centres.cellular import take_crowds
from shoal.kernels.centres.duals import Duals, by_reach, raise_duals, without_largest
from shoal.kernels.centres.least_radius import Pieces
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.distance.rows import apart_each
from shoal.kernels.neighbours.box_tree import build_index
from shoal.kernels.neighbours.exact import reach_distances
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]

EXACT = 5_000
"""So many distinct rows are solved as one."""
BLOCK = 2_500
"""Larger tables are cut into blocks of at most so many."""

FACTS = Facts(
    title="Cellular",
    objective="cellular",
    guarantee="at most 36 times the least sum of size * radius, 72 times with withheld rows, up to 5,000 "
    "distinct rows; beyond, none proved",
    time="O(n^2 log n) in blocks",
    paper="000, section 3",
    centres=True,
    least_factor=36.0,
    distances=frozenset({"span", "euclidean", "great-circle", "matrix"}),
    options=CENTRE,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    about = survey(coded, task)
    proof, factor = None, None
    if about.index.place.size <= EXACT:
        task.progress("raising shares", 0.0)
        duals = _duals(about)
        bound = without_largest(duals.share, about.count, about.withhold) / 2
        proof = Proof("duals", bound, (("withhold", float(about.withhold)),))
        factor = 72.0 if about.withhold else 36.0
        starts = [_groups_of(about, duals), *_filtered(about, float(duals.radius.max()))]
    else:
        starts = [_in_blocks(about, task)]
    task.progress("taking crowds", 0.0)
    starts.append(_crowds(about))
    found, steps = settled(about, starts, np.zeros(about.count.size), task)
    return hand_over(about, found, proof=proof, factor=factor, steps=steps)


def _duals(about: Survey, widest: float = np.inf) -> Duals:
    return raise_duals(
        about.space,
        about.count,
        about.reach,
        np.zeros(about.count.size),
        top=1,
        raised=about.k,
        widest=widest,
        quota=about.withhold,
    )


def _filtered(about: Survey, most: float) -> list[Pieces]:
    """With withheld rows the factor needs a limit on radii within 2 of the largest of a best solution.

    None is below `least`; where that is 0 the quota's complement costs nothing at all. A limit from `most`,
    the widest cluster that stops anybody without one, changes nothing.
    """
    if about.withhold == 0:
        return []
    found = []
    widest = 2 * about.least
    while widest < most:
        duals = _duals(about, widest)
        if np.isfinite(duals.end):
            found.append(_groups_of(about, duals))
        if widest == 0:
            break
        widest *= 2
    return found


def _groups_of(about: Survey, duals: Duals) -> Pieces:
    """Groups of at least k from shares that have stopped; rows that have not are withheld."""
    kept = _published(about, duals)
    return unshare(
        about.index,
        about.space,
        about.count,
        kept,
        about.k,
        owner=owners(about.index, about.space, kept > 0, duals),
        centre=duals.centre,
        radius=duals.radius,
    )


def _published(about: Survey, duals: Duals) -> Counts:
    """Records of each row that are published: exactly the quota is not.

    The last cluster may have stopped more than it had to; of its rows the farthest stay out.
    """
    kept = np.where(duals.witness >= 0, about.count, 0)
    spare = about.withhold - (about.total - int(kept.sum()))
    last = np.flatnonzero(duals.witness == duals.centre.size - 1).astype(np.int32)
    far = apart_each(about.space, last, np.full_like(last, duals.centre[-1]))
    for row in last[np.argsort(-far, kind="stable")]:
        out = min(spare, int(kept[row]))
        kept[row] -= out
        spare -= out
    return kept


def _crowds(about: Survey) -> Pieces:
    """The closest crowds of k records first; rows left over stand in no group."""
    rows = np.flatnonzero(about.count > 0).astype(np.int32)
    waiting, key, first = by_reach(about.reach[rows])
    starts = short_axes(about.space)
    label = np.full(rows.size, -1, dtype=np.int32)
    centre = np.empty(rows.size, dtype=np.int32)
    groups = take_crowds(
        about.space,
        rows,
        starts,
        np.empty(starts[-1]),
        about.count[rows],
        about.k,
        about.withhold,
        first,
        waiting,
        key,
        label,
        centre,
    )
    return Pieces(rows[centre[:groups]], rows, label, about.count[rows])


def _in_blocks(about: Survey, task: Task) -> Pieces:
    """Each block of the table solved alone; the quota goes where the records with the greatest need are."""
    worst = np.argsort(-about.need, kind="stable")
    after = np.cumsum(about.count[worst])
    out = np.zeros(about.count.size, dtype=np.int64)
    out[worst] = np.clip(about.withhold - (after - about.count[worst]), 0, about.count[worst])
    parts: list[Pieces] = []
    groups = 0
    blocks = _blocks(about)
    for at, rows in enumerate(blocks):
        task.progress("raising shares", at / len(blocks))
        count = np.zeros_like(about.count)
        count[rows] = about.count[rows]
        index = build_index(about.space, count)
        reach = reach_distances(index, about.space, count, about.k)
        quota = min(int(out[rows].sum()), int(count.sum()) - about.k)
        part = replace(about, index=index, count=count, reach=reach, withhold=quota)
        pieces = _groups_of(part, _duals(part))
        parts.append(pieces._replace(group=pieces.group + groups))
        groups += pieces.centre.size
    centre, row, group_of, amount = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Pieces(centre, row, group_of, amount)


def _blocks(about: Survey) -> list[Rows]:
    """The index cut where its boxes hold few enough rows, but k records."""
    index = about.index
    blocks = []
    stack = [0]
    while stack:
        node = stack.pop()
        child = int(index.child[node])
        small = index.end[node] - index.start[node] <= BLOCK
        if small or child < 0 or min(index.records[child : child + 2]) < about.k:
            blocks.append(index.place[index.start[node] : index.end[node]])
        else:
            stack += [child + 1, child]
    return blocks

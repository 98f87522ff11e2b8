"""gather: groups around centres, the largest radius as small as possible.

Problem
    Split the records into groups of at least k, each around one of its rows, so that the largest distance
    of any record from its centre is as small as possible. With rows withheld, the worst may stay out.

Guarantee
    The largest radius is at most 2 times the best possible; with withheld rows at most 3 times. The best
    possible may place centres at any row.

Method
    For a threshold t, take rows in order as centres of balls of radius t, and let a flow give each
    centre k records within t. Search for a t that works while the one right below it fails: the best is at
    least t / 2. With withheld rows both algorithms of the paper run and the better result is kept: drop
    rows with fewer than k records within t; or let rows with k records within R be candidates, where R is
    the least radius whose balls hold all but the quota, and give what the balls leave to the nearest
    centre. Then try radii between the bound and the value by a greedy cover with a flow; take the best
    member of each group as centre; move records to nearer centres, take withheld ones back and open
    groups inside wide ones, while the largest radius does not grow and the sum of radii falls.

Cost
    Time about O(n log n) for columns that spread, O(n^2) at worst; memory O(n), n distinct rows.

Reference
    G. Aggarwal, R. Panigrahy, T. Feder, D. Thomas, K. Kenthapadi, S. Khuller, A. Zhu. Achieving anonymity
    via clustering. ACM Transactions on Algorithms 6(3), 2010. Section 2.
    Differs from the paper: the largest radius is tightened against a second bound, by the records around
    each row's possible centres, which is nearly always the stronger (docs/proofs/radius.md).

Example:
    >>> FACTS.objective, FACTS.centres
    ('radius', True)

"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.group.centres.radius import CENTRE, Solution, Survey, finish, solution_of, survey
from shoal.kernels.centres.cover import peel, take_balls
from shoal.kernels.centres.least_radius import Pieces, Threshold, least_threshold, test_all
from shoal.kernels.neighbours.box_tree import build_index, sight_of
from shoal.kernels.neighbours.exact import nearest
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

Rows = NDArray[np.int32]

PRECISE = 1e-4
PEELED = 0.01
"""How near to the least radius peeling is tried; the factor does not hang on it."""

FACTS = Facts(
    title="Gather",
    objective="radius",
    guarantee="at most 2 times the best largest radius; 3 times with withheld rows",
    time="O(n log n) to O(n^2)",
    paper="000, section 2",
    centres=True,
    distances=frozenset({"span", "euclidean", "great-circle", "matrix"}),
    options=CENTRE,
    factor=lambda k, columns: 2.0,
    least_factor=2.0,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    about = survey(coded, task)
    if task.withhold == 0:
        task.progress("searching the threshold", 0.0)
        test = partial(test_all, about.index, about.space, about.count, about.reach, about.k, about.most)
        found = least_threshold(
            about.index, about.space, test, start=float(about.reach.max()), precise=PRECISE
        )
        return finish(
            about, solution_of(about, found.pieces), task, threshold_proof(about, found), factor=2.0
        )
    best = min((_by_candidates(about), *_by_peeling(about)), key=lambda one: one.largest)
    return finish(about, best, task, None, factor=3.0)


def threshold_proof(about: Survey, found: Threshold) -> Proof:
    """Half the threshold, or half of the failing one below where distances may lie between the two."""
    below = -1.0 if found.below is None else found.below
    bound = (found.value if found.tight else below) / 2
    said = (("below", below), ("threshold", found.value), ("max_groups", float(about.most)))
    return Proof("threshold", bound, said)


def _by_candidates(about: Survey) -> Solution:
    """Factor 3: rows with k records within R are candidates; R is what no solution beats."""
    alive = about.count > 0
    radius = about.least
    sight = sight_of(about.index, about.space)
    inside = alive & (about.need <= radius)
    candidates = np.flatnonzero(alive & (about.reach <= radius)).astype(np.int32)
    order = candidates[np.argsort(about.reach[candidates], kind="stable")]
    centre, label = take_balls(about.index, about.space, sight, about.count, order, inside, about.k, radius)
    return solution_of(about, _with_leftovers(about, centre, label, inside))


def _by_peeling(about: Survey) -> list[Solution]:
    """About factor 4: nearly the least t at which peeling keeps enough rows; none if no group comes."""
    # rows with a longer reach go at once, and those are too many below this
    by_reach = np.argsort(-about.reach, kind="stable")
    low = float(about.reach[by_reach[(np.cumsum(about.count[by_reach]) > about.withhold).argmax()]])
    high = float(about.reach.max())
    sight = sight_of(about.index, about.space)
    kept = about.count > 0
    middle = low
    while middle < high:
        left = peel(
            about.index, about.space, sight, about.count, about.reach, about.k, middle, about.withhold
        )
        if left.any():
            high, kept = middle, left
        else:
            low = middle
        if high - low <= PEELED * high:
            break
        middle = (low + high) / 2
    order = np.flatnonzero(kept).astype(np.int32)
    centre, label = take_balls(about.index, about.space, sight, about.count, order, kept, about.k, high)
    if centre.size == 0:
        return []
    return [solution_of(about, _with_leftovers(about, centre, label, kept))]


def _with_leftovers(about: Survey, centre: Rows, label: Rows, inside: NDArray[np.bool_]) -> Pieces:
    """Rows inside that no ball took go to the nearest centre."""
    mask = np.zeros(about.count.size, dtype=np.int64)
    mask[centre] = 1
    place = np.zeros(about.count.size, dtype=np.int32)
    place[centre] = np.arange(centre.size)
    row = np.flatnonzero(inside).astype(np.int32)
    free = label[row] < 0
    near, _ = nearest(build_index(about.space, mask), about.space, row[free])
    group_of = label[row]
    group_of[free] = place[near]
    return Pieces(centre, row, group_of, about.count[row])

"""The bound by shares for the sum of size * radius: the best shares that balls bear, nearly.

Every record has a share, and in every ball that holds k records the k largest shares sum to at most k
times its radius; their sum bounds every grouping, as in the growth bound. Here they are the solution of the
linear program behind that, as far as some rounds lead, from the groups of the release on. One pass lowers
them until every ball bears its own, and a check that knows nothing of the search confirms it. The proof is
in docs/proofs/cellular.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.bound.shares import shares_of_text, shortened
from shoal.kernels.bound.cuts import CutPool, joined, kept, loads, worst_of_rows
from shoal.kernels.bound.largest import TINY
from shoal.kernels.bound.steps import take_steps
from shoal.kernels.centres.ball_sets import (
    BallTable,
    Broken,
    Near,
    group_balls,
    lower_in_balls,
    rows_near,
    table_of,
    worst_balls,
)
from shoal.kernels.centres.balls_bear import all_balls_bear
from shoal.kernels.centres.duals import without_largest
from shoal.kernels.distance.rows import radii
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["NAME", "prove_again_by_balls", "prove_by_balls"]

NAME = "shares"
OWN, WIDE, FINE, AROUND = 0.9, 2.0, 4, 1.3
"""Shares begin with the part OWN of the radii of their groups; centres whose balls do not bear that are
looked at in every round. No share rises above WIDE times what it began with and a part of the mean."""
STEPS, PACE, FULL_LOOK, INSIDE, SLACK, IDLE = 40, 0.5, 8, 0.85, 1e-4, 0.05
"""As in `kernels/bound/program.py`."""
TOLERANCE = 1e-10

Shares = NDArray[np.float64]


def prove_by_balls(coded: Coded, task: Task, grouping: Grouping, rounds: int) -> tuple[Proof | None, float]:
    """The sum of the best shares found, and by which part they had to be lowered; None where none hold."""
    its = table_of(coded.space, coded.count, task.k)
    own = _radii_of(coded, grouping)[its.rows]
    cap = float(own.max(initial=0.0))
    holds, broken = lower_in_balls(its, OWN * own)
    most = np.minimum(WIDE * holds + float(own.mean()) / FINE, cap)
    assert grouping.centre is not None, "a method with this objective names centres"
    pool = group_balls(its, grouping.distinct, grouping.group, grouping.count, grouping.centre)
    if cap < TINY:
        rounds = 0
    mean = _solve(
        its, pool, broken, holds, most, rounds, lambda done: task.progress("proving a bound", done)
    )
    best = max((holds, lower_in_balls(its, mean)[0]), key=lambda one: float(one @ its.records))
    gap = 1.0 - float(best @ its.records) / max(float(mean @ its.records), 1e-300)
    share = np.zeros(coded.distinct)
    share[its.rows] = best
    return _proved(coded, task, shortened(share)), gap


def _radii_of(coded: Coded, grouping: Grouping) -> Shares:
    """The mean radius of the groups of each row's records; the largest of all for those withheld."""
    assert grouping.centre is not None, "a method with this objective names centres"
    inside = grouping.group >= 0
    radius = radii(coded.space, grouping.distinct[inside], grouping.group[inside], grouping.centre)
    each = np.append(radius, radius.max(initial=0.0))[grouping.group]  # those withheld come last
    total = np.bincount(grouping.distinct, weights=each * grouping.count, minlength=coded.distinct)
    return np.asarray(total / np.maximum(coded.count, 1))


def _solve(
    its: BallTable,
    pool: CutPool,
    broken: Broken,
    holds: Shares,
    most: Shares,
    rounds: int,
    see: Callable[[float], None],
) -> Shares:
    """Rounds of the linear program from a pool and from shares that hold: the shares of the last.

    Centres whose balls were broken at first are looked at in every round, as far as AROUND times that.
    """
    held = its.records.astype(np.float64)
    near = rows_near(its, broken.centre, AROUND * broken.radius)
    pool = joined(pool, worst_of_rows(broken.cuts, broken.over, held.size), held.size)
    share = holds.copy()
    pace = PACE * (float(holds @ held / held.sum()) or float(most.mean()) or 1.0)
    for number in range(rounds):
        see(number / rounds)
        share, part = take_steps(pool, held, share, most, STEPS, pace)
        pool = pool._replace(part=part)
        inside = INSIDE if 2 * number < rounds else 1.0
        is_full = number % FULL_LOOK == FULL_LOOK - 1
        broken = worst_balls(its, inside * share + (1.0 - inside) * holds, SLACK, None if is_full else near)
        if is_full:
            near = _with_others(its, near, broken)
            has_room = pool.limit - loads(pool, share) >= IDLE * pool.limit
            pool = kept(pool, (pool.part > 1e-9) | ~has_room)
        pool = joined(pool, worst_of_rows(broken.cuts, broken.over, held.size), held.size)
    return share


def _with_others(its: BallTable, near: Near, broken: Broken) -> Near:
    """Lists of near rows, wide enough for the balls that are broken now."""
    reach = np.zeros(its.rows.size)
    has_rows = np.diff(near.start) > 0
    reach[near.centre[has_rows]] = near.far[near.start[1:][has_rows] - 1]
    known = np.isin(np.arange(reach.size), near.centre)
    known[broken.centre] = True
    reach[broken.centre] = np.maximum(reach[broken.centre], AROUND * broken.radius)
    centre = np.flatnonzero(known)
    return rows_near(its, centre, reach[centre])


def _proved(coded: Coded, task: Task, share: NDArray[np.float32]) -> Proof | None:
    own = share.astype(np.float64)
    if not bool(np.all((own >= 0.0) & (own < np.inf) & ((own == 0.0) | (coded.count > 0)))):
        return None
    if not all_balls_bear(coded.space, coded.count, task.k, own, TOLERANCE):
        return None
    bound = without_largest(own, coded.count, task.withhold)
    return Proof(NAME, bound, (("withhold", float(task.withhold)),), shares=share)


def prove_again_by_balls(coded: Coded, task: Task, text: str) -> Proof | None:
    """The bound once more from the shares that a receipt keeps; None where they prove nothing."""
    share = shares_of_text(text, coded.distinct)
    return None if share is None else _proved(coded, task, share)

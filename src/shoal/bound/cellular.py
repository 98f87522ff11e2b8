"""The sum of size * radius, and what no grouping around centres can beat.

Four bounds; the proofs are in docs/proofs/cellular.md. `reach`: a record pays at least the least over rows
c of max(d(i, c), reach of c). `growth`: give every record a share such that in every ball of k records the
k largest have a mean of at most its radius; the shares grow together, and their sum bounds every grouping.
`shares`: the best of these, nearly, by a linear program (`bound/ball_shares.py`).
`duals`: half the sum of the duals of paper 000, which the method finds on its way. With withheld records
the quota's worth of the largest shares is set aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.bound import ball_shares
from shoal.bound.ball_shares import prove_again_by_balls, prove_by_balls
from shoal.kernels.centres.duals import raise_duals, without_largest
from shoal.kernels.distance.rows import radii
from shoal.kernels.neighbours.box_tree import build_index
from shoal.kernels.neighbours.exact import best_centres, reach_distances
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["again", "prove", "sum_of_radii"]

GROWTH_UP_TO = {"quick": 5_000, "normal": 25_000, "thorough": 100_000}
"""Distinct rows up to which shares grow, by effort; beyond, the bound by reach alone."""
ROUNDS, NEARLY = {"normal": 16, "thorough": 48}, 0.015
"""By effort: rounds of the search for better shares; where they had to be lowered by more, or rows may be
withheld, shares grow besides."""

IN_SETS = 100_000_000
"""Records of k in a ball around every row, at most, for that search: some 1.2 GB."""


def sum_of_radii(coded: Coded, grouping: Grouping) -> float:
    """The sum over groups of size * radius, by the groups' own centres."""
    assert grouping.centre is not None, "a method with this objective names centres"
    kept = grouping.group >= 0
    radius = radii(coded.space, grouping.distinct[kept], grouping.group[kept], grouping.centre)
    return float(radius @ grouping.sizes)


def prove(coded: Coded, task: Task, grouping: Grouping | None = None) -> Proof:
    """The strongest bound that the effort affords; where groups are given, the search begins with them."""
    names, proofs = ["reach"], []
    level = task.effort.level or "normal"
    if coded.distinct <= GROWTH_UP_TO[level]:
        gap = np.inf
        has_room = coded.distinct * min(task.k, coded.distinct) <= IN_SETS
        if grouping is not None and grouping.centre is not None and level in ROUNDS and has_room:
            shared, gap = prove_by_balls(coded, task, grouping, ROUNDS[level])
            proofs += [shared] if shared is not None else []
        if task.withhold or gap > NEARLY or not proofs:
            names.append("growth")
    return max([*proofs, *_proofs(coded, task, names)], key=lambda proof: proof.bound)


def again(coded: Coded, task: Task, name: str, parameters: Mapping[str, Any]) -> Proof | None:
    """The bound of that name; None where it is not known."""
    if name == ball_shares.NAME and "shares" in parameters:
        return prove_again_by_balls(coded, task, parameters["shares"])
    if name not in {"reach", "growth", "duals"} or parameters != {"withhold": float(task.withhold)}:
        return None
    return next(_proofs(coded, task, [name]))


def _proofs(coded: Coded, task: Task, names: Sequence[str]) -> Iterator[Proof]:
    """The bounds of these names, one after the other."""
    space, count, k = coded.space, coded.count, task.k
    index = build_index(space, count)
    reach = reach_distances(index, space, count, k)
    alive = np.flatnonzero(count > 0).astype(np.int32)
    for name in names:
        if name == "reach":
            _, share = best_centres(index, space, reach, alive)
        else:
            top, raised = (k, 0) if name == "growth" else (1, k)
            free = np.zeros(count.size)
            duals = raise_duals(space, count, reach, free, top=top, raised=raised, quota=task.withhold)
            share = duals.share[alive]
        # the duals know opening costs of k times the radius, which no solution pays
        part = 0.5 if name == "duals" else 1.0
        bound = part * without_largest(share, count[alive], task.withhold)
        yield Proof(name, bound, (("withhold", float(task.withhold)),))

"""What follows cellular clustering: records and centres move while the sum of size * radius falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.group.centres.radius import Solution, Survey, budget, solution_of
from shoal.kernels.centres.cellular import settle
from shoal.kernels.centres.least_radius import Pieces
from shoal.kernels.distance.rows import radii
from shoal.model.task import Task

__all__ = ["cost_of", "settled"]

Floats = NDArray[np.float64]

SWEEPS = {"quick": 5, "normal": 20, "thorough": 100}
ENOUGH = 1e-5
"""A sweep that saves a smaller share is the last."""


def cost_of(found: Solution, opening: Floats) -> float:
    """The sum over groups of size * radius and the opening cost of the centre."""
    return found.total + float(opening[found.pieces.centre].sum())


def settled(about: Survey, starts: list[Pieces], opening: Floats, task: Task) -> tuple[Solution, int]:
    """Move records and centres while the cost falls, from the best start; how many sweeps it took.

    The first sweep is for all: rows that stand in no group find one.
    """
    solutions = []
    for pieces in starts:
        inside = pieces.group >= 0
        part = Pieces(pieces.centre, pieces.row[inside], pieces.group[inside], pieces.amount[inside])
        solutions.append(_swept(about, _solution(about, part, opening), opening))
    best = min(solutions, key=lambda one: cost_of(one, opening))
    steps = 0
    for steps, share in enumerate(budget(task.effort, SWEEPS), start=1):  # noqa: B007
        task.progress("moving rows", share)
        found = _swept(about, best, opening)
        before, after = cost_of(best, opening), cost_of(found, opening)
        if after < before:
            best = found
        if after >= before * (1 - ENOUGH):
            break
    return best, steps


def _swept(about: Survey, found: Solution, opening: Floats) -> Solution:
    """One sweep of moves, and better centres after it."""
    held = np.bincount(found.pieces.row, weights=found.pieces.amount, minlength=about.count.size)
    out = about.count - np.rint(held).astype(np.int64)
    loose = np.flatnonzero(out > 0).astype(np.int32)
    row = np.concatenate([found.pieces.row, loose])
    amount = np.concatenate([found.pieces.amount, out[loose]])
    group = np.concatenate([found.pieces.group, np.full(loose.size, -1, dtype=np.int32)])
    # pieces stand by group, so the list of a group runs from its first piece on
    head = np.searchsorted(found.pieces.group, np.arange(found.size.size))
    chain = np.arange(1, row.size + 1)
    chain[np.r_[head[1:], found.pieces.group.size] - 1] = -1
    fixed = opening[found.pieces.centre]
    settle(
        about.space,
        about.k,
        about.withhold,
        row,
        amount,
        group,
        found.pieces.centre,
        fixed,
        found.radius.copy(),
        found.size.copy(),
        np.argsort(-found.radius * found.size - fixed, kind="stable"),
        head,
        chain,
    )
    inside = group >= 0
    pieces = Pieces(found.pieces.centre, row[inside], group[inside], amount[inside])
    return _solution(about, pieces, opening)


def _solution(about: Survey, pieces: Pieces, opening: Floats) -> Solution:
    """Pieces with the best centres: members, or the present one where that is published and costs less."""
    found = solution_of(about, pieces)
    centre, group = found.pieces.centre, found.pieces.group
    old = pieces.centre[np.unique(pieces.group)]
    radius = radii(about.space, found.pieces.row, group, old)
    stays = found.size * radius + opening[old] < found.size * found.radius + opening[centre]
    stays &= np.isin(old, found.pieces.row)
    return Solution(
        found.pieces._replace(centre=np.where(stays, old, centre)),
        np.where(stays, radius, found.radius),
        found.size,
    )

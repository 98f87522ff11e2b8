"""What the methods of paper 000, section 2, share: a survey of the table, and what follows the proof.

After a solution with a guarantee, `tighten` looks for one with a smaller largest radius between the bound
and what is there; `ease` then lowers the radii of groups without raising the largest: rows go to nearer
centres, withheld rows come back, and k records that stand close open a group of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.centres.assignment import fill_deficits, move_to_nearest, open_balls, recentre
from shoal.kernels.centres.cover import richest_centres
from shoal.kernels.centres.least_radius import Pieces
from shoal.kernels.distance.rows import apart_each
from shoal.kernels.neighbours.box_tree import Index, build_index, sight_of
from shoal.kernels.neighbours.exact import best_centres, crowds, nearest
from shoal.model.coded import Coded, Space
from shoal.model.facts import Option, one_of
from shoal.model.grouping import WITHHELD, Grouping, Proof
from shoal.model.task import Effort, Task

__all__ = ["CENTRE", "Solution", "Survey", "budget", "finish", "hand_over", "solution_of", "survey"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

CENTRE = {
    "centre": Option(
        one_of("middle", "row"),
        "middle",
        "what the style centres publishes: a middle that is nobody's row, or the row of a real person",
    )
}
TRIES = 24
CLOSINGS = 40
ROUNDS = 12
COVERS = {"quick": 3, "normal": 10, "thorough": 30}
NEAR = 1e-12
ENOUGH = 1e-4
"""A round that saves a smaller share of the sum of radii is the last."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """A table seen by distance.

    `reach` is the least distance around a row that holds k records, `crowd` the records within it; `need`
    the least radius with which any centre can hold the row; `least` the radius that no solution beats.
    """

    space: Space
    index: Index
    count: Counts
    k: int
    most: int
    withhold: int
    reach: Floats
    crowd: Counts
    need: Floats
    least: float

    @property
    def total(self) -> int:
        """How many records there are."""
        return int(self.count.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Groups with their centres, which are members, and radii. Pieces stand by group."""

    pieces: Pieces
    radius: Floats
    size: Counts

    @property
    def largest(self) -> float:
        """The largest radius."""
        return float(self.radius.max(initial=0.0))

    @property
    def total(self) -> float:
        """The sum over records of their group's radius."""
        return float(self.radius @ self.size)


def survey(coded: Coded, task: Task, *, most: int | None = None) -> Survey:
    """Measure the table once for all that follows."""
    space, count, k = coded.space, coded.count, task.k
    index = build_index(space, count)
    task.progress("measuring neighbours", 0.0)
    reach, crowd = crowds(index, space, count, k)
    alive = np.flatnonzero(count > 0).astype(np.int32)
    need = np.zeros(count.size)
    _, need[alive] = best_centres(index, space, reach, alive)
    order = alive[np.argsort(-need[alive], kind="stable")]
    # the smallest radius at which no more than the quota stays out of reach
    beyond = np.cumsum(count[order]) > task.withhold
    return Survey(
        space=space,
        index=index,
        count=count,
        k=k,
        most=coded.total // k if most is None else min(most, coded.total // k),
        withhold=task.withhold,
        reach=reach,
        crowd=crowd,
        need=need,
        least=float(need[order[beyond.argmax()]]),
    )


def solution_of(about: Survey, pieces: Pieces) -> Solution:
    """Pieces with the best member of each group as its centre; groups that nobody is in are dropped."""
    used, group = np.unique(pieces.group, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    row, group, amount = pieces.row[order], group.ravel()[order], pieces.amount[order]
    starts = np.searchsorted(group, np.arange(used.size + 1))
    centre, radius = recentre(about.space, row, starts, pieces.centre[used])
    size = np.add.reduceat(amount, starts[:-1])
    return Solution(Pieces(centre, row, group.astype(np.int32), amount), radius, size)


def finish(about: Survey, found: Solution, task: Task, proof: Proof | None, *, factor: float) -> Grouping:
    """Tighten and ease a solution, and hand it over."""
    bound = max(about.least, proof.bound if proof is not None else 0.0)
    steps = 0
    for steps, better in enumerate(_tighten(about, found, task, bound), start=1):  # noqa: B007
        found = better
    found = _ease(about, _hand_back(about, found), task)
    return hand_over(about, found, proof=proof, factor=factor, steps=steps)


def hand_over(
    about: Survey, found: Solution, *, proof: Proof | None, factor: float | None, steps: int
) -> Grouping:
    """A solution as a grouping; records in no piece are withheld."""
    held = np.bincount(found.pieces.row, weights=found.pieces.amount, minlength=about.count.size)
    out = about.count - np.rint(held).astype(np.int64)
    left = np.flatnonzero(out > 0).astype(np.int32)
    return Grouping.of_pieces(
        np.concatenate([found.pieces.row, left]),
        np.concatenate([found.pieces.group, np.full(left.size, WITHHELD, dtype=np.int32)]),
        np.concatenate([found.pieces.amount, out[left]]),
        centre=found.pieces.centre,
        proof=proof,
        steps=steps,
        factor=factor,
    )


def _tighten(about: Survey, found: Solution, task: Task, bound: float) -> Iterator[Solution]:
    """The best solution so far, after each try at a radius between the bound and its own."""
    low = bound
    for step, share in enumerate(budget(task.effort, COVERS)):
        if found.largest <= low * (1 + 1e-3) + NEAR:
            return
        task.progress("tightening", share)
        radius = low if step == 0 else (low + found.largest) / 2
        pieces = _cover(about, radius)
        better = solution_of(about, pieces) if pieces is not None else None
        if better is not None and better.largest < found.largest:
            found = better
        else:
            low = radius
        yield found


def budget(effort: Effort, levels: Mapping[str, int]) -> Iterator[float]:
    """The share done, once for each step that may be taken; `levels` are the steps of named efforts."""
    if effort.seconds is not None:
        end = monotonic() + effort.seconds
        while monotonic() < end:
            yield 1 - (end - monotonic()) / effort.seconds
        return
    steps = effort.steps if effort.steps is not None else levels[effort.level or "normal"]
    for step in range(steps):
        yield step / steps


def _cover(about: Survey, radius: float) -> Pieces | None:
    """Groups of at most this radius, where the greedy finds them."""
    alive = about.count > 0
    wanted = alive & (about.need <= radius)
    allowed = alive & (about.reach <= radius)
    spare = about.withhold - (about.total - int(about.count[wanted].sum()))
    if spare < 0:
        return None
    order = np.argsort(-about.need, kind="stable").astype(np.int32)
    centre, label = richest_centres(
        about.index,
        about.space,
        sight_of(about.index, about.space),
        about.count,
        order,
        wanted,
        allowed,
        radius,
        about.most,
        TRIES,
    )
    if centre.size == 0:
        return None
    row = np.flatnonzero(label >= 0).astype(np.int32)
    pieces = Pieces(centre, row, label[row], about.count[row])
    for _ in range(CLOSINGS):
        bad, row, group, amount = fill_deficits(
            about.index, about.space, about.count, about.k, radius, *pieces
        )
        pieces = Pieces(pieces.centre, row, group, amount)
        if bad < 0:
            return pieces
        if pieces.centre.size == 1:
            return None
        pieces, lost = _close(about, pieces, bad, radius)
        spare -= lost
        if spare < 0:
            return None
    return None


def _close(about: Survey, pieces: Pieces, bad: int, radius: float) -> tuple[Pieces, int]:
    """Without one centre: its records go to others within the radius; the rest is lost and counted."""
    centre = np.delete(pieces.centre, bad)
    group = np.where(pieces.group > bad, pieces.group - 1, pieces.group)
    its = np.flatnonzero(pieces.group == bad)
    target, far = _nearest_group(about, centre, pieces.row[its])
    group[its] = target
    kept = np.ones(group.size, dtype=np.bool_)
    kept[its] = far <= radius
    lost = int(pieces.amount[~kept].sum())
    return Pieces(centre, pieces.row[kept], group[kept].astype(np.int32), pieces.amount[kept]), lost


def _nearest_group(about: Survey, centre: Rows, row: Rows) -> tuple[Rows, Floats]:
    """The group whose centre is nearest to each row, and how far it is."""
    mask = np.zeros(about.count.size, dtype=np.int64)
    mask[centre] = 1
    near, far = nearest(build_index(about.space, mask), about.space, row)
    return _groups_by_centre(about, centre)[near], far


def _groups_by_centre(about: Survey, centre: Rows) -> Rows:
    """The group of each row that is a centre, of several the first."""
    group = np.zeros(about.count.size, dtype=np.int32)
    group[centre[::-1]] = np.arange(centre.size)[::-1]
    return group


def _hand_back(about: Survey, found: Solution) -> Solution:
    """Withheld records join a group where the largest radius does not grow."""
    pieces = found.pieces
    held = np.bincount(pieces.row, weights=pieces.amount, minlength=about.count.size)
    out = about.count - np.rint(held).astype(np.int64)
    left = np.flatnonzero(out > 0).astype(np.int32)
    if left.size == 0:
        return found
    target, far = _nearest_group(about, pieces.centre, left)
    back = far <= found.largest
    return solution_of(
        about,
        Pieces(
            pieces.centre,
            np.concatenate([pieces.row, left[back]]),
            np.concatenate([pieces.group, target[back]]),
            np.concatenate([pieces.amount, out[left[back]]]),
        ),
    )


def _ease(about: Survey, found: Solution, task: Task) -> Solution:
    """Lower the sum of radii over records while the largest radius does not grow."""
    near = Nearest(about)
    for change in (partial(_move, near=near), _open):
        for turn in range(ROUNDS):
            task.progress("easing", turn / ROUNDS)
            better = change(about, found)
            if better.largest > found.largest or better.total >= found.total * (1 - ENOUGH):
                break
            found = better
            if change is _open:
                moved = _move(about, found, near)
                if moved.largest <= found.largest and moved.total < found.total:
                    found = moved
    return found


class Nearest:
    """The nearest centre of every row, found again only where centres came or went."""

    def __init__(self, about: Survey) -> None:
        """Know no centre yet."""
        self._about = about
        self._rows = np.flatnonzero(about.count > 0).astype(np.int32)
        self._centre = np.zeros(self._rows.size, dtype=np.int32)
        self._far = np.full(self._rows.size, np.inf)
        self._is_centre = np.zeros(about.count.size, dtype=np.bool_)

    def ask(self, centre: Rows) -> tuple[Rows, Floats]:
        """The nearest of these centres to each row of the table that has records, and how far it is."""
        now = np.zeros_like(self._is_centre)
        now[centre] = True
        self._far[~now[self._centre]] = np.inf
        lost = np.isinf(self._far)
        for wanted, among in ((lost, now), (~lost, now & ~self._is_centre)):
            rows = np.flatnonzero(wanted)
            if rows.size and among.any():
                index = build_index(self._about.space, among.astype(np.int64))
                near, far = nearest(index, self._about.space, self._rows[rows], self._far[rows])
                # of equals the first
                better = (near >= 0) & ((far < self._far[rows]) | (near < self._centre[rows]))
                self._centre[rows[better]], self._far[rows[better]] = near[better], far[better]
        self._is_centre = now
        out, distance = np.zeros(now.size, dtype=np.int32), np.zeros(now.size)
        out[self._rows], distance[self._rows] = self._centre, self._far
        return out, distance


def _move(about: Survey, found: Solution, near: Nearest) -> Solution:
    """Records go to the nearest centre as far as their groups can spare them, the farthest first."""
    pieces = found.pieces
    nearest_row, distance = near.ask(pieces.centre)
    target, far = _groups_by_centre(about, pieces.centre)[nearest_row[pieces.row]], distance[pieces.row]
    now = apart_each(about.space, pieces.row, pieces.centre[pieces.group])
    target = np.where(far < now, target, pieces.group).astype(np.int32)
    order = np.argsort(far - now, kind="stable")
    moved = np.empty_like(pieces.amount)
    move_to_nearest(order, pieces.group, pieces.amount, found.size.copy(), target, about.k, moved)
    kept = pieces.amount - moved
    stay, go = np.flatnonzero(kept > 0), np.flatnonzero(moved > 0)
    return solution_of(
        about,
        _joined(
            Pieces(
                pieces.centre,
                np.concatenate([pieces.row[stay], pieces.row[go]]),
                np.concatenate([pieces.group[stay], target[go]]),
                np.concatenate([kept[stay], moved[go]]),
            )
        ),
    )


def _open(about: Survey, found: Solution) -> Solution:
    """Open groups where k records that can be spared stand closer together than their groups are wide."""
    pieces = found.pieces
    whole = np.flatnonzero(pieces.amount == about.count[pieces.row])
    label = np.full(about.count.size, -1, dtype=np.int32)
    label[pieces.row[whole]] = pieces.group[whole]
    order = np.argsort(about.reach, kind="stable").astype(np.int32)
    opened, new = open_balls(
        about.index,
        about.space,
        sight_of(about.index, about.space),
        about.count,
        about.k,
        about.reach,
        about.crowd,
        order,
        label,
        found.size,
        found.radius,
        pieces.centre,
        about.most,
    )
    if opened.size == 0:
        return found
    group = pieces.group.copy()
    group[whole] = new[pieces.row[whole]]
    centre = np.concatenate([pieces.centre, opened])
    return solution_of(about, Pieces(centre, pieces.row, group, pieces.amount))


def _joined(pieces: Pieces) -> Pieces:
    """The same with one piece per row and group."""
    order = np.lexsort((pieces.row, pieces.group))
    row, group, amount = pieces.row[order], pieces.group[order], pieces.amount[order]
    new = np.r_[True, (row[1:] != row[:-1]) | (group[1:] != group[:-1])]
    starts = np.flatnonzero(new)
    return Pieces(pieces.centre, row[starts], group[starts], np.add.reduceat(amount, starts))

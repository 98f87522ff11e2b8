"""Total loss: sum over groups of size * weighted spans, withheld records counted in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.bound import border, growth, in_turn, line, own_box, shares, smallest_box
from shoal.bound.around import prove_around
from shoal.bound.boxes import boxes_below, by_row, left_out, most_boxes
from shoal.bound.growth import grown_shares, proof_of, top_share
from shoal.bound.levels import loss_at_levels
from shoal.bound.line import prove_on_line
from shoal.bound.neighbour import neighbour_bound
from shoal.bound.shares import prove_by_shares, prove_further
from shoal.bound.smallest_box import prove_by_boxes
from shoal.kernels.bound.boxes import Boxes
from shoal.kernels.distance.spans import group_losses
from shoal.model.coded import Coded
from shoal.model.column import SET
from shoal.model.grouping import Grouping, Guide, Proof
from shoal.model.task import Task

__all__ = ["again", "close", "prove", "prove_again", "total_loss"]

LARGE = 100_000
"""Distinct rows from which on the grid is twice as coarse: half the levels for a hundredth of the bound."""
WIDE = 12
"""Axes from which on boxes say less and less: there is less room and work for them, by the square."""
_EFFORT = {
    "quick": (1.03, 0.6, 40_000_000, 2e9),
    "normal": (1.01, np.inf, 80_000_000, 6e9),
    "thorough": (1.003, np.inf, 200_000_000, 5e10),
}
"""By effort: ratio of the grid, the greatest share as part of everything, entries of the cube, work of the
growth."""

_ROUNDS = {"normal": (24, 2.4e9), "thorough": (80, 1.2e10)}
"""By effort: rounds of the search for better shares, and their work in all: the entries of the cube, times
more the larger k is."""
AGAIN, CLOSE = 2, 0.002
"""Once groups have been found, one round for so many before; none where shares are so close."""
FEWEST, NEARLY = 8, 0.01
"""Fewer rounds seldom find better shares than growth; nor do those that had to be lowered by more."""
LITTLE, LARGE_K, PART = 1.0 / 12 + 1e-9, 40, 1.0 / 4
"""What boxes may leave out of a row's full loss and still say more than near rows do: from LARGE_K on, PART
of it. On Adult with one column as labels near rows say 2 to 6 % more at k = 5
and 30 % less at k = 50; with a second number 9 % more at k = 20 and 17 % less at k = 50; all for twenty
times the work."""

STOPPED = 0.005
"""What the cap may have stopped of the growth bound: where it is no more, near rows seldom say more."""


def _pairs_again(coded: Coded, task: Task, **parameters: float) -> Proof | None:
    from shoal.bound.factor import pairs_again  # linear programs take half a second to load

    return pairs_again(coded, task, **parameters)


def _triples_again(coded: Coded, task: Task, **parameters: float) -> Proof | None:
    from shoal.bound.factor import triples_again

    return triples_again(coded, task, **parameters)


_AGAIN: dict[str, Callable[..., Proof | None]] = {
    growth.NAME: growth.again,
    shares.NAME: shares.again,
    smallest_box.NAME: smallest_box.again,
    line.NAME: prove_on_line,
    own_box.NAME: own_box.again,
    border.NAME: border.again,
    border.DRAWN: border.again,
    in_turn.NAME: in_turn.again,
    "neighbour": neighbour_bound,  # of certificates before 0.3
    "pairs": _pairs_again,
    "triples": _triples_again,
}


def total_loss(coded: Coded, grouping: Grouping) -> float:
    """The loss of a grouping."""
    if grouping.level is not None:
        return loss_at_levels(coded, grouping)
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    starts = np.searchsorted(grouping.group[order], np.arange(grouping.groups + 1))
    spans = group_losses(coded.codes, coded.metric, grouping.distinct[order], starts)
    return float(spans @ grouping.sizes) + grouping.withheld * coded.weight


def prove(coded: Coded, task: Task, grouping: Grouping | None = None, *, later: bool = False) -> Proof:
    """The strongest bound for total loss that the effort affords, and what a search may learn from it.

    Where groups are given, the search for better shares begins with them. What takes long and teaches a
    search nothing may be left for `later`.
    """
    on_line = prove_on_line(coded, task)
    if on_line is not None:  # nearly always the best possible itself
        return on_line
    ratio, most, room, work = _EFFORT[task.effort.level or "normal"]
    narrow = min(1.0, WIDE / max(1, coded.codes.shape[1])) ** 2
    room, work = int(room * narrow), work * narrow
    top = min(top_share(coded, task), most * coded.weight)
    many, few = most_boxes(coded, task.k, top, room, work)
    rounds = _rounds(coded, task, few) if grouping is not None and few.cap >= top else 0
    shared = (
        prove_by_shares(coded, few, task, grouping, rounds) if grouping is not None and rounds else None
    )
    if shared is not None and shared.guide is not None and shared.guide.gap <= NEARLY:
        return shared  # nearly the best of which what follows is a part
    if coded.distinct > LARGE:
        ratio *= ratio
    grown = grown_shares(few, task.k, ratio)
    proofs = [proof_of(few, grown, ratio), *([] if shared is None else [shared])]
    lacking = left_out(coded)
    whole = few.cap >= top and lacking == 0.0
    # a share stops growing in a box that holds the row: up to the top no other bound gives it more, but
    # below the cheapest box that costs anything the grid has no level
    has_gap = task.effort.level != "quick" and not bool((few.floor > 1e-9 * few.cap).all())
    if few is not many or (whole and has_gap):
        proofs.append(prove_by_boxes(many, task.k))
    enough = lacking <= (PART if task.k >= LARGE_K else LITTLE) and _stopped_at_cap(few, grown) <= STOPPED
    guide = Guide(by_row(coded, few, grown), few.cap) if shared is None else shared.guide
    del many, few, grown  # near rows need the room
    asks = not (whole or enough)
    if asks and not later:
        proofs.append(prove_around(coded, task))
    best = max(proofs, key=lambda proof: proof.bound)
    if guide is not None and asks and later:
        guide = replace(guide, open=True)
    return replace(best, guide=guide)


def close(coded: Coded, task: Task, proof: Proof) -> Proof:
    """A bound for which near rows were not asked, and now are."""
    return max(proof, prove_around(coded, task), key=lambda one: one.bound)


def _stopped_at_cap(boxes: Boxes, grown: NDArray[np.float64]) -> float:
    """The part of the growth bound that stands in shares which the cap has stopped."""
    held = boxes.swept.held
    stopped = grown >= boxes.cap
    return float(grown[stopped] @ held[stopped]) / max(float(grown @ held), 1e-300)


def prove_again(coded: Coded, task: Task, proof: Proof, guide: Guide, grouping: Grouping) -> Proof:
    """A bound that was proved before the search for groups, made better by the groups that it found."""
    if guide.sets is None or guide.gap < CLOSE:
        return proof
    boxes = boxes_below(coded, task.k, guide.cap, 2**62 // 64)
    rounds = 0 if boxes is None else _rounds(coded, task, boxes) // AGAIN
    if boxes is None or rounds == 0:
        return proof
    better = prove_further(coded, boxes, task, proof, guide, grouping, rounds)
    return better if better is not None and better.bound > proof.bound else proof


def _rounds(coded: Coded, task: Task, boxes: Boxes) -> int:
    """How many rounds of the search for better shares the effort affords; 0 where boxes are not exact."""
    rounds, work = _ROUNDS.get(task.effort.level or "normal", (0, 0.0))
    exact = left_out(coded) == 0.0 and not bool((coded.metric.form == SET).any())
    if not exact or boxes.cap <= 0.0:
        return 0
    rounds = int(min(rounds, work / max(1.0, boxes.cube.entry.size * (0.6 + task.k / 60))))
    return rounds if rounds >= FEWEST else 0


def again(coded: Coded, task: Task, name: str, parameters: Mapping[str, Any]) -> Proof | None:
    """The bound of that name with those parameters; None where there is none such."""
    if name not in _AGAIN:
        return None
    try:
        proof = _AGAIN[name](coded, task, **parameters)
    except (TypeError, OverflowError):  # parameters the bound does not know, or that no search has
        return None
    return proof if proof is not None and proof.name == name else None

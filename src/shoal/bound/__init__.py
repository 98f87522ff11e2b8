"""What no release of a table can beat, and what a grouping reaches: the same unit, per objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shoal.bound import (
    border,
    cellular,
    half_perimeter,
    largest_group,
    levels,
    loss,
    radius,
    shares,
    squares,
)
from shoal.errors import ShoalError
from shoal.model.coded import Coded
from shoal.model.figures import BEST
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = [
    "NAMES",
    "SAFE",
    "again",
    "describe_squares",
    "hold_below",
    "is_drawn_as_meant",
    "noise_of",
    "prove",
    "prove_in_parts",
    "search_for",
    "text_of_cuts",
    "text_of_shares",
    "value_of",
]

NAMES = {
    "cellular": ("reach", "growth", "duals", "shares"),
    "half-perimeter": ("neighbour-distance", "smallest-boxes"),
    "largest": ("largest-group",),
    "levels": (levels.NAME,),
    "loss": (
        "shares",
        "growth",
        "smallest-box",
        "own-box",
        border.NAME,
        border.DRAWN,
        "in-turn",
        "neighbour",
        "line",
        "pairs",
        "triples",
    ),
    "radius": ("reach", "threshold", "cover"),
}
"""The bounds that a certificate may name, by objective."""

SAFE = 1.0 - 1e-9
"""Takes off more than the rounding of all sums can have added: bounds and values are sums of at most some
million terms of one sign, each off by a few parts in 10^16."""
ROUNDED = 1e-15
"""Of all there is to lose: what a span may be off, being the difference of two places on its column. So far
from 0 that is no part of the span itself, where rows stand close and one stands far away."""

_VALUES: dict[str, Callable[[Coded, Grouping], float]] = {
    "cellular": cellular.sum_of_radii,
    "half-perimeter": half_perimeter.largest_half_perimeter,
    "largest": largest_group.largest_group,
    "levels": levels.loss_at_levels,
    "loss": loss.total_loss,
    "radius": radius.largest_radius,
    "squares": squares.sum_of_squares,
}
_PROOFS: dict[str, Callable[[Coded, Task], Proof]] = {
    "half-perimeter": half_perimeter.prove,
    "largest": largest_group.prove,
    "levels": levels.prove,
    "radius": radius.prove,
}
_WITH_RULES = frozenset({"levels"})
"""Objectives whose bound knows rules; what others prove holds without rules, and so with them."""
_AGAIN: dict[str, Callable[[Coded, Task, str, Mapping[str, Any]], Proof | None]] = {
    "cellular": cellular.again,
    "loss": loss.again,
    "radius": radius.again,
}

describe_squares = squares.describe
text_of_shares = shares.text_of_shares
prove_in_parts, search_for, text_of_cuts = border.prove_in_parts, border.search_for, border.text_of_cuts
is_drawn_as_meant = border.is_drawn_as_meant


def value_of(objective: str, coded: Coded, grouping: Grouping) -> float:
    """What `grouping` reaches, in the objective's own unit."""
    return _VALUES[objective](coded, grouping)


def prove(
    objective: str,
    coded: Coded,
    task: Task,
    found: Proof | None = None,
    grouping: Grouping | None = None,
    *,
    later: bool = False,
) -> Proof | None:
    """The strongest bound we can prove, the method's own `found` among them; None where there is none.

    Where the `grouping` that the method made is given, the search for a bound may begin with its groups.
    What a search for groups learns nothing from may be left for `later`, when this bound is the one found.
    """
    if found is not None and NAMES.get(objective) == (found.name,):
        return found  # the only bound there is
    task.progress("proving a bound", 0.0)
    if found is not None and found.guide is not None:
        proof = found
        if grouping is not None and coded.held is None:
            proof = loss.prove_again(coded, task, found, found.guide, grouping)
        return loss.close(coded.plain, task, proof) if found.guide.open else proof
    proofs = [found] if found is not None else []
    guide = None
    if objective == "loss":
        its_groups = grouping is not None and coded.held is None and grouping.level is None
        proofs.append(loss.prove(coded.plain, task, grouping if its_groups else None, later=later))
        guide = proofs[-1].guide
    elif objective == "cellular":
        proofs.append(cellular.prove(coded.plain, task, grouping if coded.held is None else None))
    elif objective in _PROOFS:
        proofs.append(_PROOFS[objective](coded if objective in _WITH_RULES else coded.plain, task))
    best = max(proofs, key=lambda proof: proof.bound, default=None)
    return best if best is None else replace(best, guide=guide)


def noise_of(objective: str, records: int, weight: float, distance: str) -> float:
    """What the rounding of places may add to a bound for so many records, whose columns weigh so much."""
    given = objective in {"cellular", "radius"} and distance in {"great-circle", "matrix"}
    if given or objective in {"largest", "squares"}:
        return 0.0  # not made of places in columns
    return ROUNDED * weight * (1 if objective in {"half-perimeter", "radius"} else records)


def hold_below(proof: Proof, value: float, noise: float = 0.0) -> Proof:
    """The bound as it leaves the house: never above `value`, and rounded down.

    Let b be the bound without any rounding, so that no release has less; ours is at most b / SAFE and the
    noise: what both leave of ours is a bound. The release itself has `value`; where that lies above,
    one of the two is wrong, and nothing may be published that says so. Where the two agree to nine digits
    they are taken for one number: the release is called the best possible, and the bound is its value,
    which may be a part in 10^9 too much; published figures have fewer digits and are rounded down. But not
    where the noise alone makes up as much.
    """
    sure = SAFE * proof.bound - noise
    if sure > value:
        raise ShoalError(
            f"The bound {proof.name!r} lies above what the release reaches, which cannot be: nothing is "
            "published. This is a mistake of Shoal's own; please report it. Another method may do."
        )
    is_best = proof.bound >= SAFE * value - noise and noise <= BEST * value
    return replace(proof, bound=value if is_best else max(0.0, sure))


def again(
    objective: str, coded: Coded, task: Task, name: str, parameters: Mapping[str, Any]
) -> Proof | None:
    """The bound that a certificate names, from its recorded parameters; None where it is not known."""
    if objective in _AGAIN:
        return _AGAIN[objective](coded.plain, task, name, parameters)
    proof = prove(objective, coded, task)
    return proof if proof is not None and proof.name == name else None

"""What no release of a table can beat, and what a grouping reaches: the same unit, per objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shoal.bound import cellular, half_perimeter, largest_group, loss, radius, squares
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["again", "describe_squares", "prove", "value_of"]

_VALUES: dict[str, Callable[[Coded, Grouping], float]] = {
    "cellular": cellular.sum_of_radii,
    "half-perimeter": half_perimeter.largest_half_perimeter,
    "largest": largest_group.largest_group,
    "loss": loss.total_loss,
    "radius": radius.largest_radius,
    "squares": squares.sum_of_squares,
}
_PROOFS: dict[str, Callable[[Coded, Task], Proof]] = {
    "cellular": cellular.prove,
    "half-perimeter": half_perimeter.prove,
    "largest": largest_group.prove,
    "loss": loss.prove,
    "radius": radius.prove,
}
_AGAIN: dict[str, Callable[[Coded, Task, str, Mapping[str, float]], Proof | None]] = {
    "cellular": cellular.again,
    "loss": loss.again,
    "radius": radius.again,
}

describe_squares = squares.describe


def value_of(objective: str, coded: Coded, grouping: Grouping) -> float:
    """What `grouping` reaches, in the objective's own unit."""
    return _VALUES[objective](coded, grouping)


def prove(objective: str, coded: Coded, task: Task, found: Proof | None = None) -> Proof | None:
    """The strongest bound we can prove, the method's own `found` among them; None where there is none."""
    proofs = [found] if found is not None else []
    if objective in _PROOFS:
        proofs.append(_PROOFS[objective](coded, task))
    return max(proofs, key=lambda proof: proof.bound, default=None)


def again(
    objective: str, coded: Coded, task: Task, name: str, parameters: Mapping[str, float]
) -> Proof | None:
    """The bound that a certificate names, from its recorded parameters; None where it is not known."""
    if objective in _AGAIN:
        return _AGAIN[objective](coded, task, name, parameters)
    proof = prove(objective, coded, task)
    return proof if proof is not None and proof.name == name else None

"""What goes with every release: what was asked, what came out, and how far from the best it can be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from shoal.errors import DataError
from shoal.model.verdict import ColumnLoss

__all__ = ["VERSION", "Certificate", "ratio_of"]

VERSION = 1


def ratio_of(value: float, bound: float | None) -> float | None:
    """How far `value` can be from the best: 1 at 0, None where the bound says nothing.

    >>> ratio_of(3.0, 2.0), ratio_of(0.0, 0.0), ratio_of(3.0, 0.0)
    (1.5, 1.0, None)
    """
    if value <= 0.0:
        return 1.0
    if bound is None or bound <= 0.0:
        return None
    return max(1.0, value / bound)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Column names and counts only, never a cell's value.

    `value`, `bound` and `ratio` are in the objective's own unit; `loss` is the total loss and
    `loss_percent` the same as a share of everything there was to lose. `plan` is the plan as run.
    `release` and `original` are fingerprints, filled in on writing; `original` is salted, and the salt
    stays in the private receipt.
    """

    shoal: str
    method: str
    style: str
    k: int
    seed: int
    steps: int
    records: int
    published: int
    withheld: int
    classes: int
    smallest_class: int
    mean_class: float
    objective: str
    value: float
    bound: float | None
    bound_name: str | None
    bound_parameters: Mapping[str, float]
    ratio: float | None
    factor: float | None
    loss: float | None
    loss_percent: float | None
    columns: tuple[ColumnLoss, ...]
    plan: Mapping[str, object]
    more: Mapping[str, object] = field(default_factory=dict)
    release: str | None = None
    original: str | None = None
    version: int = VERSION

    def sealed(self, *, release: str, original: str | None) -> Certificate:
        """The same with the fingerprints of the written release and of the salted original."""
        return replace(self, release=release, original=original)

    def to_json(self) -> str:
        """The certificate as text, the same for the same release."""
        return json.dumps(asdict(self), indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def of_json(cls, text: str) -> Certificate:
        """Read what `to_json` wrote."""
        try:
            raw = json.loads(text)
            columns = tuple(ColumnLoss(**column) for column in raw.pop("columns"))
            return cls(columns=columns, **raw)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise DataError(
                "The certificate cannot be read: it is not one that this version of Shoal wrote."
            ) from None

"""What goes with every release: what was asked, what came out, and how far from the best it can be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from shoal.errors import DataError
from shoal.model.facts import OBJECTIVES
from shoal.model.verdict import ColumnLoss, Ruling

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
    `loss_percent` the same as a share of everything there was to lose. `plan` is the plan as run. `rules`
    holds what each rule, and the unit, measures in the worst class.
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
    rules: tuple[Ruling, ...] = ()
    more: Mapping[str, object] = field(default_factory=dict)
    release: str | None = None
    original: str | None = None
    version: int = VERSION

    def sealed(self, *, release: str, original: str | None) -> Certificate:
        """The same with the fingerprints of the written release and of the salted original."""
        return replace(self, release=release, original=original)

    @property
    def least_percent(self) -> float | None:
        """What any release of this table loses at least, in percent; None where no loss bound is known."""
        if self.objective != "loss" or self.bound is None or self.loss_percent is None:
            return None
        if self.value <= 0.0:
            return 0.0
        return self.loss_percent * self.bound / self.value

    def in_words(self) -> str:
        """How much is lost and how far that can be from the best, in one or two sentences."""
        lost = "" if self.loss_percent is None else f"The release loses {self.loss_percent:.2f} %. "
        if self.value <= 0.0:
            return f"{lost}Nothing better is possible."
        if self.ratio is None or self.bound is None:
            return f"{lost}How close this comes to the best possible is not known."
        # rounded away from a promise we could not keep
        percent = math.ceil(100 * (self.ratio - 1) - 1e-9)
        within = f"within {percent} % of the best possible" if percent > 0 else "this is the best possible"
        if self.ratio >= 2:
            within = f"at most {math.ceil(10 * self.ratio - 1e-9) / 10:.1f} times the best possible"
        least = self.least_percent
        if least is not None:
            floor = math.floor(least * 100) / 100
            return f"{lost}No release of this table can lose less than {floor:.2f} %: {within}."
        what = OBJECTIVES[self.objective].partition(":")[0]
        return (
            f"{lost}The objective ({what}) is {self.value:.4g}; no release of this table can have less "
            f"than {self.bound:.4g}: {within}."
        )

    def to_json(self, *, replaces: Certificate | None = None) -> str:
        """The certificate as text, the same for the same release.

        While a release is being replaced, the certificate of the older one goes along as `replaces`:
        whichever of the two tables a reader finds, its certificate is there.
        """
        plain = asdict(self)
        if replaces is not None:
            plain["replaces"] = asdict(replaces)
        return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n"

    @classmethod
    def of_json(cls, text: str, *, release: str | None = None) -> Certificate:
        """Read what `to_json` wrote; of two certificates the one for the fingerprint `release`."""
        try:
            raw = json.loads(text)
            older = raw.pop("replaces", None)
            certificate = cls._of_plain(raw)
            if older is not None and release not in {None, certificate.release}:
                replaced = cls._of_plain(older)
                return replaced if replaced.release == release else certificate
        except (ValueError, TypeError, KeyError, AttributeError):
            raise DataError(
                "The certificate cannot be read: it is not one that this version of Shoal wrote."
            ) from None
        return certificate

    @classmethod
    def _of_plain(cls, raw: dict[str, Any]) -> Certificate:
        columns = tuple(ColumnLoss(**column) for column in raw.pop("columns"))
        rules = tuple(Ruling(**ruling) for ruling in raw.pop("rules", ()))
        return cls(columns=columns, rules=rules, **raw)

"""What goes with every release: what was asked, what came out, and how far from the best it can be."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from shoal.model.as_run import AsRun
from shoal.model.facts import OBJECTIVES, TOTAL_LOSS
from shoal.model.figures import round_down
from shoal.model.series import InSeries
from shoal.model.verdict import ColumnLoss, Ruling
from shoal.model.written import Aside, is_newer, read_file, to_plain

__all__ = ["VERSION", "Certificate"]

VERSION = "2.3"
"""Of the format: its minor part grows with every field that is added, which then needs a default."""

CHANCES = {"border-drawn": ", but for a chance of one in 10^12"}
"""What is said of bounds that were proved from rows that were drawn, by name."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """Column names, counts and figures of three digits: what may stand beside the release for everybody.

    `value`, `bound` and `ratio` are in the objective's own unit; `loss` is the total loss and
    `loss_percent` the same as a share of everything there was to lose. What was lost is rounded up, the
    bound down, the ratio is of the rounded figures; the exact ones are in the private receipt.
    `told_apart_percent` compares across kinds: of the pairs of records that may differ in a column, the
    share that its cells tell apart, on average over the columns and rounded down. `plan` is
    the plan as run, hierarchies and marks by salted fingerprints. `rules` holds what each rule measures in
    the worst class, and that the unit's holds. `series` says which release of a series this is. `release`
    and `original` are fingerprints, filled in on writing; `original` is salted, and the salt stays in the
    receipt. `unread` is what a file says in fields that no certificate of ours has.
    """

    shoal: str
    method: str
    style: str
    k: int
    seed: int
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
    ratio: float | None
    factor: float | None
    loss: float | None
    loss_percent: float | None
    columns: tuple[ColumnLoss, ...]
    plan: AsRun
    rules: tuple[Ruling, ...] = ()
    more: Mapping[str, object] = field(default_factory=dict)
    release: str | None = None
    original: str | None = None
    series: InSeries | None = field(default=None, metadata={"since": "2.1"})
    told_apart_percent: float | None = field(default=None, metadata={"since": "2.3"})
    version: str = VERSION
    unread: Aside = field(default_factory=dict)

    def sealed(self, *, release: str, original: str | None) -> Certificate:
        """The same with the fingerprints of the written release and of the salted original."""
        return replace(self, release=release, original=original)

    @property
    def digest(self) -> str:
        """SHA-256 of all that the certificate says; the receipt keeps it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def is_newer(self) -> bool:
        """Whether a newer Shoal wrote it, which may say more than this one knows."""
        return is_newer(self.version, VERSION)

    @property
    def claims_apart(self) -> bool:
        """Whether it is of a format that says which pairs of records are told apart."""
        return not is_newer("2.3", self.version)

    @property
    def least_percent(self) -> float | None:
        """What the releases that the bound is about lose at least, in percent; None without one."""
        if self.objective not in TOTAL_LOSS or self.bound is None or self.loss_percent is None:
            return None
        everything = self.records * sum(column.weight for column in self.columns)
        return min(self.loss_percent, round_down(100 * self.bound / everything)) if everything > 0 else 0.0

    def in_words(self) -> str:
        """How much is lost and how far that can be from the best, in one or two sentences."""
        lost = (
            ""
            if self.loss_percent is None
            else f"The release loses {_figure(self.loss_percent)} % of what its columns could tell. "
        )
        if self.value <= 0.0:
            return f"{lost}Nothing better is possible."
        if self.ratio is None or self.bound is None:
            return f"{lost}How close this comes to the best possible is not known."
        # rounded away from a promise we could not keep
        times = math.ceil(100 * self.ratio - 1e-9) / 100
        within = (
            f"at most {times:.2f} times what is unavoidable" if times > 1 else "this is the best possible"
        )
        chance = CHANCES.get(self.bound_name or "", "")
        least = self.least_percent
        if least is not None:
            alike = "" if self.objective == "loss" else " with one level for each column"
            if alike and self.rules and self.plan.withhold > 0:
                alike += ", withholding whole classes,"
            # digits rounded apart would say that there is room where there is none
            than = f" than {_figure(least)} %" if times > 1 else ""
            return f"{lost}No release of this table{alike} can lose less{than}{chance}: {within}."
        what = OBJECTIVES.get(self.objective, self.objective).partition(":")[0]
        return (
            f"{lost}The objective ({what}) is {_figure(self.value)}; no release of this table can have "
            f"less than {_figure(self.bound)}{chance}: {within}."
        )

    def apart_in_words(self) -> str:
        """The figure that compares across kinds, in a sentence; "" where it is not known."""
        if self.told_apart_percent is None:
            return ""
        return (
            f"On average a column still tells {_figure(self.told_apart_percent)} % of the pairs of records "
            "apart that may differ in it."
        )

    def to_json(self, *, replaces: Certificate | None = None) -> str:
        """The certificate as text, the same for the same release.

        While a release is being replaced, the certificate of the older one goes along as `replaces`:
        whichever of the two tables a reader finds, its certificate is there.
        """
        plain = to_plain(self)
        if replaces is not None:
            plain["replaces"] = to_plain(replaces)
        return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n"

    @classmethod
    def of_json(cls, text: str, *, release: str | None = None) -> Certificate:
        """Read what `to_json` wrote; of two certificates the one for the fingerprint `release`."""
        found = read_file(cls, text, what="certificate", version=VERSION, release=release)
        return cast(Certificate, found)


def _figure(figure: float) -> str:
    """A figure of three digits as people write it."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"

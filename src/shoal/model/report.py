"""What a report says: names, counts and words. No cell is in it, so no cell can be shown."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from shoal.errors import PlanError, choices

if TYPE_CHECKING:  # whoever asks whether a report can be written waits for none of them
    from shoal.model.certificate import Certificate
    from shoal.model.exposure import Linkage
    from shoal.model.utility import Utility
    from shoal.model.verdict import Finding

__all__ = [
    "ANSWERS",
    "BANDS",
    "QUESTIONS",
    "Chances",
    "Context",
    "Mixed",
    "Question",
    "Report",
    "Treated",
    "as_percent",
]

BANDS = (("1, alone", 1), ("2 to 4", 4), ("5 to 9", 9), ("10 to 19", 19), ("20 and more", None))
"""Sizes of classes, in words and by the greatest size of each."""
QUESTIONS = {
    "quasi": "All quasi-identifiers are named.",
    "persons": "A row is a person, or persons are counted.",
    "mixed": "Sensitive values are mixed enough in every class.",
    "text": "No column holds free text.",
    "others": "No other release of these persons can be laid beside this one.",
    "private": "The original, the receipt and the groups stay private.",
}
"""What only the controller can confirm, by the words that a context's `confirmed` may hold."""
NO, OPEN, YES = ANSWERS = ("no", "to be judged", "yes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What only people know of a release; a context file has these keys. Empty: left to be filled in.

    A record found with more than the chance `threshold` is at high risk. `sampling` is the share of the
    population that the original holds, where it is a sample. `confirmed` names what the controller has made
    sure of, of `shoal.QUESTIONS`; the rest stands in the report as open.
    """

    purpose: str = ""
    recipients: str = ""
    conditions: str = ""
    assessor: str = ""
    date: str = ""
    next_review: str = ""
    threshold: float = 0.2
    sampling: float | None = None
    confirmed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "confirmed":
                self._check_confirmed()
            elif item.name not in {"threshold", "sampling"}:
                if not isinstance(value, str):
                    raise PlanError(f"The context's {item.name} is not a text.")
            elif (value is not None or item.name == "threshold") and not _is_share(value):
                raise PlanError(
                    f"The context's {item.name} is {value!r}. Give a number above 0 and at most 1."
                )

    def _check_confirmed(self) -> None:
        if isinstance(self.confirmed, str) or not all(name in QUESTIONS for name in self.confirmed):
            raise PlanError(f"The context's confirmed names no question of ours. {choices(QUESTIONS)}")
        object.__setattr__(self, "confirmed", tuple(self.confirmed))


@dataclass(frozen=True, slots=True)
class Chances:
    """Who stands in classes of which size, and the chances of finding them; counted are records or persons.

    `above` of them are found with more than the threshold's chance. `bands` counts them by the size of
    their class, as in `BANDS`; who stands in several classes is found in the smallest. Where `at_most`,
    nothing tells the persons of a release: the chances are those of k persons in a class, the rest counts
    records.
    """

    counted: str
    total: int
    classes: int
    smallest: int
    alone: int
    above: int
    highest: float
    mean: float
    journalist: float
    marketer: float
    bands: tuple[int, ...]
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class Mixed:
    """A sensitive column in its worst class; `certain` records stand in classes with one value of it."""

    name: str
    distinct: int
    largest_share: float
    certain: int


@dataclass(frozen=True, slots=True)
class Treated:
    """A column, its role, and its treatment in ISO/IEC 20889's words; `starred` cells show nothing."""

    name: str
    role: str
    treatment: str
    loss: float | None = None
    starred: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One of the three questions: its name, the question, what was measured, and one of `ANSWERS`."""

    name: str
    asks: str
    measured: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Report:
    """A release for a data protection officer, measured anew.

    `release` and `written_in` are the names of the two files, "" where frames and values were given, and
    `fingerprint` is what the file has now. `now` is None where the release lacks columns that it should
    have; `before` is None without the original, or where that does not fit. `alone_with_kept` counts
    records that the kept columns single out; `linkage` is None where the trial was not run, and `untried`
    says why. `guarantee` is what the method promises of itself.
    """

    release: str
    written_in: str
    fingerprint: str | None
    certificate: Certificate
    context: Context
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]
    columns: tuple[Treated, ...]
    mixed: tuple[Mixed, ...]
    before: Chances | None
    now: Chances | None
    alone_with_kept: int
    linkage: Linkage | None
    untried: str
    doubt: str
    guarantee: str
    has_original: bool
    utility: Utility | None = None

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The claims that are not true."""
        return tuple(finding for finding in self.findings if finding.holds is False)

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """The claims that could not be recomputed from what was given."""
        return tuple(finding for finding in self.findings if finding.holds is None)

    @property
    def holds(self) -> bool:
        """Whether no claim of the certificate is untrue."""
        return not self.failing and self.now is not None

    @property
    def is_above(self) -> bool | None:
        """Whether somebody is found with more than the threshold's chance; None where it is not known."""
        return None if self.now is None else self.now.highest > self.context.threshold + 1e-12

    @property
    def needs_trees(self) -> bool:
        """Whether the certificate names hierarchies by fingerprints; builders have brackets."""
        return not all(text.endswith(")") for text in self.certificate.plan.hierarchies.values())

    @property
    def needs_plan(self) -> bool:
        """Whether repeating it takes what a plan says in full: trees, graphs, missing marks."""
        plan = self.certificate.plan
        return self.needs_trees or bool(plan.graphs) or plan.missing is not None

    def in_words(self) -> str:
        """The verdict in two sentences: never that a release is safe."""
        wrong = ", ".join(finding.claim for finding in self.failing)
        if not self.holds or self.now is None:
            many = f"{len(self.failing):,} of {len(self.findings):,} claims of the certificate are not true"
            return f"DOES NOT HOLD: {many} ({wrong}). Do not publish this table, and do not rely on it."
        about, now = self.certificate, self.now
        whom = f"; by the certificate, each class holds {about.k:,} persons" if now.at_most else ""
        said = (
            f"k = {about.k:,} holds: every record looks like at least {now.smallest - 1:,} others in what "
            f"others may know of a person ({', '.join(about.plan.quasi)}){whom}."
        )
        claims = sum(finding.claimed for finding in self.findings)
        true = claims - len(self.unknown)
        checked = f"all {true:,} claims" if not self.unknown else f"{true:,} of {claims:,} claims"
        rest = f", and {len(self.unknown):,} could not be recomputed" if self.unknown else ""
        return f"{said} For this report {checked} of the certificate were recomputed and hold{rest}."


def as_percent(share: float) -> str:
    """A chance or share as people write it.

    >>> as_percent(0.2), as_percent(1 / 12), as_percent(1.0), as_percent(0.00042)
    ('20 %', '8.33 %', '100 %', '0.042 %')
    """
    return f"{100 * share:.3g} %"


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1

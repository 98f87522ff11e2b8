"""What the independent check found in a finished table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.model.spoken import Spoken
from shoal.model.whom import Repeats, doubt_of_persons

__all__ = [
    "GIVE",
    "ColumnLoss",
    "Finding",
    "Persons",
    "Risk",
    "Ruling",
    "Sensitive",
    "Verdict",
    "mean_apart",
]

GIVE = {
    "original": "Give the original.",
    "receipt": "Give the receipt.",
    "hierarchies": "Give the hierarchies.",
    "graphs": "Give the graphs.",
    "missing": "Give the missing marks.",
    "before": "Give the former releases.",
    "state": "Give the state.",
    "key": "Give the key.",
}
"""How a finding asks for what `verify` was not given, by its keyword."""


@dataclass(frozen=True, slots=True)
class ColumnLoss:
    """How much of one quasi-identifier was lost: 0 nothing, 1 all of it, None unknown.

    `denominator` is None where published cells do not tell it. `told_apart` compares columns of all kinds:
    of the pairs of records that may differ in the column, the share that its cells tell apart for sure.
    """

    name: str
    weight: float
    denominator: float | None
    loss: float | None
    told_apart: float | None = field(default=None, metadata={"since": "2.3"})


def mean_apart(columns: Sequence[ColumnLoss]) -> float | None:
    """The mean of what columns still tell apart, in percent; None where one is not known."""
    shares = [one.told_apart for one in columns if one.told_apart is not None]
    return 100 * sum(shares) / len(shares) if shares and len(shares) == len(columns) else None


@dataclass(frozen=True, slots=True)
class Sensitive:
    """How well the values of one sensitive column are mixed in the worst class.

    `distinct`: different values; `entropy`: exp of the entropy (an effective number of values);
    `recursive`: (c, 2)-diversity holds for every c above it, infinite where a class has one value;
    `largest_share`: of the commonest value; `closeness_equal` and `closeness_ordered`: the greatest
    distance between a class's distribution and the table's (ordered is None for text).
    """

    name: str
    distinct: int
    entropy: float
    recursive: float
    largest_share: float
    closeness_equal: float
    closeness_ordered: float | None


@dataclass(frozen=True, slots=True)
class Ruling:
    """A rule, what the worst class measures, whether it holds, and in how many classes it fails.

    `measured` is None where it is nobody's business: a release does not tell its persons.
    """

    rule: str
    measured: float | None
    holds: bool
    failing: int = 0


@dataclass(frozen=True, slots=True)
class Risk:
    """Chances of re-identification.

    `prosecutor_highest` and `prosecutor_mean`: an attacker who knows that the person is in the table;
    `journalist_highest`: one who does not, with the table as its own population; `marketer`: the
    share of records an attacker expects to match right; `uniques`: records alone in their class. Where
    persons are counted, persons stand for records here.
    """

    prosecutor_highest: float
    prosecutor_mean: float
    journalist_highest: float
    marketer: float
    uniques: int


@dataclass(frozen=True, slots=True)
class Persons:
    """Persons counted by a unit: how many there are, and the fewest and most in a class."""

    total: int
    fewest: int
    most: int


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Spoken):
    """The judgement of a finished table; `reasons` is empty exactly where it passed.

    `loss` and `loss_percent` are None where the table's cells cannot tell (a table without a plan,
    or published middles). Withheld records count in full in the loss. `entropy` is the
    non-uniform entropy as a share: the bits lost of all bits the original cells held; None where the
    original frequencies are not known. Classes hold records; `persons` says how many persons they hold
    where persons are counted, and `repeats` names columns that seem to tell persons apart though records
    were counted. `sizes` says how many classes there are of each size, the smallest first.
    """

    k: int | None
    records: int
    withheld: int
    classes: int
    smallest_class: int
    largest_class: int
    mean_class: float
    discernibility: int
    entropy: float | None
    loss: float | None
    loss_percent: float | None
    columns: tuple[ColumnLoss, ...]
    sensitive: tuple[Sensitive, ...]
    risk: Risk
    reasons: tuple[str, ...] = ()
    rules: tuple[Ruling, ...] = ()
    persons: Persons | None = None
    repeats: tuple[Repeats, ...] = ()
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def told_apart_percent(self) -> float | None:
        """Of the pairs of records that may differ in a column, the share told apart, on average."""
        return mean_apart(self.columns)

    @property
    def has_passed(self) -> bool:
        """Whether nothing speaks against publishing."""
        return not self.reasons

    @property
    def counted(self) -> str:
        """What was counted, in one word."""
        return "records" if self.persons is None else "persons"

    def in_words(self) -> str:
        """What the check found, in a few sentences, without any cell."""
        what = f"class{'es' * (self.classes != 1)}"
        said = [
            f"{self.records - self.withheld:,} records in {self.classes:,} {what} of "
            f"{self.smallest_class:,} to {self.largest_class:,}, {self.mean_class:.2f} on average."
        ]
        if self.persons is not None:
            fewest, most = self.persons.fewest, self.persons.most
            said.append(f"{self.persons.total:,} persons, {fewest:,} to {most:,} in a class.")
        return " ".join([*said, self.judgement])

    @property
    def judgement(self) -> str:
        """Whether it passed, and if not, why."""
        if not self.has_passed:
            return f"NOT ANONYMOUS. {' '.join(self.reasons)}"
        least = self.smallest_class if self.persons is None else self.persons.fewest
        asked = "" if self.k is None else f": k = {self.k} is met"
        return f"Every class holds at least {least:,} {self.counted}{asked}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of rules, and whether records may not be persons."""
        rules = (
            f"{one.rule}: {'holds' if one.holds else f'fails in {one.failing:,} classes'}."
            for one in self.rules
        )
        return (*((self.doubt,) if self.doubt else ()), *rules)

    def figures(self) -> tuple[tuple[str, str], ...]:
        """Chances of re-identification, and what is lost, each with its name."""
        apart = self.told_apart_percent
        return (
            *self.risks(),
            *((("loss", f"{self.loss_percent:.2f} %"),) if self.loss_percent is not None else ()),
            *((("pairs of records still told apart", f"{apart:.1f} %"),) if apart is not None else ()),
        )

    def risks(self) -> tuple[tuple[str, str], ...]:
        """Chances of re-identification, each with its name."""
        risk = self.risk
        return (
            ("highest risk, attacker knows the person is in the table", f"{risk.prosecutor_highest:.2%}"),
            ("the same on average", f"{risk.prosecutor_mean:.2%}"),
            ("highest risk, attacker does not know it", f"{risk.journalist_highest:.2%}"),
            (f"share of all {self.counted} matched right", f"{risk.marketer:.2%}"),
            (f"{self.counted} alone in their class", f"{risk.uniques:,}"),
        )

    @property
    def doubt(self) -> str:
        """That records may not be persons, in two sentences; "" where nothing speaks for it."""
        return doubt_of_persons(self.repeats)


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim of a certificate and what became of it, in words and counts, never a cell's value.

    `holds` is True where the claim was recomputed and found true, False where it is not true, and None
    where it could not be recomputed from what was given. Where nothing was `claimed`, there is nothing to
    hold either: True says that this is as it should be.
    """

    claim: str
    holds: bool | None
    detail: str
    claimed: bool = True

    @property
    def needs(self) -> tuple[str, ...]:
        """The keywords of `verify` that would help, where the claim could not be recomputed."""
        return tuple(word for word, ask in GIVE.items() if self.holds is None and ask in self.detail)

"""What an unchanged table would give away, and what an outsider's register finds in a release."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.model.spoken import Spoken
from shoal.model.whom import Repeats, doubt_of_persons

__all__ = ["Exposure", "Homogeneity", "LaidOver", "Linkage", "Singling", "ValuesLeft"]


@dataclass(frozen=True, slots=True)
class Singling:
    """Columns taken together: records alone in them, and records in classes of high risk."""

    columns: tuple[str, ...]
    uniques: int
    at_risk: int


@dataclass(frozen=True, slots=True, repr=False)
class Exposure(Spoken):
    """The risks of publishing a table as it is.

    A record's risk is the chance of matching it with its person. The prosecutor knows that the person is
    in the table; the journalist does not, and the table is a `sampling` share of the population (None: it
    is its own population); the marketer wants as many matches as possible. `at_risk` counts
    records whose prosecutor risk is above `threshold`. `population_uniques` estimates how many of the
    records are alone in the whole population too, by the estimator named `estimator`. `columns` and `pairs`
    say what singles out most, worst first; `without` what is left once one column is dropped; `not_paired`
    columns, which single out least, were looked at in neither way.

    Where `persons` is not None, persons were counted and stand for records in all of this. `repeats` names
    columns that look as if they told persons apart though records were counted.
    """

    records: int
    persons: int | None
    classes: int
    smallest_class: int
    threshold: float
    uniques: int
    at_risk: int
    prosecutor_highest: float
    prosecutor_mean: float
    journalist_highest: float
    marketer: float
    sampling: float | None
    population_uniques: float
    estimator: str
    columns: tuple[Singling, ...]
    pairs: tuple[Singling, ...]
    without: tuple[Singling, ...]
    not_paired: int = 0
    repeats: tuple[Repeats, ...] = ()

    @property
    def counted(self) -> str:
        """What was counted, in one word."""
        return "records" if self.persons is None else "persons"

    @property
    def is_high(self) -> bool | None:
        """Whether some risk is above the threshold; None where none of records is, but persons may be."""
        if self.at_risk:  # a class holds no more persons than records, so theirs is no lower
            return True
        return None if self.repeats else False

    def on_sampling(self) -> str:
        """How the two estimates for a sample are to be read, without any cell."""
        expected = self.marketer * (self.records if self.persons is None else self.persons)
        sample = (
            "Both go by each record's own weight"
            if self.estimator == "by sampling weights"
            else "Both take the table for a random sample"
        )
        why = (
            "more, since a record that shares its values with a few others outside may be hit by chance"
            if expected >= self.population_uniques
            else "fewer, since this estimate takes more people outside to share their values"
        )
        return (
            f"The two estimates answer two questions. Of the {self.uniques:,} {self.counted} alone here, "
            f"{self.population_uniques:,.0f} are expected to be alone in the population, too "
            f"({self.estimator}): whoever is so can be found for certain. An outsider who links everybody "
            f"expects {expected:,.0f} right matches (Benedetti and Franconi), {why}. {sample}; where they "
            "differ much, go by the larger."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What singles out most, and how estimates for a sample are to be read."""
        said = [self.on_sampling()] if self.sampling is not None and self.uniques else []
        for what, found in (("by itself", self.columns[:1]), ("as a pair", self.pairs[:1])):
            said += [
                f"What singles out most {what}: {' and '.join(map(repr, one.columns))}, with "
                f"{one.uniques:,} {self.counted} alone and {one.at_risk:,} at high risk."
                for one in found
                if one.at_risk
            ]
        return tuple(said)

    def figures(self) -> tuple[tuple[str, str], ...]:
        """What was counted, each with its name."""
        persons = (("persons", f"{self.persons:,}"),) if self.persons is not None else ()
        estimate = f"alone in the population too, estimated ({self.estimator})"
        return (
            ("records", f"{self.records:,}"),
            *persons,
            ("classes", f"{self.classes:,}"),
            (f"{self.counted} alone in their class", f"{self.uniques:,}"),
            (f"{self.counted} at high risk (above {self.threshold:.0%})", f"{self.at_risk:,}"),
            ("prosecutor, highest", f"{self.prosecutor_highest:.2%}"),
            ("prosecutor, mean", f"{self.prosecutor_mean:.2%}"),
            ("journalist, highest", f"{self.journalist_highest:.2%}"),
            ("marketer", f"{self.marketer:.2%}"),
            *(((estimate, f"{self.population_uniques:,.0f}"),) if self.sampling is not None else ()),
        )

    def in_words(self) -> str:
        """The verdict in a few sentences, without any cell."""
        doubt = doubt_of_persons(self.repeats)
        least = f"at least {self.smallest_class:,} {self.counted}"
        chance = f"with a chance above {self.prosecutor_highest:.0%}"
        if self.is_high is None:
            return (
                f"NOTHING IS SAID OF PERSONS. Every record stands in a class of {least}: no record is "
                f"found {chance}. {doubt}"
            )
        if not self.is_high and self.persons is None:
            return (
                "LOW RISK if every record is a person of its own. Every record stands in a class of "
                f"{least}: no record is found {chance}."
            )
        if not self.is_high:
            return f"LOW RISK. Every person stands in classes of {least}: nobody is found {chance}."
        total = self.records if self.persons is None else self.persons
        alone = f"{self.uniques:,} of {total:,} {self.counted} ({_share(self.uniques, total)})"
        few = f"{self.at_risk:,} ({_share(self.at_risk, total)})"
        what = "the record" if self.persons is None else "this person"
        said = (
            f"HIGH RISK. {alone} are alone in their class: whoever knows these columns of a person finds "
            f"{what}. {few} are found with a chance above {self.threshold:.0%}."
        )
        return f"{said} {doubt}".strip()


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Persons whose candidates all share one value of a sensitive column: it is known without a match."""

    column: str
    persons: int


@dataclass(frozen=True, slots=True, repr=False)
class Linkage(Spoken):
    """What an outsider who holds a register can pin down in a release.

    A person's candidates are the records whose matched cells all cover what the register says; `found`
    persons have some. Counts of persons: pinned to one record, to one class, and with fewer than
    `fewer_than` candidates. `homogeneous` counts, per sensitive column, persons whose candidates share one
    value. With `by_person` candidates are persons of the release, not records; `repeats` names columns of
    the release that look as if they told persons apart though records were counted. With `by_row` some
    persons have several rows in the register, and its rows stand for persons in all of this.
    """

    persons: int
    records: int
    classes: int
    found: int
    one_record: int
    one_class: int
    fewest: int
    median: float
    mean: float
    fewer_than: int
    few: int
    homogeneous: tuple[Homogeneity, ...]
    by_person: bool = False
    repeats: tuple[Repeats, ...] = ()
    by_row: bool = False

    @property
    def counted(self) -> str:
        """What was looked for, in one word."""
        return "rows" if self.by_row else "persons"

    def figures(self) -> tuple[tuple[str, str], ...]:
        """What was counted, each with its name."""
        what = "person" if self.by_person else "record"
        return (
            (f"{self.counted} in the register", f"{self.persons:,}"),
            ("with a candidate", f"{self.found:,}"),
            (f"pinned to one {what}", f"{self.one_record:,}"),
            ("pinned to one class", f"{self.one_class:,}"),
            (f"with fewer than {self.fewer_than} candidate {what}s", f"{self.few:,}"),
            (f"fewest candidate {what}s", f"{self.fewest:,}"),
            ("candidates in the middle", f"{self.median:g}"),
            ("candidates on average", f"{self.mean:.1f}"),
            *((f"whose {one.column} is certain", f"{one.persons:,}") for one in self.homogeneous),
        )

    def in_words(self) -> str:
        """What the trial found, in a few sentences, without any cell."""
        why = "they are not in the release, or it shows nodes of a hierarchy that was not given"
        if not self.found:
            return f"None of {self.persons:,} {self.counted} has a candidate in the release: {why}."
        pinned = (
            f"{self.one_record:,} of {self.persons:,} {self.counted} "
            f"({_share(self.one_record, self.persons)})"
        )
        what = "person" if self.by_person else "record"
        every = "Every row" if self.by_row else "Everybody"
        lines = [
            f"{pinned} are pinned to one {what}.",
            f"{every} found has at least {self.fewest:,} candidate {what}{'s' * (self.fewest != 1)}, "
            f"{self.median:g} in the middle.",
        ]
        if self.found < self.persons:
            lines.append(f"{self.persons - self.found:,} have no candidate: {why}.")
        lines += [
            f"The value of {one.column!r} is certain for {one.persons:,} {self.counted} "
            f"({_share(one.persons, self.persons)})."
            for one in self.homogeneous
        ]
        return " ".join([*lines, doubt_of_persons(self.repeats)]).strip()


@dataclass(frozen=True, slots=True)
class ValuesLeft:
    """How many values of a sensitive column all releases together leave to a person.

    `certain` persons have one left, `below_three` one or two, `none` no value that all releases allow:
    theirs has changed. `mean` is that of the others.
    """

    column: str
    certain: int
    below_three: int
    none: int
    mean: float


@dataclass(frozen=True, slots=True, repr=False)
class LaidOver(Spoken):
    """What one learns who keeps all releases and knows who was there, with which quasi-identifiers.

    `found` persons have a candidate in some release. `one_class` persons are covered by one class in every
    release that they are in: of these `cut_few` have cells that, cut with one another, hold fewer than
    `fewer_than` persons of the registers, and `cut_alone` nobody but themselves.
    """

    releases: int
    persons: int
    found: int
    left: tuple[ValuesLeft, ...]
    fewer_than: int
    one_class: int
    cut_few: int
    cut_alone: int

    def figures(self) -> tuple[tuple[str, str], ...]:
        """What was counted, each with its name."""
        left = (
            line
            for one in self.left
            for line in (
                (f"whose {one.column} is certain", f"{one.certain:,}"),
                (f"with fewer than 3 values of {one.column} left", f"{one.below_three:,}"),
                (f"whose {one.column} has changed", f"{one.none:,}"),
                (f"values of {one.column} left on average", f"{one.mean:.1f}"),
            )
        )
        return (
            ("persons in the registers", f"{self.persons:,}"),
            ("releases", f"{self.releases:,}"),
            ("with a candidate", f"{self.found:,}"),
            *left,
            ("covered by one class in every release", f"{self.one_class:,}"),
            (f"whose cells, cut, hold fewer than {self.fewer_than}", f"{self.cut_few:,}"),
            ("whose cells, cut, hold nobody else", f"{self.cut_alone:,}"),
        )

    def in_words(self) -> str:
        """What was found, in a few sentences, without any cell."""
        lines = [
            f"The value of {one.column!r} is certain for {one.certain:,} of {self.persons:,} persons "
            f"({_share(one.certain, self.persons)}), and one of two for "
            f"{one.below_three - one.certain:,} more."
            for one in self.left
        ]
        lines.append(
            f"The cells shown of {self.cut_few:,} persons ({_share(self.cut_few, self.persons)}), cut "
            "with one "
            f"another, hold fewer than {self.fewer_than:,} persons; those of {self.cut_alone:,} "
            "nobody else."
        )
        return " ".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"

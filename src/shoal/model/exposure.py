"""What an unchanged table would give away, and what an outsider's register finds in a release."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Exposure", "Homogeneity", "Linkage", "Singling"]


@dataclass(frozen=True, slots=True)
class Singling:
    """Columns taken together: records alone in them, and records in classes of high risk."""

    columns: tuple[str, ...]
    uniques: int
    at_risk: int


@dataclass(frozen=True, slots=True)
class Exposure:
    """The risks of publishing a table as it is.

    A record's risk is the chance of matching it with its person. The prosecutor knows that the person is
    in the table; the journalist does not, and the table is a `sampling` share of the population (None: it
    is its own population); the marketer wants as many matches as possible. `at_risk` counts
    records whose prosecutor risk is above `threshold`. `population_uniques` estimates how many of the
    records are alone in the whole population too, by the estimator named `estimator`. `columns` and `pairs`
    say what singles out most, worst first; `without` what is left once one column is dropped.
    """

    records: int
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

    @property
    def is_high(self) -> bool:
        """Whether some record's risk is above the threshold."""
        return self.at_risk > 0

    def in_words(self) -> str:
        """The verdict in one or two sentences, without any cell."""
        if not self.is_high:
            return (
                f"LOW RISK. Every record stands in a class of at least {self.smallest_class}: nobody is "
                f"found with a chance above {self.prosecutor_highest:.0%}."
            )
        alone = f"{self.uniques:,} of {self.records:,} records ({_share(self.uniques, self.records)})"
        few = f"{self.at_risk:,} ({_share(self.at_risk, self.records)})"
        return (
            f"HIGH RISK. {alone} are alone in their class: whoever knows these columns of a person finds "
            f"the record. {few} are found with a chance above {self.threshold:.0%}."
        )


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Persons whose candidates all share one value of a sensitive column: it is known without a match."""

    column: str
    persons: int


@dataclass(frozen=True, slots=True)
class Linkage:
    """What an outsider who holds a register can pin down in a release.

    A person's candidates are the records whose matched cells all cover what the register says; `found`
    persons have some. Counts of persons: pinned to one record, to one class, and with fewer than
    `fewer_than` candidates. `homogeneous` counts, per sensitive column, persons whose candidates share one
    value.
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

    def in_words(self) -> str:
        """What the trial found, in a few sentences, without any cell."""
        why = "they are not in the release, or it shows nodes of a hierarchy that was not given"
        if not self.found:
            return f"None of {self.persons:,} persons has a candidate in the release: {why}."
        pinned = (
            f"{self.one_record:,} of {self.persons:,} persons ({_share(self.one_record, self.persons)})"
        )
        lines = [
            f"{pinned} are pinned to one record.",
            f"Everybody found has at least {_many(self.fewest)}, {self.median:g} in the middle.",
        ]
        if self.found < self.persons:
            lines.append(f"{self.persons - self.found:,} have no candidate: {why}.")
        lines += [
            f"The value of {one.column!r} is certain for {one.persons:,} persons "
            f"({_share(one.persons, self.persons)})."
            for one in self.homogeneous
        ]
        return " ".join(lines)


def _many(candidates: int) -> str:
    return f"{candidates:,} candidate{'s' if candidates != 1 else ''}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"

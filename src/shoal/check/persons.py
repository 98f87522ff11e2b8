"""Who stands in which class: records, or persons where something says who is who."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check import centres
from shoal.check.kanonymity import Classes, classes_of, codes_of, records_of
from shoal.model.distinct import distinct
from shoal.model.plan import Plan
from shoal.model.whom import Behind

__all__ = ["Standing", "classes_of_release", "pairs_of", "people_of", "persons_in_classes", "standing_of"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How those who are counted stand in the classes of a table.

    `sizes` has how many of them each class holds. Who stands in several classes is found in the smallest:
    `many[i]` of them have a smallest class of `smallest[i]`.
    """

    sizes: Integers
    smallest: Integers
    many: Integers

    @property
    def total(self) -> int:
        """How many there are."""
        return int(self.many.sum())

    @property
    def alone(self) -> int:
        """How many are alone in some class."""
        return int(self.many[self.smallest == 1].sum())

    def above(self, chance: float) -> int:
        """How many are found with more than some chance."""
        return int(self.many[1.0 / self.smallest > chance + 1e-12].sum())


def standing_of(classes: Classes, persons: Behind | None = None) -> Standing:
    """Count records, or `persons` behind the table's lines; those who are missing may all be one."""
    if persons is None:
        smallest, times = np.unique(classes.sizes, return_counts=True)
        return Standing(classes.sizes, smallest, times * smallest)
    label, person, people = pairs_of(classes, persons)
    sizes = np.bincount(label, minlength=classes.sizes.size)
    least = np.full(people, np.iinfo(np.int64).max)
    np.minimum.at(least, person, sizes[label])
    smallest, people_there = np.unique(least[np.bincount(person, minlength=people) > 0], return_counts=True)
    return Standing(sizes, smallest, people_there)


def people_of(who: pl.Series) -> tuple[Integers, int]:
    """A code for each person, and how many there are; those who are missing may all be one."""
    if isinstance(who.dtype, pl.Categorical | pl.Enum):
        who = who.cast(pl.String)
    if who.dtype == pl.String:
        who = who.set(who == "", None)
    elif who.dtype.is_float():
        who = who.fill_nan(None)
    return codes_of(who)


def pairs_of(classes: Classes, persons: Behind) -> tuple[Integers, Integers, int]:
    """Every pair of a class and a person in it, once, and how many codes persons have."""
    codes, people = people_of(persons.who)
    label = classes.label[persons.line]
    alive = label >= 0
    pairs = distinct(label[alive] * people + codes[alive])
    return pairs // people, pairs % people, people


def classes_of_release(table: pl.DataFrame, plan: Plan) -> Classes:
    """The classes of a finished table; a line of centres is a class of its own.

    Every column that the plan does not call sensitive, kept, count or pseudonym is taken for a
    quasi-identifier.
    """
    if plan.style == "centres":
        return centres.lines_of(table)
    count = plan.whom.count
    others = {*plan.beside, count}
    quasi = [name for name in table.columns if name not in others]
    return classes_of(table, quasi, records_of(table, count if count in table.columns else None))


def persons_in_classes(table: pl.DataFrame, plan: Plan, persons: Behind) -> Integers:
    """How many different persons each class of a finished table holds."""
    return standing_of(classes_of_release(table, plan), persons).sizes

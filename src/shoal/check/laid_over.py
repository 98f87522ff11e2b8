"""Several releases laid over one another: what an outsider learns who keeps them all.

He holds the register of every time: who was there, with which quasi-identifiers. A class of a release is a
candidate for a person where its cells cover him; it shows the values of its rows, or of the lists of their
schools. Whoever takes a value for lasting keeps what all releases allow. And where one class alone covers a
person in each release, its cells, cut with one another, hold as many persons as all of them cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.attack import add_covered, axes_of, published_of
from shoal.check.kanonymity import classes_of, records_of
from shoal.errors import DataError, PlanError
from shoal.model.exposure import LaidOver, ValuesLeft
from shoal.model.hierarchy import Hierarchy
from shoal.model.names import check_named
from shoal.model.series import SCHOOL

__all__ = ["Dated", "lay_over"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Dated:
    """A release, the register of its time, and the lists beside it where it has schools."""

    table: pl.DataFrame
    register: pl.DataFrame
    lists: pl.DataFrame | None = None


class _Pairs:
    """Pairs of a class and a person whom it covers."""

    def __init__(self) -> None:
        self.number: list[Integers] = []
        self.person: list[Integers] = []

    def add(self, number: Integers, person: Integers) -> None:
        self.number.append(number)
        self.person.append(person)


def lay_over(
    releases: Sequence[Dated],
    *,
    unit: str,
    match: Mapping[str, str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    fewer_than: int = 5,
) -> LaidOver:
    """What all releases together tell of every person of the registers, whom `unit` names."""
    for one in releases:
        check_named([unit, *match.values()], one.register.columns, what="register")
        check_named(
            [c for name in match for c in published_of(one.table, name)], one.table.columns, what="release"
        )
        if one.register[unit].null_count() or one.register[unit].n_unique() != one.register.height:
            raise DataError(
                f"Column {unit!r} of a register does not name every person once. Give one row per person.",
                field="unit",
                column=unit,
            )
    everyone = pl.concat([one.register[unit].cast(pl.String) for one in releases]).unique().sort()
    people = {name: at for at, name in enumerate(everyone.to_list())}
    values = {name: _all_values(releases, name) for name in sensitive}
    left: dict[str, Any] = {name: np.ones((len(people), len(its)), bool) for name, its in values.items()}
    found = np.zeros(len(people), bool)
    cuts: list[list[Integers]] = [[] for _ in people]
    many = np.zeros(len(people), bool)
    for one in releases:
        who, covers = _covered(one, match, hierarchies or {}, unit, people)
        known = np.diff(covers.indptr) > 0
        found[who[known]] = True
        for name in sensitive:
            shows = _shown(one, match, name, values[name])
            left[name][who[known]] &= (covers @ shows).toarray()[known] > 0
        _cut(cuts, many, who, covers)
    certain = [_left(name, its[found]) for name, its in left.items()]
    alone = [at for at, its in enumerate(cuts) if its and not many[at]]
    inside = np.array([_common(cuts[at]) for at in alone], np.int64)
    return LaidOver(
        releases=len(releases),
        persons=len(people),
        found=int(found.sum()),
        left=tuple(certain),
        fewer_than=fewer_than,
        one_class=len(alone),
        cut_few=int((inside < fewer_than).sum()),
        cut_alone=int((inside == 1).sum()),
    )


def _covered(
    one: Dated,
    match: Mapping[str, str],
    trees: Mapping[str, Hierarchy],
    unit: str,
    people: Mapping[str, int],
) -> tuple[Integers, Any]:
    """Who is in the register, and a matrix of persons by classes: which cover whom."""
    from scipy.sparse import csr_array

    shown = {name: published_of(one.table, name) for name in match}
    columns = [*chain.from_iterable(shown.values())]
    classes = classes_of(one.table, columns, records_of(one.table, None))
    parts = {name: [known] for name, known in match.items()}
    weight, axes, alike = axes_of(one.table[classes.row], one.register, parts, shown, trees)
    pairs = _Pairs()
    add_covered(axes, classes, pairs)
    number, person = (
        np.concatenate(side) if side else np.zeros(0, int) for side in (pairs.number, pairs.person)
    )
    shape = (weight.size, classes.sizes.size)
    covers = csr_array((np.ones(number.size, np.int32), (person, number)), shape=shape)[alike]
    who = np.array([people[name] for name in one.register[unit].cast(pl.String).to_list()], np.int64)
    return who, csr_array(covers)


def _values_of(one: Dated, name: str) -> pl.DataFrame:
    """By row of the table, or by entry of its school's list, a value."""
    row = one.table.with_row_index("\0row")
    if name in one.table.columns:
        return row.select("\0row", pl.col(name).cast(pl.String).alias("\0value"))
    if one.lists is None or SCHOOL not in one.table.columns or name not in one.lists.columns:
        raise PlanError(
            f"There is no column {name!r} in a release, nor in lists beside it. Check the name.",
            field="sensitive",
            column=name,
        )
    school = pl.col(SCHOOL).cast(pl.Int64, strict=False)
    entries = one.lists.select(school, pl.col(name).cast(pl.String).alias("\0value")).unique()
    return row.select("\0row", school).join(entries, on=SCHOOL).select("\0row", "\0value")


def _all_values(releases: Sequence[Dated], name: str) -> dict[str | None, int]:
    texts = pl.concat([_values_of(one, name)["\0value"] for one in releases]).unique().sort()
    return {value: at for at, value in enumerate(texts.to_list())}


def _shown(one: Dated, match: Mapping[str, str], name: str, values: Mapping[str | None, int]) -> Any:
    """A matrix of classes by values: which shows which. Rows without a list may have any value."""
    from scipy.sparse import csr_array

    columns = [column for matched in match for column in published_of(one.table, matched)]
    classes = classes_of(one.table, columns, records_of(one.table, None))
    said = _values_of(one, name)
    rows = said["\0row"].to_numpy().astype(np.int64)
    code = np.array([values[value] for value in said["\0value"].to_list()], np.int64)
    silent = np.setdiff1d(np.arange(one.table.height), rows)
    rows = np.concatenate([rows, np.repeat(silent, len(values))])
    code = np.concatenate([code, np.tile(np.arange(len(values)), silent.size)])
    shape = (classes.sizes.size, len(values))
    return csr_array((np.ones(rows.size, np.int32), (classes.label[rows], code)), shape=shape)


def _cut(cuts: list[list[Integers]], many: NDArray[np.bool_], who: Integers, covers: Any) -> None:
    """Add whom the one class that covers a person covers besides; persons with several are marked."""
    by_class = covers.T.tocsr()
    for place, person in enumerate(who.tolist()):
        its = covers.indices[covers.indptr[place] : covers.indptr[place + 1]]
        if its.size != 1:
            many[person] |= its.size > 1
            continue
        others = by_class.indices[by_class.indptr[its[0]] : by_class.indptr[its[0] + 1]]
        cuts[person].append(who[others])


def _common(covered: Sequence[Integers]) -> int:
    """How many persons all of these cover."""
    least = covered[0]
    for more in covered[1:]:
        least = np.intersect1d(least, more)
    return int(least.size)


def _left(name: str, left: NDArray[np.bool_]) -> ValuesLeft:
    many = left.sum(axis=1)
    some = many[many > 0]
    return ValuesLeft(
        column=name,
        certain=int((many == 1).sum()),
        below_three=int(((many > 0) & (many < 3)).sum()),
        none=int((many == 0).sum()),
        mean=float(some.mean()) if some.size else 0.0,
    )

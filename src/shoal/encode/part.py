"""Rows of a part of a table as methods take them, by codes that were looked up before.

What rules look at is found in what is carried with the rows: every value of a sensitive column has its code
there. Persons come as numbers, and are counted anew in each part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode import distinct_lines, hold
from shoal.encode.batch import Carried, Coder
from shoal.encode.rule import code_of_values
from shoal.model.coded import Coded, Ruled
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.rule import CLOSE

__all__ = ["Rows", "RuledValues", "code_lines", "code_rows", "ruled_values"]

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a table as numbers.

    `codes` has a line per row and a place per axis; `carried` the codes of each column that is published as
    it is; `records` how many each row stands for, where a column counts them or rows that are alike in all
    of this were joined; `persons` who each row belongs to, by numbers, one array per column that says so;
    `seen` what rules see, where that was looked up before.
    """

    codes: Codes
    carried: tuple[NDArray[np.integer], ...] = ()
    records: Integers | None = None
    persons: tuple[Integers, ...] = ()
    seen: tuple[Codes, ...] | None = None

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.codes)

    @property
    def total(self) -> int:
        """How many records they stand for."""
        return self.rows if self.records is None else int(self.records.sum())

    def take(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> Rows:
        """Some of them."""
        return Rows(
            self.codes[places],
            tuple(one[places] for one in self.carried),
            None if self.records is None else self.records[places],
            tuple(one[places] for one in self.persons),
            None if self.seen is None else tuple(one[places] for one in self.seen),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RuledValues:
    """What rules look at, by the codes of what is carried.

    Entry i of `columns` is seen in the carried column `source[i]`, whose codes become `codes[i]`; `shares`
    has those of its values in the whole table, where a rule measures by it.
    """

    columns: tuple[Ruled, ...] = ()
    source: tuple[int, ...] = ()
    codes: tuple[Codes, ...] = ()
    shares: tuple[NDArray[np.float64], ...] = ()

    @property
    def sizes(self) -> list[int]:
        """How many codes each entry has."""
        return [column.size for column in self.columns]

    def seen(self, carried: Sequence[NDArray[np.integer]]) -> list[Codes]:
        """What rules see of rows, by the codes of what these carry: an array per entry."""
        return [codes[carried[source]] for source, codes in zip(self.source, self.codes, strict=True)]

    @property
    def trees(self) -> dict[str, Hierarchy]:
        """The hierarchies that rules measure by."""
        return {column.name: column.tree for column in self.columns if column.tree is not None}


def ruled_values(carried: Sequence[Carried], plan: Plan) -> RuledValues:
    """From the values of the sensitive columns, each once, with their records in the whole table."""
    if not plan.rules:
        return RuledValues()
    place = {one.name: at for at, one in enumerate(carried)}
    named = dict.fromkeys(rule.column for rule in plan.rules_read)
    columns, its_codes = code_of_values({name: _values(carried[place[name]]) for name in named}, plan)
    source, codes, shares = [], [], []
    for column, its in zip(columns, its_codes, strict=True):
        one = carried[place[column.name]]
        all_codes = np.zeros(one.size, dtype=np.int32)
        all_codes[one.records > 0] = its
        held = np.bincount(all_codes, weights=one.records, minlength=column.size)
        source.append(place[column.name])
        codes.append(all_codes)
        shares.append(held / held.sum())
    close = any(rule.kind == CLOSE for rule in plan.rules_read)
    return RuledValues(columns, tuple(source), tuple(codes), tuple(shares) if close else ())


def _values(carried: Carried) -> pl.Series:
    """The values in the order of their codes, missing last; those of no record are seen by no reader."""
    values = carried.values.filter(pl.Series(carried.records[:-1] > 0))
    if carried.records[-1] == 0:
        return values
    return pl.concat([values, pl.Series(values.name, [None], dtype=values.dtype)])


def code_rows(rows: Rows, coder: Coder, ruled: RuledValues, plan: Plan) -> Coded:
    """Distinct rows with their records, and what rules and units look at."""
    seen = ruled.seen(rows.carried) if rows.seen is None else list(rows.seen)
    return code_lines(rows.codes, seen, rows.persons, rows.records, coder, ruled, plan)


def code_lines(
    codes: Codes,
    values: list[Codes],
    persons: tuple[Integers, ...],
    records: Integers | None,
    coder: Coder,
    ruled: RuledValues,
    plan: Plan,
) -> Coded:
    """The same from what rules see in each row."""
    sizes = coder.sizes
    lines, row = distinct_lines([codes[:, axis] for axis in range(len(sizes))], sizes)
    count = np.rint(np.bincount(row, weights=records, minlength=len(lines))).astype(np.int64)
    plain = coder.coded(lines, count, plan, row=row, records=records)
    if not plan.rules and plan.whom.unit is None:
        return plain
    unit = None
    if plan.whom.unit is not None:
        known, who = np.unique(persons[0], return_inverse=True)
        unit = who.ravel().astype(np.int32), known.size
    return hold(plain, plan.rules_read, ruled.columns, values, unit, shares=ruled.shares)

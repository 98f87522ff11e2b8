"""One part of a table grouped by itself: the same for every engine that cuts tables into parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.encode.batch import Carried, Coder
from shoal.encode.keys import unpack_keys
from shoal.encode.part import Rows, RuledValues, code_rows
from shoal.encode.published import as_published, clipped_columns, ranges_of
from shoal.engines import C, G, T
from shoal.errors import DataError
from shoal.group.parts.cut import cut_into_parts
from shoal.group.parts.rules import obeys_as_one
from shoal.group.parts.sample import Tuples
from shoal.model.coded import Coded, pack
from shoal.model.column import Column
from shoal.model.figures import Places
from shoal.model.grouping import Grouping
from shoal.model.parts import Cuts
from shoal.model.plan import Plan
from shoal.model.rule import CLOSE
from shoal.model.task import Task
from shoal.recode.faces import Faces, faces_of
from shoal.recode.pieces import RowPieces, deal

__all__ = [
    "LARGE",
    "HoldsLittle",
    "PartTask",
    "SolvedPart",
    "Work",
    "cuts_of",
    "heavy",
    "in_unit",
    "obeys",
    "persons_counted",
    "solve_part",
    "too_heavy",
    "withhold_in_parts",
]

Work = Callable[[Task, Coded], Grouping]
LARGE = 3
"""A part of so many times the rows that were wanted has rows that are alike: these are joined."""


class HoldsLittle:
    """What engines have in common that hold little of a table: between the verbs there is nothing to go."""

    def when_coded(self, table: T, plan: Plan) -> T:
        """All of it."""
        return table

    def when_proved(self, table: T, coded: C, grouping: G, plan: Plan) -> tuple[T, C, G]:
        """All of it."""
        return table, coded, grouping

    def when_published(self, table: T, coded: C, grouping: G, plan: Plan) -> tuple[T, C, G]:
        """All of it."""
        return table, coded, grouping


def heavy(plan: Plan) -> int:
    """Copies from which on a tuple may be a class of its own that enters no part."""
    return max(plan.part // 2, plan.k)


def cuts_of(sample: Tuples, coder: Coder, plan: Plan, *, rows: int, total: int) -> Cuts:
    """The cuts that are learnt from a sample of the tuples of a table with so many rows and records."""
    metric = pack([(axis, column.weight) for column in coder.columns for axis in column.axes])
    light = sample.count < heavy(plan)
    records = int(sample.count[light].sum())
    wanted = max(plan.part * total // rows, 4 * plan.k)  # rows of a part by what each stands for
    least = max(plan.k, (wanted >> sample.zeros) // 2, 1)
    tuples = unpack_keys(sample.keys[:, light], coder.sizes)
    return cut_into_parts(tuples, sample.count[light], metric, min(least, max(records, 1)))


def too_heavy(plan: Plan) -> DataError:
    """What is said where a tuple of very many rows cannot be taken out of its part."""
    return DataError(
        f"A tuple of the table stands in more rows than {LARGE} parts of {plan.part:,} hold, and either it "
        "or what is left cannot stand alone. Allow larger parts.",
        field="part",
    )


@dataclass(frozen=True, slots=True, eq=False)
class PartTask:
    """What it takes to group any part of a table: small, and all that travels to whoever does it."""

    coder: Coder
    carried: tuple[Carried, ...]
    ruled: RuledValues
    plan: Plan
    total: int

    @property
    def is_ruled(self) -> bool:
        """Whether classes must obey more than k."""
        return bool(self.plan.rules) or self.plan.whom.unit is not None


@dataclass(frozen=True, slots=True, eq=False)
class SolvedPart:
    """The groups of one part: what they publish, and which rows stand in which of them."""

    faces: Faces
    pieces: RowPieces
    withheld: int
    steps: int


def persons_counted(plan: Plan, repeating: Sequence[str]) -> tuple[str, ...]:
    """The columns whose persons travel with the rows: the unit, or the identifiers that repeat.

    The latter are counted in every class, since nobody said whom k counts.
    """
    whom = plan.whom
    if whom.unit is not None:
        return (whom.unit,)
    if whom.of_persons or whom.means_rows:
        return ()
    return tuple(name for name in plan.identifier if name in repeating)


def in_unit(
    columns: tuple[Column, ...], whole: Coded | None, places: Places
) -> tuple[tuple[Column, ...], Coded | None]:
    """Columns, and few tuples where these are held, in the unit of what is published between `places`."""
    ranges = ranges_of(columns, places)
    clipped = clipped_columns(columns, ranges)
    if all(one is other for one, other in zip(clipped, columns, strict=True)):
        return columns, whole
    return clipped, None if whole is None else as_published(whole, ranges)


def withhold_in_parts(task: Task, plan: Plan) -> Task:
    """The task of all parts: with a rule of closeness nothing is withheld.

    Such a rule compares classes with the table that is published, which no part knows before all are done;
    if nothing is withheld it is the table itself.
    """
    if any(rule.kind == CLOSE for rule in plan.rules_read):
        return replace(task, withhold=0)
    return task


def obeys(rows: Rows, about: PartTask) -> bool:
    """Whether these rows as one class obey what every class must."""
    alike = replace(rows, codes=np.zeros_like(rows.codes))
    return obeys_as_one(code_rows(alike, about.coder, about.ruled, about.plan), about.plan.k)


def solve_part(rows: Rows, about: PartTask, task: Task, work: Work) -> SolvedPart:
    """Group one part; its share of what may be withheld is that of its records."""
    coded = code_rows(rows, about.coder, about.ruled, about.plan)
    task = replace(task, withhold=task.withhold * coded.total // max(about.total, 1), guided=False)
    grouping = work(task, coded)
    faces, _ = faces_of(coded, grouping)
    pieces = deal(coded.row, rows.carried, grouping, coded.distinct, task.seed, records=rows.records)
    return SolvedPart(faces, pieces, grouping.withheld, grouping.steps)

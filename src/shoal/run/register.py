"""The story of a release of a register: persons come, leave, return and change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import engines
from shoal.bound import hold_below, noise_of
from shoal.check.judge import judge
from shoal.check.series import Line, judge_register, rule_lists
from shoal.encode import code, survey
from shoal.encode.published import as_published
from shoal.engines.memory import Finished
from shoal.errors import DataError, PlanError
from shoal.group import facts
from shoal.group.standing.cells import Shown, show
from shoal.group.standing.lists import Enlisted
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.column import LINE, Column
from shoal.model.figures import Figures, Ranges
from shoal.model.fitting import unfit_for_register
from shoal.model.grouping import Grouping, Groups
from shoal.model.known import Known
from shoal.model.mark import mark_of
from shoal.model.missing import one_missing
from shoal.model.plan import Plan
from shoal.model.register import NOBODY, RegisterState, measured
from shoal.model.series import REGISTER, SCHOOL, InRegister, InSeries
from shoal.model.standing import Codes, Ground, as_read, cut_with, ground_of, points_of
from shoal.model.task import Progress
from shoal.model.verdict import Verdict
from shoal.model.whom import Behind
from shoal.recode import anew
from shoal.recode.generalize import cells_of
from shoal.run.anonymize import bound_of, form_groups, task_of, threads
from shoal.run.certify import certify
from shoal.run.listing import enlist_rows, trees_of
from shoal.run.release import Release
from shoal.run.whose import (
    by_person,
    check_known,
    check_measured,
    check_plan,
    marks_of,
    named,
    persons_of,
    undeclared,
)

__all__ = ["Before", "Register", "hiding", "of_rows", "release_register"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """What a release follows: the state, the lists and the certificate of the one before."""

    state: RegisterState
    lists: pl.DataFrame | None = None
    certificate: Certificate | None = None
    path: Path | None = None
    redo: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """What a release of a register writes besides: its lists, and the state to be kept.

    `ids` are who is in it; `after` is the file of the state before, `redo` whether it may be followed
    again.
    """

    state: RegisterState
    lists: pl.DataFrame
    ids: pl.Series
    after: Path | None = None
    redo: bool = False


def release_register(
    frame: Any, plan: Plan, before: Before | None, *, forget: Iterable[Any] = (), progress: Progress
) -> Release:
    """Make the next release of a register and judge it, beside all that was published before."""
    plan = replace(plan, engine="memory") if plan.engine == "auto" else plan
    if plan.engine != "memory":
        raise PlanError("A register is made in memory. Leave out engine.", field="engine")
    at = engines.load(plan.engine)
    former = before or Before(RegisterState.empty(len(plan.quasi)))
    if before is not None:
        check_plan(plan, former.state)
        plan = replace(plan, kinds={**undeclared(plan, former.state), **plan.kinds})
    with threads(plan.threads):
        opened = at.open(frame, plan)
        table, ids = by_person(opened.frame, plan)
        progress("encoding", 0.0)
        rows_plan = of_rows(plan)
        known = survey(table, replace(rows_plan, keep=(*plan.sensitive, *plan.keep)))
        check_kinds(known)
        coded = code(table, known, rows_plan)
        kinds = measured(coded.columns)
        check_measured(kinds, former.state)
        persons = persons_of(ids, former.state.key)
        gone = persons_of(named(forget), former.state.key)
        check_gone(gone, persons)
        state, forgotten = former.state.without(gone)
        number = state.number + 1
        at_former = state.find(persons)
        check_known(at_former, plan, state)
        was = state.lines("cut", at_former, NOBODY)
        ground = ground_of(coded, was, state.sides, state.key)
        points = points_of(coded, persons, state.key)
        since, stay = _times(state, at_former, ground, points, number)
        progress("grouping", 0.0)
        method, task = task_of(coded, rows_plan, progress)
        formed = form_groups(method, task, coded)
        shown = show(ground, _dealt(formed, coded), since, stay, plan.k)
        entries = one_missing(table, plan).select(*plan.sensitive, *plan.keep)
        together = partial(_together, table, known, replace(plan, series=None, unit="rows"), progress)
        lists, enlisted = enlist_rows(entries, plan, state, former.lists, at_former, ground, together)
        progress("recoding", 0.0)
        published, source = _recode(ground, shown, enlisted, plan)
        low, high = as_read(ground.columns, shown.low, shown.high, plan.cells)
        cut, sides = cut_with(ground, low[shown.label], high[shown.label], was, state.sides, state.key)
        kept, at_now = state.after(persons, enlisted.school, enlisted.left, cut, sides, since, stay, points)
        kept = replace(kept, kinds=kinds)
        progress("checking", 0.0)
        seen = as_published(coded, _ranges(ground, shown))
        verdict = judge(
            published,
            replace(rows_plan, keep=(SCHOOL,), unit=plan.unit),
            hiding(seen.columns, published, plan.cells),
            withheld=0,
            persons=Behind(np.arange(source.size), ids[pl.Series(source)]),
        )
        line = Line(source, at_former, at_now, entries)
        faults = judge_register(published, lists, former.lists, plan, coded, line, state, kept)
        rulings = rule_lists(lists, plan.rules_read, number, trees_of(plan, entries))
        broken = [
            f"The rule {one.rule!r} fails in {one.failing} new lists." for one in rulings if not one.holds
        ]
        verdict = replace(
            verdict, reasons=(*verdict.reasons, *faults, *broken), rules=(*rulings, *verdict.rules)
        )
        progress("proving a bound", 0.0)
        grouping = Grouping.of_pieces(
            coded.row, shown.label, np.ones(len(shown.label), np.int64), objective="loss"
        )
        same = seen is coded and (formed.objective or facts(method).objective) == "loss"
        found = formed.proof if same else None
        proof = at.bound(seen, task, partial(bound_of, "loss", replace(task, stop_at=None), found))
    receipt = replace(
        at.seal(opened)(),
        figures=_figures(verdict, proof, noise_of("loss", seen.total, seen.weight, "span")),
    )
    certificate = certify(plan, method, seen, grouping, verdict, receipt, {}, known.guessed)
    place = InSeries(
        REGISTER,
        number,
        None if former.certificate is None else former.certificate.digest,
        _counts(state, at_former, ground, shown, enlisted, lists, published),
    )
    certificate = replace(certificate, factor=None, series=place)
    groups = Groups(shown.label.astype(np.int32), None, np.arange(source.size), source.astype(np.int32))
    finished = Finished(published, groups, published, groups, seal=mark_of(published))
    kept = replace(kept, marks=marks_of(plan, kept.key))
    progress("done", 1.0)
    return Release(
        table=at.hand_back(opened, finished)[0],
        groups=groups,
        verdict=verdict,
        certificate=certificate,
        plan=plan,
        left_out=tuple(name for name in opened.columns if name not in plan.columns),
        guessed=known.guessed,
        doubts=known.doubts,
        repeats=(),
        lookups={},
        lists=lists,
        forgotten=forgotten,
        _published=finished,
        _receipt=receipt,
        _register=Register(kept, lists, ids, former.path, former.redo),
    )


def of_rows(plan: Plan) -> Plan:
    """The plan of the rows alone: what they show, by k, with nothing of what is listed."""
    kinds = {name: tree for name, tree in plan.hierarchies.items() if name in plan.quasi}
    return replace(plan, series=None, sensitive=(), keep=(), rules=(), unit="rows", hierarchies=kinds)


def check_kinds(known: Known) -> None:
    """Refuse columns whose cells no register can keep."""
    for book in known.books:
        if book.column.kind not in {"number", "date", "tree"}:
            raise unfit_for_register(book.column.name, book.column.kind)


def hiding(columns: tuple[Column, ...], table: pl.DataFrame, cells: str) -> tuple[Column, ...]:
    """The columns as a table may show them: no bounds may hide a missing cell of a former release."""

    def one(column: Column) -> Column:
        its = f"{column.name}_low"
        if not column.numbers or column.has_missing or its not in table.columns:
            return column
        if cells != "bounds" or not table[its].null_count():
            return column
        (axis,) = column.axes
        axis = replace(axis, missing=axis.size, size=axis.size + 1)
        counts = tuple(np.append(its, 0) for its in column.counts)
        return replace(column, axes=(axis,), has_missing=True, counts=counts)

    return tuple(one(column) for column in columns)


def check_gone(gone: NDArray[np.uint8], persons: NDArray[np.uint8]) -> None:
    """Refuse to forget those who are in the table: they would be listed again as if they were new."""
    there = len({*map(bytes, gone)} & {*map(bytes, persons)}) if len(gone) else 0
    if there:
        raise DataError(
            f"{there:,} of those to be forgotten are in the table. What was published of them would count "
            "for nothing. Leave their rows out, now and later.",
            field="forget",
        )


def _times(
    state: RegisterState, at_former: Rows, ground: Ground, points: NDArray[np.uint8], number: int
) -> tuple[Codes, Codes]:
    """Since when a row's cells count, and since when it has been there, without a break, at one point."""
    since, stay, was = (state.lines(name, at_former, 0) for name in ("since", "stay", "point"))
    now = np.int32(number)
    begins = ground.is_free | (stay == 0) | (points != was).any(axis=1)
    return np.where(ground.is_free, now, since), np.where(begins, now, stay)


def _dealt(grouping: Grouping, coded: Coded) -> Rows:
    """A label per row: copies are dealt in the rows' order."""
    label = np.empty(coded.row.size, np.int64)
    label[np.argsort(coded.row, kind="stable")] = np.repeat(grouping.group, grouping.count)
    return label


def _together(table: pl.DataFrame, known: Known, plan: Plan, progress: Progress, rows: Rows) -> Rows:
    """Groups of some rows by the plan's method: a label per row."""
    coded = code(table[pl.Series(rows)], known, plan)
    method, task = task_of(coded, plan, progress)
    return _dealt(form_groups(method, replace(task, guided=False), coded), coded)


def _recode(ground: Ground, shown: Shown, enlisted: Enlisted, plan: Plan) -> tuple[pl.DataFrame, Rows]:
    """The finished table, by its published values, and the row behind each line."""
    cells = cells_of(ground.columns, shown.low, shown.high, plan)[pl.Series(shown.label)]
    school = pl.Series(SCHOOL, enlisted.school)
    table = cells.with_columns(school.set(school < 0, None)).with_row_index("\0row")
    table = table.sort([name for name in table.columns if name != "\0row"], nulls_last=True)
    return anew(table.drop("\0row")), table["\0row"].to_numpy().astype(np.int64)


def _ranges(ground: Ground, shown: Shown) -> Ranges:
    """From where to where the shown cells of each number and date reach."""
    ranges: dict[str, tuple[tuple[float, float] | None, ...]] = {}
    for place, column in enumerate(ground.columns):
        if column.axes[0].form != LINE:
            continue
        says = shown.high[:, place] != column.axes[0].missing
        values = column.numbers[0]
        ends = None
        if says.any():
            low, high = shown.low[says, place].min(), shown.high[says, place].max()
            ends = (float(values[low]), float(values[high]))
        ranges[column.name] = (ends,)
    return ranges


def _counts(
    state: RegisterState,
    at_former: Rows,
    ground: Ground,
    shown: Shown,
    enlisted: Enlisted,
    lists: pl.DataFrame,
    published: pl.DataFrame,
) -> InRegister:
    listed = published[SCHOOL].drop_nulls()
    known = at_former >= 0
    return InRegister(
        lists=hashlib.sha256(lists.write_csv().encode()).hexdigest(),
        widened=shown.widened,
        finer=shown.finer,
        moved=int((known & ground.is_free).sum()),
        returned=int((state.lines("stay", at_former, 1) == 0).sum()),
        schools=lists[SCHOOL].n_unique(),
        new=enlisted.new,
        entries=lists.height,
        entries_of_leavers=max(0, lists.height - len(listed)),
        unlisted=published[SCHOOL].null_count(),
        outdated=enlisted.outdated,
    )


def _figures(verdict: Verdict, proof: Any, noise: float) -> Figures:
    """Every figure, exact: the loss is what the check measured."""
    value = verdict.loss or 0.0
    proof = hold_below(proof, value, noise) if proof is not None else None
    return Figures(
        value=value,
        bound=proof.bound if proof else None,
        bound_name=proof.name if proof else None,
        bound_parameters=dict(proof.parameters) if proof else {},
        loss=verdict.loss,
        loss_percent=verdict.loss_percent,
        columns=verdict.columns,
        steps=0,
        persons=verdict.persons.fewest if verdict.persons is not None else None,
    )

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
from shoal.bound import hold_below
from shoal.check import Line, judge, judge_register, rule_lists
from shoal.encode import code, missing_to_null, survey
from shoal.encode.published import as_published
from shoal.encode.tree import to_text
from shoal.engines.memory import Finished
from shoal.errors import BrokenPromise, DataError, PlanError
from shoal.group.standing.boxes import Settled, Shown, settle, show
from shoal.group.standing.lists import Enlisted, Listed, enlist
from shoal.model.certificate import Certificate
from shoal.model.column import LINE
from shoal.model.figures import Figures, Ranges
from shoal.model.fitting import unfit_for_register
from shoal.model.grouping import Grouping, Groups
from shoal.model.hierarchy import Builder
from shoal.model.known import Known
from shoal.model.mark import mark_of
from shoal.model.missing import one_missing
from shoal.model.plan import Plan
from shoal.model.register import NOBODY, RegisterState
from shoal.model.series import REGISTER, SAME, SCHOOL, SINCE, InRegister, InSeries
from shoal.model.standing import DIGEST, Ground, digest_of, ground_of, sides_of
from shoal.model.task import Progress
from shoal.model.verdict import Verdict
from shoal.model.whom import Behind
from shoal.recode import anew
from shoal.recode.generalize import cells_of
from shoal.run.anonymize import bound_of, form_groups, task_of, threads
from shoal.run.certify import certify
from shoal.run.release import Release

__all__ = ["Before", "Register", "persons_of", "release_register"]

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
        _check_plan(plan, former.state)
        plan = replace(plan, kinds={**_undeclared(plan, former.state), **plan.kinds})
    with threads(plan.threads):
        opened = at.open(frame, plan)
        table, ids = _by_person(opened.frame, plan)
        progress("encoding", 0.0)
        rows_plan = _of_rows(plan)
        known = survey(table, replace(rows_plan, keep=(*plan.sensitive, *plan.keep)))
        _check_kinds(known)
        coded = code(table, known, rows_plan)
        state, forgotten = former.state.without(persons_of(pl.Series([*forget]), former.state.key))
        at_former = state.find(persons_of(ids, state.key))
        progress("grouping", 0.0)
        ground = ground_of(coded, state.boxes, state.sides, state.key)
        settled = settle(
            ground,
            _stood(state.box, at_former),
            plan.k,
            partial(_together, table, known, rows_plan, progress),
            widen=plan.widen,
        )
        entries = one_missing(table, plan).select(*plan.sensitive, *plan.keep)
        lists, enlisted = _enlist(
            table, entries, known, plan, state, former, at_former, ground, settled, progress
        )
        shown = show(ground, settled, plan.k)
        if shown.label.max(initial=-1) < 0:
            raise DataError(
                f"Fewer than k = {plan.k} persons can be shown together. Nothing can be published yet.",
                field="k",
            )
        progress("recoding", 0.0)
        published, source = _recode(ground, shown, enlisted, plan)
        number = state.number + 1
        kept, at_now = _keep(state, ids, ground, settled, enlisted, number)
        progress("checking", 0.0)
        seen = as_published(coded, _ranges(ground, shown))
        waiting = int((shown.label < 0).sum())
        verdict = judge(
            published,
            replace(rows_plan, keep=(SCHOOL,), unit=plan.unit),
            seen.columns,
            withheld=waiting,
            persons=Behind(np.arange(source.size), ids[pl.Series(source)]),
        )
        line = Line(source, at_former, at_now, entries)
        faults = judge_register(published, lists, former.lists, plan, coded, line, state, kept)
        rulings = rule_lists(lists, plan.rules_read, number, _trees(plan, entries))
        broken = [
            f"The rule {one.rule!r} fails in {one.failing} new lists." for one in rulings if not one.holds
        ]
        verdict = replace(
            verdict, reasons=(*verdict.reasons, *faults, *broken), rules=(*rulings, *verdict.rules)
        )
        progress("proving a bound", 0.0)
        method, task = task_of(coded, rows_plan, progress)
        grouping = Grouping.of_pieces(
            coded.row, shown.label, np.ones(len(shown.label), np.int64), objective="loss"
        )
        proof = at.bound(seen, partial(bound_of, "loss", replace(task, stop_at=None), None))
    figures = _figures(verdict, proof)
    receipt = replace(at.seal(opened), figures=figures)
    certificate = certify(plan, method, seen, grouping, verdict, receipt, {}, known.guessed)
    place = InSeries(
        REGISTER,
        number,
        None if former.certificate is None else former.certificate.digest,
        _counts(state, at_former, settled, enlisted, shown, lists, published),
    )
    certificate = replace(certificate, factor=None, series=place)
    groups = Groups(shown.label.astype(np.int32), None, np.arange(source.size), source.astype(np.int32))
    finished = Finished(published, published, groups, seal=mark_of(published))
    kept = replace(kept, marks=_marks(plan, kept.key), kinds={c.name: c.kind for c in coded.columns})
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


def _of_rows(plan: Plan) -> Plan:
    """The plan of the rows alone: what they show, by k, with nothing of what is listed."""
    kinds = {name: tree for name, tree in plan.hierarchies.items() if name in plan.quasi}
    return replace(
        plan, series=None, widen=False, sensitive=(), keep=(), rules=(), unit="rows", hierarchies=kinds
    )


def _check_kinds(known: Known) -> None:
    for book in known.books:
        if book.column.kind not in {"number", "date", "tree"}:
            raise unfit_for_register(book.column.name, book.column.kind)


def _undeclared(plan: Plan, state: RegisterState) -> dict[str, str]:
    """The kinds of the releases before, for columns of which the plan says nothing."""
    return {name: kind for name, kind in state.kinds.items() if plan.kind(name) is None}


def _marks(plan: Plan, key: bytes) -> dict[str, str]:
    """Keyed digests of what all releases of a register share."""
    trees = {
        name: tree.text if isinstance(tree, Builder) else tree.fingerprint
        for name, tree in plan.hierarchies.items()
    }
    said = {name: getattr(plan, name) for name in SAME}
    said |= {"hierarchies": sorted(trees.items()), "missing": plan.missing_text}
    return {name: digest_of(key, name, repr(value)).hex() for name, value in said.items()}


def _check_plan(plan: Plan, state: RegisterState) -> None:
    marks = _marks(plan, state.key)
    differ = [name for name, mark in marks.items() if state.marks.get(name) != mark]
    if differ:
        raise PlanError(
            f"The plan differs from that of release {state.number} in: {', '.join(differ)}. What a series "
            "promises holds for one plan. Use the former one, or begin a new series with other persons.",
            field=differ[0],
        )


def persons_of(ids: pl.Series, key: bytes) -> NDArray[np.uint8]:
    """The keyed digest of each person."""
    texts = ids.cast(pl.String).str.strip_chars().to_list()
    digests = b"".join(digest_of(key, "", text) for text in texts)
    return np.frombuffer(digests, np.uint8).reshape(-1, DIGEST)


def _by_person(frame: pl.DataFrame, plan: Plan) -> tuple[pl.DataFrame, pl.Series]:
    """The table in an order that tells nothing and only its persons' names decide; and these names."""
    unit = plan.whom.unit
    assert unit is not None, "a register has a unit"
    if unit not in frame.columns:
        return frame, pl.Series(unit, [""] * frame.height)  # the survey says what is wrong
    ids = to_text(missing_to_null(frame[unit], plan)).str.strip_chars()
    if ids.null_count():
        raise DataError(
            f"Column {unit!r} does not say who {ids.null_count():,} rows belong to. A register follows "
            "persons: name everybody, or leave those rows out.",
            field="unit",
            column=unit,
        )
    twice = len(ids) - ids.n_unique()
    if twice:
        persons = int((ids.value_counts()["count"] > 1).sum())
        raise DataError(
            f"Column {unit!r} names {persons:,} persons twice. A register has one row per person and "
            "release: "
            "keep the latest, or sum them up.",
            field="unit",
            column=unit,
        )
    order = np.argsort(np.array([hashlib.sha256(text.encode()).digest() for text in ids.to_list()], "S32"))
    place = pl.Series(order)
    return frame[place], ids[place]


def _stood(where: NDArray[np.int32], at: Rows) -> Rows:
    """Where each row stood, -1 for new persons."""
    return np.where(at >= 0, where[at] if len(where) else NOBODY, NOBODY).astype(np.int64)


def _together(table: pl.DataFrame, known: Known, plan: Plan, progress: Progress, rows: Rows) -> Rows:
    """Groups of some rows by the plan's method: a label per row; copies are dealt in the rows' order."""
    coded = code(table[pl.Series(rows)], known, plan)
    method, task = task_of(coded, plan, progress)
    grouping = form_groups(method, task, coded)
    label = np.empty(rows.size, np.int64)
    label[np.argsort(coded.row, kind="stable")] = np.repeat(grouping.group, grouping.count)
    return label


def _enlist(
    table: pl.DataFrame,
    entries: pl.DataFrame,
    known: Known,
    plan: Plan,
    state: RegisterState,
    former: Before,
    at_former: Rows,
    ground: Ground,
    settled: Settled,
    progress: Progress,
) -> tuple[pl.DataFrame, Enlisted]:
    """New schools for those who have none, and all lists."""
    school = _stood(state.school, at_former)
    has_row = settled.box >= 0
    fresh = np.flatnonzero((school < 0) & has_row)
    born = np.full(table.height, -1, np.int64)
    if fresh.size >= plan.k:
        ruled = replace(plan, series=None, widen=False, unit="rows")
        try:
            born[fresh] = _together(table, known, ruled, progress, fresh)
        except DataError:
            if state.number == 0:
                raise  # nobody has a list yet: nothing could be published
    old = former.lists if former.lists is not None else _no_lists(entries)
    values, listed = _coded_values(entries, old, plan)
    past = [(row, int(s)) for row, s in _past_of(state, at_former)]
    rules = [(plan.sensitive.index(rule.column), rule) for rule in plan.rules_read]
    enlisted = enlist(ground, school, past, listed, values, born, rules, has_row)
    first = int(old[SCHOOL].max() or 0) + 1 if old.height else 1  # type: ignore[arg-type]
    if enlisted.new and int(enlisted.school.max()) != first + enlisted.new - 1:
        raise BrokenPromise("Schools are numbered on.")
    new = entries.with_columns(pl.Series(SCHOOL, enlisted.school)).filter(pl.col(SCHOOL) >= first)
    new = new.with_columns(pl.lit(state.number + 1, pl.Int64).alias(SINCE)).select(old.columns)
    new = new.cast(old.schema).sort(new.columns, nulls_last=True)
    return anew(pl.concat([old, new])), enlisted


def _no_lists(entries: pl.DataFrame) -> pl.DataFrame:
    texts = dict.fromkeys(entries.columns, pl.String)  # as in their file, whatever type a table came in
    return pl.DataFrame(schema={SCHOOL: pl.Int64, **texts, SINCE: pl.Int64})


def _past_of(state: RegisterState, at_former: Rows) -> Iterable[tuple[int, int]]:
    row_of = {int(person): row for row, person in enumerate(at_former.tolist()) if person >= 0}
    return ((row_of[int(p)], int(s)) for p, s in state.past.tolist() if int(p) in row_of)


def _coded_values(
    entries: pl.DataFrame, lists: pl.DataFrame, plan: Plan
) -> tuple[NDArray[np.int64], Listed]:
    """Sensitive values of rows and of entries in one coding."""
    codes: list[NDArray[np.int64]] = []
    for name in plan.sensitive:
        both = pl.concat([entries[name].cast(pl.String), lists[name].cast(pl.String)])
        codes.append(both.rank("dense").fill_null(0).to_numpy().astype(np.int64))
    rows = entries.height
    values = np.stack(codes, axis=1) if codes else np.zeros((rows + lists.height, 0), np.int64)
    return values[:rows], Listed(lists[SCHOOL].to_numpy().astype(np.int64), values[rows:])


def _recode(ground: Ground, shown: Shown, enlisted: Enlisted, plan: Plan) -> tuple[pl.DataFrame, Rows]:
    """The finished table, by its published values, and the row behind each line."""
    rows = np.flatnonzero(shown.label >= 0)
    cells = cells_of(ground.columns, shown.low, shown.high, plan)[pl.Series(shown.label[rows])]
    school = pl.Series(SCHOOL, enlisted.school[rows])
    table = cells.with_columns(school.set(school < 0, None), pl.Series("\0row", rows))
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


def _keep(
    state: RegisterState, ids: pl.Series, ground: Ground, settled: Settled, enlisted: Enlisted, number: int
) -> tuple[RegisterState, Rows]:
    """The state after this release, and the line of every row in it. Whoever left stays in it."""
    mine = persons_of(ids, state.key)
    at = state.find(mine)
    new = np.flatnonzero(at < 0)
    at = at.copy()
    at[new] = len(state.person) + np.arange(new.size)
    person = np.concatenate([state.person, mine[new]])
    box = np.concatenate([state.box, np.full(new.size, NOBODY, np.int32)])
    school = np.concatenate([state.school, np.full(new.size, NOBODY, np.int32)])
    box[at], school[at] = settled.box, enlisted.school
    past = np.concatenate([state.past, np.stack([at[enlisted.left[:, 0]], enlisted.left[:, 1]], axis=1)])
    order = np.lexsort(person.T[::-1])
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    boxes, sides = _all_sides(state, ground, settled)
    kept = replace(
        state,
        number=number,
        person=person[order],
        box=box[order].astype(np.int32),
        school=school[order].astype(np.int32),
        past=np.stack([rank[past[:, 0].astype(np.int64)], past[:, 1]], axis=1).astype(np.int32),
        boxes=boxes,
        sides=sides,
        followed=False,
    )
    return kept, rank[at]


def _all_sides(state: RegisterState, ground: Ground, settled: Settled) -> tuple[Any, Any]:
    """Old boxes as they were, but for those that widened; then the new ones."""
    old = len(state.boxes)
    same = (settled.low[:old] == ground.low) & (settled.high[:old] == ground.high)
    wider = np.flatnonzero(~same.all(axis=1))
    low = np.concatenate([settled.low[wider], settled.low[old:]])
    high = np.concatenate([settled.high[wider], settled.high[old:]])
    boxes, sides = sides_of(ground.columns, low, high, state.key)
    before = state.boxes.copy()
    all_sides = []
    for place, its in enumerate(sides):
        known = state.sides[place] if old else its[:0]
        all_sides.append(np.concatenate([known, its]))
        boxes[:, place] += len(known)
    before[wider] = boxes[: wider.size]
    return np.concatenate([before, boxes[wider.size :]]), tuple(all_sides)


def _counts(
    state: RegisterState,
    at_former: Rows,
    settled: Settled,
    enlisted: Enlisted,
    shown: Shown,
    lists: pl.DataFrame,
    published: pl.DataFrame,
) -> InRegister:
    listed = published[SCHOOL].drop_nulls()
    return InRegister(
        lists=hashlib.sha256(lists.write_csv().encode()).hexdigest(),
        boxes=len(settled.low),
        founded=settled.founded,
        refined=settled.refined,
        joined=settled.joined,
        moved=settled.moved,
        schools=lists[SCHOOL].n_unique(),
        new=enlisted.new,
        entries=lists.height,
        entries_of_leavers=max(0, lists.height - len(listed)),
        unlisted=published[SCHOOL].null_count(),
        outdated=enlisted.outdated,
        waiting=int((shown.label < 0).sum()),
    )


def _trees(plan: Plan, entries: pl.DataFrame) -> dict[str, Any]:
    """The hierarchies that rules measure by."""
    trees: dict[str, Any] = {}
    for name in plan.ruled_by_hierarchy:
        tree = plan.hierarchies[name]
        if isinstance(tree, Builder):
            values = entries[name].cast(pl.String).drop_nulls().unique().to_list()
            tree = tree.build(values, column=name)
        trees[name] = tree
    return trees


def _figures(verdict: Verdict, proof: Any) -> Figures:
    """Every figure, exact: of boxes that stay, the loss is what the check measured."""
    value = verdict.loss or 0.0
    proof = hold_below(proof, value) if proof is not None else None
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

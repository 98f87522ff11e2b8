"""The story of a release, from a table to what can be written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from shoal import engines
from shoal.bound import prove
from shoal.engines import CodedTable
from shoal.errors import PlanError
from shoal.group import check_fit, choose, facts, fill_options, load
from shoal.group.improve import cycles
from shoal.group.improve.cycles import improve, percent_of
from shoal.group.rules import enforce as rules
from shoal.group.rules.enforce import check_feasible, enforce
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.facts import Facts
from shoal.model.fields import explained
from shoal.model.figures import round_down
from shoal.model.given_back import give_back
from shoal.model.grouping import Grouping, Proof
from shoal.model.plan import Plan
from shoal.model.series import REGISTER
from shoal.model.task import Doing, Effort, Progress, Task, quiet, quota, stepped
from shoal.model.words import Words
from shoal.run.certify import certify, measure, reach
from shoal.run.keys import key_of
from shoal.run.plans import plan_of
from shoal.run.release import Release
from shoal.run.series import take_place

__all__ = ["anonymize", "bound_of", "form_groups", "task_of", "threads"]


@explained()
def anonymize(
    frame: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    matrix: Any = None,
    after: Any = None,
    redo: bool = False,
    forget: Iterable[Any] = (),
    key: str | os.PathLike[str] | None = None,
    progress: Progress = quiet,
    **words: Unpack[Words],
) -> Release:
    """Make a table k-anonymous, judge it, and say how close to the best possible it is.

    Say what is wanted by a `Plan`, by keywords, or by both: keywords override the plan's fields. A keyword
    that is no field of a plan is an option of the method.

    Args:
        frame: A pandas, Polars or Arrow frame, eager or lazy, a dataset of Arrow, or what
            `shoal.scan_table` opened. It is not changed.
        plan: What is wanted: a `Plan`, a plan file, or what `read_plan` gave; keywords may say it all.
        matrix: The distance of every two rows, in the order of the frame, for methods that take the
            distance `matrix`.
        after: The former release of a series, which this one follows: the state of a register, or the
            certificate of a ledger, as files; a certificate also as a value.
        redo: Make a release of a register again after a state that was followed already, because that
            release reached nobody.
        forget: Persons whom the state of a register no longer knows; what was listed of them stays.
        key: The file of the key of pseudonyms, for you alone; where there is none of that name, it is made.
        progress: Called with what is being done, a `shoal.Doing`: words without cells, with the loss so far
            and what nobody can beat as numbers where they are known; and with the share done.

    Returns:
        The release: its table, of the same kind as the frame, its verdict and its certificate. Nothing is
        written before `Release.write`.

    Raises:
        PlanError: What is asked for cannot be right, whatever the table holds.
        DataError: The table does not fit what is asked; `TooFewRows`, `TooFewPersons` and
            `UncertainCount` are such errors.

    Example:
        >>> import polars as pl, shoal
        >>> table = pl.DataFrame({"age": [21, 22, 35, 36], "flu": ["no", "yes", "no", "yes"]})
        >>> release = shoal.anonymize(table, k=2, quasi=["age"], sensitive=["flu"])
        >>> release.table.rows()
        [('[21, 22]', 'no'), ('[21, 22]', 'yes'), ('[35, 36]', 'no'), ('[35, 36]', 'yes')]
        >>> release.verdict.has_passed
        True

    """
    plan, place = take_place(plan_of(plan, words), after)
    secret, keep_key = key_of(plan, key)
    progress = stepped(progress)
    if plan.series == REGISTER:
        from shoal.run.keep import before_of
        from shoal.run.register import release_register

        before = before_of(after, redo=redo)
        return release_register(frame, plan, before, forget=forget, progress=progress)
    if redo or forget:
        word = "redo" if redo else "forget"
        raise PlanError(f"Only a register has a state to {word}. Leave it out.", field=word)
    if matrix is not None and plan.distance == "span":
        plan = replace(plan, distance="matrix")
    at, plan = engines.settle(plan, frame)
    if plan.engine == "memory":  # the others know where their parts are grouped
        method = choose() if plan.method == "auto" else plan.method
        about = facts(method)
        improves = _will_improve(about, plan.improve, fill_options(method, plan.options))
        _prepare(about, plan.threads, progress, improves=improves, obeys=bool(plan.rules))
    with threads(plan.threads):
        table = at.open(frame, plan, secret)
        del frame  # of a table in memory more and more is let go, and most of it is here
        progress("encoding", 0.0)
        known = at.survey(table, plan, progress)
        sealing = at.seal(table)
        coded = at.code(table, known, plan, progress, matrix=matrix)
        sealed, columns = sealing(), table.columns
        table = at.when_coded(table, plan)
        plan = at.choose(plan, coded)
        method, task = task_of(coded, plan, progress)
        progress("grouping", 0.0)
        grouping = at.group(coded, task, plan, partial(form_groups, method))
        # what is said of the release from here on is in the unit of what is published
        places, seen = at.see(coded, grouping, plan)
        objective = grouping.objective or facts(method).objective
        found = grouping.proof if seen is coded else None
        progress("proving a bound", 0.0)
        proof = at.bound(seen, task, partial(bound_of, objective, task, found), grouping)
        reached = reach(plan, objective, at.value, seen, grouping)
        del coded, found
        progress("recoding", 0.0)
        table, seen, grouping = at.when_proved(table, seen, grouping, plan)
        published = at.recode(table, seen, grouping, plan, progress)
        repeats = at.whom(table, published, plan, seen)
        keep_key()  # the last that may be refused is behind us
        table, seen, grouping = at.when_published(table, seen, grouping, plan)
        progress("checking", 0.0)
        verdict = at.check(table, published, plan, seen, progress, withheld=grouping.withheld)
    figures = measure(plan, objective, reached, seen, grouping, verdict, proof)
    receipt = replace(sealed, figures=replace(figures, places=places))
    certificate = certify(plan, method, seen, grouping, verdict, receipt, published.marks, known.guessed)
    certificate = replace(certificate, series=place)
    handed, lookups = at.hand_back(table, published)
    progress("done", 1.0)
    return Release(
        table=handed,
        groups=published.groups,
        verdict=verdict,
        certificate=certificate,
        plan=plan,
        left_out=tuple(name for name in columns if name not in plan.columns),
        guessed=known.guessed,
        doubts=known.doubts,
        repeats=repeats,
        lookups=lookups,
        _published=published,
        _receipt=receipt,
        _columns=seen.columns,
        _key=key,
    )


def task_of(coded: CodedTable, plan: Plan, progress: Progress) -> tuple[str, Task]:
    """The method to run and what it is asked; the method is compared with the plan here."""
    method = choose() if plan.method == "auto" else plan.method
    options = fill_options(method, plan.options)
    check_fit(method, plan, coded.columns)
    return method, Task(
        k=plan.k,
        withhold=quota(plan.withhold, coded.total),
        options=options,
        effort=Effort.parse(plan.effort),
        improve=plan.improve,
        stop_at=plan.stop_at,
        seed=plan.seed,
        threads=plan.threads,
        progress=progress,
    )


def form_groups(method: str, task: Task, coded: Coded) -> Grouping:
    """Run a method, prove a bound, improve what the method found with what the proof tells, enforce rules.

    Improvement comes where asked or where the method always has it; `search=no` switches that off. Rules
    come last: improvement does not know them.
    """
    about = facts(method)
    check_feasible(coded, task.k)
    will_improve = _will_improve(about, task.improve, task.options)
    obeys_itself = about.obeys == "itself"
    _prepare(about, task.threads, task.progress, improves=will_improve, obeys=coded.held is not None)
    grouping: Grouping = load(method).group(coded if obeys_itself else coded.plain, task)
    give_back()
    if about.objective == "loss" and (task.stop_at is not None or (will_improve and task.guided)):
        # improvement learns from the bound what groups ought to cost, and when it is enough
        later = task.stop_at is None and _may_hide(coded, task)
        proof = prove(about.objective, coded, task, grouping.proof, grouping, later=later)
        grouping = replace(grouping, proof=proof)
        _tell_floor(coded, task, proof)
    if will_improve:
        grouping = improve(coded.plain, grouping, task)
    if coded.held is not None and not obeys_itself:
        task.progress("enforcing rules", 0.0)
        grouping = enforce(coded, grouping, task, about)
    return grouping


def _may_hide(coded: Coded, task: Task) -> bool:
    """Whether what is published may have another unit, in which a bound must be proved once more."""
    return bool(task.withhold) or bool((coded.metric.missing[coded.metric.form == LINE] >= 0).any())


def _will_improve(about: Facts, asked: bool, options: Mapping[str, Any]) -> bool:
    """Whether what a method finds is improved."""
    return about.objective == "loss" and (asked or (about.improves and bool(options.get("search", True))))


def _prepare(about: Facts, threads: int, progress: Progress, *, improves: bool, obeys: bool) -> None:
    """On a machine's first run have compiled meanwhile what is needed later."""
    if improves:
        cycles.prepare(threads, progress)
    if obeys and about.obeys != "itself":
        rules.prepare(threads, progress)


def _tell_floor(coded: Coded, task: Task, proof: Proof | None) -> None:
    """Tell whoever watches what no release can beat."""
    if proof is not None:
        least = round_down(percent_of(coded, proof.bound))
        task.progress(Doing("improving", least=least), 0.0)


def bound_of(
    objective: str, task: Task, found: Proof | None, coded: Coded, *, grouping: Grouping | None = None
) -> Proof | None:
    """The strongest bound there is for an objective.

    One that was proved before the search is made better by the groups of the release, where that helps. It
    guides no search any more.
    """
    proof = prove(objective, coded, task, found, grouping)
    return None if proof is None else replace(proof, guide=None)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Run the kernels on `number` threads, 0 for all; results do not depend on it."""
    import numba

    before = numba.get_num_threads()
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    numba.set_num_threads(min(number, most) if number else most)
    try:
        yield
    finally:
        numba.set_num_threads(before)

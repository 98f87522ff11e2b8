"""From a table to a release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import engines
from shoal.model.guess import doubt_label
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt
from shoal.model.task import Progress, quiet
from shoal.read.frames import from_polars, to_polars
from shoal.run.certify import certify, judge
from shoal.run.plans import plan_of
from shoal.run.release import Release, Repeats

if TYPE_CHECKING:
    import polars as pl

__all__ = ["anonymize"]


def anonymize(
    frame: Any,
    plan: Plan | None = None,
    *,
    matrix: Any = None,
    progress: Progress = quiet,
    **words: Any,
) -> Release:
    """Make `frame` meet the plan, and say how well.

    Give a `Plan`, or its fields as keywords (they override the plan's); an unknown keyword is an option
    of the method. `matrix` is the distance of every two rows, in the order of the frame, for methods that
    take the distance `matrix`.
    """
    plan = plan_of(plan, words)
    if matrix is not None and plan.distance == "span":
        plan = replace(plan, distance="matrix")
    native, original = to_polars(frame)
    at = engines.load(plan.engine)
    with at.threads(plan.threads):
        progress("encoding", 0.0)
        coded = at.encode(original, plan, matrix=matrix)
        method, task = at.task_of(coded, plan, progress)
        progress("grouping", 0.0)
        grouping = at.group(method, coded, task)
        progress("recoding", 0.0)
        table, groups = at.recode(original, coded, grouping, plan)
        progress("checking", 0.0)
        verdict = judge(at, plan, original, coded, grouping, table, groups)
        progress("proving a bound", 0.0)
        objective = grouping.objective or at.facts(method).objective
        proof = at.bound(objective, coded, task, grouping.proof)
    certificate = certify(at, plan, method, coded, grouping, verdict, proof)
    lookups: dict[str, pl.DataFrame] = {}
    if plan.cells == "id":
        table, lookups = at.to_ids(table, coded.columns)
        marks = {name: at.digest_of(lookup) for name, lookup in lookups.items()}
        certificate = replace(certificate, more={**certificate.more, "lookups": marks})
    receipt = Receipt.of(original)
    guessed = {c.name: c.kind for c in coded.columns if plan.kind(c.name) is None}
    labels = [name for name, kind in guessed.items() if kind == "label"]
    doubts = [doubt_label(original[name], plan.missing) for name in labels]
    progress("done", 1.0)
    return Release(
        table=from_polars(table, native),
        groups=groups,
        verdict=verdict,
        certificate=certificate,
        plan=plan,
        left_out=tuple(name for name in original.columns if name not in plan.columns),
        guessed=guessed,
        doubts=tuple(doubt for doubt in doubts if doubt),
        repeats=tuple(_repeats(original, plan)),
        _published=table,
        _receipt=receipt,
        lookups=lookups,
    )


def _repeats(original: pl.DataFrame, plan: Plan) -> Iterator[Repeats]:
    for name in plan.identifier:
        if name == plan.unit:  # then k counts persons
            continue
        sizes = original[name].drop_nulls().value_counts(name="\0rows")["\0rows"]
        often = sizes.filter(sizes > 1)
        if len(often):
            yield Repeats(name, len(often), int(often.sum()), int(often.max()))  # type: ignore[arg-type]

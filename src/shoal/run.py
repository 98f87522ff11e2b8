"""The six verbs in order."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import narwhals as nw

from shoal import engines
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate, ratio_of
from shoal.model.grouping import Groups
from shoal.model.plan import Plan
from shoal.model.task import Progress, quiet
from shoal.model.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Release", "anonymize"]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A finished table with its verdict and certificate; `write` publishes it.

    `table` is of the same kind as the frame that came in. `left_out` names the columns without a role.
    """

    table: Any
    groups: Groups
    verdict: Verdict
    certificate: Certificate
    plan: Plan
    left_out: tuple[str, ...]


def anonymize(frame: Any, plan: Plan | None = None, *, progress: Progress = quiet, **words: Any) -> Release:
    """Make `frame` meet the plan, and say how well.

    Give a `Plan`, or its fields as keywords (they override the plan's); an unknown keyword is an option
    of the method.
    """
    plan = plan_of(plan, words)
    native, original = to_polars(frame)
    at = engines.load(plan.engine)
    progress("encoding", 0.0)
    coded = at.encode(original, plan)
    method, task = at.task_of(coded, plan, progress)
    progress("grouping", 0.0)
    grouping = at.group(method, coded, task)
    progress("recoding", 0.0)
    table, groups = at.recode(original, coded, grouping, plan)
    progress("checking", 0.0)
    verdict = at.check(table, plan, coded.columns, withheld=grouping.withheld)
    facts = at.facts(method)
    progress("proving a bound", 0.0)
    objective = grouping.objective or facts.objective
    proof = at.bound(objective, coded, task, grouping.proof)
    value = at.value(objective, coded, grouping)
    factor = grouping.factor or facts.factor(plan.k, len(plan.quasi))
    certificate = Certificate(
        shoal=version("shoal"),
        method=method,
        style=plan.style,
        k=plan.k,
        seed=plan.seed,
        steps=grouping.steps,
        records=coded.total,
        published=coded.total - grouping.withheld,
        withheld=grouping.withheld,
        classes=verdict.classes,
        smallest_class=verdict.smallest_class,
        mean_class=verdict.mean_class,
        objective=objective,
        value=value,
        bound=proof.bound if proof else None,
        bound_name=proof.name if proof else None,
        bound_parameters=dict(proof.parameters) if proof else {},
        ratio=ratio_of(value, proof.bound if proof else None),
        factor=factor,
        loss=verdict.loss,
        loss_percent=verdict.loss_percent,
        columns=verdict.columns,
        plan=plan.as_run(method=method, kinds={c.name: c.kind for c in coded.columns}),
    )
    left_out = tuple(name for name in original.columns if name not in plan.columns)
    return Release(from_polars(table, native), groups, verdict, certificate, plan, left_out)


def plan_of(plan: Plan | None, words: dict[str, Any]) -> Plan:
    """A plan with `words` laid over it; words that are not its fields become options of the method."""
    from dataclasses import fields

    names = {item.name for item in fields(Plan)}
    given = {name: value for name, value in words.items() if name in names}
    extra = {name: value for name, value in words.items() if name not in names}
    if plan is not None:
        if not isinstance(plan, Plan):
            raise PlanError("The second argument is a shoal.Plan. Give other words by name.")
        given = {name: getattr(plan, name) for name in names} | given
    if extra:
        given["options"] = {**given.get("options", {}), **extra}
    for name in ("k", "quasi"):
        if name not in given:
            raise PlanError(f"The plan does not say {name}. Give k and quasi.")
    return Plan(**given)


def to_polars(frame: Any) -> tuple[Any, pl.DataFrame]:
    """Any eager or lazy frame as Polars, with what is needed to go back."""
    try:
        narrow = nw.from_native(frame)
    except TypeError:
        raise DataError(
            "The table is not a frame Shoal knows. Give a pandas, Polars or Arrow frame."
        ) from None
    if isinstance(narrow, nw.LazyFrame):
        narrow = narrow.collect()
    names = narrow.columns
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise DataError(f"The table has doubled columns: {', '.join(doubled)}. Rename them.")
    return narrow, narrow.to_polars()


def from_polars(table: pl.DataFrame, like: Any) -> Any:
    """A Polars frame as the kind of frame that came in."""
    narrow = nw.from_native(table, eager_only=True)
    if like.implementation.is_pandas():
        return narrow.to_pandas()
    if like.implementation.is_pyarrow():
        return narrow.to_arrow()
    return table

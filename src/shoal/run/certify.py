"""What is said of groups that were made: the stranger's verdict and the certificate."""

from __future__ import annotations

from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING

from shoal.model.certificate import Certificate, ratio_of
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Groups, Proof
from shoal.model.plan import Kind, Plan
from shoal.model.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = ["certify", "judge"]


def judge(
    at: ModuleType,
    plan: Plan,
    original: pl.DataFrame,
    coded: Coded,
    grouping: Grouping,
    table: pl.DataFrame,
    groups: Groups,
) -> Verdict:
    """The stranger's verdict; who a row belongs to is told beside the table, which never says it."""
    trees = coded.held.trees if coded.held is not None else {}
    units = None
    if plan.unit is not None and groups.source is not None:
        units = original[plan.unit].gather(groups.source)
    verdict: Verdict = at.check(
        table, plan, coded.columns, withheld=grouping.withheld, units=units, trees=trees
    )
    return verdict


def certify(
    at: ModuleType,
    plan: Plan,
    method: str,
    coded: Coded,
    grouping: Grouping,
    verdict: Verdict,
    proof: Proof | None,
) -> Certificate:
    """All that is claimed of a release, in the objective's own unit."""
    facts = at.facts(method)
    objective = grouping.objective or facts.objective
    value = at.value(objective, coded, grouping)
    loss = value if objective == "loss" else at.value("loss", coded, grouping)
    if verdict.loss is not None:
        # published bounds and middles may not tell a missing cell from a suppressed one
        agree = abs(verdict.loss - loss) <= 1e-6 * max(1.0, abs(loss))
        assert agree or plan.cells != "text", "the check's loss is the loss of the groups"
        loss = verdict.loss
        value = loss if objective == "loss" else value
    percent: float | None = verdict.loss_percent
    if plan.style == "centres":  # values of one row, which say nothing of the spans of its group
        loss, percent = None, None
    elif percent is None:
        percent = 100 * loss / (coded.total * coded.weight)
    bound = proof.bound if proof else None
    return Certificate(
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
        bound=bound,
        bound_name=proof.name if proof else None,
        bound_parameters=dict(proof.parameters) if proof else {},
        ratio=ratio_of(value, bound),
        # a factor is proved against the best release without rules
        factor=None if coded.held is not None else grouping.factor or facts.factor(plan.k, len(plan.quasi)),
        loss=loss,
        loss_percent=percent,
        columns=verdict.columns,
        rules=verdict.rules,
        more=at.measures(objective, coded, grouping, plan),
        plan=plan.as_run(
            method=method, kinds={c.name: str(Kind(c.kind, ", ".join(c.parts))) for c in coded.columns}
        ),
    )

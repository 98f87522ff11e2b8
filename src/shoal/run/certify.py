"""What is said of groups that were made: the figures and the certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, NamedTuple

from shoal.bound import describe_squares, hold_below, noise_of, text_of_cuts, text_of_shares
from shoal.engines import CodedTable, Grouped
from shoal.errors import BrokenPromise
from shoal.group import facts as facts_of
from shoal.model.as_run import AsRun
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.facts import TOTAL_LOSS
from shoal.model.figures import Figures, round_down, round_up, shown_bound, shown_ratio
from shoal.model.grouping import Grouping, Proof
from shoal.model.kind import Kind
from shoal.model.plan import Plan
from shoal.model.pseudonym import links
from shoal.model.receipt import Receipt
from shoal.model.verdict import Ruling, Verdict

__all__ = ["Reached", "certify", "measure", "reach"]


class Reached(NamedTuple):
    """What groups reach: in the unit of the objective, the total loss, and more where that is asked for."""

    value: float
    loss: float
    more: dict[str, float]


def reach(
    plan: Plan,
    objective: str,
    value_of: Callable[[str, Any, Any], float],
    coded: CodedTable,
    grouping: Grouped,
) -> Reached:
    """What the groups of a release reach, in the unit of `coded`; `value_of` is the engine's."""
    value = value_of(objective, coded, grouping)
    loss = value if objective in TOTAL_LOSS else value_of("loss", coded, grouping)
    return Reached(value, loss, _squares(objective, coded, grouping, plan))


def measure(
    plan: Plan,
    objective: str,
    reached: Reached,
    coded: CodedTable,
    grouping: Grouped,
    verdict: Verdict,
    proof: Proof | None,
) -> Figures:
    """Every figure of a run, exact, in the unit of `coded`."""
    value = reached.value
    loss: float | None = reached.loss
    if verdict.loss is not None:
        # published bounds may not tell a missing cell from a suppressed one
        if plan.cells != "bounds" and not _is_close(verdict.loss, loss):
            raise BrokenPromise("The check's loss is the loss of the groups.")
        loss = verdict.loss
        value = loss if objective in TOTAL_LOSS else value
    percent: float | None = verdict.loss_percent
    if plan.style == "centres":  # values of one row, which say nothing of the spans of its group
        loss, percent = None, None
    elif percent is None:
        percent = 100 * (loss or 0.0) / (coded.total * coded.weight)
    if proof is not None:
        proof = hold_below(proof, value, noise_of(objective, coded.total, coded.weight, plan.distance))
    return Figures(
        value=value,
        bound=proof.bound if proof else None,
        bound_name=proof.name if proof else None,
        bound_parameters=dict(proof.parameters) if proof else {},
        bound_shares=text_of_shares(proof.shares) if proof and proof.shares is not None else "",
        bound_cuts=text_of_cuts(proof.cuts) if proof and proof.cuts is not None else "",
        loss=loss,
        loss_percent=percent,
        columns=verdict.columns,
        steps=grouping.steps,
        persons=next((int(r.measured or 0) for r in verdict.rules if _is_unit(r, plan)), None),
        more=reached.more,
    )


def _squares(objective: str, coded: CodedTable, grouping: Grouped, plan: Plan) -> dict[str, float]:
    """Sums of squares, where means are published or were the aim."""
    if plan.style == "means" or objective == "squares":
        assert isinstance(coded, Coded), "such tables are in memory"
        assert isinstance(grouping, Grouping), "such tables are in memory"
        return {**describe_squares(coded, grouping)}
    return {}


def _is_close(one: float, other: float | None) -> bool:
    return other is not None and abs(one - other) <= 1e-6 * max(1.0, abs(other))


def certify(
    plan: Plan,
    method: str,
    coded: CodedTable,
    grouping: Grouped,
    verdict: Verdict,
    receipt: Receipt,
    lookups: Mapping[str, str],
    guessed: Mapping[str, str],
) -> Certificate:
    """All that is claimed of a release, in the objective's own unit, as rounded as everybody may see it.

    `guessed` has the kinds that nobody declared.
    """
    facts = facts_of(method)
    exact = receipt.figures
    assert exact is not None, "a release is measured before it is certified"
    return Certificate(
        shoal=version("shoal"),
        method=method,
        style=plan.style,
        k=plan.k,
        seed=plan.seed,
        records=coded.total,
        published=coded.total - grouping.withheld,
        withheld=grouping.withheld,
        classes=verdict.classes,
        smallest_class=verdict.smallest_class,
        mean_class=verdict.mean_class,
        objective=grouping.objective or facts.objective,
        value=round_up(exact.value),
        bound=None if exact.bound is None else shown_bound(exact.value, exact.bound),
        bound_name=exact.bound_name,
        ratio=shown_ratio(exact.value, exact.bound),
        # a factor is proved against the best release without rules
        factor=None if coded.is_ruled else _up(grouping.factor or facts.factor(plan.k, len(plan.quasi))),
        loss=_up(exact.loss),
        loss_percent=_up(exact.loss_percent),
        columns=tuple(
            replace(
                one,
                loss=_up(one.loss),
                told_apart=_down(one.told_apart),
                denominator=None if column.numbers and not plan.tells_ranges else one.denominator,
            )
            for one, column in zip(exact.columns, coded.columns, strict=True)
        ),
        told_apart_percent=_down(verdict.told_apart_percent),
        rules=tuple(replace(r, measured=None) if _is_unit(r, plan) else r for r in verdict.rules),
        more={
            **{name: round_up(figure) for name, figure in exact.more.items()},
            **({"centre": plan.centre} if plan.style == "centres" else {}),
            **({"lookups": dict(lookups)} if plan.cells == "id" else {}),
            **({"pseudonym": links(plan.pseudonym)} if plan.pseudonym is not None else {}),
        },
        plan=AsRun.of(
            plan,
            method=method,
            kinds={c.name: str(Kind(c.kind, ", ".join(c.parts))) for c in coded.columns} | dict(guessed),
            mark=receipt.mark,
        ),
    )


def _up(figure: float | None) -> float | None:
    return None if figure is None else round_up(figure)


def _down(figure: float | None) -> float | None:
    return None if figure is None else round_down(figure)


def _is_unit(ruling: Ruling, plan: Plan) -> bool:
    """Whether a ruling counts persons, which is the one that no rule of the plan asked for."""
    return plan.whom.unit is not None and ruling.rule not in {rule.text for rule in plan.rules_read}

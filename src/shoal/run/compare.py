"""The methods: what they say of themselves, and how they do side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shoal import engines
from shoal.errors import ShoalError
from shoal.model.coded import Coded
from shoal.model.comparison import Comparison, Trial
from shoal.model.facts import Facts
from shoal.model.grouping import Proof
from shoal.model.plan import Plan, words_of
from shoal.model.task import Progress, quiet
from shoal.read.frames import to_polars
from shoal.run.certify import certify, judge
from shoal.run.plans import plan_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["compare", "draw", "methods"]


def methods() -> dict[str, Facts]:
    """Every method by name, with what it says of itself."""
    at = engines.load("local")
    return {name: at.facts(name) for name in at.METHODS}


def compare(
    frame: Any,
    plan: Plan | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    ks: Sequence[int] | int | None = None,
    progress: Progress = quiet,
    **words: Any,
) -> Comparison:
    """Run several methods at several k on one table; `methods` None or "all" means every one.

    Nothing is written. A method that cannot take the plan gets a note in place of figures.
    """
    ks = [ks] if isinstance(ks, int) else ks
    if plan is None and "k" not in words and ks:
        words["k"] = min(ks)
    plan = plan_of(plan, words)
    at = engines.load(plan.engine)
    named = words_of("methods", methods or "all")
    named = at.METHODS if "all" in named else tuple(dict.fromkeys(named))
    tried = [replace(plan, k=k) for k in sorted(set(ks or (plan.k,)))]
    for method in named:
        at.facts(method)  # an unknown name is an error before any work
    _, original = to_polars(frame)
    trials = []
    with at.threads(plan.threads):
        proofs: dict[tuple[str, int], Proof | None] = {}
        coded = at.encode(original, tried[-1])
        for number, method in enumerate(named):
            _warm_up(at, original, replace(tried[0], method=method))
            for step, its in enumerate(tried):
                progress(f"{method}, k = {its.k}", (number + step / len(tried)) / len(named))
                trials.append(_try(at, original, coded, replace(its, method=method), proofs))
    progress("done", 1.0)
    return Comparison(tuple(trials))


def _warm_up(at: ModuleType, original: pl.DataFrame, plan: Plan) -> None:
    """Run a method on a few rows, so that no trial pays for compiling its kernels."""
    with suppress(ShoalError):
        coded = at.encode(original.head(max(200, plan.k)), plan)
        method, task = at.task_of(coded, plan, quiet)
        at.group(method, coded, task)


def _try(
    at: ModuleType,
    original: pl.DataFrame,
    coded: Coded,
    plan: Plan,
    proofs: dict[tuple[str, int], Proof | None],
) -> Trial:
    objective = at.facts(plan.method).objective
    try:
        method, task = at.task_of(coded, plan, quiet)
        start = perf_counter()
        grouping = at.group(method, coded, task)
        seconds = perf_counter() - start
    except ShoalError as error:
        return Trial(plan.method, plan.k, objective, note=str(error))
    objective = grouping.objective or objective
    table, groups = at.recode(original, coded, grouping, plan)
    verdict = judge(at, plan, original, coded, grouping, table, groups)
    # the bound without the method's own part is the same for all methods of an objective
    if (objective, plan.k) not in proofs:
        proofs[objective, plan.k] = at.bound(objective, coded, task, None)
    found = [proof for proof in (proofs[objective, plan.k], grouping.proof) if proof is not None]
    proof = max(found, key=lambda one: one.bound, default=None)
    about = certify(at, plan, method, coded, grouping, verdict, proof)
    return Trial(
        method=method,
        k=plan.k,
        objective=objective,
        loss_percent=about.loss_percent,
        value=about.value,
        bound=about.bound,
        ratio=about.ratio,
        classes=about.classes,
        smallest_class=about.smallest_class,
        withheld=about.withheld,
        seconds=seconds,
        note="" if verdict.has_passed else " ".join(verdict.reasons),
    )


def draw(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw a comparison to a PNG or SVG file: loss and time over k, one line per method."""
    engines.load("local").draw(comparison.trials, path)

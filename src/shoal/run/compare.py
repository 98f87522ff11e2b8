"""The methods: what they say of themselves, and how they do side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Unpack

from shoal import engines
from shoal.engines import Engine, P, T
from shoal.errors import ShoalError
from shoal.group import METHODS, facts
from shoal.model.coded import Coded
from shoal.model.comparison import Comparison, Trial
from shoal.model.facts import Facts
from shoal.model.fields import explained
from shoal.model.grouping import Grouping, Proof
from shoal.model.plan import Plan, words_of
from shoal.model.task import Progress, quiet
from shoal.model.words import Words
from shoal.publish.plots import draw_comparison
from shoal.read.frames import first_rows
from shoal.run.anonymize import bound_of, form_groups, task_of, threads
from shoal.run.certify import measure, reach
from shoal.run.plans import plan_of

__all__ = ["compare", "draw", "methods"]


def methods() -> dict[str, Facts]:
    """Every method by name, with what it says of itself.

    Returns:
        The facts of each method: what it makes small, its guarantee, its time, its options.

    Example:
        >>> import shoal
        >>> shoal.methods()["mdav"].objective
        'squares'

    """
    return {name: facts(name) for name in METHODS}


@explained()
def compare(
    frame: Any,
    plan: Plan | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    ks: Sequence[int] | int | None = None,
    progress: Progress = quiet,
    **words: Unpack[Words],
) -> Comparison:
    """Run several methods at several k on one table, and set their figures side by side.

    Nothing is written. A method that cannot take the plan gets a note in place of figures.

    Args:
        frame: A pandas, Polars or Arrow frame.
        plan: What is wanted; not needed where keywords say it.
        methods: Names of methods; None or "all" means every one.
        ks: One k or several; None means that of the plan.
        progress: Called with what is being done, in words without cells, and the share done.

    Returns:
        A trial for each method and k.

    Raises:
        PlanError: What is asked for cannot be right, such as a method that does not exist.
        DataError: The table does not fit what is asked.

    Example:
        >>> import polars as pl, shoal
        >>> table = pl.DataFrame({"age": [21, 22, 35, 36]})
        >>> for trial in shoal.compare(table, methods=["crowd", "mondrian"], ks=[2], quasi=["age"]).trials:
        ...     print(trial.method, trial.classes, f"{trial.loss_percent:.1f} %")
        crowd 2 6.7 %
        mondrian 2 6.7 %

    """
    ks = [ks] if isinstance(ks, int) else ks
    if plan is None and "k" not in words and ks:
        words["k"] = min(ks)
    plan = plan_of(plan, words).nameless
    named = words_of("methods", methods or "all")
    named = METHODS if "all" in named else tuple(dict.fromkeys(named))
    tried = [replace(plan, k=k) for k in sorted(set(ks or (plan.k,)))]
    for method in named:
        facts(method)  # an unknown name is an error before any work
    at, plan = engines.settle(replace(plan, engine="memory"), frame)
    table = at.open(frame, plan)
    trials = []
    with threads(plan.threads):
        proofs: dict[tuple[str, int], Proof | None] = {}
        coded = at.code(table, at.survey(table, tried[-1], quiet), tried[-1], quiet)
        few = at.open(first_rows(frame, max(200, plan.k)), plan)
        for number, method in enumerate(named):
            _warm_up(at, few, replace(tried[0], method=method))
            for step, one in enumerate(tried):
                progress(f"{method}, k = {one.k}", (number + step / len(tried)) / len(named))
                trials.append(_try(at, table, coded, replace(one, method=method), proofs))
    progress("done", 1.0)
    return Comparison(tuple(trials))


def _warm_up(at: Engine[T, Coded, Grouping, P], few: T, plan: Plan) -> None:
    """Run a method on a few rows, so that no trial pays for compiling its kernels."""
    with suppress(ShoalError):
        coded = at.code(few, at.survey(few, plan, quiet), plan, quiet)
        method, task = task_of(coded, plan, quiet)
        form_groups(method, task, coded)


def _try(
    at: Engine[T, Coded, Grouping, P],
    table: T,
    coded: Coded,
    plan: Plan,
    proofs: dict[tuple[str, int], Proof | None],
) -> Trial:
    objective = facts(plan.method).objective
    try:
        method, task = task_of(coded, plan, quiet)
        start = perf_counter()
        grouping = at.group(coded, task, plan, partial(form_groups, method))
        seconds = perf_counter() - start
        published = at.recode(table, coded, grouping, plan, quiet)
        at.whom(table, published, plan, coded)
    except ShoalError as error:
        return Trial(plan.method, plan.k, objective, note=str(error))
    objective = grouping.objective or objective
    verdict = at.check(table, published, plan, coded, quiet, withheld=grouping.withheld)
    # the bound without the method's own part is the same for all methods of an objective
    if (objective, plan.k) not in proofs:
        proofs[objective, plan.k] = at.bound(coded, task, partial(bound_of, objective, task, None))
    found = [proof for proof in (proofs[objective, plan.k], grouping.proof) if proof is not None]
    proof = max(found, key=lambda one: one.bound, default=None)
    reached = reach(plan, objective, at.value, coded, grouping)
    about = measure(plan, objective, reached, coded, grouping, verdict, proof)
    return Trial(
        method=method,
        k=plan.k,
        objective=objective,
        loss_percent=about.loss_percent,
        told_apart_percent=verdict.told_apart_percent,
        value=about.value,
        bound=about.bound,
        ratio=about.ratio,
        classes=verdict.classes,
        smallest_class=verdict.smallest_class,
        withheld=verdict.withheld,
        seconds=seconds,
        note="" if verdict.has_passed else " ".join(verdict.reasons),
    )


def draw(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw a comparison: loss and time over k, one line per method.

    Args:
        comparison: What `compare` gave.
        path: The picture, .png or .svg.

    Raises:
        PlanError: The file has another ending, or a name that cannot be.
        DataError: The file cannot be written.

    Example:
        >>> import os, tempfile, polars as pl, shoal
        >>> table = pl.DataFrame({"age": [21, 22, 35, 36]})
        >>> found = shoal.compare(table, methods=["crowd", "mondrian"], ks=[2], quasi=["age"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shoal.draw(found, os.path.join(folder, "plot.svg"))
        ...     print(os.listdir(folder))
        ['plot.svg']

    """
    draw_comparison(comparison.trials, path)

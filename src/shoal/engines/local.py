"""All verbs in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.bound import describe_squares, prove, value_of
from shoal.check import expose, judge_any, link
from shoal.check import judge as check
from shoal.encode import encode
from shoal.encode.number import dates_as_published
from shoal.engines.verification import verify
from shoal.group import METHODS, check_fit, choose, facts, fill_options, load
from shoal.group.improve import improve, prepare
from shoal.group.rules import check_feasible, enforce
from shoal.model.cells import Cells
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.plan import Plan
from shoal.model.task import Effort, Progress, Task, quota
from shoal.publish import check_map, check_plot, check_target, draw_map
from shoal.publish import draw_comparison as draw
from shoal.publish import write_release as publish
from shoal.recode import digest_of, from_ids, radii_of, recode, to_ids

__all__ = [
    "METHODS",
    "bound",
    "cells",
    "check",
    "check_map",
    "check_plot",
    "check_target",
    "dates_as_published",
    "digest_of",
    "draw",
    "draw_map",
    "encode",
    "expose",
    "facts",
    "from_ids",
    "group",
    "judge_any",
    "link",
    "measures",
    "publish",
    "recode",
    "task_of",
    "threads",
    "to_ids",
    "value",
    "verify",
]


def task_of(coded: Coded, plan: Plan, progress: Progress) -> tuple[str, Task]:
    """The method to run and what it is asked; the method is compared with the plan here."""
    method = plan.method
    if method == "auto":
        method = choose()
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


def group(method: str, coded: Coded, task: Task) -> Grouping:
    """Run a method, improve what it found where asked or where the method always is, enforce rules.

    `search=no` switches off what a method always does. Rules come last: improvement does not know them.
    """
    its = facts(method)
    check_feasible(coded, task.k)
    always = its.improves and bool(task.options.get("search", True))
    will_improve = its.objective == "loss" and (task.improve or always)
    if will_improve:
        prepare(task)
    grouping: Grouping = load(method).group(coded.plain, task)
    if its.objective == "loss" and task.stop_at is not None:
        # the search must know the bound to know when to stop
        proof = prove(its.objective, coded.plain, task, grouping.proof)
        grouping = replace(grouping, proof=proof)
    if will_improve:
        grouping = improve(coded.plain, grouping, task)
    if coded.held is not None:
        task.progress("enforcing rules", 0.0)
        grouping = enforce(coded, grouping, task, its)
    return grouping


def bound(objective: str, coded: Coded, task: Task, found: Proof | None = None) -> Proof | None:
    """The strongest bound; rules only make the best worse, so the bound without them holds."""
    if objective == "loss" and task.stop_at is not None and found is not None:
        return found  # `group` has proved it already
    return prove(objective, coded.plain, task, found)


def cells(coded: Coded, opening: NDArray[np.float64], plan: Plan, progress: Progress) -> Cells:
    """Clusters with a cost for opening each; `opening` is by input row.

    Of rows that look alike the cheapest with records may be a centre.
    """
    from shoal.group.opening import open_cells

    empty = np.zeros(coded.row.size, dtype=np.bool_) if coded.records is None else coded.records == 0
    by_cost = np.lexsort((opening, empty, coded.row))
    its, first = np.unique(coded.row[by_cost], return_index=True)
    cheapest = np.zeros(coded.distinct, dtype=np.int64)
    cheapest[its] = by_cost[first]
    task = Task(k=1, effort=Effort.parse(plan.effort), progress=progress)
    grouping = open_cells(coded, opening[cheapest], task)
    assert grouping.centre is not None, "clusters have centres"
    assert grouping.proof is not None, "the duals are a proof"
    label = np.full(coded.distinct, -1, dtype=np.int32)
    label[grouping.distinct] = grouping.group
    centre = cheapest[grouping.centre].astype(np.int32)
    return Cells(
        label=label[coded.row],
        centre=centre,
        size=grouping.sizes,
        radius=radii_of(coded, grouping),
        value=value_of("cellular", coded, grouping) + float(opening[centre].sum()),
        bound=grouping.proof.bound,
    )


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


def measures(objective: str, coded: Coded, grouping: Grouping, plan: Plan) -> dict[str, object]:
    """What a certificate says besides: sums of squares where means are published or were the aim."""
    if plan.style == "means" or objective == "squares":
        return {**describe_squares(coded, grouping)}
    return {}


value = value_of

"""All verbs in this process."""

from __future__ import annotations

from shoal.bound import prove, value_of
from shoal.check import judge as check
from shoal.encode import encode
from shoal.group import check_fit, choose, facts, fill_options, load
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Effort, Progress, Task, quota
from shoal.recode import recode

__all__ = ["bound", "check", "encode", "facts", "group", "recode", "task_of", "value"]


def task_of(coded: Coded, plan: Plan, progress: Progress) -> tuple[str, Task]:
    """The method to run and what it is asked; the method is compared with the plan here."""
    method = plan.method
    if method == "auto":
        method = choose(distinct=coded.distinct, k=plan.k)
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
    """Run a method."""
    grouping: Grouping = load(method).group(coded, task)
    return grouping


value = value_of
bound = prove

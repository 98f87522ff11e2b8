"""Seconds of grouping on Adult, method by method, warm.

    python bench/methods.py 10 k-member oka threshold weighted-means mdav nng     # k, methods

Eight columns of Adult, as everywhere in bench/; methods that take numbers only get Adult's six number
columns. Each method runs on 400 rows first, so that compiling is not counted. The clock counts other
work on the machine, the processor's seconds do not.
"""

from __future__ import annotations

import os
import sys
from time import perf_counter, process_time

import polars as pl

import adult
import shoal
from shoal.bound import value_of
from shoal.encode import encode
from shoal.model.coded import Coded
from shoal.model.plan import Plan
from shoal.model.task import Task, quiet
from shoal.run.anonymize import form_groups, task_of

SIX = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def table_for(method: str, k: int) -> tuple[pl.DataFrame, Plan]:
    """All eight columns, or six number columns where the method takes nothing else."""
    if "tree" not in shoal.methods()[method].takes:
        frame = pl.read_csv(adult.shared() / "adult" / "adult_train_complete.csv")
        return frame, Plan(k=k, quasi=SIX, method=method)
    trees = shoal.read_hierarchies(str(adult.hierarchies_path()))
    plan = Plan(
        k=k,
        quasi=adult.QUASI,
        kinds={"age": "number"},
        hierarchies={name: trees[name] for name in adult.QUASI if name not in adult.NUMBERS},
        method=method,
    )
    return shoal.read_table(str(adult.table_path())).frame, plan


def main(k: int, methods: list[str]) -> None:
    print("method, columns, k: clock s, CPU s, loss %, groups; load of the machine")
    for method in methods:
        frame, plan = table_for(method, k)
        small = encode(frame.head(400), plan)
        form_groups(*_arguments(small, plan))
        coded = encode(frame, plan)
        arguments = _arguments(coded, plan)
        clock, used = perf_counter(), process_time()
        grouping = form_groups(*arguments)
        clock, used = perf_counter() - clock, process_time() - used
        loss = 100 * value_of("loss", coded, grouping) / (coded.total * coded.weight)
        print(
            f"{method}, {len(plan.quasi)}, {k}: {clock:.2f} {used:.2f} {loss:.3f} {grouping.groups}; "
            f"{os.getloadavg()[0]:.1f}",
            flush=True,
        )


def _arguments(coded: Coded, plan: Plan) -> tuple[str, Task, Coded]:
    method, task = task_of(coded, plan, quiet)
    return method, task, coded


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

"""What improvement wins on Adult: loss before and after, steps, seconds of all cores and of the clock.

python bench/improve.py --method crowd --effort normal --k 2,5,10,50,100
"""

from __future__ import annotations

import argparse
import time

import polars as pl

import adult
from shoal.bound import value_of
from shoal.encode import encode
from shoal.group import fill_options, load
from shoal.group.improve.cycles import improve
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--method", default="crowd")
    words.add_argument("--effort", default="normal")
    words.add_argument("--k", default="2,5,10,50,100")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--threads", type=int, default=0)
    given = words.parse_args()
    trees = {name: Hierarchy.of_paths(adult.read_paths(name), column=name) for name in adult.QUASI[1:]}
    frame = pl.read_csv(adult.table_path())
    coded = encode(frame, Plan(k=2, quasi=adult.QUASI, hierarchies=trees))
    whole = coded.total * coded.weight / 100
    method = load(given.method)

    def task_of(k: int, effort: str) -> Task:
        return Task(
            k=k,
            seed=given.seed,
            threads=given.threads,
            effort=Effort.parse(effort),
            options=fill_options(given.method, {}),
        )

    compiled = task_of(1000, "steps=10")
    improve(coded, method.group(coded, compiled), compiled)
    print("| k | start % | after % | steps | CPU s | wall s | groups |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for k in map(int, given.k.split(",")):
        task = task_of(k, given.effort)
        before = method.group(coded, task)
        cpu, clock = time.process_time(), time.perf_counter()
        after = improve(coded, before, task)
        cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
        start, end = (value_of("loss", coded, grouping) / whole for grouping in (before, after))
        print(
            f"| {k} | {start:.4f} | {end:.4f} | {after.steps} | {cpu:.1f} | {clock:.1f} | {after.groups} |"
        )


if __name__ == "__main__":
    main()

"""cellular on Adult: value, bound, ratio, time and memory, beside gather's grouping on the same objective.

    python bench/cellular.py adult           Adult, 8 columns, k = 5, 10, 50, beside gather
    python bench/cellular.py exact           5,000 distinct rows as one block, k = 10, withhold 0 and 0.05
    python bench/cellular.py withhold        Adult, k = 10, withhold 0.01 and 0.05
    python bench/cellular.py opening         clusters with opening costs, the same 5,000 rows

Every figure is of a warm run: kernels are compiled on a small table first. Seconds are those of the
processor (all threads together) for grouping and for the bound, beside those of the clock for both, which
other work on the machine makes longer. Names of runs may be given together; without any, all run.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import polars as pl

import adult
import shoal
from gather import adult_table, judged, peak, run_task, show
from shoal.bound import value_of
from shoal.encode import encode
from shoal.group import fill_options
from shoal.model.coded import Coded
from shoal.model.task import Task, quota


def measure(coded: Coded, k: int, *, withhold: float = 0.0, beside: bool = False) -> dict[str, Any]:
    task = Task(k=k, withhold=quota(withhold, coded.total), options=fill_options("cellular", {}))
    grouping, used, clock = run_task(coded, "cellular", task)
    start, proving = time.perf_counter(), time.process_time()
    line = judged("cellular", coded, task, grouping)
    line |= {"withhold": withhold, "cpu_group": used, "cpu_bound": time.process_time() - proving}
    line |= {"clock": clock + time.perf_counter() - start, "peak_mib": peak()}
    if beside:
        task = replace(task, options=fill_options("gather", {}))
        other, used, _ = run_task(coded, "gather", task)
        line["gather_value"] = value_of("cellular", coded, other)
        line["gather_ratio"] = line["gather_value"] / line["bound"]
        line["gather_cpu"] = used
    return line


def warm(withhold: float = 0.0) -> Coded:
    """Compile on a few rows; returns Adult."""
    frame, plan = adult_table(100)
    measure(encode(frame.head(400), plan), 10, withhold=withhold, beside=True)
    return encode(frame, plan)


def part(rows: int) -> tuple[pl.DataFrame, Any]:
    """So many distinct rows of Adult, with one record each."""
    frame, plan = adult_table(100)
    return frame.unique(adult.QUASI, keep="first", maintain_order=True).head(rows), plan


def run_adult() -> None:
    coded = warm()
    for k in (5, 10, 50):
        show(measure(coded, k, beside=True))


def run_exact() -> None:
    warm(0.05)
    coded = encode(*part(5000))
    for withhold in (0.0, 0.05):
        show(measure(coded, 10, withhold=withhold))


def run_withhold() -> None:
    coded = warm(0.05)
    for withhold in (0.01, 0.05):
        show(measure(coded, 10, withhold=withhold))


def run_opening() -> None:
    frame, plan = part(5000)
    shoal.cellular(frame.head(200), plan, opening=1.0)
    for cost in (1.0, 10.0):
        clock, used = time.perf_counter(), time.process_time()
        cells = shoal.cellular(frame, plan, opening=cost)
        show(
            {
                "rows": frame.height,
                "opening": cost,
                "value": cells.value,
                "bound": cells.bound,
                "ratio": cells.ratio,
                "clusters": cells.centre.size,
                "cpu": time.process_time() - used,
                "clock": time.perf_counter() - clock,
                "peak_mib": peak(),
            }
        )


RUNS = {"adult": run_adult, "exact": run_exact, "withhold": run_withhold, "opening": run_opening}

if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        RUNS[name]()

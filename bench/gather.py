"""gather and centre on real tables: value, bound, ratio, time, growth, and what withholding saves.

    python bench/gather.py adult             Adult, 8 columns, k = 2, 5, 10, 50, 100
    python bench/gather.py withhold          Adult, withhold 0, 0.01, 0.05; writes the docs' plot
    python bench/gather.py centre            Adult, at most 20 groups, the same k and shares withheld
    python bench/gather.py points            UK accidents, 35,000, 70,000 and 140,029 points, k = 10, 100

Every figure is of a warm run: kernels are compiled on a small table first. Seconds are those of the
processor (all threads together) beside those of the clock, which other work on the machine makes longer.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import polars as pl

import adult
import shoal
from shoal.bound import prove, value_of
from shoal.encode import encode
from shoal.group import fill_options, load
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task, quota

KS = (2, 5, 10, 50, 100)
SHARES = (0.0, 0.01, 0.05)
PLOT = adult.ROOT / "docs" / "methods" / "gather-withhold.png"


def adult_table(k: int) -> tuple[pl.DataFrame, Plan]:
    frame = shoal.read_table(str(adult.table_path())).frame
    trees = shoal.read_hierarchies(str(adult.hierarchies_path()))
    return frame, Plan(
        k=k,
        quasi=adult.QUASI,
        kinds={"age": "number"},
        hierarchies={name: trees[name] for name in adult.QUASI if name not in adult.NUMBERS},
    )


def points_table(rows: int) -> tuple[pl.DataFrame, Plan]:
    frame = pl.read_csv(adult.shared() / "points" / "uk_road_accidents.csv.gz")
    if rows < frame.height:
        frame = frame.sample(rows, seed=1)
    return frame, Plan(k=2, quasi=tuple(frame.columns), distance="great-circle")


def run_task(coded: Coded, method: str, task: Task) -> tuple[Grouping, float, float]:
    """The groups, and the seconds of the processor and of the clock they took."""
    clock, used = time.perf_counter(), time.process_time()
    grouping = load(method).group(coded, task)
    return grouping, time.process_time() - used, time.perf_counter() - clock


def judged(objective: str, coded: Coded, task: Task, grouping: Grouping) -> dict[str, Any]:
    """What was asked for, the value reached, and the bound that proves how good it is."""
    proof = prove(objective, coded, task, grouping.proof, grouping)
    assert proof is not None
    value = value_of(objective, coded, grouping)
    return {
        "rows": coded.total,
        "distinct": coded.distinct,
        "k": task.k,
        "quota": task.withhold,
        "value": value,
        "bound": proof.bound,
        "by": proof.name,
        "ratio": value / proof.bound if proof.bound else 1.0,
        "groups": grouping.groups,
        "smallest": int(grouping.sizes.min()),
        "withheld": grouping.withheld,
    }


def peak() -> float:
    """The most memory this process had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(
    coded: Coded, k: int, *, withhold: float = 0.0, method: str = "gather", **options: int
) -> dict[str, Any]:
    task = Task(k=k, withhold=quota(withhold, coded.total), options=fill_options(method, options))
    grouping, used, clock = run_task(coded, method, task)
    line = judged("radius", coded, task, grouping)
    return {**line, "withhold": withhold, "cpu": used, "clock": clock, "peak_mib": peak()}


def show(line: dict[str, Any]) -> None:
    print(
        "  ".join(
            f"{key} {val:.4g}" if isinstance(val, float) else f"{key} {val}" for key, val in line.items()
        )
    )
    sys.stdout.flush()


def adult_lines(shares: tuple[float, ...], **options: Any) -> Iterator[list[dict[str, Any]]]:
    """For each k what is measured at each share withheld, and by how much the radius falls."""
    frame, plan = adult_table(100)
    for share in {min(shares), max(shares)}:
        measure(encode(frame.head(500), plan), 10, withhold=share, **options)
    coded = encode(frame, plan)
    for k in KS:
        lines: list[dict[str, Any]] = []
        for share in shares:
            lines.append(measure(coded, k, withhold=share, **options))
            if share:
                lines[-1]["fall_percent"] = 100 * (1 - lines[-1]["value"] / lines[0]["value"])
            show(lines[-1])
        yield lines


def run_adult() -> None:
    list(adult_lines((0.0,)))


def run_withhold() -> None:
    for lines in adult_lines(SHARES):
        if lines[0]["k"] == 10:
            draw(lines)


def run_centre() -> None:
    list(adult_lines(SHARES, method="centre", max_groups=20))


def draw(lines: list[dict[str, Any]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.add_subplot()
    shares = [100 * line["withhold"] for line in lines]
    axes.plot(shares, [line["value"] for line in lines], "o-", label="largest radius")
    axes.plot(shares, [line["bound"] for line in lines], "s--", label="bound: no release has less")
    axes.set(xlabel="rows that may be withheld, %", ylabel="radius (span)", ylim=(0, None))
    axes.set_title("Adult, 8 columns, k = 10", fontsize=10)
    axes.legend(frameon=False)
    figure.savefig(PLOT, dpi=110, metadata={"Software": None})
    print(f"wrote {PLOT.name}")


def run_points() -> None:
    frame, plan = points_table(2000)
    measure(encode(frame, plan), 10)
    for k in (10, 100):
        lines = []
        for rows in (35_000, 70_000, 140_029):
            frame, plan = points_table(rows)
            lines.append(measure(encode(frame, plan), k))
            show(lines[-1])
        for one, other in pairwise(lines):
            grown = math.log(other["cpu"] / one["cpu"]) / math.log(other["rows"] / one["rows"])
            print(f"k {k}  {one['rows']} to {other['rows']} rows: growth exponent {grown:.2f}")
        whole = math.log(lines[-1]["cpu"] / lines[0]["cpu"]) / math.log(
            lines[-1]["rows"] / lines[0]["rows"]
        )
        print(f"k {k}  first to last: growth exponent {whole:.2f}")


RUNS = {"adult": run_adult, "withhold": run_withhold, "centre": run_centre, "points": run_points}

if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        RUNS[name]()

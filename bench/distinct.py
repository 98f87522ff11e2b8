"""Nearly all tuples distinct: crowd beside the frozen baseline, then ten times the rows.

    python bench/distinct.py                       1,000,000 rows: baseline, crowd normal, crowd quick
    python bench/distinct.py --more 10e6           and 10,000,000 rows with effort quick

Every line is a process of its own that makes the table (make_distinct.py), encodes it, compiles on a few
rows, and then takes the time of the grouping call, of encoding and of the bound. Memory is the process's
greatest resident size. `loss` is GCP %, counted alike for all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import polars as pl

import baseline
import make_distinct
from shoal.bound import prove, value_of
from shoal.encode import encode
from shoal.group import fill_options
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.grouping import Grouping
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.task import Effort, Task
from shoal.run.anonymize import form_groups

QUASI = ("birth", "zip", "sex", "race", "marital", "education", "occupation", "income")


def trees() -> dict[str, Hierarchy]:
    """Zip by its digits; education, marital and occupation in two or three steps; sex and race flat."""
    zips, _ = make_distinct.places()

    def by_parts(name: str, size: int, *parts: int) -> list[list[str]]:
        words = make_distinct.words(name, size).to_pylist()
        return [
            [word, *(f"{name} {at // part} of {part}" for part in parts)] for at, word in enumerate(words)
        ]

    marital = make_distinct.words("marital", 7).to_pylist()
    paths = {
        "zip": [
            [code, *(code[:digits] + "*" * (5 - digits) for digits in (4, 3, 2, 1))]
            for code in zips.to_pylist()
        ],
        "sex": [["F"], ["M"]],
        "race": by_parts("race", 5),
        "marital": [[word, "alone" if at < 3 else "settled"] for at, word in enumerate(marital)],
        "education": by_parts("education", 16, 3, 6),
        "occupation": by_parts("occupation", 14, 5),
    }
    return {name: Hierarchy.of_paths(its, column=name) for name, its in paths.items()}


def make(rows: int) -> pl.DataFrame:
    """The table of make_distinct.py, in memory."""
    zips, edges = make_distinct.places()
    parts = [
        pl.from_arrow(
            make_distinct.part(number, min(make_distinct.PART, rows - start), zips, edges).select(QUASI)
        )
        for number, start in enumerate(range(0, rows, make_distinct.PART))
    ]
    return pl.concat(parts)


def median_cuts(coded: Coded, k: int) -> Grouping:
    """The baseline's groups."""
    columns = []
    for column in coded.columns:
        (axis,) = column.axes
        columns.append(baseline.Line(axis.position) if axis.form == LINE else baseline.Tree(axis.levels))
    label = baseline.median_cuts(coded.codes[coded.row], columns, k)
    return Grouping.of_pieces(coded.row, label, np.ones(label.size, dtype=np.int64))


def one(what: str, rows: int, k: int, threads: int) -> dict[str, float]:
    """Run one line of the table in this process."""
    plan = Plan(k=k, quasi=QUASI, hierarchies=trees())
    frame = make(rows)
    effort = Effort(level=what if what != "baseline" else "quick")
    task = Task(k=k, effort=effort, options=fill_options("crowd", {}), threads=threads)
    few = encode(frame.head(2000), plan)
    if what != "baseline":
        form_groups("crowd", replace(task, effort=Effort(level=None, steps=20)), few)
        prove("loss", few, task)
    began = time.perf_counter()
    coded = encode(frame, plan)
    encoding = time.perf_counter() - began
    del frame
    wall, cpu = time.perf_counter(), time.process_time()
    grouping = median_cuts(coded, k) if what == "baseline" else form_groups("crowd", task, coded)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    whole = coded.total * coded.weight
    found = {
        "rows": rows,
        "distinct": coded.distinct,
        "loss": 100 * value_of("loss", coded, grouping) / whole,
        "classes": grouping.groups,
        "smallest": int(grouping.sizes.min()),
        "mean": coded.total / grouping.groups,
        "wall": wall,
        "cpu": cpu,
        "encode": encoding,
    }
    if what != "baseline":
        began, used = time.perf_counter(), time.process_time()
        proof = prove("loss", coded, task)
        assert proof is not None
        found |= {
            "bound": 100 * proof.bound / whole,
            "bound wall": time.perf_counter() - began,
            "bound cpu": time.process_time() - used,
        }
    per_megabyte = 1024 if sys.platform.startswith("linux") else 1024**2
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_megabyte
    return found


def child(what: str, rows: int, k: int, threads: int) -> dict[str, float]:
    """The same in a process of its own; prints its line."""
    words = [
        sys.executable,
        __file__,
        "--one",
        what,
        "--rows",
        str(rows),
        "-k",
        str(k),
        "--threads",
        str(threads),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    bound = found.get("bound")
    proved = "| | | "
    if bound is not None:
        seconds = f"{found['bound wall']:.1f} ({found['bound cpu']:.1f})"
        proved = f"| {bound:.2f} | {found['loss'] / bound:.2f} | {seconds} "
    print(
        f"| {what} | {found['rows']:,} | {found['loss']:.3f} | {found['mean']:.2f} | {found['smallest']} "
        f"| {found['wall']:.1f} ({found['cpu']:.1f}) | {found['encode']:.1f} {proved}"
        f"| {found['memory']:,.0f} |",
        flush=True,
    )
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--rows", type=lambda word: int(float(word)), default=1_000_000)
    words.add_argument(
        "--more", type=lambda word: int(float(word)), default=0, help="rows of the larger table"
    )
    words.add_argument("-k", type=int, default=10)
    words.add_argument("--efforts", default="normal,quick")
    words.add_argument("--threads", type=int, default=0)
    words.add_argument("--one", help="run one line here and print it as JSON: baseline, or an effort")
    given = words.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.rows, given.k, given.threads)))
        return
    print(f"k = {given.k}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        "| | rows | loss % | mean class | smallest | group s (CPU) | encode s | bound % | ratio "
        "| bound s (CPU) | MB |"
    )
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    plain = child("baseline", given.rows, given.k, given.threads)
    ours = {what: child(what, given.rows, given.k, given.threads) for what in given.efforts.split(",")}
    more = child("quick", given.more, given.k, given.threads) if given.more else None
    print()
    for what, its in ours.items():
        print(f"crowd {what} loses {100 * (1 - its['loss'] / plain['loss']):.1f} % less than the baseline")
    if more is not None and "quick" in ours:
        for clock in ("wall", "cpu"):
            growth = math.log(more[clock] / ours["quick"][clock]) / math.log(given.more / given.rows)
            print(f"growth exponent of quick to {given.more:,} rows, by {clock}: {growth:.3f}")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()

"""Wide tables, and labels without hierarchies: crowd beside k-member with improvement, in one run.

    python bench/wide.py                       five tables at k = 10
    python bench/wide.py --tables adult -k 5

adult      twelve columns of adult_train_complete.csv: all but fnlwgt, education-num and salary-class
all        the same of adult_all.csv.gz, its missing cells included
generated  the 25 columns and 50,000 rows of make_wide.py
sixteen    73,000 rows of it with 16 of its columns
labels     the eight columns of Adult that the other benchmarks take, without their hierarchies

Columns with a hierarchy in hierarchies_arx are trees, numbers are numbers, the others labels. Every line
is a process of its own: it compiles on a few rows, then takes the time of `shoal.anonymize`, bound and
check included, and that without what was spent while it said that it was proving a bound. Memory is the
process's greatest resident size.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import polars as pl

import adult
import make_wide
import shoal
from adapters.run_shoal import Proving

TWELVE = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
TREES = ("workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
LABELS = ("age", *TREES)
METHODS = {
    "crowd": {"method": "crowd"},
    "k-member + improve": {"method": "k-member", "improve": True},
}


def read(table: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table and the words of its plan."""
    if table == "generated":
        trees = {name: make_wide.paths(name) for name in make_wide.TREES}
        return make_wide.make(), _words(make_wide.QUASI, trees)
    if table == "sixteen":
        columns = make_wide.columns_of(16)
        trees = {name: make_wide.paths(name) for name in make_wide.TREES if name in columns}
        return make_wide.make(73_000).select(columns), _words(columns, trees)
    folder = adult.shared() / "adult"
    if table == "labels":
        return pl.read_csv(folder / "adult_train_complete.csv").select(LABELS), _words(LABELS, {})
    if table == "adult":
        frame = pl.read_csv(folder / "adult_train_complete.csv")
    else:
        frame = pl.read_csv(gzip.decompress((folder / "adult_all.csv.gz").read_bytes()))
    return frame.select(TWELVE), _words(TWELVE, {name: adult.read_paths(name) for name in TREES})


def _words(quasi: tuple[str, ...], trees: dict[str, list[list[str]]]) -> dict[str, Any]:
    hierarchies = {name: shoal.Hierarchy.of_paths(paths, column=name) for name, paths in trees.items()}
    return {"quasi": quasi, "hierarchies": hierarchies, "missing": ("?",)}


def one(table: str, method: str, k: int, effort: str) -> dict[str, Any]:
    """Run one line in this process."""
    frame, words = read(table)
    words |= METHODS[method] | {"k": k, "effort": effort}
    shoal.anonymize(frame.head(500), **words | {"effort": "steps=20"})
    proving = Proving()
    wall, cpu = time.perf_counter(), time.process_time()
    release = shoal.anonymize(frame, **words, progress=proving)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    about, exact = release.certificate, release.receipt.figures
    per_megabyte = 1024 if sys.platform.startswith("linux") else 1024**2
    return {
        "wall": wall,
        "cpu": cpu,
        "bare": wall - proving.wall,
        "rows": frame.height,
        "columns": frame.width,
        "loss": exact.loss_percent,
        "smallest": about.smallest_class,
        "mean": about.mean_class,
        "bound": about.bound_name,
        "ratio": exact.ratio,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_megabyte,
    }


def main() -> None:
    """Run every line in a process of its own and print it."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--tables", default="adult,all,generated,sixteen,labels")
    words.add_argument("--methods", default=",".join(METHODS))
    words.add_argument("-k", type=int, default=10)
    words.add_argument("--effort", default="normal")
    words.add_argument("--one", nargs=2, metavar=("TABLE", "METHOD"), help="one line here, as JSON")
    given = words.parse_args()
    if given.one:
        print(json.dumps(one(*given.one, given.k, given.effort)))
        return
    print(f"k = {given.k}, effort {given.effort}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        "| table | rows x columns | method | loss % | mean class | smallest | s | CPU s | s, no bound "
        "| ratio | MB |"
    )
    print("| --- | --: | --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    for table in given.tables.split(","):
        for method in given.methods.split(","):
            call = [
                sys.executable,
                __file__,
                "-k",
                str(given.k),
                "--effort",
                given.effort,
                "--one",
                table,
                method,
            ]
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            its = json.loads(done.stdout)
            ratio = "none" if its["ratio"] is None else f"{its['ratio']:.2f} ({its['bound']})"
            print(
                f"| {table} | {its['rows']:,} x {its['columns']} | {method} | {its['loss']:.3f} "
                f"| {its['mean']:.2f} | {its['smallest']} | {its['wall']:.1f} | {its['cpu']:.1f} "
                f"| {its['bare']:.1f} | {ratio} | {its['memory']:,.0f} |",
                flush=True,
            )
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()

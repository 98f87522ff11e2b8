"""Shoal in this process, warm: table, hierarchies, k, release, method; prints its seconds as JSON.

The call is the whole of `shoal.anonymize`: encode, group, recode, check and the proof of a bound. What was
spent before `proving a bound` is given as well, since no other tool proves one.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path

import polars as pl

import shoal

QUASI = "age workclass education marital-status occupation race sex native-country".split()  # noqa: SIM905


def main(table: str, folder: str, k: str, release: str, method: str) -> None:
    frame = pl.read_csv(table)
    hierarchies = {}
    for name in QUASI[1:]:
        with Path(folder, f"{name}.csv").open(encoding="utf-8", newline="") as file:
            hierarchies[name] = shoal.Hierarchy.of_paths(list(csv.reader(file))[1:], column=name)
    seconds: dict[str, float] = {}

    def progress(what: str, _share: float) -> None:
        if what == "proving a bound" and "without bound" not in seconds:
            seconds["without bound"] = time.perf_counter() - wall
            seconds["cpu without bound"] = time.process_time() - cpu

    for _ in ("to compile and warm up", "to measure"):
        seconds.clear()
        wall, cpu = time.perf_counter(), time.process_time()
        found = shoal.anonymize(
            frame,
            k=int(k),
            quasi=QUASI,
            sensitive=["salary-class"],
            hierarchies=hierarchies,
            method=method,
            progress=progress,
        )
        seconds["wall"], seconds["cpu"] = time.perf_counter() - wall, time.process_time() - cpu
    found.table.select(QUASI).write_csv(release)
    exact = found.receipt.figures
    said = {"loss": exact.loss_percent, "bound": exact.bound, "ratio": exact.ratio}
    print(json.dumps(seconds | {"said": said}))


if __name__ == "__main__":
    main(*sys.argv[1:6])

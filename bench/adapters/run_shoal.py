"""Shoal in this process, warm: table, hierarchies, k, release, method; prints its seconds as JSON.

The call is the whole of `shoal.anonymize`: encode, group, recode, check and the proof of a bound. The same
without what was spent while it said `proving a bound` is given as well, since no other tool proves one.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path

import polars as pl

import shoal

__all__ = ["Proving"]

QUASI = "age workclass education marital-status occupation race sex native-country".split()  # noqa: SIM905


class Proving:
    """A progress that adds up the seconds, by the clock and of the processor, in which bounds are proved.

    A search for groups may learn from a bound that is proved before it: that is among them, too.
    """

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self._since: tuple[float, float] | None = None

    def __call__(self, what: str, _share: float) -> None:
        """Hear what is being done from now on."""
        wall, cpu = time.perf_counter(), time.process_time()
        if self._since is not None:
            self.wall += wall - self._since[0]
            self.cpu += cpu - self._since[1]
        self._since = (wall, cpu) if what.startswith("proving a bound") else None


def main(table: str, folder: str, k: str, release: str, method: str) -> None:
    frame = pl.read_csv(table)
    hierarchies = {}
    for name in QUASI[1:]:
        with Path(folder, f"{name}.csv").open(encoding="utf-8", newline="") as file:
            hierarchies[name] = shoal.Hierarchy.of_paths(list(csv.reader(file))[1:], column=name)
    for _ in ("to compile and warm up", "to measure"):
        proving = Proving()
        wall, cpu = time.perf_counter(), time.process_time()
        found = shoal.anonymize(
            frame,
            k=int(k),
            quasi=QUASI,
            sensitive=["salary-class"],
            hierarchies=hierarchies,
            method=method,
            progress=proving,
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    seconds = {
        "wall": wall,
        "cpu": cpu,
        "without bound": wall - proving.wall,
        "cpu without bound": cpu - proving.cpu,
    }
    found.table.select(QUASI).write_csv(release)
    exact = found.receipt.figures
    said = {"loss": exact.loss_percent, "bound": exact.bound, "ratio": exact.ratio}
    print(json.dumps(seconds | {"said": said}))


if __name__ == "__main__":
    main(*sys.argv[1:6])

"""Spark: its own group-by of the columns and a copy of the table, beside Shoal, in one session.

    python bench/spark.py                     200,000 rows: few tuples, which the driver groups
    python bench/spark.py 1e6 --part 250000   1,000,000 rows in parts, which workers group
    python bench/spark.py 10e6 --part 1000000 --folder /tmp/tables

Seconds and CPU seconds are those of this process and all below it: the driver, the Java machine and
Python workers; memory is the greatest sum of what they held. Starting Spark is not counted. Its side
groups by the quasi-identifiers, counts the groups, and writes the same columns once; Shoal's side is
`anonymize` and `write`, checks included. What was written is counted by Polars, as a stranger.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

import distinct
import make_distinct
import shoal

TICK = os.sysconf("SC_CLK_TCK")


_seen: dict[tuple[int, str], int] = {}
"""Ticks of every process that was seen below this one: Spark's workers end, and nobody adds theirs up."""


def used_below() -> tuple[float, float]:
    """CPU seconds and GiB of this process and all below it, those that were seen before they ended too."""
    parent, stat = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parent[int(name)] = int(words[1])
        stat[int(name)] = (words[19], sum(map(int, words[11:13])), int(words[21]) * 4096)
    held = 0
    for one, (born, ticks, size) in stat.items():
        above = one
        while above and above != os.getpid():
            above = parent.get(above, 0)
        if above:
            _seen[one, born] = ticks
            held += size
    return sum(list(_seen.values())) / TICK, held / 2**30


class Meter:
    """Seconds, CPU seconds and the greatest memory of each step."""

    def __init__(self) -> None:
        self.peak = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            self.peak = max(self.peak, used_below()[1])
            time.sleep(0.2)

    def take(self, name: str, step: Callable[[], object]) -> tuple[float, object]:
        """Run a step and print what it took; its CPU seconds, and what it gave."""
        self.peak = 0.0
        start, before = time.perf_counter(), used_below()[0]
        found = step()
        seconds, cpu = time.perf_counter() - start, used_below()[0] - before
        print(f"{name:42s} {seconds:8.1f} s  cpu {cpu:8.1f} s  {self.peak:5.2f} GiB", flush=True)
        return cpu, found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("rows", nargs="?", type=lambda text: int(float(text)), default=200_000)
    words.add_argument("-k", type=int, default=10)
    words.add_argument("--master", default="local[2]")
    words.add_argument("--memory", default="2GB")
    words.add_argument("--part", type=lambda text: int(float(text)), default=1_000_000)
    words.add_argument("--effort", default="quick")
    words.add_argument("--folder", type=Path, default=None, help="where tables are made and kept")
    given = words.parse_args()
    quasi = list(distinct.QUASI)
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary)
        source = (given.folder or folder) / f"distinct-{given.rows}.parquet"
        if not source.is_file():
            make_distinct.main(str(source), given.rows)
        meter = Meter()
        _, frame = meter.take(
            "start", lambda: shoal.read_spark(source, master=given.master, memory=given.memory)
        )
        frame.count()  # type: ignore[attr-defined]
        own, _ = meter.take(
            "Spark's own group-by",
            lambda: frame.groupBy(*quasi).count().groupBy("count").count().collect(),  # type: ignore[attr-defined]
        )
        copy, _ = meter.take(
            "Spark writes the columns",
            lambda: frame.select(*quasi, "diagnosis").write.parquet(str(folder / "copy")),  # type: ignore[attr-defined]
        )
        ours, release = meter.take(
            "shoal.anonymize",
            lambda: shoal.anonymize(
                frame,
                k=given.k,
                quasi=quasi,
                sensitive=["diagnosis"],
                hierarchies=distinct.trees(),
                effort=given.effort,
                part=given.part,
            ),
        )
        more, _ = meter.take("release.write", lambda: release.write(folder / "out"))  # type: ignore[attr-defined]
        about = release.certificate  # type: ignore[attr-defined]
        counted = pl.scan_parquet(folder / "out" / "*.parquet").group_by(quasi).len()
        least, rows = counted.select(pl.col("len").min(), pl.col("len").sum().alias("n")).collect().row(0)
        print(
            f"loss {about.loss_percent:.3f} %, {about.classes:,} classes, the smallest {least}, {rows:,} "
            f"rows; ratio {about.ratio} ({about.bound_name}); CPU: "
            f"{(ours + more) / (own + copy):.2f} times Spark's own group-by and write"
        )
        shoal.close_spark(frame)


if __name__ == "__main__":
    sys.exit(main())

"""Tables larger than memory: the same table in memory, as a stream and on Spark, one process each.

    python bench/stream.py                              1,000,000 rows
    python bench/stream.py 10e6                         10,000,000 rows, all ways
    python bench/stream.py 10e6 100e6 --only 'stream quick'   and how the time grows
    python bench/stream.py 100e6 --adult --only quick   resampled rows of Adult: few distinct tuples

Each line is a process of its own: the command `shoal anonymize` from Parquet to Parquet. Seconds and CPU
seconds include starting Python, and Java for Spark; memory is the greatest resident size of the process,
with Spark of all below it together; scratch is the greatest size of files without a name. What was written
is then counted by Polars, as a stranger, and the folder for scratch must be empty. With --adult the loss
must be that of the distinct rows with their counts, grouped in memory, and k grows with the rows: it is
to them what 5 is to the 30,162 of Adult, since else every tuple would be a class that loses nothing.

Bring room: 10,000,000 rows are 0.2 GB of Parquet, 0.5 GB of scratch and 0.2 GB of release; --folder names
where tables are made and kept for the next run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet

import adult
import distinct
import make_distinct

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")
SPARK = "spark quick"
ADULT = 30_162
WAYS = {
    "memory quick": ["--engine", "memory", "--effort", "quick"],
    "stream quick": ["--engine", "stream", "--effort", "quick"],
    "stream normal": ["--engine", "stream", "--effort", "normal"],
    SPARK: ["--engine", "spark", "--effort", "quick", "--master", "local[2]"],
}


def plan_file(folder: Path, k: int, *, is_adult: bool, count: str | None = None) -> Path:
    """The plan, with its hierarchies as files; with `count` rows stand for records."""
    trees: dict[str, list[list[str]]] = {}
    if is_adult:
        quasi, sensitive = adult.QUASI, adult.SENSITIVE
        trees = {name: adult.read_paths(name) for name in quasi if name not in adult.NUMBERS}
    else:
        quasi, sensitive = distinct.QUASI, "diagnosis"
        for name, tree in distinct.trees().items():
            ends = [
                (level, leaf) for level in range(1, tree.height + 1) for leaf in range(len(tree.leaves))
            ]
            steps = {end: tree.names[int(tree.first[end]), int(tree.last[end])] for end in ends}
            trees[name] = [
                [value, *(steps[level, leaf] for level in range(1, tree.height + 1))]
                for leaf, value in enumerate(tree.leaves)
            ]
    lines = [f"k: {k}", f"quasi: [{', '.join(quasi)}]"]
    lines += [f"sensitive: [{sensitive}]"] if count is None else [f"count: persons({count})"]
    lines += ["hierarchies:"]
    for name, paths in trees.items():
        path = folder / f"{name}.csv"
        path.write_text("".join(";".join(one) + "\n" for one in paths))
        lines.append(f"  {name}: {path}")
    plan = folder / ("plan.yaml" if count is None else "counted.yaml")
    plan.write_text("\n".join(lines) + "\n")
    return plan


def make_adult(out: Path, rows: int) -> None:
    """Rows of Adult, drawn with luck and put back, a million at a time."""
    table = pl.read_csv(adult.table_path(), infer_schema=False).select(*adult.QUASI, adult.SENSITIVE)
    table = table.with_columns(pl.col(adult.NUMBERS).cast(pl.Int32))
    words = [name for name in table.columns if name not in adult.NUMBERS]
    arrow = table.with_columns(pl.col(words).cast(pl.Categorical)).to_arrow()
    with pa.parquet.ParquetWriter(out, arrow.schema) as writer:
        for number, start in enumerate(range(0, rows, make_distinct.PART)):
            many = min(make_distinct.PART, rows - start)
            drawn = np.random.default_rng([make_distinct.SEED, number]).integers(0, arrow.num_rows, many)
            writer.write_table(arrow.take(pa.array(drawn)))
    print(f"{rows:,} rows")


class Watch(threading.Thread):
    """CPU seconds and the most memory of a process and all below it, and of its files without a name."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.memory = self.scratch = 0
        self.cpu = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        """Look ten times a second."""
        while not self.ended.wait(0.1):
            mine = family(self.process)
            self.memory = max(self.memory, sum(map(resident, mine)))
            self.cpu = max(self.cpu, sum(map(used_by, mine)))
            self.scratch = max(self.scratch, nameless(self.process))


def family(process: int) -> list[int]:
    """A process and all below it."""
    parent = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    found = [process]
    for one in found:
        found += [child for child, its in parent.items() if its == one]
    return found


def resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def used_by(process: int) -> float:
    """CPU seconds of a process and of those below it that have ended."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / TICK


def nameless(process: int) -> int:
    """Bytes of the files that a process holds open and that have no name."""
    seen: dict[tuple[int, int], int] = {}
    try:
        handles = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return 0
    for handle in handles:
        try:
            about = os.stat(f"/proc/{process}/fd/{handle}")
            if about.st_nlink == 0 and "deleted" in os.readlink(f"/proc/{process}/fd/{handle}"):
                seen[about.st_dev, about.st_ino] = about.st_blocks * 512
        except OSError:
            continue
    return sum(seen.values())


def run(source: Path, plan: Path, out: Path, words: list[str]) -> dict[str, float]:
    """One run of the command line."""
    command = [sys.executable, "-m", "shoal.cli", "anonymize", str(source), "--plan", str(plan)]
    said = out.with_suffix(".json")
    start = time.perf_counter()
    with said.open("w") as file:
        process = subprocess.Popen([*command, *words, "-o", str(out), "--json"], stdout=file)
        watch = Watch(process.pid)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    watch.ended.set()
    if process.returncode:
        raise SystemExit(f"shoal ended with {process.returncode}")
    facts = json.loads(said.read_text())["certificate"]
    return {
        "seconds": time.perf_counter() - start,
        "cpu": max(used.ru_utime + used.ru_stime, watch.cpu),
        "gib": max(used.ru_maxrss * 1024, watch.memory) / 2**30,
        "scratch": watch.scratch / 2**30,
        "loss": facts["loss_percent"],
        "ratio": facts["ratio"] or float("nan"),
        "classes": facts["classes"],
    }


def count_classes(path: Path, quasi: tuple[str, ...]) -> tuple[int, int, int]:
    """Classes, the smallest of them and all rows, counted by somebody else."""
    files = str(path / "*.parquet") if path.is_dir() else path
    counted = pl.scan_parquet(files).group_by(quasi).len()
    sums = pl.len().alias("classes"), pl.col("len").min(), pl.col("len").sum().alias("n")
    return counted.select(sums).collect(engine="streaming").row(0)  # type: ignore[return-value]


def loss_of_distinct(source: Path, folder: Path, k: int, words: list[str]) -> float:
    """The loss in memory of the distinct rows of a table with their counts."""
    counted = pl.scan_parquet(source).group_by(adult.QUASI).len("n").collect(engine="streaming")
    counted.sort(adult.QUASI).write_parquet(folder / "counted.parquet")
    print(f"{counted.height:,} distinct tuples", flush=True)
    plan = plan_file(folder, k, is_adult=True, count="n")
    return run(folder / "counted.parquet", plan, folder / "known.parquet", words)["loss"]


def measure(rows: int, given: argparse.Namespace, folder: Path) -> dict[str, dict[str, float]]:
    """All ways on a table of so many rows."""
    k = given.k or (max(5 * rows // ADULT, 2) if given.adult else 10)
    name = "adult" if given.adult else "distinct"
    source = (given.folder or folder) / f"{name}-{rows}.parquet"
    if not source.is_file():
        (make_adult if given.adult else lambda out, many: make_distinct.main(str(out), many))(source, rows)
    plan = plan_file(folder, k, is_adult=given.adult)
    quasi = adult.QUASI if given.adult else distinct.QUASI
    found = {}
    for name, more in WAYS.items():
        if given.only not in name or (name == SPARK and importlib.util.find_spec("pyspark") is None):
            continue
        scratch = folder / f"scratch-{rows}-{name.replace(' ', '-')}"
        scratch.mkdir()
        out = folder / f"{name.replace(' ', '-')}-{rows}{'' if name == SPARK else '.parquet'}"
        limit = [] if name.startswith("memory") else ["--memory", given.memory, "--scratch", str(scratch)]
        one = found[name] = run(source, plan, out, [*more, *limit])
        classes, least, there = count_classes(out, quasi)
        left = sum(1 for path in scratch.rglob("*") if path.is_file())
        print(
            f"{rows:,} {name:14s} {one['seconds']:8.1f} s  cpu {one['cpu']:8.1f} s  {one['gib']:5.2f} GiB  "
            f"scratch {one['scratch']:5.2f} GiB  loss {one['loss']:.3f} %  ratio {one['ratio']:.3f}",
            flush=True,
        )
        print(f"    counted: {classes:,} classes, the smallest {least}, {there:,} rows; {left} files left")
        if least < k or there != rows or classes != one["classes"] or left:
            raise SystemExit("That is not the release that was asked for.")
        if given.adult:
            known = loss_of_distinct(source, folder, k, ["--engine", "memory", *more[2:4]])
            print(f"    loss of the distinct rows with their counts, in memory: {known:.6g} %")
            if known != one["loss"]:
                raise SystemExit(f"The losses differ: {one['loss']:.6g} and {known:.6g} %.")
        out.unlink() if out.is_file() else None
    base = found.get("memory quick")
    for name, one in found.items():
        if base is not None and one is not base:
            print(
                f"    {name} / memory quick: cpu {one['cpu'] / base['cpu']:.2f}, memory "
                f"{one['gib'] / base['gib']:.2f}, loss {one['loss'] / base['loss']:.3f}"
            )
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("rows", nargs="*", type=lambda text: int(float(text)), default=[1_000_000])
    words.add_argument("-k", type=int, default=None, help="10 if not given, with --adult as said above")
    words.add_argument("--memory", default="2GB")
    words.add_argument("--only", default="", help="ways whose name has this word")
    words.add_argument("--adult", action="store_true", help="resampled rows of Adult")
    words.add_argument("--folder", type=Path, default=None, help="where tables are made and kept")
    given = words.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        measured = {rows: measure(rows, given, Path(temporary)) for rows in sorted(given.rows)}
    for small, large in pairwise(measured):
        for name in measured[small]:
            one, other = measured[small][name], measured[large][name]
            grows = [math.log(other[by] / one[by]) / math.log(large / small) for by in ("seconds", "cpu")]
            print(
                f"{name}, {small:,} to {large:,} rows: exponent {grows[0]:.3f} by seconds, "
                f"{grows[1]:.3f} by CPU seconds"
            )


if __name__ == "__main__":
    main()

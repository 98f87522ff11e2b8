"""Tables larger than memory: the same table in memory and as a stream, one process each.

    python bench/stream.py                     1,000,000 rows
    python bench/stream.py 10e6                10,000,000 rows
    python bench/stream.py 100e6 --only quick  as a stream alone, by cuts

Each line is a process of its own: the command `shoal anonymize` from Parquet to Parquet. Seconds and CPU
seconds include starting Python; memory is the greatest resident size; loss is in per cent. What was written
is then counted by DuckDB or Polars, as a stranger.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import distinct
import make_distinct

WAYS = {
    "memory quick": ["--engine", "memory", "--effort", "quick"],
    "stream quick": ["--engine", "stream", "--effort", "quick"],
    "stream normal": ["--engine", "stream", "--effort", "normal"],
}


def plan_file(folder: Path, k: int) -> Path:
    """The plan of bench/distinct, with its hierarchies as files."""
    lines = [f"k: {k}", f"quasi: [{', '.join(distinct.QUASI)}]", "sensitive: [diagnosis]", "hierarchies:"]
    for name, tree in distinct.trees().items():
        path = folder / f"{name}.csv"
        rows = []
        for leaf, value in enumerate(tree.leaves):
            steps = [
                tree.names[int(tree.first[level, leaf]), int(tree.last[level, leaf])]
                for level in range(1, tree.height + 1)
            ]
            rows.append(";".join([value, *steps]))
        path.write_text("\n".join(rows) + "\n")
        lines.append(f"  {name}: {path}")
    plan = folder / "plan.yaml"
    plan.write_text("\n".join(lines) + "\n")
    return plan


def run(source: Path, plan: Path, out: Path, words: list[str]) -> dict[str, float]:
    """One run of the command line."""
    command = [sys.executable, "-m", "shoal.cli", "anonymize", str(source), "--plan", str(plan)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, *words, "-o", str(out), "--json"], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    said, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"shoal ended with {process.returncode}")
    facts = json.loads(said)["certificate"]
    return {
        "seconds": time.perf_counter() - start,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "gib": after.ru_maxrss / 2**20,  # of the largest child so far: ways stand in rising order
        "loss": facts["loss_percent"],
        "ratio": facts["ratio"] or float("nan"),
        "classes": facts["classes"],
    }


def smallest_class(path: Path) -> tuple[int, int]:
    """The smallest class and all rows, counted by somebody else."""
    quasi = list(distinct.QUASI)
    counted = (
        pl.scan_parquet(path)
        .group_by(quasi)
        .len()
        .select(pl.col("len").min(), pl.col("len").sum().alias("n"))
    )
    return counted.collect(engine="streaming").row(0)  # type: ignore[return-value]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("rows", nargs="?", type=lambda text: int(float(text)), default=1_000_000)
    words.add_argument("-k", type=int, default=10)
    words.add_argument("--memory", default="2GB")
    words.add_argument("--only", default="", help="ways whose name has this word")
    words.add_argument("--folder", type=Path, default=None, help="where tables are made and kept")
    given = words.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary)
        source = (given.folder or folder) / f"distinct-{given.rows}.parquet"
        if not source.is_file():
            make_distinct.main(str(source), given.rows)
        plan = plan_file(folder, given.k)
        found = {}
        for name, more in sorted(WAYS.items(), key=lambda pair: pair[0].startswith("memory")):
            if given.only not in name:
                continue
            limit = ["--memory", given.memory] if name.startswith("stream") else []
            out = folder / f"{name.replace(' ', '-')}.parquet"
            one = found[name] = run(source, plan, out, [*more, *limit])
            least, rows = smallest_class(out)
            print(
                f"{name:14s} {one['seconds']:8.1f} s  cpu {one['cpu']:8.1f} s  {one['gib']:5.2f} GiB  "
                f"loss {one['loss']:.3f} %  ratio {one['ratio']:.3f}  {one['classes']:,} classes, the "
                f"smallest {least}, {rows:,} rows",
                flush=True,
            )
        base = found.get("memory quick")
        for name, one in found.items():
            if base is not None and one is not base:
                print(
                    f"{name} / memory quick: cpu {one['cpu'] / base['cpu']:.2f}, memory "
                    f"{one['gib'] / base['gib']:.2f}, loss {one['loss'] / base['loss']:.3f}"
                )


if __name__ == "__main__":
    main()

"""CSV to CSV through the command line, beside what Polars alone needs to read and write the same file.

    python bench/million.py TABLE.csv -k 10 --method mondrian

TABLE.csv comes from make_million.py. Polars' time is that of reading and writing alone, without its
start; ours is the whole command from its start to its end, bound and certificate included. Memory is
the greatest resident size of the child process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import adult

POLARS = """
import sys, time
import polars as pl
began = time.perf_counter()
pl.read_csv(sys.argv[1]).write_csv(sys.argv[2])
print(time.perf_counter() - began)
"""


def run(words: list[str | Path]) -> tuple[int, float, float, float, str]:
    """Exit code, seconds, CPU seconds, greatest memory in MB and output of a child."""
    with tempfile.TemporaryFile("w+") as said:
        began = time.perf_counter()
        child = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    per_megabyte = 1024 if sys.platform.startswith("linux") else 1024**2
    return child.returncode, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / per_megabyte, text


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("table", type=Path)
    words.add_argument("-k", default="10")
    words.add_argument("--method", default="mondrian")
    words.add_argument("--effort", default="normal")
    words.add_argument("--times", type=int, default=3, help="how often Polars is run; the median counts")
    given = words.parse_args()
    with tempfile.TemporaryDirectory(dir=given.table.parent) as folder:
        alone = []
        for _ in range(given.times):
            code, _, _, memory, text = run(
                [sys.executable, "-c", POLARS, given.table, Path(folder, "copy.csv")]
            )
            if code:
                raise SystemExit(text)
            alone.append(float(text))
        polars = statistics.median(alone)
        print(f"Polars alone: {polars:.3f} s, {memory:.0f} MB")
        command: list[str | Path] = [Path(sys.executable).parent / "shoal", "anonymize", given.table]
        command += [
            "-k",
            given.k,
            "-q",
            ",".join(adult.QUASI),
            "-s",
            adult.SENSITIVE,
            "--method",
            given.method,
            "--effort",
            given.effort,
        ]
        for name in adult.QUASI:
            if name not in adult.NUMBERS:
                command += ["--hierarchies", f"{name}={adult.hierarchies_path() / f'{name}.csv'}"]
        command += ["-o", Path(folder, "release.csv")]
        for what in ("first", "second"):
            code, seconds, cpu, memory, text = run(command)
            if code:
                raise SystemExit(text)
            print(
                f"shoal, {what} run: {seconds:.2f} s ({cpu:.2f} s of CPU), {memory:.0f} MB; "
                f"{seconds / polars:.1f} times Polars alone"
            )
        print(text)


if __name__ == "__main__":
    main()

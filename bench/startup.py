"""How long first steps take, beside a bare Python: python bench/startup.py [--release].

The least of several runs of each, taken in turns, wall and CPU time of the child. Python's bytecode is kept
in a folder of its own, as an installed package has it: without (PYTHONDONTWRITEBYTECODE) most of the time
would be Python reading sources. With --release also the example of the README: its first run ever, with an
empty cache of kernels, and the next ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS, WARM_RUNS, ROWS = 15, 3, 1000
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SHOAL = [sys.executable, "-c", "from shoal.cli import main; main()"]


def seconds(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    before = os.times()
    start = time.perf_counter()
    subprocess.run(command, check=False, env=environment, capture_output=True)
    wall = time.perf_counter() - start
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--release", action="store_true", help="also the example's first run and the next")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = (EXAMPLES / "hospital.csv").read_text(encoding="utf-8").splitlines()[: ROWS + 1]
        small = Path(folder, "small.csv")
        small.write_text("\n".join(rows) + "\n", encoding="utf-8")
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import polars": [sys.executable, "-c", "import polars"],
            "shoal --help": [*SHOAL, "--help"],
            "shoal check": [*SHOAL, "check", str(small), "-q", "zip,sex", "-s", "diagnosis", "-k", "2"],
            "shoal risk": [*SHOAL, "risk", str(small), "-q", "zip,sex"],
            "shoal plan": [*SHOAL, "plan", str(small)],
        }
        for command in commands.values():
            seconds(command, environment)  # which writes the bytecode
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                taken[name].append(seconds(command, environment))
        bare = min(wall for wall, _ in taken["python -c pass"])
        for name, runs in taken.items():
            wall, used = (min(times) for times in zip(*runs, strict=True))
            print(f"{name:<16} {wall:7.3f} s wall {used:7.3f} s CPU   bare x {wall / bare:6.1f}")
        if given.release:
            environment["NUMBA_CACHE_DIR"] = str(Path(folder, "kernels"))
            source = ["anonymize", str(EXAMPLES / "hospital.csv"), "--plan"]
            release = [
                *SHOAL,
                *source,
                str(EXAMPLES / "hospital-plan.yaml"),
                "-o",
                str(Path(folder, "out.csv")),
            ]
            # a run whose kernels are thrown away writes the bytecode, which an installed package has
            seconds(release, {**environment, "NUMBA_CACHE_DIR": str(Path(folder, "thrown away"))})
            for name in ("first run ever", *WARM_RUNS * ["warm"]):
                wall, used = seconds(release, environment)
                print(f"{name:<16} {wall:7.3f} s wall {used:7.3f} s CPU", flush=True)


if __name__ == "__main__":
    main()

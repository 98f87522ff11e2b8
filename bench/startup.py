"""How long `shoal --help` takes, as a multiple of a bare Python: python bench/startup.py.

The least of several runs of each, taken in turns; CPU time of the child, so that other work on the
machine counts little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

RUNS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "shoal --help": [sys.executable, "-c", "from shoal.cli import main; main(['--help'])"],
}


def seconds(command: list[str]) -> tuple[float, float]:
    before = os.times()
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def main() -> None:
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            taken[name].append(seconds(command))
    least = {name: tuple(min(times) for times in zip(*runs, strict=True)) for name, runs in taken.items()}
    for name, (wall, used) in least.items():
        print(f"{name:<16} {1000 * wall:7.1f} ms wall {1000 * used:7.1f} ms CPU")
    bare, ours = least.values()
    print(f"ratio            {ours[0] / bare[0]:7.1f} wall    {ours[1] / bare[1]:7.1f} CPU")


if __name__ == "__main__":
    main()

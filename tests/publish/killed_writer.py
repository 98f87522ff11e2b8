"""Forks writers that die by SIGKILL before and after each call that touches the disk's names.

Prints the number of such calls; the folders 0, 1, 2, .. hold what each dead writer left.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from shoal.model.certificate import Certificate
from shoal.model.receipt import Receipt
from shoal.model.verdict import Risk, Verdict
from shoal.publish import write_release

VERDICT = Verdict(2, 2, 0, 1, 2, 2, 2.0, 4, None, 0.0, 0.0, (), (), Risk(0.5, 0.5, 0.5, 0.5, 0))
CERTIFICATE = Certificate(
    **{"shoal": "0", "method": "m", "style": "generalize", "k": 2, "seed": 0, "steps": 0, "records": 2},
    **{"published": 2, "withheld": 0, "classes": 1, "smallest_class": 2, "mean_class": 2.0, "columns": ()},
    **{"objective": "loss", "value": 0.0, "bound": 0.0, "bound_name": None, "bound_parameters": {}},
    **{"ratio": 1.0, "factor": None, "loss": 0.0, "loss_percent": 0.0, "plan": {}},
)


def write(folder: Path, value: int) -> None:
    table = pl.DataFrame({"age": [value, value]})
    write_release(table, VERDICT, CERTIFICATE, Receipt.of(table), folder / "out.csv")


def patched(name: str, state: dict[str, int]) -> None:
    real = getattr(os, name)

    def call(*args: object) -> object:
        if state["calls"] * 2 == state["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args)
        if state["calls"] * 2 + 1 == state["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        state["calls"] += 1
        return result

    setattr(os, name, call)


def in_child(work: Callable[[], int]) -> int:
    """Run `work` in a fork; the parent itself must never start the threads of Polars."""
    child = os.fork()
    if child == 0:
        os._exit(work())
    return os.waitpid(child, 0)[1]


def main(root: Path, *, old: bool) -> None:
    state = {"calls": 0, "die": -1}
    for name in ("fsync", "replace", "unlink"):
        patched(name, state)

    def work(folder: Path, *, die: int) -> int:
        if old:
            write(folder, 1)
        state.update(calls=0, die=die)
        write(folder, 2)
        return state["calls"]

    def alone() -> int:
        for name, value in (("old", 1), ("new", 2)):
            pl.DataFrame({"age": [value, value]}).write_csv(root / f"{name}.csv")
        return 0

    assert in_child(alone) == 0
    (root / "trial").mkdir()
    steps = os.waitstatus_to_exitcode(in_child(lambda: work(root / "trial", die=-1)))
    for step in range(2 * steps):
        folder = root / str(step)
        folder.mkdir()
        status = in_child(partial(work, folder, die=step))
        assert os.WIFSIGNALED(status), f"step {step} was never reached"
    print(steps)


if __name__ == "__main__":
    main(Path(sys.argv[1]), old=sys.argv[2] == "old")

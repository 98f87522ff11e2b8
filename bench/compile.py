"""What compiling takes on a first run, kernel by kernel: python bench/compile.py.

The example of the README in this one Python, with an empty cache of kernels: CPU seconds of each entry with
all that it calls, where no entry before it has compiled that. `Numba` is its way from the source to LLVM;
LLVM then optimises each function by itself and the whole, and makes machine code of it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
STEPS = {
    "_optimize_functions": "functions",
    "_optimize_final_module": "whole",
    "_finalize_final_module": "code",
}


def watch(holder: Any, name: str, note: Callable[[float, Any], None]) -> None:
    """From now on note the CPU seconds of each call of a method, and what it was called with first."""
    method = getattr(holder, name)

    def timed(self: Any, *words: Any) -> Any:
        start = time.process_time()
        try:
            return method(self, *words)
        finally:
            note(time.process_time() - start, words[0] if words else None)

    setattr(holder, name, timed)


def main() -> None:
    from numba.core.codegen import CPUCodeLibrary

    import shoal
    from shoal.kernels.compile import ahead
    from shoal.kernels.compile.whole import AsWhole

    ahead.begin = lambda *_: False  # no other Python takes a share
    spent: Counter[str] = Counter()
    rows: list[tuple[str, float, Counter[str]]] = []

    def note_entry(seconds: float, function: Any) -> None:
        rows.append(
            (f"{function.__module__.removeprefix('shoal.kernels.')}.{function.__name__}", seconds, +spent)
        )
        spent.clear()

    for name, step in STEPS.items():
        watch(CPUCodeLibrary, name, lambda seconds, _, step=step: spent.update({step: seconds}))
    watch(AsWhole, "compile_extra", note_entry)
    start = time.process_time()
    table = shoal.read_table(EXAMPLES / "hospital.csv").frame
    shoal.anonymize(table, EXAMPLES / "hospital-plan.yaml")
    used = time.process_time() - start
    print(f"{'entry':<32}{'all':>8}{'Numba':>8}" + "".join(f"{step:>11}" for step in STEPS.values()))
    total: Counter[str] = Counter()
    for name, seconds, its in sorted(rows, key=lambda row: -row[1]):
        total.update({"all": seconds, **its})
        _print_row(name, seconds, its)
    _print_row("together", total["all"], total)
    print(f"the whole release: {used:.2f} CPU s")


def _print_row(name: str, seconds: float, its: Counter[str]) -> None:
    steps = [its[step] for step in STEPS.values()]
    print(
        f"{name:<32}{seconds:>8.2f}{seconds - sum(steps):>8.2f}" + "".join(f"{one:>11.2f}" for one in steps)
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        main()

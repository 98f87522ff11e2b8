"""Random tables through every method, style, cell, format and frame, judged by the published format alone.

    python bench/fuzz.py --tables 20000 --seed 0 --processes 2
    python bench/fuzz.py --only 4711            # one table again, with its plan
    python bench/fuzz.py --seconds 600          # as many as fit

Every table has its own number, so each can be made again alone. What is judged, and from what: see
`fuzzing/judge.py`. Failures are printed by cause with the numbers of their tables; then the exit code is 1.
A run that is interrupted (Ctrl-C, SIGTERM) prints what it has seen so far, and its exit code is 2.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parent))

EVERY = 250
"""Tables between two lines that count."""
LONGEST = 300.0
"""CPU seconds after which a table is taken to never end; on a new machine kernels compile first."""
WAITS = 20
"""How many times as long a table may take where others use the machine."""


def work(seeds: list[int], out: Any) -> None:
    """Run tables one by one and say before each which it is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, sums up and ends this process
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (the kernels' own words are not ours)
    from fuzzing.run import run_seed

    for seed in seeds:
        out.put(("begins", seed))
        signal.setitimer(signal.ITIMER_PROF, LONGEST)  # its signal ends this process
        out.put(("ends", run_seed(seed)))
    out.put(("done", None))


class Worker:
    """A process that works off its tables; where one never ends or kills it, the next takes the rest."""

    def __init__(self, seeds: list[int]) -> None:
        self.left = seeds
        self.context = mp.get_context("spawn")
        self.start()

    def start(self) -> None:
        """A new process for the tables that are left."""
        self.queue = self.context.Queue()
        self.process = self.context.Process(target=work, args=(self.left, self.queue), daemon=True)
        self.process.start()
        self.since, self.at = time.monotonic(), None

    def results(self) -> Iterator[Any]:
        """What has come in, without waiting long."""
        try:
            while True:
                what, value = self.queue.get(timeout=0.05)
                if what == "begins":
                    self.at, self.since = value, time.monotonic()
                elif what == "ends":
                    self.left = self.left[self.left.index(value.seed) + 1 :]
                    yield value
                else:
                    self.left = []
                    return
        except Empty:
            pass
        lost = not self.process.is_alive() and self.queue.empty()
        if self.left and (lost or time.monotonic() - self.since > WAITS * LONGEST):
            is_slow = not lost or self.process.exitcode == -signal.SIGPROF
            why = f"not done after {LONGEST:g} CPU s, or {WAITS} times as long"
            yield from self.give_up(why if is_slow else "the process died")

    def give_up(self, why: str) -> Iterator[Any]:
        """Name the table that did it, and go on with the next."""
        from fuzzing.judge import Fault
        from fuzzing.run import Outcome, make_case

        self.process.kill()
        self.process.join()
        seed = self.at if self.at is not None else self.left[0]
        case = make_case(seed)
        yield Outcome(seed, case.words["method"], faults=[Fault("never ends", why)], plan=case.describe())
        self.left = self.left[self.left.index(seed) + 1 :]
        if self.left:
            self.start()

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()


def outcomes(seeds: list[int], processes: int, seconds: float | None) -> Iterator[Any]:
    """What becomes of each table, as it comes."""
    end = None if seconds is None else time.monotonic() + seconds
    workers = [Worker(seeds[at::processes]) for at in range(processes)]
    try:
        while any(worker.left for worker in workers) and (end is None or time.monotonic() < end):
            for worker in workers:
                if worker.left:
                    yield from worker.results()
    finally:
        for worker in workers:
            worker.stop()


class Tally:
    """Counts by method and by cause."""

    def __init__(self) -> None:
        self.tables: Counter[str] = Counter()
        self.published: Counter[str] = Counter()
        self.refusals: dict[str, list[int]] = defaultdict(list)
        self.faults: dict[Any, list[int]] = defaultdict(list)
        self.plans: dict[Any, str] = {}

    def add(self, outcome: Any) -> None:
        """Count what became of one table."""
        self.tables[outcome.method] += 1
        self.published[outcome.method] += outcome.is_published
        if outcome.refusal:
            self.refusals[outcome.refusal].append(outcome.seed)
        for fault in outcome.faults:
            self.faults[fault].append(outcome.seed)
            self.plans.setdefault(fault, outcome.plan)

    def line(self) -> str:
        """How many so far."""
        many, out, bad = self.tables.total(), self.published.total(), sum(map(len, self.faults.values()))
        return f"{many:,} tables, {out:,} published ({100 * out / max(many, 1):.0f} %), {bad:,} faults"

    def show(self, *, plans: bool) -> None:
        """Print it all."""
        print(self.line())
        for method in sorted(self.tables):
            share = 100 * self.published[method] / self.tables[method]
            print(f"  {method:15} {self.published[method]:6,} of {self.tables[method]:6,}  {share:3.0f} %")
        print("refused, by message:")
        for message, seeds in sorted(self.refusals.items(), key=lambda item: -len(item[1]))[:40]:
            print(f"  {len(seeds):6,}  {message} Tables {', '.join(map(str, seeds[:3]))}")
        print(f"faults: {sum(map(len, self.faults.values())):,} in {len(self.faults)} causes")
        for fault, seeds in sorted(self.faults.items(), key=lambda item: (item[0].what, -len(item[1]))):
            print(
                f"  {len(seeds):5,}  {fault.what}: {fault.detail}; tables {', '.join(map(str, seeds[:5]))}"
            )
            if plans:
                print(f"         {self.plans[fault]}")


def main() -> int:
    """Run, print, and say by the exit code whether all was well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=1000, help="how many tables")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first one")
    parser.add_argument("--only", type=int, help="the number of a single table, run in this process")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--processes", type=int, default=1, choices=(1, 2))
    parser.add_argument("--plans", action="store_true", help="print a plan for every cause")
    asked = parser.parse_args()
    tally = Tally()
    if asked.only is not None:
        from fuzzing.run import run_seed

        tally.add(run_seed(asked.only))
        tally.show(plans=True)
        return int(bool(tally.faults))
    signal.signal(signal.SIGTERM, _interrupted)
    # tables are too small to be shared among threads, which would only wait for each other
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    began, last, whole = time.monotonic(), asked.seed - 1, True
    seeds = list(range(asked.seed, asked.seed + asked.tables))
    try:
        for outcome in outcomes(seeds, asked.processes, asked.seconds):
            last = max(last, outcome.seed)
            for fault in outcome.faults:
                if fault not in tally.faults:
                    print(
                        f"table {outcome.seed}: {fault.what}: {fault.detail}", file=sys.stderr, flush=True
                    )
            tally.add(outcome)
            if tally.tables.total() % EVERY == 0:
                print(f"{tally.line()}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        whole = False
        print(f"interrupted after table {last}")
    tally.show(plans=asked.plans)
    took = time.monotonic() - began
    print(f"{took:.0f} s, {1000 * took / max(tally.tables.total(), 1):.0f} ms a table", flush=True)
    return int(bool(tally.faults)) if whole else 2


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())

"""What the benchmarks leave out of a run as the proof of a bound."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent.parent / "bench"


def test_only_what_is_spent_on_proving_is_added_up(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    from adapters.run_shoal import Proving

    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: 2 * now[0])
    proving = Proving()
    for at, what in [
        (1.0, "grouping"),
        (3.0, "proving a bound"),
        (3.5, "proving a bound"),
        (4.0, "improving, loss 3.000 %"),
        (9.0, "proving a bound, part 1 of 2"),
        (9.25, "recoding"),
        (20.0, "done"),
    ]:
        now[0] = at
        proving(what, 0.0)
    assert proving.wall == pytest.approx(1.25)
    assert proving.cpu == pytest.approx(2.5)
    sys.modules.pop("adapters.run_shoal", None)

"""Progress for those who wait at a terminal, and nothing of it afterwards."""

from __future__ import annotations

import io
import sys
import threading
import time

from rich.progress import Progress

from shoal.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_that_starts_while_all_is_done_is_stopped(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    start, stop, said = Progress.start, Progress.stop, []

    def late(bar):
        time.sleep(0.2)
        said.append("started")
        start(bar)

    def stopped(bar):
        said.append("stopped")
        stop(bar)

    monkeypatch.setattr(Progress, "start", late)
    monkeypatch.setattr(Progress, "stop", stopped)
    with progress.shown():
        time.sleep(0.05)
    assert said == ["started", "stopped"]
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_nothing_is_shown_where_nobody_looks(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.shown() as report:
        report("grouping", 0.5)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")

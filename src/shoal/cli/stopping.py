"""Signals that ask a run to stop: it ends in order, leaves no temporaries, and says what is there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

__all__ = ["Stopped", "listen", "told"]

NAMES = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", "SIGHUP": "SIGHUP"}  # Windows lacks the last
PATIENCE = 2.0  # seconds


class Stopped(BaseException):
    """A signal came; no library that waits for Ctrl-C shall take it for its own."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.code = 128 + number
        self.name = NAMES[signal.Signals(number).name]


def listen() -> None:
    """End in order on Ctrl-C, SIGTERM and SIGHUP, but for those that whoever started us ignores (nohup)."""
    begun = -PATIENCE

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal begun
        if time.monotonic() - begun >= PATIENCE:  # else the end has begun: nothing shall interrupt it
            begun = time.monotonic()
            raise Stopped(number)

    for number in signal.Signals:
        if number.name in NAMES and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


@contextmanager
def told(output: str | Path) -> Iterator[None]:
    """Note on whatever stops a run that its release is there: the file is another one than before."""
    before = _seen(output)
    try:
        yield
    except (Stopped, KeyboardInterrupt) as stop:
        if _seen(output) != before:
            stop.add_note(f"The release {str(output)!r} is published and whole.")
        raise


def _seen(path: str | Path) -> tuple[int, int, int] | None:
    with suppress(OSError):
        its = os.stat(path)
        return its.st_dev, its.st_ino, its.st_mtime_ns
    return None

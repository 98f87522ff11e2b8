"""Progress for whoever waits longer than a second at a terminal; silent everywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.cli.terminal import shows_all

__all__ = ["shown"]

PATIENCE = 1.0


@contextmanager
def shown() -> Iterator[Callable[[str, float], None]]:
    """A callback that shows what is being done and how far it is, on stderr."""
    if not sys.stderr.isatty():
        yield lambda _what, _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn("dots" if shows_all(sys.stderr) else "line"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("reading", total=None)

    def report(what: str, share: float) -> None:
        bar.update(task, description=what, completed=share, total=1.0 if share > 0 else None)

    starter = threading.Timer(PATIENCE, bar.start)
    starter.daemon = True
    starter.start()
    try:
        yield report
    finally:
        starter.cancel()
        starter.join()  # it may be starting the bar this very moment, and nobody would stop it then
        bar.stop()

"""One writer at a time in a folder: others wait until its names are given.

The lock is on the folder itself, so it leaves no file behind and ends with the process, however that ends.
Where folders cannot be locked, a file `.shoal.lock` stands for it; a killed run leaves it, and whoever
waits for it in vain is told so. Folders of a network are locked among the programs of one machine only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shoal.errors import DataError

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows)
    fcntl = None  # type: ignore[assignment]

__all__ = ["alone_in"]

WAIT, PAUSE = 120.0, 0.01  # seconds
NAME = ".shoal.lock"


@contextmanager
def alone_in(*folders: Path) -> Iterator[None]:
    """Hold folders against all other writers."""
    found = {(at.st_dev, at.st_ino): folder for folder in folders for at in (folder.stat(),)}
    with ExitStack() as held:
        for _, folder in sorted(found.items()):  # all writers in one order: nobody waits in a circle
            held.enter_context(_locked(folder))
        yield


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if fcntl is None:  # pragma: no cover  (Windows)
        with _lock_file(folder):
            yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with _flock(folder, handle):
            yield
    finally:
        os.close(handle)


@contextmanager
def _flock(folder: Path, handle: int) -> Iterator[None]:
    end = time.monotonic() + WAIT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            _pause(end, f"Another run is publishing in the folder {str(folder)!r}. Wait for its end.")
        except OSError:  # a file system without locks
            with _lock_file(folder):
                yield
            return
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # also for forks that hold the folder open


@contextmanager
def _lock_file(folder: Path) -> Iterator[None]:
    path = folder / NAME
    end = time.monotonic() + WAIT
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            break
        except FileExistsError:
            _pause(
                end, f"The file {str(path)!r} says that another run is publishing. If none is, remove it."
            )
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)


def _pause(end: float, sentence: str) -> None:
    if time.monotonic() >= end:
        raise DataError(f"Nothing was published. {sentence}")
    time.sleep(PAUSE)

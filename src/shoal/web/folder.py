"""The private folder of a workbench: its user's alone, removed at the end, swept after a crash."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows has no advisory locks; nothing is swept there)
    fcntl = None  # type: ignore[assignment]

__all__ = ["private_folder", "sweep"]

PREFIX = "shoal-workbench-"
LOCK = "lock"
YOUNG = 60.0
"""Seconds in which a folder may yet get its lock."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that nobody else reads, gone afterwards, whatever happens inside."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # 0700
    lock = os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep() -> None:
    """Remove what killed workbenches of this user left; a running one holds its lock."""
    if fcntl is None:  # pragma: no cover
        return
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with suppress(OSError):  # another's, locked, or gone meanwhile
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if not (folder / LOCK).exists():
                if time() - folder.stat().st_mtime > YOUNG:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)

"""Files that are there whole or not at all.

A file is written under a temporary name in the folder of its target, forced to the disk, and renamed.
A run that is killed leaves the target as it was; its temporaries have hidden names that no one asks for,
and the next run for the same target sweeps them away. A running writer holds a lock on its temporaries,
so one run never sweeps what another is still writing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows has no advisory locks; nothing is swept there)
    fcntl = None  # type: ignore[assignment]

__all__ = ["PRIVATE", "PUBLIC", "Draft", "hash_of", "is_same", "sweep"]

PUBLIC, PRIVATE = 0o666, 0o600  # the first is narrowed by the user's umask


class Draft:
    """A temporary file beside `target`, removed on leaving the `with` unless it was placed."""

    def __init__(self, target: Path, *, mode: int = PUBLIC) -> None:
        self.target = target
        self.path = target.parent / f"{_stem(target)}{secrets.token_hex(8)}.part"
        self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        os.close(self._file)

    def write(self, text: str) -> None:
        """Fill the file with `text` and force it to the disk."""
        self.path.write_text(text, encoding="utf-8", newline="")
        self.keep()

    def keep(self) -> None:
        """Force to the disk what was written to `path`."""
        os.fsync(self._file)

    def fingerprint(self) -> str:
        """SHA-256 of what was written."""
        return hash_of(self.path)

    def place(self) -> None:
        """Give the file its target's name and force the folder to the disk."""
        os.replace(self.path, self.target)
        sync_folder(self.target.parent)


def hash_of(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_same(one: Path, other: Path) -> bool:
    """Whether two names lead to one file, by links of any kind."""
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return False


def sync_folder(folder: Path) -> None:
    """Force a folder's names to the disk."""
    if os.name == "nt":  # pragma: no cover  (Windows cannot open folders)
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(target: Path) -> None:
    """Remove what killed runs left behind for `target`."""
    if fcntl is None:  # pragma: no cover
        return
    for path in target.parent.glob(f"{_stem(target)}*.part"):
        with contextlib.suppress(OSError):  # locked by a running writer, or swept by another run
            handle = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(handle)


def _stem(target: Path) -> str:
    # a hash, so that neither long names nor wildcards in them can do harm
    return f".shoal-{hashlib.sha256(target.name.encode()).hexdigest()[:16]}-"

"""Files that are there whole or not at all.

A file is written under a temporary name in the folder of its target, forced to the disk, and renamed.
A run that is killed leaves the target as it was; its temporaries have hidden names that no one asks for,
and the next run for the same target sweeps them away. A running writer holds a lock on its temporaries,
so one run never sweeps what another is still writing.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from pathlib import Path
from types import TracebackType

from shoal.model.files import mark_of_folder

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows has no advisory locks; nothing is swept there)
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "PRIVATE",
    "PUBLIC",
    "Draft",
    "Drafts",
    "FolderDraft",
    "hash_of",
    "is_same",
    "sweep",
    "sync_folder",
]

PUBLIC, PRIVATE = 0o666, 0o600  # the first is narrowed by the user's umask


class Drafts:
    """The temporaries of one release, removed on leaving the `with` unless they were placed."""

    def __init__(self, release: Path) -> None:
        self._release = release
        self._held: list[Draft] = []
        self._process = os.getpid()

    def __enter__(self) -> Drafts:
        atexit.register(self._at_exit)  # a signal may end the run before `__exit__` has begun
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()
        atexit.unregister(self._at_exit)

    def new(self, target: Path, *, mode: int = PUBLIC) -> Draft:
        """An empty draft of `target`, locked, so that no other run takes it for a dead one's."""
        while True:
            draft = Draft(target, self.hidden(target))
            self._held.append(draft)  # before it exists, so that nothing can come in between
            if draft.open(mode):
                return draft

    def new_folder(self, target: Path) -> FolderDraft:
        """A draft of a folder, which is not there yet, in a private folder that is locked."""
        while True:
            draft = FolderDraft(target, self.hidden(target))
            self._held.append(draft)
            if draft.open(0o700):
                return draft

    def hidden(self, target: Path) -> Path:
        """A name in the target's folder that nobody asks for; a later run sweeps what is left there."""
        return target.parent / f"{_stem(self._release)}{secrets.token_hex(8)}.part"

    def _remove(self) -> None:
        try:
            while self._held:
                self._held[-1].remove()
                self._held.pop()
        except BaseException:
            for draft in self._held:  # a signal came: first the rest
                draft.remove()
            raise

    def _at_exit(self) -> None:
        if os.getpid() == self._process:  # not in a fork
            self._remove()


class Draft:
    """What `target` is to hold, under a temporary name until it is placed."""

    def __init__(self, target: Path, path: Path) -> None:
        self.target = target
        self.path = path
        self._file = -1

    def open(self, mode: int) -> bool:
        """Create the file and lock it; False where another run swept it before it was locked."""
        self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._file, fcntl.LOCK_EX)
        return os.fstat(self._file).st_nlink > 0

    def write(self, content: str | bytes) -> None:
        """Fill the file and force it to the disk."""
        self.path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.keep()

    def keep(self) -> None:
        """Force to the disk what was written to `path`."""
        if not os.path.samestat(os.fstat(self._file), os.lstat(self.path)):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        os.fsync(self._file)

    def fingerprint(self) -> str:
        """SHA-256 of what was written."""
        return hash_of(self.path)

    def place(self) -> None:
        """Give the file its target's name; `sync_folder` forces the name to the disk."""
        if not self.is_placed:
            os.replace(self.path, self.target)

    @property
    def is_placed(self) -> bool:
        """Whether the target's name leads to this very file."""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._file), os.lstat(self.target))
        return False

    def remove(self) -> None:
        """Remove the file where it still has its temporary name, and let go of it."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        file, self._file = self._file, -1
        if file >= 0:
            with contextlib.suppress(OSError):
                os.close(file)


class FolderDraft(Draft):
    """What a folder is to hold, inside a private one until it is placed."""

    def __init__(self, target: Path, root: Path) -> None:
        super().__init__(target, root / "table")
        self._root = root
        self._seen: os.stat_result | None = None

    def open(self, mode: int) -> bool:
        """Create the private folder and lock it; False where another run swept it before it was locked."""
        os.mkdir(self._root, mode)
        self._file = os.open(self._root, os.O_RDONLY)
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX)
        return os.path.lexists(self._root)

    def keep(self) -> None:
        """Force to the disk what was written to `path`."""
        for file in sorted(self.path.iterdir()):
            handle = os.open(file, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_folder(self.path)
        self._seen = os.lstat(self.path)

    def fingerprint(self) -> str:
        """The mark of the folder."""
        return mark_of_folder(self.path)

    def place(self) -> None:
        """Give the folder its target's name, which is free."""
        if not self.is_placed:
            os.rename(self.path, self.target)

    @property
    def is_placed(self) -> bool:
        """Whether the target's name leads to this very folder."""
        with contextlib.suppress(FileNotFoundError):
            return self._seen is not None and os.path.samestat(self._seen, os.lstat(self.target))
        return False

    def remove(self) -> None:
        """Remove the private folder with what is left in it, and let go of it."""
        shutil.rmtree(self._root, ignore_errors=True)
        file, self._file = self._file, -1
        if file >= 0:
            with contextlib.suppress(OSError):
                os.close(file)


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


def sweep(release: Path, folder: Path) -> None:
    """Remove what killed runs for `release` left in `folder`; the caller is alone there."""
    if fcntl is None:  # pragma: no cover
        return
    for path in folder.glob(f"{_stem(release)}*.part"):
        with contextlib.suppress(OSError):  # locked by a running writer, or swept by another run
            is_folder = path.is_dir() and not path.is_symlink()
            handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_folder:
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)
            finally:
                os.close(handle)


def _stem(release: Path) -> str:
    # a hash, so that neither long names nor wildcards in them can do harm
    return f".shoal-{hashlib.sha256(os.fsencode(release.name)).hexdigest()[:16]}-"

"""Scratch files without a name: private, and gone with the process however it ends."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError

__all__ = ["Nameless", "check_room", "folder_of"]

SPARE = 64 << 20
"""Bytes that are left free in any case."""


class Nameless:
    """A file that has no name in any folder and is read at any place by anybody who holds it."""

    def __init__(self, folder: Path) -> None:
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _no_room(folder, error) from None
        self._folder = folder

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return os.fstat(self._file.fileno()).st_size

    def write(self, data: Any) -> int:
        """Add bytes at the end."""
        view = memoryview(data).cast("B")
        written = 0
        try:
            while written < len(view):
                written += self._file.write(view[written:])
        except OSError as error:
            raise _no_room(self._folder, error) from None
        return written

    def rows(self, kind: np.dtype[Any], *, first: int = 0, many: int | None = None) -> NDArray[Any]:
        """Rows of a fixed width, all of them or `many` from the `first` on."""
        there = self.size // kind.itemsize - first
        rows = np.empty(there if many is None else min(many, there), dtype=kind)
        view = memoryview(rows).cast("B") if rows.size else memoryview(b"")  # type: ignore[arg-type]
        done = 0
        while done < len(view):
            done += os.preadv(self._file.fileno(), [view[done:]], first * kind.itemsize + done)
        return rows

    def reader(self) -> io.RawIOBase:
        """A new view with a place of its own."""
        return _View(self._file.fileno(), self)

    def close(self) -> None:
        """Let go of it: then it is gone."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # a folder may have refused it
            self._file.close()


class _View(io.RawIOBase):
    def __init__(self, handle: int, holder: Nameless) -> None:
        self._handle = handle
        self._holder = holder  # or the file would be gone
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._holder.size}[whence]
        self._at = base + place
        return self._at

    def readinto(self, buffer: Any) -> int:
        got = os.preadv(self._handle, [memoryview(buffer).cast("B")], self._at)
        self._at += got
        return got


def folder_of(name: str | None) -> Path:
    """Where scratch files are: the folder that was named, or the system's own for temporary files."""
    folder = Path(tempfile.gettempdir() if name is None else name)
    if not folder.is_dir():
        raise DataError(
            f"The folder for scratch files, {str(folder)!r}, is not there. Make it, or name another.",
            field="scratch",
        )
    return folder


def check_room(folder: Path, needed: int) -> None:
    """Refuse to begin where the scratch files would not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise DataError(
            f"Scratch files of about {needed / 1e9:.1f} GB are needed, and the folder {str(folder)!r} has "
            f"room for {free / 1e9:.1f} GB. Free some, or name another folder for scratch.",
            field="scratch",
        )


def _no_room(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"A scratch file in {str(folder)!r} cannot be written: {error.strerror or type(error).__name__}. "
        "Nothing was published. Name another folder for scratch.",
        field="scratch",
    )

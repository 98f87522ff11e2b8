"""Whether a file is too large to be read whole; asked before any library for tables is loaded."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.model.size import bytes_of

__all__ = ["ARROW", "PARQUET", "TEXT", "is_large", "needs_stream"]

PARQUET, ARROW, TEXT = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".csv", ".tsv", ".tab", ".txt")
IN_MEMORY = {"parquet": 25.0, "arrow": 4.0, "text": 10.0}
"""Bytes that the engine for tables in memory needs at its peak for each byte of a file, roughly."""


def is_large(path: str | os.PathLike[str], *, memory: str | None = None) -> bool:
    """Whether a table must be read batch by batch: a folder, or a file too large for so much memory.

    Without `memory` it is too large where it would take two thirds of the machine's.

    Example:
        >>> import shoal
        >>> shoal.is_large("examples/hospital.csv"), shoal.is_large("examples/hospital.csv", memory="1MB")
        (False, True)

    """
    return Path(path).is_dir() or needs_stream(path, memory=memory)


def needs_stream(path: str | os.PathLike[str], *, memory: str | None = None) -> bool:
    """Whether a file, or a folder of files, is too large for so much memory."""
    place = Path(path)
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    needed = 0.0
    for file in files:
        suffix = file.suffix.lower()
        if file.is_file() and suffix in (*PARQUET, *ARROW, *TEXT):
            kind = "parquet" if suffix in PARQUET else "arrow" if suffix in ARROW else "text"
            needed += IN_MEMORY[kind] * file.stat().st_size
    return needed > (bytes_of(memory) if memory is not None else 2 * _machine_memory() // 3)


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

"""Whether a file is too large to be read whole; asked before any library for tables is loaded."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.model.size import bytes_of

__all__ = ["ARROW", "PARQUET", "TEXT", "has_many_cells", "is_large", "needs_stream"]

PARQUET, ARROW, TEXT = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".csv", ".tsv", ".tab", ".txt")
IN_MEMORY = {"parquet": 25.0, "arrow": 4.0, "text": 10.0}
"""Bytes that the engine for tables in memory needs at its peak for each byte of a file, roughly."""
PER_CELL = 60
"""Bytes that a cell of a table in memory takes while it is verified, roughly."""


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
    return sum(IN_MEMORY[_kind(file)] * file.stat().st_size for file in _files(path)) > _most(memory)


def has_many_cells(path: str | os.PathLike[str], *, memory: str | None = None) -> bool:
    """The same by the cells of Parquet files, which in a sorted table take hardly any bytes there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells = 0
    for file in _files(path):
        if _kind(file) == "parquet":
            try:
                about = pq.read_metadata(file)
            except (pa.ArrowException, OSError):
                return False  # whoever reads it says what is wrong
            cells += about.num_rows * about.num_columns
    return PER_CELL * cells > _most(memory)


def _files(path: str | os.PathLike[str]) -> list[Path]:
    place = Path(path)
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return [one for one in files if one.is_file() and one.suffix.lower() in (*PARQUET, *ARROW, *TEXT)]


def _kind(file: Path) -> str:
    suffix = file.suffix.lower()
    return "parquet" if suffix in PARQUET else "arrow" if suffix in ARROW else "text"


def _most(memory: str | None) -> int:
    return bytes_of(memory) if memory is not None else 2 * _machine_memory() // 3


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

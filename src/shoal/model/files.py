"""Where the parts of a release lie."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shoal.model.certificate import Certificate

__all__ = [
    "Files",
    "Stored",
    "lookup_path",
    "lookups_beside",
    "mark_of_files",
    "mark_of_folder",
    "register_beside",
]

LONGEST = 255  # bytes in a file's name, nearly everywhere
READABLE = 60
SHORT = 10


@dataclass(frozen=True, slots=True)
class Files:
    """Where the parts of a release lie; the receipt is private, and so is the state of a register.

    `formulas` counts, by column, the written cells that a spreadsheet would take for formulas, `dates`
    those that it would turn into dates though they are none. `address` is where a table lies that is no
    file or folder of this machine: `table` is then its name.
    """

    table: Path
    certificate: Path
    receipt: Path
    lookups: tuple[Path, ...] = ()
    map: Path | None = None
    lists: Path | None = None
    state: Path | None = None
    formulas: Mapping[str, int] = field(default_factory=dict)
    dates: Mapping[str, int] = field(default_factory=dict)
    address: str | None = None

    @classmethod
    def beside(cls, path: str | os.PathLike[str]) -> Files:
        """The names that go with a table at `path`."""
        table = Path(path)
        return cls(
            table,
            table.with_name(f"{table.stem}.certificate.json"),
            table.with_name(f"{table.stem}.receipt.json"),
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the parts of a release in a database lie: the table by its address, without any password."""

    table: str
    certificate: Path
    receipt: Path
    lookups: tuple[Path, ...] = ()
    map: Path | None = None
    formulas: Mapping[str, int] = field(default_factory=dict)
    dates: Mapping[str, int] = field(default_factory=dict)


def register_beside(files: Files) -> Files:
    """The same with the lists and the state of a register."""
    table = files.table
    return replace(
        files,
        lists=table.with_name(f"{table.stem}.lists.csv"),
        state=table.with_name(f"{table.stem}.state"),
    )


def lookup_path(table: str | os.PathLike[str], column: str, mark: str) -> Path:
    """Where the members behind the ids of a column lie, beside a table; `mark` is the lookup's fingerprint.

    Lookups of other content have other names, so those of an older release stay until its table is gone.
    Signs other than letters and digits become `_`, and long names are cut; the mark tells them apart.

    >>> lookup_path("out.csv", "zip/code", "3fa94c12ab77").name
    'out.zip_code-3fa94c12ab.csv'
    """
    path = Path(table)
    ending = f"-{_plain(mark)[:SHORT]}.csv"
    room = min(READABLE, LONGEST - len(os.fsencode(f"{path.stem}.{ending}")))
    name = _plain(column).encode()[: max(room, 0)].decode(errors="ignore")  # never half a letter
    return path.with_name(f"{path.stem}.{name}{ending}")


def lookups_beside(table: str | os.PathLike[str], certificate: Certificate) -> dict[str, Path]:
    """By column, where the lookup tables lie that a certificate names."""
    marks = certificate.more.get("lookups")
    if not isinstance(marks, Mapping):
        return {}
    return {str(name): lookup_path(table, str(name), str(mark)) for name, mark in marks.items()}


def mark_of_files(marks: Iterable[str]) -> str:
    """The SHA-256 of a release of many files, from that of each in the order of their names."""
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()


def mark_of_folder(folder: Path) -> str:
    """The same of a folder; readers do not look at files whose names begin with a dot or a line."""
    marks = []
    for path in sorted(folder.rglob("*")):
        if path.name[0] not in "._" and path.is_file():
            with path.open("rb") as file:
                marks.append(hashlib.file_digest(file, "sha256").hexdigest())
    return mark_of_files(marks)


def _plain(text: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in text)

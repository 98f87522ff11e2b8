"""Files that are small on disk and large inside: limits, looked at before anybody's memory is full.

A packed text may unpack to GIB gigabytes and, beyond FREE, to RATIO times its size; `SHOAL_UNPACK_GB` sets
another number of gigabytes, for files one trusts. A sheet may span CELLS cells: its parser makes room for
every cell up to the last one, so a file of 1 kB with one cell in the last corner would end the process.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from shoal.errors import DataError, PlanError

__all__ = ["check_book", "check_plain_file", "read_packed"]

GIB, RATIO, FREE = 4.0, 200, 100 * 2**20
CELLS = 50_000_000
CHUNK = 2**20
LONGEST = 16 * 2**20
"""Bytes without a tag that are kept together."""
SETTING = "SHOAL_UNPACK_GB"
CELL = re.compile(rb"<(?:[\w.-]+:)?c[\s/>]")
MERGED = re.compile(rb"<(?:[\w.-]+:)?mergeCell\s")
TAG = re.compile(rb"""<(?:[\w.-]+:)?(row|c)(?=[\s/>])((?:[^<>"']|"[^"]*"|'[^']*')*)>""")
PLACE = re.compile(rb"""(?<=[\s"'])r\s*=\s*["']\s*([A-Za-z]*)([0-9]{1,18})""")


def check_plain_file(path: Path) -> None:
    """Refuse what is no file: folders, and pipes, devices and sockets, which cannot be read twice."""
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder. Name the file that holds the table.")
        if not path.exists():
            raise DataError(f"There is no file {path}. Check the name and the folder.")
        if not path.is_file():
            raise DataError(
                f"{path} is a pipe, a device or a socket, and is not read. Write the table to a file first."
            )
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or 'unknown reason'}.") from None


def read_packed(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is packed by gzip, within the limits."""
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            file.seek(0)
            return file.read()
    with gzip.open(path) as packed:
        return b"".join(_pieces(packed, path))


def check_book(path: Path) -> int:
    """Refuse a book that unpacks to more than the limits, or with too many cells; how many it merges."""
    with zipfile.ZipFile(path) as book:
        seen = merged = 0
        for part in book.infolist():
            part.file_size = 2**62  # what it says of itself may be wrong: it is unpacked to its true end
            rows = columns = 0
            placed = nameless = 0
            for text in _texts(book, part, path, seen):
                seen += len(text)
                places = PLACE.findall(text)
                letters = {name for name, _ in places}
                columns = max([columns, *map(_number, letters)])
                rows = max([rows, *map(int, {number for _, number in places})])
                placed += sum(1 for name, _ in places if name)
                nameless += len(CELL.findall(text))
                merged += len(MERGED.findall(text))
            if nameless > placed:  # cells without a place of their own follow each other
                rows, columns = _counted(_texts(book, part, path, 0), rows, columns)
            if rows * columns > CELLS:
                raise DataError(
                    f"{path} has a sheet that reaches to row {rows:,} and column {columns:,}; {CELLS:,} "
                    "cells are the most. Clear what stands far from the table, or write it as Parquet."
                )
    return merged


def _texts(book: zipfile.ZipFile, part: zipfile.ZipInfo, path: Path, seen: int) -> Iterator[bytes]:
    """A part of a book, cut between tags."""
    with book.open(part) as file:
        rest = b""
        for piece in _pieces(file, path, seen):
            rest += piece
            end = rest.rfind(b"<")
            if end > 0 or len(rest) > LONGEST:
                end = end if end > 0 else len(rest)
                yield rest[:end]
                rest = rest[end:]
        yield rest


def _counted(texts: Iterator[bytes], rows: int, columns: int) -> tuple[int, int]:
    """How far a sheet reaches, its cells counted one by one where they do not say their place."""
    down = across = 0
    for text in texts:
        for kind, words in TAG.findall(text):
            place = PLACE.search(words)
            if kind == b"row":
                down, across = int(place[2]) if place is not None else down + 1, 0
            else:
                across = _number(place[1]) if place is not None and place[1] else across + 1
            rows, columns = max(rows, down), max(columns, across)
    return rows, columns


def _number(letters: bytes) -> int:
    """The number of a column: A is 1, Z 26, AA 27."""
    number = 0
    for letter in letters.upper()[:8]:
        number = 26 * number + letter - 64
    return number


def _pieces(file: IO[bytes] | gzip.GzipFile, path: Path, already: int = 0) -> Iterator[bytes]:
    """What a packed file holds, piece by piece, until it is too much."""
    most, why = _most(path)
    while True:
        try:
            piece = file.read(CHUNK)
        except (EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError):
            raise DataError(f"{path} is damaged or cut short: it cannot be unpacked.") from None
        if not piece:
            return
        already += len(piece)
        if already > most:
            raise DataError(
                f"{path} unpacks to {why}. If you trust it, set {SETTING} to the gigabytes it may have."
            )
        yield piece


def _most(path: Path) -> tuple[float, str]:
    """The bytes that a file may unpack to, and what it is if it has more."""
    given = os.environ.get(SETTING)
    if given is not None:
        try:
            most = float(given)
        except ValueError:
            most = 0.0
        if not most > 0:
            raise PlanError(f"{SETTING} is {given!r}, which is no number of gigabytes above 0.")
        return most * 2**30, f"more than the {most:g} GB of {SETTING}"
    ratio = max(FREE, RATIO * path.stat().st_size)
    if ratio < GIB * 2**30:
        return ratio, f"more than {RATIO} times its size, as files made to fill a memory do"
    return GIB * 2**30, f"more than {GIB:g} GB"

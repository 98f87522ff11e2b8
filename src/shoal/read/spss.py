"""A look at an SPSS file before it is read: damaged widths and places of columns would end the process."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO

__all__ = ["is_sound"]

HEAD, LAYOUT = 176, 64
"""Bytes before the first column, and the place of what tells the order of bytes."""
COLUMN, LABELS, LABELLED = 2, 3, 4
"""The marks of what follows: a column, value labels, and the places of the columns that have them."""
WIDEST, MOST_MARKS = 255, 3


def is_sound(path: Path) -> bool:
    """Whether columns are as wide as they say, and value labels belong to columns that are there."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        order = "<" if head[LAYOUT : LAYOUT + 4] in {b"\2\0\0\0", b"\3\0\0\0"} else ">"
        try:
            return head.startswith(b"$FL") and _has_sound_records(file, order)
        except struct.error:  # cut short
            return False


def _has_sound_records(file: IO[bytes], order: str) -> bool:
    def number() -> int:
        return int(struct.unpack(f"{order}i", file.read(4))[0])

    columns = more = 0  # pieces of eight bytes, and how many of them the last text still needs
    mark = number()
    while mark == COLUMN:
        width, has_label, marks = number(), number(), number()
        file.seek(16, 1)
        if (width == -1) != (more > 0) or not -1 <= width <= WIDEST:
            return False
        if has_label not in {0, 1} or abs(marks) > MOST_MARKS:
            return False
        more = more - 1 if width == -1 else max(width - 1, 0) // 8
        columns += 1
        if has_label:
            length = number()
            if length < 0:
                return False
            file.seek(length + -length % 4, 1)
        file.seek(8 * abs(marks), 1)
        mark = number()
    while mark in {LABELS, LABELLED}:
        count = number()
        for _ in range(count):
            if mark == LABELLED:
                if not 1 <= number() <= columns:
                    return False
                continue
            (length,) = struct.unpack("8xB", file.read(9))
            file.seek(length + -(length + 1) % 8, 1)
        mark = number()
    return more == 0

"""Terminals that cannot show every letter: what they lack is replaced, and nothing ends because of it."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import TextIO

__all__ = ["keep_for_us", "prepare", "print_utf8", "shows_all"]

SIGNS = {"█": "#", "░": ".", "✓": "+", "✗": "x", "•": "-", "–": "-", "…": "...", "≥": ">=", "≤": "<="}  # noqa: RUF001


def prepare() -> None:
    """Let standard output and error replace what their encoding lacks: our own signs by plain ones."""
    codecs.register_error("shoal", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="shoal")


def keep_for_us() -> None:
    """Let nobody but Python write to standard output and error.

    A panic of compiled code may quote a cell there, and what solvers print would come between our lines.
    """
    while (
        number := os.open(os.devnull, os.O_RDWR)
    ) <= 2:  # one was closed: no other file may take its place
        pass
    os.close(number)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # else closed, or not a stream of ours
            with contextlib.suppress(OSError, ValueError):
                setattr(sys, name, _apart(stream))


def _apart(stream: io.TextIOWrapper) -> TextIO:
    """The same stream by a number of its own; what its old number is given goes nowhere."""
    stream.flush()
    number = stream.fileno()
    ours = os.dup(number)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
    by_line = stream.line_buffering or stream.write_through
    return open(ours, "w", encoding=stream.encoding, errors=stream.errors, buffering=1 if by_line else -1)


def shows_all(stream: object) -> bool:
    """Whether a stream is written in an encoding that has every letter."""
    try:
        return codecs.lookup(getattr(stream, "encoding", None) or "ascii").name.startswith("utf")
    except LookupError:
        return False


def print_utf8(text: str) -> None:
    """Print what is meant for a file, in the encoding that such files have."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(text, end="")


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    plain = "".join(SIGNS.get(sign, sign) for sign in lacking)
    return plain.encode("ascii", "backslashreplace").decode(), error.end

"""Terminals that cannot show every letter: what they lack is replaced, and nothing ends because of it."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys

__all__ = ["keep_for_us", "prepare", "print_utf8", "shows_all"]

SIGNS = {"█": "#", "░": ".", "✓": "+", "✗": "x", "•": "-", "–": "-", "…": "...", "≥": ">=", "≤": "<="}  # noqa: RUF001


def prepare() -> None:
    """Let standard output and error replace what their encoding lacks: our own signs by plain ones."""
    codecs.register_error("shoal", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="shoal")


def keep_for_us() -> None:
    """Let nobody but Python write to standard error: a panic of compiled code may quote a cell there."""
    if not isinstance(sys.stderr, io.TextIOWrapper):  # closed, or not a stream of ours
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
        number = sys.stderr.fileno()
        ours = os.dup(number)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
        sys.stderr = open(  # noqa: SIM115  (it lasts as long as the process)
            ours, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1
        )


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

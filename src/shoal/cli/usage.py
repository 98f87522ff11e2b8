"""The answer to a mistyped line: what is wrong, never what was typed, which may hold a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

__all__ = ["Commands", "without_words"]

NAME = re.compile(r"[\w-]{1,40}")
"""What a mistyped option or command looks like, which is shown again."""
EXTRA = (
    "There are more arguments than this command takes. They are not shown: one may hold a password. Put a "
    "text with blanks in quotes, and write an option before its value."
)


class Commands(TyperGroup):
    """The commands, with errors that repeat nothing but names of options and commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command."""
        typed = list(args)
        with _silent(typed):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's own words and run it."""
        typed = [*getattr(ctx, "_protected_args", ()), *ctx.args]
        with _silent(typed):
            return super().invoke(ctx)


@contextmanager
def _silent(typed: list[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Typer brings a Click of its own, or takes the one that is installed: its errors have no one class
        message = getattr(error, "message", None)
        if hasattr(error, "format_message") and isinstance(message, str):
            error.__dict__["message"] = without_words(message, typed)
        raise


def without_words(message: str, typed: list[str]) -> str:
    """A message of the parser without the values that were typed.

    >>> without_words("No such command 'anonymise'.", ["anonymise"])
    "No such command 'anonymise'."
    >>> without_words("No such command 'sqlite:a.db'.", ["sqlite:a.db"])
    "No such command '...'."
    >>> without_words("'x1' is not a valid integer.", ["-kx1"])
    "'...' is not a valid integer."
    """
    if "extra argument" in message:
        return EXTRA
    if message.startswith(("No such command", "No such option", "Option ")):
        named = (word.lstrip("-").partition("=")[0] for word in typed)
        hidden = [word for word in named if not NAME.fullmatch(word)]
    else:
        hidden = [part for word in typed for part in (word, word.partition("=")[2], word[2:])]
    for word in sorted(filter(None, hidden), key=len, reverse=True):
        message = message.replace(repr(word), "'...'").replace(f"'{word}'", "'...'")
        if not NAME.fullmatch(word):
            message = message.replace(word, "...")
    return message

"""What an error says, with everything that a traceback would show along with it."""

from __future__ import annotations

import traceback

__all__ = ["said_by"]


def said_by(error: BaseException, *secrets: str) -> str:
    """The message of an error whose traceback holds none of the secrets, causes and contexts included."""
    shown = "".join(traceback.format_exception(error))
    lines = [line for line in shown.splitlines() if not line.startswith("    ")]  # not the code itself
    assert not any(secret in line for secret in secrets for line in lines)
    return str(error)

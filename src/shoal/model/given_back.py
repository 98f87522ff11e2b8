"""Memory that nobody uses goes back to the system."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

__all__ = ["give_back"]


def give_back() -> None:
    """Let the C library give back what was freed in small pieces; it keeps that where it is not asked."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)

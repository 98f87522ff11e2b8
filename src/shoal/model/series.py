"""Releases over time: which release of a series this is, and what it follows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LEDGER", "MODES", "SAME", "InSeries"]

LEDGER = "ledger"
MODES = (LEDGER,)
"""How releases follow one another. Ledger: rows only arrive, and each release holds new ones alone."""

SAME = ("series", "k", "quasi", "sensitive", "keep", "rules", "unit", "count", "style", "cells")
"""The fields of a plan that all releases of a series share."""


@dataclass(frozen=True, slots=True)
class InSeries:
    """Which release of a series this is; the first follows none.

    `before` is the digest of all that the certificate of the former release says: a chain that nobody can
    change in the middle.
    """

    mode: str
    number: int
    before: str | None = None

    def in_words(self) -> str:
        """One sentence, for people."""
        follows = "" if self.before is None else f" It follows release {self.number - 1}."
        return f"Release {self.number} of a {self.mode}.{follows}"

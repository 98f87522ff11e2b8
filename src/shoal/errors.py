"""Everything Shoal raises on purpose.

    ShoalError
    ├── PlanError        what was asked for cannot be right
    ├── DataError        the table does not fit what was asked
    │   └── TooFewRows
    ├── NotAnonymous     the independent check failed; nothing was published
    └── MissingExtra     an optional package is not installed

A message says what is wrong, what was found and what to do, in full sentences. It names columns and
counts and never shows a cell's value.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "DataError",
    "MissingExtra",
    "NotAnonymous",
    "PlanError",
    "ShoalError",
    "TooFewRows",
    "choices",
]


class ShoalError(Exception):
    """Anything Shoal raises on purpose."""


class PlanError(ShoalError):
    """What was asked for cannot be right, whatever the table holds."""


class DataError(ShoalError):
    """The table does not fit what was asked."""


class TooFewRows(DataError):
    """The table holds fewer than k records."""

    def __init__(self, *, rows: int, k: int) -> None:
        self.rows = rows
        self.k = k
        super().__init__(f"k = {k} needs at least {k} rows; the table has {rows}. Lower k or add rows.")


class NotAnonymous(ShoalError):
    """The independent check failed; nothing was published."""


class MissingExtra(ShoalError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"This needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'shoal[{extra}]'"
        )


def choices(names: Iterable[str]) -> str:
    """The end of a message that answers a wrong name with the right ones."""
    return f"Choose one of: {', '.join(sorted(names))}."

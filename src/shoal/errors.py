"""Everything Shoal raises on purpose.

    ShoalError
    ├── PlanError        what was asked for cannot be right
    ├── DataError        the table does not fit what was asked
    │   ├── TooFewRows
    │   ├── TooFewPersons
    │   └── UncertainCount
    ├── NotAnonymous     the independent check failed; nothing was published
    └── MissingExtra     an optional package is not installed

    BrokenPromise        a bug of ours, found before anything was published

A message says what is wrong, what was found and what to do, in full sentences. It names columns and
counts and never shows a cell's value. It speaks of fields of a plan and of Python's keywords, whose names
it also carries: a door adds its own words for them, such as the option that sets a field. An address of a
database that stands in a message, also where a file was expected, stands there without its password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "BrokenPromise",
    "DataError",
    "MissingExtra",
    "NotAnonymous",
    "PlanError",
    "ShoalError",
    "TooFewPersons",
    "TooFewRows",
    "UncertainCount",
    "choices",
]

_PASSWORD = re.compile(r"\b([a-z][a-z0-9+.-]*:/{1,2})([^/:@\s]*):\S*@", re.IGNORECASE)
_SETTINGS = re.compile(r"\b([a-z][a-z0-9+.-]+:/{1,2}[^\s?]*)\?[^\s'\"]*", re.IGNORECASE)


class ShoalError(Exception):
    """Anything Shoal raises on purpose.

    Attributes:
        field: The field of the plan, or the keyword of the function, that it speaks of; None where there
            is none, or several.
        column: The column that it speaks of; None where there is none.

    Example:
        >>> import shoal
        >>> try:
        ...     shoal.Plan(k=5, quasi=["age"], kinds={"age": "colour"})
        ... except shoal.ShoalError as error:
        ...     print(error.field, error.column)
        kinds age

    """

    field: str | None = None
    column: str | None = None

    def __init__(self, message: str = "", *, field: str | None = None, column: str | None = None) -> None:
        self.field = field
        self.column = column
        super().__init__(_SETTINGS.sub(r"\1", _PASSWORD.sub(r"\1\2@", message)))


class BrokenPromise(Exception):
    """What we promise ourselves does not hold: a bug, and no release is made.

    It is no `assert`, which `python -O` leaves out, and no `ShoalError`, which users may mend. Its message
    names the promise and no cell. `assert` stays where it only tells a type to readers and checkers.
    """


class PlanError(ShoalError):
    """What was asked for cannot be right, whatever the table holds."""


class DataError(ShoalError):
    """The table does not fit what was asked."""


class TooFewRows(DataError):
    """The table holds fewer than k records."""

    def __init__(self, *, rows: int, k: int) -> None:
        self.rows = rows
        self.k = k
        super().__init__(
            f"k = {k} needs at least {k} rows; the table has {rows}. Lower k or add rows.", field="k"
        )


class TooFewPersons(DataError):
    """An identifier repeats so that k rows may be fewer than k persons, and nobody said whom to count."""

    def __init__(self, *, column: str, k: int, classes: int, failing: int, fewest: int) -> None:
        self.k = k
        self.classes = classes
        self.failing = failing
        self.fewest = fewest
        super().__init__(
            f"The identifier {column!r} repeats: {failing} of {classes} classes would hold fewer than k = "
            f"{k} different ones, the smallest {fewest}, though they hold {k} rows. Say whom k counts: "
            f"unit = {column} for persons, or unit = rows if rows are meant.",
            field="unit",
            column=column,
        )


class UncertainCount(DataError):
    """Fewer than k rows reach k by their count alone, and nobody said that persons are counted."""

    def __init__(self, *, column: str, k: int, classes: int, failing: int, fewest: int) -> None:
        self.k = k
        self.classes = classes
        self.failing = failing
        self.fewest = fewest
        super().__init__(
            f"Column {column!r} counts records, and {failing} of {classes} classes would hold fewer than "
            f"{k} rows, the smallest {fewest}: they reach k = {k} by the count alone. A sampling weight is "
            "no count: such a row is one person, who would be published among too few. Leave a weight out "
            f"of count; where it counts persons of this very table, say so: count = persons({column}).",
            field="count",
            column=column,
        )


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

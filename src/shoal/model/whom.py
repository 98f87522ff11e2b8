"""Whom k counts: rows, the persons of a column, or the persons that a count stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.errors import PlanError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["ROWS", "Behind", "Repeats", "Whom", "doubt_of_persons"]

ROWS = "rows"
PERSONS = re.compile(r"\s*persons\s*\((.*)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Whom:
    """Whom k counts, read from a plan's `unit` and `count`.

    `unit` is the column that says who a row belongs to, None where rows are counted; `means_rows` says that
    rows were asked for. `count` is the column that says how many records a row stands for; `of_persons`
    that these are persons, as in `persons(n)`.
    """

    unit: str | None = None
    count: str | None = None
    means_rows: bool = False
    of_persons: bool = False

    @classmethod
    def read(cls, *, unit: str | None = None, count: str | None = None) -> Whom:
        """Read `unit` and `count` as they are written in a plan.

        >>> Whom.read(unit="rows", count="persons(n)")
        Whom(unit=None, count='n', means_rows=True, of_persons=True)
        """
        for key, word in (("unit", unit), ("count", count)):
            if not isinstance(word, str | None):
                raise PlanError(f"{key} = {word!r} is not the name of one column.", field=key)
        match = PERSONS.fullmatch(count) if count is not None else None
        if match is not None and not match[1].strip():
            raise PlanError("count = persons() names no column. Write persons(COLUMN).", field="count")
        rows = unit == ROWS
        column = match[1].strip() if match is not None else count
        return cls(None if rows else unit, column, rows, match is not None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that these words name."""
        return tuple(name for name in (self.count, self.unit) if name is not None)

    @property
    def counted(self) -> str:
        """What a class holds k of, in one word."""
        return "persons" if self.unit is not None or self.of_persons else "records"

    def check_against(self, columns: Sequence[str]) -> None:
        """Refuse a word that is also the name of a column: nobody could tell which of them is meant."""
        for name in columns:
            is_count = self.of_persons and PERSONS.fullmatch(name) is not None
            if (self.means_rows and name == ROWS) or (
                is_count and self.read(count=name).count == self.count
            ):
                key = "count" if is_count else "unit"
                raise PlanError(
                    f"{key} = {name!r} is a word of its own, and the table has a column of that name, so "
                    "that it is not clear which is meant. Rename the column first.",
                    field=key,
                    column=name,
                )


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """Who stands behind which published line, told beside a table that never says it.

    Pair p says that `who[p]` stands behind line `line[p]`.
    """

    line: NDArray[np.integer]
    who: pl.Series


@dataclass(frozen=True, slots=True)
class Repeats:
    """A column that names persons, whose values repeat: `values` of them in `rows`, one in up to `most`.

    Missing cells, which may all be one person, are no value; `missing` counts them.
    """

    column: str
    values: int
    rows: int
    most: int
    missing: int = 0


def doubt_of_persons(repeats: Sequence[Repeats]) -> str:
    """That records may not be persons, in two sentences; "" where nothing speaks for it."""
    if not repeats:
        return ""
    names = ", ".join(repr(one.column) for one in repeats)
    verb = "looks as if it told" if len(repeats) == 1 else "look as if they told"
    return (
        f"Records were counted, but column {names} {verb} persons apart, and values repeat: a class may "
        "hold fewer persons than records. Count persons with unit = "
        f"{repeats[0].column}, or say unit = rows."
    )

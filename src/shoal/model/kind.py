"""What a column's values are: a word of the plan, with what stands in its brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from shoal.errors import PlanError, choices
from shoal.model.column import KINDS

__all__ = ["Kind"]

FIRST_YEAR = re.compile(r",?\s*\bfrom\s+(\d{4})$")


@dataclass(frozen=True, slots=True)
class Kind:
    """A column's kind with what stands in its brackets: `date(%d.%m.%Y)`, `place(lat, lon)`.

    Two digits do not say the century, and a wrong one moves a birth by a hundred years: `from 1930`
    behind the form says that they stand for 1930 to 2029.
    """

    name: str
    inside: str = ""

    @classmethod
    def parse(cls, text: str, *, column: str) -> Kind:
        """Read a kind as written in a plan."""
        wrong = partial(PlanError, field="kinds", column=column)
        match = re.fullmatch(r"\s*([a-z]+)\s*(?:\((.*)\))?\s*", text)
        if match is None or match[1] not in KINDS:
            raise wrong(f"Column {column!r}: there is no kind {text!r}. {choices(KINDS)}")
        kind = cls(match[1], (match[2] or "").strip())
        if kind.name == "place" and len(kind.parts) != 2:
            raise wrong(f"Column {column!r}: a place names its two number columns: place(lat, lon).")
        if kind.inside and kind.name not in {"place", "date"}:
            raise wrong(f"Column {column!r}: the kind {kind.name!r} takes no brackets.")
        if kind.name == "date":
            kind._check_years(column)
        return kind

    def _check_years(self, column: str) -> None:
        wrong = partial(PlanError, field="kinds", column=column)
        signs = set(re.findall(r"%[-_0]?(.)", self.date_form))
        is_short = not signs.isdisjoint("yDx") and "C" not in signs
        if is_short and self.first_year is None:
            raise wrong(
                f"Column {column!r}: two digits of a year do not say its century. Write years with four "
                f"digits, or say where their hundred years begin: date({self.inside}, from 1930)."
            )
        if self.first_year is not None and not is_short:
            raise wrong(
                f"Column {column!r}: 'from {self.first_year}' is for years of two digits. Leave it out."
            )

    @property
    def date_form(self) -> str:
        """How a date is written; empty for YYYY-MM-DD."""
        return FIRST_YEAR.sub("", self.inside)

    @property
    def first_year(self) -> int | None:
        """The first of the hundred years that two digits stand for; None where years have four."""
        match = FIRST_YEAR.search(self.inside)
        return int(match[1]) if match is not None else None

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns a place is made of."""
        return tuple(part.strip() for part in self.inside.split(",") if part.strip())

    def __str__(self) -> str:
        return f"{self.name}({self.inside})" if self.inside else self.name

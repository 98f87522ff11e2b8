"""Counts of a release, with the width that its cells leave."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tabulated", "Tabulation"]


@dataclass(frozen=True, slots=True)
class Tabulated:
    """One line: the values, and how many records have them at least, by expectation, and at most.

    `expected` and `most` are None where a column is published as nodes whose hierarchy is not given.
    """

    values: tuple[str, ...]
    least: int
    expected: float | None
    most: int | None

    @property
    def shown(self) -> tuple[str, str]:
        """What is expected and what may be at most, as text."""
        if self.expected is None or self.most is None:
            return "not known", "not known"
        return f"{self.expected:,.1f}", f"{self.most:,}"


@dataclass(frozen=True, slots=True)
class Tabulation:
    """How many records of a release have which values of some columns.

    A cell that covers several values counts for each of them: fully in `most`, in equal parts (a range of
    numbers by its length) in `expected`, and not at all in `least`. `unknown` names the columns that are
    published as nodes without a hierarchy that says which node holds which.
    """

    by: tuple[str, ...]
    records: int
    lines: tuple[Tabulated, ...]
    unknown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = ["  ".join([*self.by, "least", "expected", "most"])]
        for one in self.lines:
            lines.append("  ".join([*one.values, f"{one.least:,}", *one.shown]))
        return "\n".join([*lines, *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the figures do not say."""
        return tuple(
            f"{name!r}: expected and most are not known, since one published node may hold another. Give "
            "hierarchies."
            for name in self.unknown
        )

"""Counts of a release, with the width that its cells leave."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tabulated", "Tabulation"]


@dataclass(frozen=True, slots=True)
class Tabulated:
    """One line: the values, and how many records have them at least, by expectation, and at most."""

    values: tuple[str, ...]
    least: int
    expected: float
    most: int


@dataclass(frozen=True, slots=True)
class Tabulation:
    """How many records of a release have which values of some columns.

    A cell that covers several values counts for each of them: fully in `most`, in equal parts (a range of
    numbers by its length) in `expected`, and not at all in `least`.
    """

    by: tuple[str, ...]
    records: int
    lines: tuple[Tabulated, ...]

    def __repr__(self) -> str:
        lines = ["  ".join([*self.by, "least", "expected", "most"])]
        for one in self.lines:
            lines.append(
                "  ".join([*one.values, f"{one.least:,}", f"{one.expected:,.1f}", f"{one.most:,}"])
            )
        return "\n".join(lines)

"""What a column's holder may see of it, cells and all: a hierarchy tried on it, before and after.

These values hold cells of the original, for the one who has it. Their texts (`repr`) do not.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Preview", "PreviewLevel", "Profile", "ProfileBar"]


@dataclass(frozen=True, slots=True, repr=False)
class PreviewLevel:
    """One level of a tried hierarchy: how many names it has, and the largest with their rows."""

    names: int
    largest: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """A hierarchy tried on a column.

    `values` counts the column's distinct values, `unplaced` are those without a place, in `unplaced_rows`
    rows; `levels` are those of the tree over the others, the values themselves first.
    """

    column: str
    values: int
    unplaced: tuple[str, ...]
    unplaced_rows: int
    levels: tuple[PreviewLevel, ...]

    def __repr__(self) -> str:
        return (
            f"Preview of {self.column!r}: {len(self.unplaced):,} of {self.values:,} values without a "
            f"place, {len(self.levels)} levels"
        )


@dataclass(frozen=True, slots=True, repr=False)
class ProfileBar:
    """Rows that have a value, or one in a range, in the original and in the release."""

    label: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """A column before and after.

    `bars` are ranges of a number or a date, where a published range counts evenly over all it covers, or
    the commonest values of another column; `coarser` counts published rows whose cell tells no one value.
    """

    column: str
    distinct_before: int
    distinct_after: int
    coarser: int
    bars: tuple[ProfileBar, ...]

    def __repr__(self) -> str:
        return (
            f"Profile of {self.column!r}: {self.distinct_before:,} different cells before, "
            f"{self.distinct_after:,} after"
        )

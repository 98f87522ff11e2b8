"""Published cells, read by what the format says of itself: top of `model/cell.py`, docs/check.md.

Nothing of Shoal is imported. A measure knows one quasi-identifier of the original: it reads a published
cell into the share of the column that it gives up and whether it covers a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

__all__ = [
    "Cell",
    "Labels",
    "Line",
    "Measure",
    "Nodes",
    "Place",
    "Stars",
    "Tree",
    "counts_in",
    "members_of",
    "plain",
]

STAR = "*"
NEAR = 1e-9


@dataclass(frozen=True)
class Cell:
    """A cell understood: what it gives up of its column, and whether a value (None = missing) is in it.

    `ends` are the least and the greatest of each axis, where the cell is a range or a rectangle.
    """

    share: float
    covers: Callable[[Any], bool]
    ends: tuple[tuple[float, float], ...] = ()


def plain(cell: str) -> str:
    """A single value without the backslash that keeps it from being mistaken."""
    return cell[1:] if cell.startswith("\\") else cell


def _inside(text: str) -> list[list[tuple[str, bool]]]:
    """The members between braces as letters, each with whether it was escaped."""
    members: list[list[tuple[str, bool]]] = [[]]
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
            members[-1].append((text[at], True))
        elif letter == ",":
            if text[at + 1 : at + 2] != " ":
                raise ValueError("a comma without a blank")
            at += 1
            members.append([])
        elif letter in "{}":
            raise ValueError("a brace inside a set")
        else:
            members[-1].append((letter, False))
        at += 1
    return members


def members_of(cell: str | None) -> list[str | None]:
    """The members of a set; a value that stands alone is a set of one, an empty member is missing."""
    if cell is None:
        return [None]
    if not (cell.startswith("{") and cell.endswith("}")):
        return [plain(cell)]
    return ["".join(letter for letter, _ in word) or None for word in _inside(cell[1:-1])]


def counts_in(cell: str) -> list[tuple[str | None, int]]:
    """Values with how often they occur: {flu: 3, cold}."""
    if not (cell.startswith("{") and cell.endswith("}")):
        raise ValueError("no list of counts")
    counted: list[tuple[str | None, int]] = []
    for word in _inside(cell[1:-1]):
        colons = [at for at, (letter, escaped) in enumerate(word) if letter == ":" and not escaped]
        if not colons:
            counted.append(("".join(letter for letter, _ in word), 1))
            continue
        value, many = word[: colons[0]], word[colons[0] + 1 :]
        counted.append(("".join(x for x, _ in value) or None, int("".join(x for x, _ in many))))
    return counted


class Measure:
    """One quasi-identifier of the original, by row; None is missing."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self.has_missing = any(value is None for value in values)

    def missing(self) -> Cell:
        """A missing cell."""
        if not self.has_missing:
            raise ValueError("a missing cell in a column that has none")
        return Cell(0.0, lambda value: value is None)

    def read(self, cell: str | None) -> Cell:
        """Understand a cell of text."""
        raise NotImplementedError

    def cost(self, values: Iterable[Any]) -> float:
        """What the tightest cell over these values gives up."""
        raise NotImplementedError

    def empty(self) -> Cell:
        """An empty pair of bounds: missing, or a mix, which counts in full."""
        if not self.has_missing:
            raise ValueError("an empty pair in a column without missing cells")
        return Cell(1.0, lambda value: True)

    @staticmethod
    def star() -> Cell:
        """A suppressed cell."""
        return Cell(1.0, lambda value: True)


class Line(Measure):
    """Numbers, or dates as days or microseconds."""

    def __init__(self, values: Sequence[Any], *, is_date: bool) -> None:
        super().__init__(values)
        self.is_date = is_date
        present = [value for value in values if value is not None]
        self.low, self.high = (float(min(present)), float(max(present))) if present else (0.0, 0.0)
        self.widest = self.whole = self.high - self.low

    def measure_by(self, ends: Iterable[tuple[float, float]]) -> None:
        """Take the published range for the unit: values beyond it stand at its ends."""
        pairs = list(ends)
        self.low = min((low for low, _ in pairs), default=0.0)
        self.high = max((high for _, high in pairs), default=0.0)
        self.whole = self.high - self.low

    def _width(self, values: Iterable[float]) -> float:
        within = [min(max(value, self.low), self.high) for value in values]
        return max(within) - min(within)

    def number(self, text: Any) -> float:
        """One end of a range, as text or typed."""
        if not self.is_date:
            found = float(text)
            if not math.isfinite(found):
                raise ValueError("not finite")
            return found
        if isinstance(text, str):
            text = date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
        return days_or_moments(text)

    def between(self, low: Any, high: Any) -> Cell:
        """A range from `low` to `high`."""
        least, greatest = self.number(low), self.number(high)
        if greatest < least or greatest - least > self.widest * (1 + NEAR):
            raise ValueError("a range that the column does not have")
        share = self._width([least, greatest]) / self.whole if self.whole > 0 else 0.0
        ends = ((least, greatest),)
        return Cell(share, lambda value: value is not None and least <= value <= greatest, ends)

    def read(self, cell: str | None) -> Cell:
        """Understand a cell of text."""
        if cell is None:
            return self.missing()
        if cell == STAR:
            return self.star()
        return self.between(*ends_of(cell))

    def read_ends(self, low: Any, high: Any) -> Cell:
        """Two typed bounds; an empty pair may be missing or a mix, and counts in full."""
        if low is None and high is None:
            return self.empty()
        return self.between(low, high)

    def cost(self, values: Iterable[Any]) -> float:
        """What the tightest cell over these values gives up."""
        some = set(values)
        if len(some) == 1:
            return 0.0
        if None in some:
            return 1.0
        return self._width(some) / self.whole if self.whole > 0 else 0.0


def ends_of(cell: str) -> tuple[str, str]:
    """Both ends of a range; a single value is both."""
    if cell.startswith("[") and cell.endswith("]"):
        low, comma, high = cell[1:-1].partition(", ")
        if comma:
            return low, high
    return cell, cell


def days_or_moments(moment: Any) -> float:
    """A date in days, a moment in microseconds of what its clock shows."""
    if isinstance(moment, datetime):
        gap = moment.replace(tzinfo=None) - datetime(1970, 1, 1)
        return float((gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds)
    return float(moment.toordinal() - date(1970, 1, 1).toordinal())


class Place(Measure):
    """Pairs of latitude and longitude."""

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__(values)
        self.sides = [
            Line([None if value is None else value[side] for value in values], is_date=False)
            for side in (0, 1)
        ]

    @property
    def whole(self) -> float:
        """What a cell's sides are divided by."""
        return self.sides[0].whole + self.sides[1].whole

    def measure_by(self, ends: Iterable[tuple[tuple[float, float], ...]]) -> None:
        """Take the published range of each side for the unit."""
        boxes = list(ends)
        for at, side in enumerate(self.sides):
            side.measure_by([box[at] for box in boxes])

    def box(self, ends: Sequence[tuple[Any, Any]]) -> Cell:
        """A rectangle from the ends of both sides."""
        one, other = (side.between(*pair) for side, pair in zip(self.sides, ends, strict=True))
        parts = one.share * self.sides[0].whole + other.share * self.sides[1].whole
        return Cell(
            parts / self.whole if self.whole > 0 else 0.0,
            lambda value: value is not None and one.covers(value[0]) and other.covers(value[1]),
            one.ends + other.ends,
        )

    def read(self, cell: str | None) -> Cell:
        """Understand a cell of text."""
        if cell is None:
            return self.missing()
        if cell == STAR:
            return self.star()
        return self.box([ends_of(side) for side in cell.split(" x ")])

    def read_ends(self, *ends: Any) -> Cell:
        """Four typed bounds."""
        if all(end is None for end in ends):
            return self.empty()
        low, high, left, right = ends
        return self.box([(low, high), (left, right)])

    def cost(self, values: Iterable[Any]) -> float:
        """What the tightest cell over these values gives up."""
        some = set(values)
        if len(some) == 1:
            return 0.0
        if None in some:
            return 1.0
        sides = [side._width([value[at] for value in some]) for at, side in enumerate(self.sides)]
        return sum(sides) / self.whole if self.whole > 0 else 0.0


@dataclass(frozen=True)
class Nodes:
    """A hierarchy without its root: by name the leaves below and the level, and the level of the root."""

    below: dict[str, frozenset[str]]
    level: dict[str, int]
    height: int

    @property
    def leaves(self) -> frozenset[str]:
        """All values."""
        return frozenset().union(*self.below.values())

    @classmethod
    def of_paths(cls, paths: Iterable[Sequence[str]]) -> Nodes:
        """From one path per leaf, leaf first; a chain of only children is as low as its lowest."""
        below: dict[str, set[str]] = {}
        height: dict[str, int] = {}
        top = 0
        for path in paths:
            top = max(top, len(path))
            for at, name in enumerate(path):
                below.setdefault(name, set()).add(path[0])
                height[name] = max(height.get(name, 0), at)
        frozen = {name: frozenset(leaves) for name, leaves in below.items()}
        lowest: dict[frozenset[str], int] = {}
        for name, leaves in frozen.items():
            lowest[leaves] = min(lowest.get(leaves, height[name]), height[name])
        return cls(frozen, {name: lowest[leaves] for name, leaves in frozen.items()}, top)


class Tree(Measure):
    """Values with a hierarchy: the leaves below each node and its level; the root is `*`."""

    def __init__(self, values: Sequence[Any], nodes: Nodes, *, by_levels: bool) -> None:
        super().__init__(values)
        self.by_levels = by_levels
        self.below, self.level = nodes.below, nodes.level
        self.height = max(nodes.height, 1)
        self.all = len(nodes.leaves) + self.has_missing - 1

    def _share(self, name: str) -> float:
        if self.by_levels:
            return self.level[name] / self.height
        return (len(self.below[name]) - 1) / self.all if self.all else 0.0

    def read(self, cell: str | None) -> Cell:
        """Understand a cell of text."""
        if cell is None:
            return self.missing()
        if cell == STAR:
            return self.star()
        name = plain(cell)
        if name not in self.below:
            raise ValueError("a node that the hierarchy does not have")
        return Cell(self._share(name), lambda value: value in self.below[name])

    def cost(self, values: Iterable[Any]) -> float:
        """What the tightest cell over these values gives up."""
        some = set(values)
        if len(some) == 1:
            return 0.0
        if None in some:
            return 1.0
        fit = [self._share(name) for name, leaves in self.below.items() if some <= leaves]
        return min(fit, default=1.0)


class Labels(Measure):
    """Values without a hierarchy, published as sets; `known` are all there could be."""

    def __init__(self, values: Sequence[Any], known: Iterable[str]) -> None:
        super().__init__(values)
        self.known = set(known)
        self.all = len(self.known) + self.has_missing - 1

    def read(self, cell: str | None) -> Cell:
        """Understand a cell of text; a star stands for all values."""
        if cell == STAR:
            return self.star()
        members = members_of(cell)
        some = set(members)
        if len(some) != len(members) or not some - {None} <= self.known:
            raise ValueError("members that the column does not have")
        if None in some and not self.has_missing:
            raise ValueError("a missing member in a column that has none")
        return Cell(self.cost(some), lambda value: value in some)

    def cost(self, values: Iterable[Any]) -> float:
        """What the tightest cell over these values gives up."""
        many = len(set(values)) - 1
        return many / self.all if self.all else 0.0


class Stars(Measure):
    """The style `suppress`: a value or a star. `value_of` reads a value's text."""

    def __init__(self, values: Sequence[Any], value_of: Callable[[str], Any]) -> None:
        super().__init__(values)
        self.value_of = value_of

    def read(self, cell: str | None) -> Cell:
        """Understand a cell of text."""
        if cell is None:
            return self.missing()
        if cell == STAR:
            return self.star()
        found = self.value_of(plain(cell))
        if found not in self.values:
            raise ValueError("a value that the column does not have")
        return Cell(0.0, lambda value: value == found)

    def cost(self, values: Iterable[Any]) -> float:
        """What the tightest cell over these values gives up."""
        return float(len(set(values)) > 1)

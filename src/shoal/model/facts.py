"""What a method says of itself, once, for the command line, the docs and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["OBJECTIVES", "TOTAL_LOSS", "Facts", "Option", "one_of", "read_yes"]

OBJECTIVES = {
    "loss": "total loss: sum over groups of size * weighted spans",
    "radius": "largest radius of a group",
    "cellular": "sum over groups of size * radius",
    "half-perimeter": "largest half-perimeter of a group's box",
    "largest": "records in the largest group",
    "levels": "total loss of a release with one level for each column, beside others of that kind alone",
    "squares": "sum of squared distances to the group's mean",
}

TOTAL_LOSS = frozenset({"loss", "levels"})
"""The objectives whose value is the total loss, which published cells tell."""


@dataclass(frozen=True, slots=True)
class Option:
    """A setting that one method alone knows: how to read it and what it means."""

    read: Callable[[str], object]
    default: object
    meaning: str


def one_of(*words: str) -> Callable[[str], str]:
    """A reader of one of these words.

    >>> one_of("sorted", "random")("random")
    'random'
    """

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"choose {' or '.join(words)}")
        return text

    return read


def read_yes(text: str) -> bool:
    """Read `yes` or `no`."""
    word = text.strip().lower()
    if word not in {"yes", "no", "true", "false"}:
        raise ValueError("choose yes or no")
    return word in {"yes", "true"}


@dataclass(frozen=True, slots=True)
class Facts:
    """A method in words and limits; what it cannot take is compared with the plan in one place.

    `improves` says that improvement always follows the method, not only when asked for; such a method
    has an option `search` that switches it off. `in_parts` says that parts of a table may be grouped one by
    one. `obeys` says what rules may do to its groups:
    `exchange` records and merge, `merge` whole groups only, merge so that boxes stay `apart`, merge those
    that stand `beside` each other by the grouping, or nothing: it obeys `itself`. `factor` is proved for
    every table; where a run proves one for its own table, that is at least `least_factor`.
    """

    title: str
    objective: str
    guarantee: str
    time: str
    paper: str
    takes: frozenset[str] = frozenset({"number", "date", "tree", "label", "place", "region"})
    most_columns: int | None = None
    only_k: int | None = None
    withholds: bool = True
    centres: bool = False
    improves: bool = False
    in_parts: bool = False
    distances: frozenset[str] = frozenset({"span"})
    obeys: str = "exchange"
    styles: frozenset[str] = frozenset({"generalize", "suppress", "centres", "means"})
    options: Mapping[str, Option] = field(default_factory=dict)
    factor: Callable[[int, int], float | None] = field(default=lambda k, columns: None)
    least_factor: float | None = None

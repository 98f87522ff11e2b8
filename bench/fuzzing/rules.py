"""Rules on sensitive values in plain words (docs/how-to/rules.md), on lists of values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

__all__ = ["holds"]

NEAR = 1e-7


def holds(
    body: str, values: Sequence[Any], everyone: Sequence[Any], paths: Sequence[Sequence[str]] = ()
) -> bool:
    """Whether the values of a class obey a rule, written without its column."""
    counts = sorted(Counter(values).values(), reverse=True)
    many = len(values)
    if "close" in body:
        limit = float(body.removeprefix("ordered ").partition("-")[0])
        if body.startswith("ordered"):
            return _ordered(values, everyone) <= limit + NEAR
        if body.endswith("hierarchy"):
            return _by_tree(values, everyone, paths) <= limit + NEAR
        return _apart(values, everyone) <= limit + NEAR
    if body.endswith("%"):
        return counts[0] / many <= float(body.split()[2][:-1]) / 100 + NEAR
    if body.startswith("entropy"):
        entropy = -sum(n / many * math.log(n / many) for n in counts)
        return math.exp(entropy) >= float(body.split()[1].partition("-")[0]) * (1 - NEAR)
    if body.startswith("("):
        c, tail = body[1 : body.index(")")].split(",")
        return counts[0] < float(c) * sum(counts[int(tail) - 1 :])
    return len(counts) >= int(body.partition("-")[0])


def _apart(values: Sequence[Any], everyone: Sequence[Any]) -> float:
    """Half the sum of the differences of shares."""
    here, there = Counter(values), Counter(everyone)
    return sum(abs(here[x] / len(values) - n / len(everyone)) for x, n in there.items()) / 2


def _ordered(values: Sequence[Any], everyone: Sequence[Any]) -> float:
    """The earth mover's distance with values in a row; missing stands last."""
    present = sorted({value for value in everyone if value is not None}, key=_number)
    row: list[Any] = [*present, *([None] if None in everyone else [])]
    total = 0.0
    for at in range(len(row) - 1):
        below = set(row[: at + 1])
        shares = [sum(value in below for value in some) / len(some) for some in (values, everyone)]
        total += abs(shares[0] - shares[1])
    return total / max(len(row) - 1, 1)


def _number(value: Any) -> Any:
    what, inner = value
    try:
        return float(inner) if what == "text" else inner
    except ValueError:  # dates of one form stand in the order of their text
        return inner


def _by_tree(values: Sequence[Any], everyone: Sequence[Any], paths: Sequence[Sequence[str]]) -> float:
    """The mean over levels of how far the shares of a level's nodes lie apart."""
    path_of = {path[0]: path for path in paths}
    height = max(len(path) for path in paths)
    total = 0.0
    for level in range(height):
        here, there = (
            [None if value is None else path_of[value[1]][min(level, height - 1) :] for value in some]
            for some in (values, everyone)
        )
        total += _apart(here, there)
    return total / height

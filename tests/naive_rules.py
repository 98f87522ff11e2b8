"""Rules in plain words: they read lists of values and import nothing of Shoal."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

Distance = Callable[[Any, Any], float]


def distinct(values: Sequence[Any]) -> int:
    return len(set(values))


def effective(values: Sequence[Any]) -> float:
    shares = [n / len(values) for n in Counter(values).values()]
    return math.exp(-sum(p * math.log(p) for p in shares))


def recursive(values: Sequence[Any], tail: int) -> float:
    """(c, l)-diversity holds for every c above it."""
    counts = sorted(Counter(values).values(), reverse=True)
    rest = sum(counts[tail - 1 :])
    return counts[0] / rest if rest else math.inf


def largest_share(values: Sequence[Any]) -> float:
    return max(Counter(values).values()) / len(values)


def earth(values: Sequence[Any], everyone: Sequence[Any], distance: Distance) -> float:
    """The earth mover's distance as the transport problem it is."""
    names = list(dict.fromkeys(everyone))
    p = [list(values).count(name) / len(values) for name in names]
    q = [list(everyone).count(name) / len(everyone) for name in names]
    many = len(names)
    cost = [distance(one, other) for one in names for other in names]
    leaves = np.kron(np.eye(many), np.ones(many))
    comes = np.kron(np.ones(many), np.eye(many))
    found = linprog(cost, A_eq=np.vstack([leaves, comes]), b_eq=[*p, *q], method="highs")
    return float(found.fun)


def unequal(one: Any, other: Any) -> float:
    return float(one != other)


def along(everyone: Sequence[Any]) -> Distance:
    """1 from the first value to the last, by rank; a missing value stands last."""
    order = sorted({value for value in everyone if value is not None})
    place = {value: at for at, value in enumerate(order)}
    gaps = max(len(set(everyone)) - 1, 1)
    return lambda one, other: abs(place.get(one, len(order)) - place.get(other, len(order))) / gaps


def up_the_tree(paths: Sequence[Sequence[str]]) -> Distance:
    """The level of the common ancestor by the height; paths are of one length, leaf first."""
    path_of = {path[0]: path for path in paths}
    height = len(paths[0]) - 1

    def distance(one: Any, other: Any) -> float:
        if one == other:
            return 0.0
        if one is None or other is None:
            return 1.0
        level = min(at for at in range(height + 1) if path_of[one][at:] == path_of[other][at:])
        return level / height

    return distance


def holds(rule: str, values: Sequence[Any], everyone: Sequence[Any], paths: Sequence[Any] = ()) -> bool:
    """Whether values obey a rule, of those written in the tests."""
    body = rule.partition(": ")[2]
    kind = body.split()[0]
    if body.endswith("%"):
        return largest_share(values) <= float(body.split()[2][:-1]) / 100 + 1e-9
    if body.startswith("("):
        c, tail = body[1 : body.index(")")].split(",")
        return recursive(values, int(tail)) < float(c)
    if kind == "entropy":
        return effective(values) >= float(body.split()[1].partition("-")[0]) * (1 - 1e-9)
    if "close" in body:
        distance = unequal
        if kind == "ordered":
            distance = along(everyone)
        elif body.endswith("hierarchy"):
            distance = up_the_tree(paths)
        limit = float(body.removeprefix("ordered ").partition("-")[0])
        return earth(values, everyone, distance) <= limit + 1e-7
    return distinct(values) >= int(body.partition("-")[0])


def classes(rows: Sequence[dict[str, Any]], faces: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Rows that look alike in all faces."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in faces)].append(row)
    return list(found.values())

"""Random hierarchies by paths and by builder, and the paths that docs/how-to/hierarchies.md promises."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

import shoal
from fuzzing.cells import Nodes
from shoal.encode.region import region_tree

__all__ = ["Grown", "grow"]


@dataclass
class Grown:
    """A hierarchy as a plan takes it (None: it follows from a graph), and how each value's path runs.

    `nodes` is fixed where a file or a graph says so; `path` is what a builder makes of a value. `paths` is
    what a file would hold.
    """

    plan: Any
    pool: list[Any] = field(default_factory=list)
    nodes: Nodes | None = None
    path: Callable[[str], Sequence[str]] | None = None
    text_of: Callable[[Any], str] = str
    paths: list[tuple[str, ...]] | None = None

    def nodes_over(self, values: Iterable[str]) -> Nodes:
        """The tree; a builder's has the values of the table alone."""
        if self.nodes is not None:
            return self.nodes
        assert self.path is not None
        return Nodes.of_paths([(value, *self.path(value)) for value in sorted(set(values))])

    @classmethod
    def of_paths(cls, paths: list[tuple[str, ...]]) -> Grown:
        """A tree from one path per leaf, leaf first."""
        tree = shoal.Hierarchy.of_paths(paths)
        return cls(tree, [path[0] for path in paths], Nodes.of_paths(paths), text_of=str.strip, paths=paths)

    @classmethod
    def of_graph(cls, graph: Any) -> Grown:
        """The fixed tree over a graph: how it is halved is its own business, the names are published."""
        tree = region_tree(graph)
        found = {name: run for name, run in tree.nodes().items() if name != "*"}
        below = {name: frozenset(tree.leaves[first : last + 1]) for name, (first, last, _) in found.items()}
        level = {name: run[2] for name, run in found.items()}
        return cls(None, list(tree.leaves), Nodes(below, level, tree.height), text_of=str.strip)

    @classmethod
    def of_regions(cls, luck: random.Random, names: Sequence[str]) -> Grown:
        """A tree of one's own over the regions."""
        return cls.of_paths([(name, f"part {luck.randrange(3)}") for name in names])


def _by_paths(luck: random.Random, name: str) -> Grown:
    many = luck.choice([2, 4, 7])
    is_long = luck.random() < 0.5
    leaves = [
        f"{at} {f'canary leaf {luck.getrandbits(48):012x}' if is_long else name[:3]}" for at in range(many)
    ]
    twigs = luck.choice([1, 2, 3])
    height = luck.choice([1, 2, 3])
    paths = []
    for at, leaf in enumerate(leaves):
        twig = at % twigs
        path = [leaf, f"twig {twig}", f"branch {twig // 2}"][:height]
        paths.append(tuple(path))
    return Grown.of_paths(paths)


def _by_prefix(luck: random.Random, _name: str) -> Grown:
    lengths = luck.choice([(5, 3, 2), (3, 1), (4, 0), (2,)])

    def path(value: str) -> list[str]:
        shorter = [length for length in lengths if 0 < length < len(value)]
        return [value[:length] + "*" * (len(value) - length) for length in shorter]

    pool = ["01054", "01055", "01999", "90210", "90211", "12345"]
    pool += ["123", "1"] if luck.random() < 0.3 else []
    return Grown(shoal.prefixes(*lengths), pool, path=path, text_of=str.strip)


def _by_bins(luck: random.Random, _name: str) -> Grown:
    widths = luck.choice([(5, 10, 50), (0.5, 2), (10,)])
    pool: list[Any] = luck.choice(
        [[0, 3, 5, 9, 12, 49, 50, -1], [0.0, 0.5, 2.5, 7.25, -0.5], ["3", "8", "12", "-4"]]
    )

    def text_of(cell: Any) -> str:
        if isinstance(cell, str):
            return cell.strip()
        return str(cell)

    def path(value: str) -> list[str]:
        names = []
        for width in widths:
            step = Fraction(str(width))
            start = Fraction(value) // step * step
            names.append(f"[{_decimal(start)}, {_decimal(start + step)})")
        return names

    if isinstance(pool[0], float) and all(x == int(x) for x in pool):
        pool = [*pool, 0.25]
    return Grown(shoal.bins(*widths), pool, path=path, text_of=text_of)


def _by_ends(luck: random.Random, _name: str) -> Grown:
    """Coded ends, alone or with bins between them: no value beyond a limit is a leaf."""
    high, low = luck.choice([(40, 2), (49, None), (None, 3), (100, -50), (-5, -20)])
    width = luck.choice([None, 5])
    pool: list[Any] = luck.choice(
        [[0, 3, 9, 12, 49, 50, -1], ["3", "9.5", "49", "49.0", "60", "-4", "4e1"]]
    )
    said = [f"top({high})"] if high is not None else []
    said += [f"bottom({low})"] if low is not None else []
    said += [f"bins({width})"] if width is not None else []

    def text_of(cell: Any) -> str:
        text = str(cell).strip()
        number = float(text)
        if high is not None and number >= high:
            return f">= {high}"
        return f"<= {low}" if low is not None and number <= low else text

    def path(value: str) -> list[str]:
        if width is None or value[0] in "<>":
            return []
        start = Fraction(value) // width * width
        return [f"[{start}, {start + width})"]

    return Grown(shoal.parse_builder(" + ".join(said)), pool, path=path, text_of=text_of)


def _decimal(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else str(float(number))


def _by_calendar(luck: random.Random, _name: str) -> Grown:
    levels = luck.choice([("month", "year"), ("quarter", "year", "decade"), ("year", "century")])
    days = [date(2020, 1, 1), date(2020, 1, 9), date(2020, 2, 1), date(2021, 1, 1), date(1999, 12, 31)]
    pool: list[Any] = days if luck.random() < 0.5 else [day.isoformat() for day in days]

    def path(value: str) -> list[str]:
        day = date.fromisoformat(value)
        names = {
            "month": f"{day:%Y-%m}",
            "quarter": f"{day:%Y}-Q{(day.month + 2) // 3}",
            "year": f"{day:%Y}",
            "decade": f"{day.year // 10}0s",
            "century": f"{day.year // 100}00s",
        }
        return [names[level] for level in levels]

    return Grown(shoal.calendar(*levels), pool, path=path, text_of=lambda cell: str(cell).strip())


def _flat(luck: random.Random, _name: str) -> Grown:
    pool = ["p", "q", "*", "{r", "s,t"] if luck.random() < 0.3 else ["p", "q", "r", "s"]
    return Grown(shoal.flat(), pool, path=lambda _: [], text_of=str.strip)


def grow(luck: random.Random, name: str) -> Grown:
    """A hierarchy by paths or by a builder, and values it takes."""
    by_builder = [_by_prefix, _by_bins, _by_ends, _by_calendar, _flat]
    return luck.choice([_by_paths, _by_paths, _by_paths, *by_builder])(luck, name)

"""A hierarchy as people write it: an outline, two spaces deeper for what is part of the line above.

together
  married
  remarried
alone
  widowed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shoal.errors import PlanError
from shoal.model.hierarchy import ROOT, Hierarchy

__all__ = ["Branch", "branches_of", "outline_of", "parse_outline"]

STEP = 2


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a tree with what is below it; a value of the column where nothing is."""

    name: str
    below: tuple[Branch, ...] = ()


def branches_of(tree: Hierarchy) -> tuple[Branch, ...]:
    """What stands right below the root."""
    chains: dict[tuple[int, int], list[str]] = {run: [name] for run, name in tree.names.items()}
    for name, run in tree.others.items():  # those of only children, the lower first
        chains[run].append(name)
    top = _branch(tree, chains, (0, len(tree.leaves) - 1), tree.height)
    return top.below if top.name == ROOT else (top,)


def outline_of(tree: Hierarchy) -> str:
    r"""The tree as an outline, which `parse_outline` reads back.

    >>> print(outline_of(Hierarchy.of_paths([["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"]])))
    France
      Paris
      Lyon
    Italy
      Rome
    """
    return "\n".join(" " * STEP * depth + branch.name for depth, branch in _walk(branches_of(tree)))


def parse_outline(text: str, *, column: str = "") -> Hierarchy:
    """The tree that an outline draws; `column` is named in errors.

    Lines without deeper ones below are values of the column, all others are names for what is below them.
    """
    where = f"The hierarchy of column {column!r}" if column else "The hierarchy"
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.expandtabs(STEP).splitlines(), start=1):
        name = line.strip()
        if not name:
            continue
        spaces = len(line) - len(line.lstrip())
        most = STEP * (lines[-1][0] + 1) if lines else 0
        if spaces % STEP or spaces > most:
            raise PlanError(
                f"{where}, line {number}: it begins with {spaces} spaces. Begin a line with two spaces "
                "more than the line that it is part of, and with as many as others of its kind.",
                field="hierarchies",
                column=column or None,
            )
        lines.append((spaces // STEP, name))
    return Hierarchy.of_paths(_paths(lines), column=column)


def _paths(lines: list[tuple[int, str]]) -> Iterator[list[str]]:
    above: list[str] = []
    for at, (depth, name) in enumerate(lines):
        above = [*above[:depth], name]
        if at + 1 == len(lines) or lines[at + 1][0] <= depth:
            yield above[::-1]


def _branch(
    tree: Hierarchy, chains: Mapping[tuple[int, int], list[str]], run: tuple[int, int], level: int
) -> Branch:
    first, last = run
    below = level
    while below and (tree.first[below][first], tree.last[below][first]) == run:
        below -= 1
    inside: tuple[Branch, ...] = ()
    if first < last:
        firsts, lasts = tree.first[below][first : last + 1], tree.last[below][first : last + 1]
        parts = dict.fromkeys(zip(firsts.tolist(), lasts.tolist(), strict=True))
        inside = tuple(_branch(tree, chains, part, below) for part in parts)
    for name in chains[run]:
        inside = (Branch(name, inside),)
    return inside[0]


def _walk(branches: tuple[Branch, ...], depth: int = 0) -> Iterator[tuple[int, Branch]]:
    for branch in branches:
        yield depth, branch
        yield from _walk(branch.below, depth + 1)

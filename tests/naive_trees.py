"""Slow, obvious trees: a parent per name. Needs names that stand once in the whole tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Parents = dict[str, str]


def parents(paths: Iterable[Sequence[str]]) -> Parents:
    """The parent of every name; names without one stand below the root."""
    parent: Parents = {}
    for path in paths:
        names = [name for name in path if name not in {"", "*"}]
        for child, above in zip(names, [*names[1:], "*"], strict=True):
            assert parent.setdefault(child, above) == above
    return parent


def upwards(parent: Parents, name: str) -> list[str]:
    """The name itself and everything above it, the root last."""
    line = [name]
    while line[-1] != "*":
        line.append(parent[line[-1]])
    return line


def common_ancestor(parent: Parents, names: Iterable[str]) -> str:
    """The lowest name that stands above all the names."""
    lines = [upwards(parent, name) for name in names]
    return next(name for name in lines[0] if all(name in line for line in lines))


def leaves_below(parent: Parents, name: str) -> set[str]:
    """The leaves below a name, or the leaf itself."""
    leaves = set(parent) - set(parent.values())
    return {leaf for leaf in leaves if name in upwards(parent, leaf)}


def height(parent: Parents, name: str) -> int:
    """The greatest number of steps from a leaf up to the name."""
    return max(upwards(parent, leaf).index(name) for leaf in leaves_below(parent, name))

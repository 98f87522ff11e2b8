"""A tree over the values of one column.

The leaves stand in depth-first order, so every node is a run of leaves and the lowest common ancestor
of a set of leaves depends on its first and last member alone. Kernels live on that.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from shoal.errors import DataError, PlanError
from shoal.model.bands import Band, in_full, number_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Builder", "Hierarchy", "begin_of", "bins", "flat", "prefixes"]

ROOT = "*"
MOST_LEVELS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A tree, as nested partitions of its leaves.

    `leaves` are in depth-first order. Row `level` of `first` and `last` (height + 1 rows, one entry per
    leaf) holds the run of leaves below the highest ancestor whose height is at most `level`. Row 0 is
    every leaf alone, the last row is the root. A node is known by its run; a chain of only children is
    one node under the lowest name of the chain, and `names` are unique. `others` are the other names of
    chains: we publish none of them, but other tools do. `within` has values that are no leaves themselves,
    since one leaf stands for several, each with its leaf.
    """

    leaves: tuple[str, ...]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    names: dict[tuple[int, int], str] = field(repr=False)
    others: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)
    within: dict[str, str] = field(default_factory=dict, repr=False)

    def leaf_of(self, value: str) -> str:
        """The leaf that stands for a value: mostly the value itself."""
        return self.within.get(value, value)

    @property
    def height(self) -> int:
        """How many levels lie above the leaves."""
        return len(self.first) - 1

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the tree's names and shape."""
        digest = hashlib.sha256()
        for leaf in self.leaves:
            digest.update(leaf.encode() + b"\0")
        digest.update(self.first.tobytes() + self.last.tobytes())
        for run in sorted(self.names):
            digest.update(repr(run).encode() + self.names[run].encode() + b"\0")
        return digest.hexdigest()

    def nodes(self, *, of_others: bool = False) -> dict[str, tuple[int, int, int]]:
        """Every node's name with its first leaf, last leaf and level; names that only others use too."""
        level_of: dict[tuple[int, int], int] = {}
        for level in range(self.height + 1):
            runs = zip(self.first[level].tolist(), self.last[level].tolist(), strict=True)
            for run in dict.fromkeys(runs):
                level_of.setdefault(run, level)
        named = {name: (*run, level_of[run]) for run, name in self.names.items()}
        return (
            {name: (*run, level_of[run]) for name, run in self.others.items()} | named
            if of_others
            else named
        )

    @classmethod
    def of_paths(cls, paths: Iterable[Sequence[str]], *, column: str = "") -> Hierarchy:
        """Build the tree from one path per leaf, leaf first; a missing common root is added.

        Empty cells at a path's end are padding, and so is a repeated root. A leaf named twice must have
        one path; a name must not stand under two parents on one level.
        """
        where = f"The hierarchy of column {column!r}" if column else "The hierarchy"
        wrong = partial(PlanError, field="hierarchies", column=column or None)
        chains: dict[str, tuple[str, ...]] = {}
        numbers: dict[str, int] = {}  # errors name these: a table given by mistake has its cells for names
        for number, path in enumerate(paths, 1):
            chain = [name.strip() for name in path]
            while chain and chain[-1] in {"", ROOT}:
                chain.pop()
            if not chain:
                continue
            if "" in chain:
                raise wrong(f"{where} has an empty cell inside a path. Leave out levels only at the end.")
            if any("\0" in name for name in chain):
                raise wrong(f"{where} has a name with a zero byte, which a text file cannot hold.")
            if ROOT in chain:
                raise wrong(
                    f"{where} has {ROOT!r} inside a path. It is the root: put it last, or leave it out."
                )
            if len(chain) > MOST_LEVELS:
                raise wrong(f"{where} has a path of {len(chain)} names; {MOST_LEVELS} is the most.")
            chain.append(ROOT)
            known = chains.setdefault(chain[0], tuple(chain))
            first = numbers.setdefault(chain[0], number)
            if known != tuple(chain):
                raise wrong(
                    f"{where} is not a tree: a value has two paths, number {first} and {number} of the "
                    "file. Give each value one."
                )
        if not chains:
            raise wrong(f"{where} is empty. Give one path per value, the value first.")
        return cls._of_chains(list(chains.values()), numbers, where, wrong)

    @classmethod
    def _of_chains(
        cls,
        chains: list[tuple[str, ...]],
        numbers: dict[str, int],
        where: str,
        wrong: Callable[[str], PlanError],
    ) -> Hierarchy:
        children: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
        parent_of: dict[tuple[int, str], tuple[str, str]] = {}  # and the value of whose path it is
        for chain in chains:
            for depth in range(1, len(chain)):
                above, below = chain[-depth:], chain[-depth - 1 :]
                children.setdefault(above, {})[below] = None
                # the level counts from the leaf, as a reader of the file's columns counts
                level = len(chain) - depth - 1
                known = parent_of.setdefault((level, chain[level]), (above[0], chain[0]))
                if known[0] != above[0]:
                    raise wrong(
                        f"{where} is not a tree: a name on level {level} stands under both of two "
                        f"parents, in paths {numbers[known[1]]} and {numbers[chain[0]]} of the file. Give "
                        "each node one parent."
                    )
        leaves: list[str] = []
        runs: list[tuple[tuple[str, ...], int, int, int]] = []  # node, first, last, height

        def walk(node: tuple[str, ...]) -> int:
            below = children.get(node)
            start = len(leaves)
            if below is None:
                leaves.append(node[0])
                height = 0
            else:
                if node in ends:
                    raise wrong(
                        f"{where} is not a tree of values: that of path {numbers[node[0]]} of the file is "
                        "both a value and the parent of others."
                    )
                height = 1 + max(walk(child) for child in below)
            runs.append((node, start, len(leaves) - 1, height))
            return height

        ends = set(chains)
        top = walk((ROOT,))
        return cls(tuple(leaves), *_partitions(runs, top, len(leaves)), *_name(runs))

    @classmethod
    def of_runs(
        cls, leaves: tuple[str, ...], runs: list[tuple[tuple[str, ...], int, int, int]]
    ) -> Hierarchy:
        """The tree over leaves in depth-first order; a run is a name, first and last leaf, and height."""
        top = max(run[3] for run in runs)
        return cls(leaves, *_partitions(runs, top, len(leaves)), *_name(runs))


def _partitions(
    runs: list[tuple[tuple[str, ...], int, int, int]], top: int, size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    import numpy as np

    first = np.empty((top + 1, size), dtype=np.int32)
    last = np.empty((top + 1, size), dtype=np.int32)
    by_height = sorted(runs, key=lambda run: run[3])
    at = 0
    current_first = np.arange(size, dtype=np.int32)
    current_last = np.arange(size, dtype=np.int32)
    for level in range(top + 1):
        while at < len(by_height) and by_height[at][3] == level:
            _, low, high, _ = by_height[at]
            current_first[low : high + 1] = low
            current_last[low : high + 1] = high
            at += 1
        first[level], last[level] = current_first, current_last
    return first, last


def _name(
    runs: list[tuple[tuple[str, ...], int, int, int]],
) -> tuple[dict[tuple[int, int], str], dict[str, tuple[int, int]]]:
    """The name of every node, and the names that chains of only children have beside."""
    names: dict[tuple[int, int], str] = {}
    others: dict[str, tuple[int, int]] = {}
    taken: set[str] = set()
    for node, low, high, height in sorted(runs, key=lambda run: (run[3], run[1])):
        if (low, high) in names:
            others.setdefault(node[0], (low, high))
            continue
        name = node[0]
        if name in taken or (name == ROOT and node != (ROOT,)):
            name = f"{name} (level {height})"
            while name in taken:
                name += "'"
        taken.add(name)
        names[low, high] = name
    return names, {name: run for name, run in others.items() if name not in taken}


@dataclass(frozen=True, slots=True)
class Builder:
    """A hierarchy that is made from the values a table turns out to hold.

    `text` repeats the builder as it is written in a plan, such as `prefixes(5, 3, 0)`. All values in one of
    `ends` are one leaf: no tree, and so no release, has a finer one. A builder `is_bare` if it says nothing
    of the values between its ends.
    """

    text: str
    path: Callable[[str], Sequence[str]] = field(compare=False)
    order: Callable[[str], object] = field(compare=False, default=str)
    ends: tuple[Band, ...] = ()
    is_bare: bool = False

    def leaf(self, value: str) -> str:
        """The leaf that stands for a value."""
        return next((end.name for end in self.ends if end.holds(value)), value)

    def is_beyond(self, cell: str) -> bool:
        """Whether a cell tells more of a value in one of the ends than that it lies there."""
        try:
            return self.leaf(cell) != cell
        except (ValueError, ArithmeticError):
            return False  # a node, or a star

    def __add__(self, other: Builder) -> Builder:
        """Both together, one of which codes ends alone: `top(90) + bottom(5)`, `top(90) + bins(5, 10)`."""
        ends = (*self.ends, *other.ends)
        if not (self.is_bare or other.is_bare):
            raise PlanError(
                "Of two builders that are added one must be a top or a bottom with one number, as in "
                "top(90) + bins(5, 10).",
                field="hierarchies",
            )
        lows = [end.high for end in ends if end.high is not None]
        highs = [end.low for end in ends if end.low is not None]
        if len(lows) > 1 or len(highs) > 1 or (lows and highs and lows[0] >= highs[0]):
            raise PlanError(
                "Builders that are added have one top and one bottom at most, the bottom below the top.",
                field="hierarchies",
            )
        bare, rest = (self, other) if self.is_bare else (other, self)

        def path(value: str) -> Sequence[str]:
            return () if any(end.holds(value) for end in bare.ends) else rest.path(value)

        return Builder(
            f"{self.text} + {other.text}", path, begin_of, ends, is_bare=self.is_bare and other.is_bare
        )

    def coded(self, values: Iterable[str], *, column: str) -> dict[str, str]:
        """The leaves of those of `values` that are none themselves."""
        within: dict[str, str] = {}
        unfit = 0
        for value in values:
            try:
                leaf = self.leaf(value)
            except (ValueError, ArithmeticError):
                unfit += 1
            else:
                within |= {value: leaf} if leaf != value else {}
        if unfit:
            raise self._unfit(unfit, column)
        return within

    def build(self, values: Iterable[str], *, column: str) -> Hierarchy:
        """The tree over `values`."""
        paths = []
        unfit = 0
        for value in sorted(values):
            try:
                paths.append(((self.order(value), value), (self.leaf(value), *self.path(value))))
            except (ValueError, ArithmeticError):
                unfit += 1
        if unfit:
            raise self._unfit(unfit, column)
        if not paths:
            raise DataError(
                f"Column {column!r} has no value of which {self.text} could make a tree: all of its cells "
                "are missing. Leave it out, or give a tree.",
                field="hierarchies",
                column=column,
            )
        paths.sort()
        try:
            tree = Hierarchy.of_paths([path for _, path in paths], column=column)
        except PlanError:  # whose message names a value, here a cell of the table
            raise DataError(
                f"Column {column!r} has values from which {self.text} makes no tree. "
                "Clean them, or choose another hierarchy.",
                field="hierarchies",
                column=column,
            ) from None
        within = {value: path[0] for (_, value), path in paths if path[0] != value}
        return replace(tree, within=within)

    def _unfit(self, many: int, column: str) -> DataError:
        return DataError(
            f"Column {column!r} has {many} distinct values that {self.text} cannot place. Clean them, name "
            "them as missing marks, or choose another hierarchy.",
            field="hierarchies",
            column=column,
        )


def prefixes(*lengths: int) -> Builder:
    """Levels that keep ever fewer leading characters of a code: `prefixes(5, 3, 0)` for ZIP codes."""
    if not lengths or any(a <= b for a, b in itertools.pairwise(lengths)):
        raise PlanError("prefixes needs falling lengths, such as prefixes(5, 3, 0).", field="hierarchies")
    if min(lengths) < 0:
        raise PlanError(
            "prefixes needs lengths of at least 0, such as prefixes(5, 3, 0).", field="hierarchies"
        )

    def path(value: str) -> list[str]:
        shorter = [length for length in lengths if 0 < length < len(value)]
        return [value[:length] + ROOT * (len(value) - length) for length in shorter]

    return Builder(f"prefixes({', '.join(map(str, lengths))})", path)


def bins(*widths: float) -> Builder:
    """Levels of ever wider bins that start at 0: `bins(5, 10, 50)` for ages, or bands such as `[50-60)`."""
    if not widths or not all(math.isfinite(width) and width > 0 for width in widths):
        raise PlanError("bins needs widths above 0, such as bins(5, 10, 50).", field="hierarchies")
    # floats would put 0.3 into the bin [0.2, 0.3) of width 0.1, and print a million bins as one
    exact = [Fraction(str(width)) for width in widths]
    for narrow, wide in itertools.pairwise(exact):
        if wide <= narrow or wide % narrow:
            raise PlanError(
                "bins needs each width to be a multiple of the one before.", field="hierarchies"
            )

    def path(value: str) -> list[str]:
        band = Band.parse(value)
        if band is not None:
            return _bins_of(value, band, exact)
        top, bottom = number_in(value).as_integer_ratio()
        names = []
        for width in exact:
            step, parts = width.numerator, width.denominator
            start = top * parts // (bottom * step) * step
            names.append(f"[{in_full(start, parts)}, {in_full(start + step, parts)})")
        return names

    text = ", ".join(in_full(width.numerator, width.denominator) for width in exact)
    return Builder(f"bins({text})", path, begin_of)


def begin_of(value: str) -> Fraction:
    """By what numbers and bands are ordered: themselves, or where they begin."""
    band = Band.parse(value)
    if band is None:
        return number_in(value)
    return band.low if band.low is not None else Fraction(-(10**16))


def _bins_of(value: str, band: Band, widths: Sequence[Fraction]) -> list[str]:
    """The bins that hold a band whole; an open one is in none, and one that crosses an edge has no tree."""
    if band.width is None:
        return []
    names: list[str] = []
    for width in widths:
        start = band.bin(width)
        if start is None and (names or band.width <= width):
            raise ValueError
        if start is not None:
            end = start + width
            name = f"[{in_full(*start.as_integer_ratio())}, {in_full(*end.as_integer_ratio())})"
            names += [name] if name != value else []
    return names


def flat() -> Builder:
    """One level: a value, or `*`."""
    return Builder("flat()", lambda _: [])

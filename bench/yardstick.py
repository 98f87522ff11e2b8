"""One yardstick for every tool: what a release gives up, read from its published cells alone.

Nothing a tool says about itself is used, and nothing of Shoal is imported. The loss of a cell lies in
0..1:

    number   (greatest - least) / (greatest - least of the whole original column)
    tree     (leaves below the lowest common ancestor of what the cell names - 1) / (all leaves - 1)

The loss of a release is the mean over all original rows and all columns, in percent; a row that was
left out counts 100 %. Tools that publish nodes of a fixed level pay for the whole node. Where a release
says which original row each line is, `tightest` is the loss its classes would have with the smallest
cells possible, so that such a tool is not judged by its notation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Score", "Tree", "measure"]

Row = Mapping[str, str]


class Tree:
    """A hierarchy, from one path per value, the value first and the root last."""

    def __init__(self, paths: Sequence[Sequence[str]]) -> None:
        self.paths = {path[0]: tuple(path) for path in paths}
        self.below: dict[str, set[str]] = defaultdict(set)
        for leaf, path in self.paths.items():
            for node in path:
                self.below[node].add(leaf)

    def loss(self, leaves: set[str]) -> float:
        """What the lowest common ancestor of `leaves` gives up."""
        if len(leaves) == 1:
            return 0.0
        chain = self.paths[min(leaves)]
        covered = next(self.below[node] for node in chain if leaves <= self.below[node])
        return (len(covered) - 1) / (len(self.paths) - 1)


@dataclass(frozen=True, slots=True)
class Score:
    """What one release is worth; losses in percent."""

    rows: int
    left_out: int
    classes: int
    smallest_class: int
    loss: float
    tightest: float | None


# what a cell of a number column covers, and what a cell of a tree column names, in a tool's own notation
ReadNumber = Callable[[str], tuple[float, float]]
ReadNames = Callable[[str], list[str]]


def measure(
    original: Sequence[Row],
    release: Sequence[Row],
    trees: Mapping[str, Tree],
    numbers: Sequence[str],
    *,
    read_number: ReadNumber,
    read_names: ReadNames,
) -> Score:
    """Score a release; a column `count` says how many rows a line stands for, `row` which one it is."""
    quasi = [*numbers, *trees]
    ends = {name: _ends(original, name) for name in numbers}
    records = Counter[tuple[str, ...]]()
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for line in release:
        cells = tuple(line[name] for name in quasi)
        records[cells] += int(line.get("count") or 1)
        if "row" in line:
            members[cells].append(int(line["row"]))
    left_out = len(original) - records.total()
    cost: dict[tuple[str, str], float] = {}
    lost = 0.0
    for cells, size in records.items():
        for name, cell in zip(quasi, cells, strict=True):
            if (name, cell) not in cost:
                if name in ends:
                    cost[name, cell] = _range_loss(read_number(cell), ends[name])
                else:
                    cost[name, cell] = _names_loss(read_names(cell), trees[name])
            lost += size * cost[name, cell]
    everything = len(original) * len(quasi)
    tightest = None
    if members:
        tight = sum(
            len(its) * _class_loss([original[row] for row in its], trees, ends) for its in members.values()
        )
        tightest = 100 * (tight + left_out * len(quasi)) / everything
    return Score(
        rows=len(original),
        left_out=left_out,
        classes=len(records),
        smallest_class=min(records.values(), default=0),
        loss=100 * (lost + left_out * len(quasi)) / everything,
        tightest=tightest,
    )


def _ends(rows: Sequence[Row], name: str) -> tuple[float, float]:
    values = [float(row[name]) for row in rows]
    return min(values), max(values)


def _range_loss(cell: tuple[float, float], ends: tuple[float, float]) -> float:
    low, high = max(cell[0], ends[0]), min(cell[1], ends[1])
    return max(high - low, 0.0) / (ends[1] - ends[0])


def _names_loss(names: list[str], tree: Tree) -> float:
    leaves = set[str]().union(*(tree.below[name] for name in names))
    if not leaves:
        raise ValueError("a cell names nothing of its hierarchy")
    return tree.loss(leaves)


def _class_loss(
    rows: list[Row], trees: Mapping[str, Tree], ends: Mapping[str, tuple[float, float]]
) -> float:
    numbers = sum(_range_loss(_ends(rows, name), ends[name]) for name in ends)
    return numbers + sum(tree.loss({row[name] for row in rows}) for name, tree in trees.items())

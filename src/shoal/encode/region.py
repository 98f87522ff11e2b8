"""Regions: alone a set of graph nodes; among other columns a node of a fixed tree over the graph.

The tree is the graph halved again and again into connected parts of about the same number of regions. It
depends on the graph alone, not on the table, so releases of several tables over one graph fit together. A
node is called after its first region by name and the number of others: `10001 +126`.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode.tree import look_up, to_text, tree_column
from shoal.errors import DataError
from shoal.model.column import Axis, Column
from shoal.model.graph import Graph
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan

__all__ = ["check_regions", "encode_region", "region_tree"]


def encode_region(series: pl.Series, plan: Plan) -> tuple[Column, tuple[NDArray[np.int32], ...]]:
    """Code one region column: as a set where it is the only quasi-identifier, else as a tree."""
    text = to_text(series)
    graph = plan.graphs[series.name]
    if len(plan.quasi) > 1:
        given = plan.hierarchies.get(series.name)
        tree = given if isinstance(given, Hierarchy) else region_tree(graph)
        codes, absent = _codes(text, tree.leaves)
        column = tree_column(series.name, tree, plan, has_missing=absent > 0, kind="region")
        return column, (codes,)
    codes, absent = _codes(text, graph.names)
    axis = Axis.of_set(len(graph.names), has_missing=absent > 0)
    column = Column(
        name=series.name,
        kind="region",
        weight=plan.weight(series.name),
        axes=(axis,),
        has_missing=absent > 0,
        denominator=float(axis.size - 1),
        values=graph.names,
        graph=graph,
    )
    return column, (codes,)


def check_regions(series: pl.Series, plan: Plan) -> None:
    """Raise where cells name regions that the graph lacks."""
    _codes(to_text(series), plan.graphs[series.name].names)


def _codes(text: pl.Series, names: tuple[str, ...]) -> tuple[NDArray[np.int32], int]:
    codes, absent = look_up(text, names)
    strange = absent - text.null_count()
    if strange:
        raise DataError(
            f"Column {text.name!r} has {strange} of {len(text)} cells whose region is not in its graph. "
            "Add those regions to it (codes keep their leading zeros), or name them as missing marks.",
            field="graphs",
            column=text.name,
        )
    return codes, absent


def region_tree(graph: Graph) -> Hierarchy:
    """The fixed tree over a graph: its components, each halved down to single regions."""
    start, arcs = graph.start.tolist(), graph.neighbour.tolist()
    beside = [arcs[a:b] for a, b in itertools.pairwise(start)]
    inside = [0] * len(beside)  # the part that a region stands in now
    leaves: list[int] = []
    runs: list[tuple[tuple[str, ...], int, int, int]] = []
    parts = _Parts(beside, inside)

    def split(nodes: list[int], mark: int) -> int:
        """Lay the leaves of one connected part, and return its height."""
        first = len(leaves)
        if len(nodes) == 1:
            leaves.append(nodes[0])
            height = 0
        else:
            one, other = parts.halve(nodes, mark)
            height = 1 + max(split(*one), split(*other))
        least = graph.names[min(leaves[first:])]
        name = least if len(nodes) == 1 else f"{least} +{len(nodes) - 1}"
        runs.append(((name,), first, len(leaves) - 1, height))
        return height

    heights = [split(nodes, mark) for nodes, mark in parts.components()]
    if len(heights) > 1:
        runs.append((("*",), 0, len(leaves) - 1, 1 + max(heights)))
    else:
        runs[-1] = (("*",), *runs[-1][1:])
    return Hierarchy.of_runs(tuple(graph.names[at] for at in leaves), runs)


class _Parts:
    """Connected parts of a graph, told apart by a mark per region."""

    def __init__(self, beside: list[list[int]], inside: list[int]) -> None:
        self.beside = beside
        self.inside = inside
        self.marks = 0

    def components(self) -> list[tuple[list[int], int]]:
        """The components with their marks, by their first region."""
        seen = [False] * len(self.beside)
        found = []
        for first in range(len(self.beside)):
            if seen[first]:
                continue
            nodes = self._reached(first, 0)
            for node in nodes:
                seen[node] = True
            found.append(self._marked(sorted(nodes)))
        return found

    def _marked(self, nodes: list[int]) -> tuple[list[int], int]:
        self.marks += 1
        for node in nodes:
            self.inside[node] = self.marks
        return nodes, self.marks

    def _reached(self, first: int, mark: int) -> list[int]:
        """The regions of a part in order of their distance from one of them."""
        inside, beside = self.inside, self.beside
        order = [first]
        seen = {first}
        for node in order:
            for other in beside[node]:
                if inside[other] == mark and other not in seen:
                    seen.add(other)
                    order.append(other)
        return order

    def halve(self, nodes: list[int], mark: int) -> tuple[tuple[list[int], int], tuple[list[int], int]]:
        """Two connected parts, as even as two sweeps from the part's far ends find them."""
        far = self._reached(nodes[0], mark)[-1]
        sweep = self._reached(far, mark)
        best = self._cut(sweep)
        back = self._cut(self._reached(sweep[-1], mark))
        gaps = [abs(len(nodes) - 2 * len(found)) for found in (best, back)]
        half = set(best if gaps[0] <= gaps[1] else back)
        rest = [node for node in nodes if node not in half]
        kept = [node for node in nodes if node in half]
        first, second = (kept, rest) if kept[0] == nodes[0] else (rest, kept)
        return self._marked(first), self._marked(second)

    def _cut(self, sweep: list[int]) -> list[int]:
        """The connected end of a sweep that comes nearest to half.

        The regions are added from the far end on. What was swept hangs together, and so does the
        largest part of what was not, once the other parts of it go to the swept side.
        """
        place = {node: at for at, node in enumerate(sweep)}
        root = list(range(len(sweep)))
        size = [1] * len(sweep)
        largest = len(sweep) - 1
        best_gap, best_from, best_root = len(sweep) + 1, 0, 0

        def find(at: int) -> int:
            while root[at] != at:
                root[at] = root[root[at]]
                at = root[at]
            return at

        for at in range(len(sweep) - 1, 0, -1):
            mine = at
            for other in self.beside[sweep[at]]:
                there = place.get(other, -1)
                if there > at:
                    found = find(there)
                    if found != mine:
                        root[found] = mine
                        size[mine] += size[found]
            if size[mine] >= size[find(largest)]:
                largest = mine
            gap = abs(len(sweep) - 2 * size[find(largest)])
            if gap < best_gap:
                best_gap, best_from, best_root = gap, at, find(largest)
            if 2 * size[find(largest)] >= len(sweep):
                break
        first = sweep[best_root]
        order, seen = [first], {first}
        for node in order:
            for other in self.beside[node]:
                if place.get(other, -1) >= best_from and other not in seen:
                    seen.add(other)
                    order.append(other)
        return order

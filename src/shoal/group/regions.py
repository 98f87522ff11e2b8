"""regions: connected groups of regions.

Problem
    Split the regions of one column, each with all its records, into connected sets of at least k records,
    by a graph of who borders on whom, so that the largest group is as small as possible.

Guarantee
    At most d + 1 times the best, d the degree of the spanning tree that was found (recorded as this run's
    factor): a group holds at most the heaviest region + d (k - 1) records. The tree's degree is
    at most one above the least possible.

Method
    A depth-first spanning tree, improved until no exchange of Fuerer and Raghavachari lowers its
    degree, is cut bottom-up as soon as a subtree holds k; what is left at the root joins the lightest
    group next to it. Then heavy groups are split, or pooled with one or two neighbours and cut anew
    along random spanning trees, as long as the heavier group becomes lighter. Components lighter than
    k, and nothing else, are withheld.

Cost
    Time O(n) for the cuts, O(n + e) for each exchange and each sweep of the improvement, n regions and e
    borders; memory O(n + e).

Reference
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and geographic
    generalization and the min-max bin covering problem. WADS 2009. Theorem 1. M. Fuerer, B. Raghavachari.
    Approximating the minimum-degree Steiner tree to within one of optimal. J. Algorithms 17, 1994.
    Differs from the paper: greedy on a tree of the whole graph, as its own margin note asks for; the
    improvement is ours.

Example:
    >>> FACTS.takes
    frozenset({'region'})

"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.regions.borders import balance
from shoal.kernels.regions.trees import (
    components,
    cut_tree,
    deep_tree,
    degrees,
    exchange,
    improvement,
    twins,
)
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping
from shoal.model.task import Effort, Task

__all__ = ["FACTS", "group", "low_degree_tree"]

PATH = 3
"""A tree of this degree is within one of any: no tree but a path has less."""

FACTS = Facts(
    title="Regions",
    objective="largest",
    guarantee="at most d + 1 times the best largest group, d the degree of the spanning tree found",
    time="O(n + e) a sweep, n regions, e borders",
    paper="004, Theorem 1",
    takes=frozenset({"region"}),
    most_columns=1,
    styles=frozenset({"generalize"}),
    obeys="beside",
    least_factor=2.0,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the regions of `coded`; the module docstring states the guarantee."""
    column = coded.columns[0]
    graph = column.graph
    assert graph is not None, "a region that stands alone has its graph"
    weight = np.zeros(column.axes[0].size, dtype=np.int64)
    np.add.at(weight, coded.codes[:, 0], coded.count)
    start, neighbour = graph.start, graph.neighbour
    if weight.size > len(graph.names):  # missing cells: a region without neighbours
        start = np.r_[start, start[-1]]
    part = components(start, neighbour)
    held = np.bincount(part, weights=weight)
    light = (held > 0) & (held < task.k)
    _check_light(column.name, task, int(held[light].sum()), int(light.sum()), int(held.sum()))
    twin = twins(start, neighbour)
    tree, steps = low_degree_tree(start, neighbour, twin)
    label = cut_tree(start, neighbour, tree, weight, task.k)
    goal = max(_least(weight[part == p], task.k) for p in np.flatnonzero(held >= task.k))
    sweeps, gain, tries = _effort(task.effort)
    state = np.array([np.random.default_rng(task.seed).integers(1, 2**63)], dtype=np.uint64)
    steps += balance(start, neighbour, weight, label, task.k, goal, sweeps, gain, tries, state)
    degree = int(degrees(start, neighbour, tree).max(initial=0))
    return Grouping.of_labels(
        label[coded.codes[:, 0]],
        coded.count,
        steps=steps,
        factor=float(max(degree, 1) + 1),
        beside=_beside(start, neighbour, label),
    )


def _beside(
    start: NDArray[np.int64], neighbour: NDArray[np.int32], label: NDArray[np.integer]
) -> NDArray[np.int64]:
    """The pairs of groups that border on each other."""
    pairs = np.column_stack([np.repeat(label, np.diff(start)), label[neighbour]]).astype(np.int64)
    return np.unique(pairs[(pairs[:, 0] < pairs[:, 1]) & (pairs[:, 0] >= 0)], axis=0)


def low_degree_tree(
    start: NDArray[np.int64], neighbour: NDArray[np.int32], twin: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], int]:
    """Spanning trees with a degree at most one above the least possible, and the exchanges made."""
    tree: NDArray[np.bool_] = deep_tree(start, neighbour, twin)
    steps = 0
    while True:
        most = int(degrees(start, neighbour, tree).max(initial=0))
        if most <= PATH:
            return tree, steps
        arc, region, fix = improvement(start, neighbour, tree, most)
        if arc < 0:
            return tree, steps
        before = tree.copy()
        _lower(start, neighbour, twin, tree, arc, region, fix)
        after = degrees(start, neighbour, tree)
        if after.max() > most or (after == most).sum() >= (degrees(start, neighbour, before) == most).sum():
            return before, steps  # exchanges met on one region: keep what is known to be sound
        steps += 1


def _lower(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    twin: NDArray[np.int64],
    tree: NDArray[np.bool_],
    arc: int,
    region: int,
    fix: NDArray[np.int64],
) -> None:
    """Lower one region's degree by adding the arc, its ends first where they need it. In place."""
    for end in (int(neighbour[twin[arc]]), int(neighbour[arc])):
        if fix[end] >= 0:
            through, fix[end] = int(fix[end]), -1
            _lower(start, neighbour, twin, tree, through, end, fix)
    exchange(start, neighbour, twin, tree, arc, region)


def _check_light(name: str, task: Task, records: int, parts: int, total: int) -> None:
    if records == total:
        raise DataError(
            f"Column {name!r}: every part of the graph that hangs together holds fewer than k = {task.k} "
            "records. Lower k, or add the borders that the graph lacks.",
            field="graphs",
            column=name,
        )
    if records > task.withhold:
        share = math.ceil(10_000 * records / total) / 10_000
        raise DataError(
            f"Column {name!r}: {parts} of the graph's connected parts (missing cells are one) hold fewer "
            f"than k = {task.k} records, {records} of {total} in all, and can only be withheld; the plan "
            f"allows {task.withhold}. Raise withhold to {share:g}, lower k, or add borders to the graph.",
            field="withhold",
            column=name,
        )


def _least(weight: NDArray[np.int64], k: int) -> int:
    """No grouping of these regions has a smaller largest group."""
    total = int(weight.sum())
    return max(k, int(weight.max()), -(-total // (total // k)))


def _effort(effort: Effort) -> tuple[int, int, int]:
    """Sweeps, the share of a group's weight that a step must gain, and spanning trees tried per cut."""
    if effort.steps is not None:
        return effort.steps, 256, 4
    if effort.seconds is not None:
        return 200, 256, 4
    return {"quick": (8, 64, 4), "normal": (60, 128, 4), "thorough": (200, 512, 8)}[
        effort.level or "normal"
    ]

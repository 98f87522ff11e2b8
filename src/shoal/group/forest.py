"""forest: trees of nearest neighbours, cut into groups.

Problem
    Split the records into groups of at least k so that the total loss is small, whatever the columns:
    size * weighted spans, by levels (the paper's cost) or by leaves.

Guarantee
    At most max(2k - 1, 3k - 5) times the best total loss, also where rows may be withheld at full loss:
    the forest's edges are no longer together than the best release loses, and no record of a group
    loses more than the edges that join it. Usually far closer; the bound in the certificate tells.

Method
    While a component has fewer than k records, its one row without an outgoing edge takes an edge to the
    nearest row outside, shortest edges first. Then edges that leave k records on both sides are removed,
    dearest first. A component of 2k records or more that is left has a row u whose subtrees are all
    lighter than k: subtrees and the copies of u are packed into bins of k to max(2k - 1, 3k - 5)
    records, each growing by the subtree that widens it least (copies of one row alone may be more).
    Improvement follows, which never raises the loss, unless `search=no`.

Cost
    Time O(n log k) neighbour queries in a tree of boxes and O(n h), h the height of the forest's trees;
    memory O(n).

Reference
    G. Aggarwal, T. Feder, K. Kenthapadi, R. Motwani, R. Panigrahy, D. Thomas, A. Zhu. Approximation
    algorithms for k-anonymity. Journal of Privacy Technology, 2005. Section 4.
    Differs from the paper: neighbours without a complete graph; its decomposition, applied again to a
    part with a Steiner vertex, can leave fewer than k rows, ours cannot; all kinds of columns; identical
    rows as counts. The guarantee survives: docs/proofs/forest.md.

Example:
    >>> FACTS.factor(2, 1), FACTS.factor(10, 1)
    (3.0, 25.0)

"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.kernels.distance.lookup import short_axes
from shoal.kernels.forest.decompose import decompose
from shoal.kernels.forest.grow import join_trees, nearest_outside
from shoal.kernels.neighbours.box_tree import Index, build_tree
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option, read_yes
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group", "grow", "largest_size"]

BLOCK = 512
"""Queries a thread asks at once."""


def largest_size(k: int) -> int:
    """Records that a group may have, the paper's factor: below it a tree need not be cut.

    >>> [largest_size(k) for k in (2, 3, 4, 5)]
    [3, 5, 7, 10]
    """
    return max(2 * k - 1, 3 * k - 5)


FACTS = Facts(
    title="Forest of nearest neighbours",
    objective="loss",
    guarantee="at most max(2k - 1, 3k - 5) times the least total loss",
    time="O(n log k) neighbour queries",
    paper="001, Theorem 5",
    improves=True,
    options={"search": Option(read_yes, True, "whether local search follows: yes or no")},
    factor=lambda k, columns: float(largest_size(k)),
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    tree = build_tree(coded.codes, coded.count, coded.metric)
    parent, length = grow(tree, coded, task)
    dearest = np.lexsort((tree.place, -length))
    pieces, _ = decompose(
        tree.codes, tree.place, tree.count, coded.metric, task.k, largest_size(task.k), parent, dearest
    )
    return Grouping.of_pieces(pieces[:, 0], pieces[:, 1], pieces[:, 2])


def grow(tree: Index, coded: Coded, task: Task) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A forest whose trees have at least k records: each row's parent (-1 for none) and its distance.

    Rows are those of `tree`. No row's edge is longer than the distance to its (k-1)-th neighbour.
    """
    n = tree.place.size
    parent = np.full(n, -1, dtype=np.int64)
    length = np.zeros(n)
    above = np.arange(n)
    held = tree.count.copy()
    has_edge = np.zeros(n, dtype=bool)
    starts = short_axes(coded.metric)
    with ThreadPoolExecutor(task.threads or cpu_count() or 1) as pool:
        while True:
            # a component's one row without an edge asks, while it has fewer than k records
            rows = np.flatnonzero(~has_edge & (held[above] < task.k))
            if not rows.size:
                return parent, length
            task.progress("joining neighbours", 1 - rows.size / n)
            near = np.empty(rows.size, dtype=np.int64)
            far = np.empty(rows.size)
            blocks = [slice(at, at + BLOCK) for at in range(0, rows.size, BLOCK)]
            jobs = [
                pool.submit(nearest_outside, tree, coded.metric, starts, above, rows[at], near[at], far[at])
                for at in blocks
            ]
            for job in jobs:
                job.result()
            order = np.lexsort((tree.place[rows], far))
            join_trees(order, rows, near, far, above, held, task.k, parent, length)
            has_edge = parent >= 0

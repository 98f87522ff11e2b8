"""pairs: a least-weight [1,2]-factor, for k = 2 and stars.

Problem
    Split the records into groups of at least 2 so that the number of stars (weighted) is small.

Guarantee
    At most 1.5 times the best where every column has two values, at most 2 times the best for any
    values (a missing cell is a value). Where a large table's factor is not proved to be the lightest, the
    factor grows by the gap, and the certificate says so.

Method
    A [1,2]-factor of the complete graph of records (every record has one or two edges) of least weight,
    by linear programming with priced edges, odd-set cuts and branching (`kernels/graph_factor`). Edges
    whose ends both have two go; what is left are groups of two and three. Local search follows, which
    never raises the loss, unless `search=no`.

Cost
    Up to some thousand distinct rows exact, in seconds; beyond that a linear program over the priced
    neighbours of each row, rounded by integer programs around its fractional parts.

Reference
    G. Aggarwal et al. Approximation algorithms for k-anonymity. Journal of Privacy Technology, 2005.
    Section 5.
    Differs from the paper: identical rows as counts, and edges found by pricing. The guarantee survives:
    docs/proofs/pairs.md.

Example:
    >>> FACTS.only_k
    2

"""

from __future__ import annotations

from collections.abc import Iterator

from shoal.errors import BrokenPromise
from shoal.group.families.graph_factor import facts_of, group_by_factor
from shoal.kernels.graph_factor.least_weight import GraphFactor, pairs_limits, prove_pairs
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group", "stars_of"]

FACTORS = (1.5, 2.0)
"""Of the best, where every column has two values, and for any values."""

FACTS = facts_of(title="Pairs by a least-weight [1,2]-factor", paper="001, Theorem 6", k=2, factors=FACTORS)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    return group_by_factor(
        coded, task, k=2, limits=pairs_limits, prove=prove_pairs, factors=FACTORS, pieces=_pieces
    )


def _pieces(coded: Coded, factor: GraphFactor) -> Iterator[tuple[int, int, int]]:
    """Lines of (row, group, records)."""
    left = dict(enumerate(coded.count.tolist()))
    groups = 0
    for hub, leaves in stars_of(factor, coded.count.tolist()):
        # one copy of the hub for each leaf while there are enough; then a second leaf each
        copies = left[hub]
        dealt = [leaves[at::copies] for at in range(min(copies, len(leaves)))]
        for its in dealt:
            yield hub, groups, 1
            for leaf in its:
                yield leaf, groups, 1
                left[leaf] -= 1
            groups += 1
        left[hub] -= len(dealt)
        if left[hub] == 1:  # a last copy cannot stand alone
            yield hub, groups - 1, 1
            left[hub] = 0
    for row, records in left.items():
        if records:
            if records == 1:
                raise BrokenPromise("Every lone record has an edge.")
            yield row, groups, records
            groups += 1


def stars_of(factor: GraphFactor, count: list[int]) -> Iterator[tuple[int, list[int]]]:
    """The factor as hubs with their leaves, which are lone records, the dearest leaf last.

    A hub with c copies has at most 2c leaves.
    """
    edges: dict[int, list[int]] = {}
    for one, other in zip(factor.one.tolist(), factor.other.tolist(), strict=True):
        edges.setdefault(one, []).append(other)
        edges.setdefault(other, []).append(one)
    # an edge whose ends are both covered without it goes; copies cover one another
    for one in sorted(edges):
        for other in sorted(edges[one]):
            spare_one = count[one] > 1 or len(edges[one]) > 1
            if spare_one and (count[other] > 1 or len(edges[other]) > 1):
                edges[one].remove(other)
                edges[other].remove(one)
    hubs = [row for row, ends in edges.items() if count[row] > 1 or len(ends) > 1]
    inside = {leaf for hub in hubs for leaf in edges[hub]} | set(hubs)
    for row in sorted(edges):  # a pair of lone records: the first is the hub
        if row not in inside and edges[row]:
            hubs.append(row)
            inside |= {row, *edges[row]}
    for hub in sorted(hubs):
        if edges[hub]:
            yield hub, sorted(edges[hub])

"""pairs: a least-weight [1,2]-factor, for k = 2 and stars.

Problem
    Split the records into groups of at least 2 so that the number of stars (weighted) is small.

Guarantee
    At most 1.5 times the best where every column has two values, at most 2 times the best for any
    values (a missing cell is a value). Where a large table's factor is not proved to be the lightest, the
    factor grows by the gap, and the certificate says so.

Method
    A [1,2]-factor of the complete graph of records (every record has one or two edges) of least weight,
    by linear programming with priced edges, odd-set cuts and branching (`kernels/factor.py`). Edges
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

import numpy as np

from shoal.errors import TooFewRows
from shoal.group.forest import read_yes
from shoal.kernels.factor import Factor, has_two_values, least_factor, pairs_limits, prove_pairs
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["FACTS", "group", "stars_of"]

FACTS = Facts(
    title="Pairs by a least-weight [1,2]-factor",
    objective="loss",
    guarantee="at most 2 times the fewest stars; 1.5 where all columns have two values",
    time="linear and integer programs over a few neighbours per row",
    paper="001, Theorem 6",
    only_k=2,
    withholds=False,
    improves=True,
    styles=frozenset({"suppress"}),
    options={"search": Option(read_yes, True, "whether local search follows: yes or no")},
    factor=lambda k, columns: 2.0,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < 2:
        raise TooFewRows(rows=coded.total, k=2)
    task.progress("pairing", 0.0)
    factor = least_factor(coded.codes, coded.count, coded.metric, pairs_limits(coded.count))
    name, bound = prove_pairs(factor.bound, coded.metric)
    proven = 1.5 if has_two_values(coded.metric) else 2.0
    gap = factor.weight / factor.bound if factor.bound > 0 else 1.0
    pieces = np.array(list(_pieces(coded, factor)), dtype=np.int64).reshape(-1, 3)
    return Grouping.of_pieces(
        pieces[:, 0],
        pieces[:, 1],
        pieces[:, 2],
        proof=Proof(name, bound),
        factor=proven * gap,
    )


def _pieces(coded: Coded, factor: Factor) -> Iterator[tuple[int, int, int]]:
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
            assert records > 1, "every lone record has an edge"
            yield row, groups, records
            groups += 1


def stars_of(factor: Factor, count: list[int]) -> Iterator[tuple[int, list[int]]]:
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

"""triples: a least-weight 2-factor cut into groups of three to five, for k = 3 and stars.

Problem
    Split the records into groups of at least 3 so that the number of stars (weighted) is small.

Guarantee
    At most 2 times the best where every column has two values, at most 3 times the best for any
    values (a missing cell is a value): docs/proofs/triples.md. Where a large table's factor is not proved
    to be the lightest, the factor grows by the gap, and the certificate says so.

Method
    A 2-factor of the complete graph of records (disjoint cycles of three or more through all of them)
    of least weight, by linear programming with priced edges and branching (`kernels/graph_factor`). Each
    cycle is cut into runs of three, four or five so that they lose least, which is never more than the
    paper's cheapest rotation (Lemma 11). Local search follows, which never raises the loss, unless
    `search=no`.

Cost
    Up to some thousand distinct rows exact, in seconds; beyond that a linear program over the priced
    neighbours of each row, rounded by integer programs around its fractional parts.

Reference
    G. Aggarwal et al. Approximation algorithms for k-anonymity. Journal of Privacy Technology, 2005.
    Section 6.
    Differs from the paper: any alphabet, identical rows as counts, edges found by pricing, and the best
    of all cuts of a cycle.

Example:
    >>> FACTS.only_k
    3

"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.group.families.graph_factor import facts_of, group_by_factor
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.graph_factor.least_weight import GraphFactor, prove_triples, triples_limits
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "cheapest_cuts", "cycles_of", "group"]

FACTORS = (2.0, 3.0)
"""Of the best, where every column has two values, and for any values."""

FACTS = facts_of(
    title="Triples by a least-weight 2-factor", paper="001, Lemmas 10 and 11", k=3, factors=FACTORS
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    return group_by_factor(
        coded, task, k=3, limits=triples_limits, prove=prove_triples, factors=FACTORS, pieces=_pieces
    )


def _pieces(coded: Coded, factor: GraphFactor) -> Iterator[tuple[int, int, int]]:
    """Lines of (row, group, records)."""
    cycles, alone = cycles_of(factor, coded.count.tolist())
    groups = 0
    for row, records in alone.items():
        yield row, groups, records
        groups += 1
    for cycle in cycles:
        ring = np.array(cycle, dtype=np.int32)
        for start, stop in cheapest_cuts(*(_window_losses(coded, ring, size) for size in (3, 4, 5))):
            for at in range(start, stop):
                yield cycle[at % len(cycle)], groups, 1
            groups += 1


def _window_losses(coded: Coded, ring: NDArray[np.int32], size: int) -> NDArray[np.float64]:
    """The loss of the `size` records of a ring that begin at each place; infinite where it is shorter."""
    if ring.size < size:
        return np.full(ring.size, np.inf)
    members = ring[(np.arange(ring.size)[:, None] + np.arange(size)) % ring.size].ravel()
    starts = np.arange(ring.size + 1) * size
    losses: NDArray[np.float64] = size * group_losses(coded.codes, coded.metric, members, starts)
    return losses


def cheapest_cuts(
    three: NDArray[np.float64], four: NDArray[np.float64], five: NDArray[np.float64]
) -> list[tuple[int, int]]:
    """Cut a ring into runs of three, four or five with the least sum; entry i is the run that begins at i.

    Runs are (start, stop), and stop may exceed the length where a run passes the end of the list.

    >>> one = np.ones(7)
    >>> cheapest_cuts(3 * one, 4 * one, 5 * one)
    [(0, 4), (4, 7)]
    """
    n = three.size
    losses = {3: three.tolist(), 4: four.tolist(), 5: five.tolist()}
    best: tuple[float, list[tuple[int, int]]] = (np.inf, [])
    for first in range(min(5, n)):  # some run begins at one of any five places in a row
        least = [0.0] + [np.inf] * n
        size_of = [0] * (n + 1)
        for end in range(3, n + 1):
            for size, its in losses.items():
                if end >= size:
                    value = least[end - size] + its[(first + end - size) % n]
                    if value < least[end]:
                        least[end], size_of[end] = value, size
        if least[n] < best[0] - 1e-12:
            runs = []
            end = n
            while end > 0:
                runs.append((first + end - size_of[end], first + end))
                end -= size_of[end]
            best = (least[n], runs[::-1])
    return best[1]


def cycles_of(factor: GraphFactor, count: list[int]) -> tuple[list[list[int]], dict[int, int]]:
    """Rings of records, each by its row, and the copies that stand by themselves, three or more.

    Every row is passed half as often as it has edges; each pass takes a copy. Rings have at least
    three records: a ring of two borrows a spare copy, or is spliced into another pass of its row.
    """
    rings = _rings(factor)
    spare = list(count)
    where: dict[int, set[int]] = {}
    for name, ring in enumerate(rings):
        for row in ring:
            spare[row] -= 1
            where.setdefault(row, set()).add(name)
    for name, ring in enumerate(rings):
        if len(ring) != 2:
            continue
        rich = [row for row in ring if spare[row] > 0]
        if rich:
            spare[rich[0]] -= 1
            ring.insert(ring.index(rich[0]), rich[0])
            continue
        row, other = next((row, other) for row in ring for other in sorted(where[row]) if other != name)
        host = rings[other]
        at = host.index(row)
        beyond = ring[1 - ring.index(row)]
        host[at + 1 : at + 1] = [beyond, row]
        for each in ring:
            where[each].discard(name)
            where[each].add(other)
        ring.clear()
    alone = {}
    for row, left in enumerate(spare):
        if left >= 3:
            alone[row] = left
        elif left:
            ring = rings[min(where[row])]
            at = ring.index(row)
            ring[at:at] = [row] * left
    return [ring for ring in rings if ring], alone


def _rings(factor: GraphFactor) -> list[list[int]]:
    """Walks along the edges, each used once, that come back to where they began."""
    ends: list[tuple[int, int]] = []
    at: dict[int, list[int]] = {}
    for one, other, times in zip(
        factor.one.tolist(), factor.other.tolist(), factor.times.tolist(), strict=True
    ):
        for _ in range(times):
            at.setdefault(one, []).append(len(ends))
            at.setdefault(other, []).append(len(ends))
            ends.append((one, other))
    # at each row its edges are paired in order; a pass leads from an edge to its partner
    partner: dict[tuple[int, int], int] = {}
    for row, edges in at.items():
        for one, other in zip(edges[::2], edges[1::2], strict=True):
            partner[row, one] = other
            partner[row, other] = one
    rings = []
    done = [False] * len(ends)
    for first in range(len(ends)):
        if done[first]:
            continue
        ring = []
        edge, row = first, ends[first][1]
        while not done[edge]:
            done[edge] = True
            ring.append(row)
            edge = partner[row, edge]
            row = ends[edge][0] if ends[edge][1] == row else ends[edge][1]
        rings.append(ring)
    return rings

"""The bounds on stars by factors of the graph of records: k = 2 and k = 3, nothing withheld.

A release in groups of two and three holds a [1,2]-factor, one in groups of three to five a 2-factor, that
weighs no more than a share of its stars; so the lightest factor bounds every release from below. The
proofs are in docs/proofs/pairs.md and docs/proofs/triples.md.
"""

from __future__ import annotations

from shoal.kernels.graph_factor.least_weight import (
    least_factor,
    pairs_limits,
    prove_pairs,
    prove_triples,
    triples_limits,
)
from shoal.model.coded import Coded
from shoal.model.column import TREE
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["pairs_again", "triples_again"]


def pairs_again(coded: Coded, task: Task) -> Proof | None:
    """The bound by the lightest [1,2]-factor once more; None where it does not apply."""
    if task.k != 2 or not _stars_only(coded, task):
        return None
    factor = least_factor(coded.codes, coded.count, coded.metric, pairs_limits(coded.count))
    return Proof(*prove_pairs(factor.bound, coded.metric))


def triples_again(coded: Coded, task: Task) -> Proof | None:
    """The bound by the lightest 2-factor once more; None where it does not apply."""
    if task.k != 3 or not _stars_only(coded, task):
        return None
    factor = least_factor(coded.codes, coded.count, coded.metric, triples_limits(coded.count))
    return Proof(*prove_triples(factor.bound, coded.metric))


def _stars_only(coded: Coded, task: Task) -> bool:
    """Whether every column is a tree of height 1 and nothing may be withheld."""
    flat = all(int(height) == 1 for height in coded.metric.height)
    return flat and task.withhold == 0 and bool((coded.metric.form == TREE).all())

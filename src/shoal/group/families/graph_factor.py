"""What `pairs` and `triples` share: a least graph factor of the records, what it proves, and its groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from shoal.errors import TooFewRows
from shoal.kernels.graph_factor.least_weight import GraphFactor, Ints, Limits, has_two_values, least_factor
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option, read_yes
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["facts_of", "group_by_factor"]

Pieces = Iterable[tuple[int, int, int]]
"""Lines of (row, group, records)."""


def facts_of(*, title: str, paper: str, k: int, factors: tuple[float, float]) -> Facts:
    """What a method by factors says of itself; `factors` for two values a column, and for any."""
    two_valued, any_values = factors
    return Facts(
        title=title,
        objective="loss",
        guarantee=(
            f"at most {any_values:g} times the fewest stars; "
            f"{two_valued:g} where all columns have two values"
        ),
        time="linear and integer programs over a few neighbours per row",
        paper=paper,
        only_k=k,
        withholds=False,
        improves=True,
        styles=frozenset({"suppress"}),
        options={"search": Option(read_yes, True, "whether local search follows: yes or no")},
        factor=lambda k, columns: any_values,
        least_factor=two_valued,
    )


def group_by_factor(
    coded: Coded,
    task: Task,
    *,
    k: int,
    limits: Callable[[Ints], Limits],
    prove: Callable[[float, object], tuple[str, float]],
    factors: tuple[float, float],
    pieces: Callable[[Coded, GraphFactor], Pieces],
) -> Grouping:
    """Groups cut out of a least graph factor; where it is not proved least, the ratio grows by the gap."""
    if coded.total < k:
        raise TooFewRows(rows=coded.total, k=k)
    task.progress("finding the lightest edges", 0.0)
    edges = least_factor(coded.codes, coded.count, coded.metric, limits(coded.count))
    name, bound = prove(edges.bound, coded.metric)
    proven = factors[0] if has_two_values(coded.metric) else factors[1]
    gap = edges.weight / edges.bound if edges.bound > 0 else 1.0
    found = np.array(list(pieces(coded, edges)), dtype=np.int64).reshape(-1, 3)
    return Grouping.of_pieces(
        found[:, 0], found[:, 1], found[:, 2], proof=Proof(name, bound), factor=proven * gap
    )

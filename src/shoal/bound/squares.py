"""Sum of squared distances to the groups' means, every column scaled to the variance 1.

What is withheld is not counted. No bound is claimed: one that holds for groups of any size and is worth
its time is not known to us.
"""

from __future__ import annotations

from shoal.kernels.distance.squares import spread_of, squares
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping

__all__ = ["describe", "squares_share", "sum_of_squares"]


def sum_of_squares(coded: Coded, grouping: Grouping) -> float:
    """The sum over published records of squared distances to their group's mean (SSE)."""
    spread = spread_of(coded.codes, coded.count, coded.metric, coded.owner, coded.weights)
    kept = grouping.group >= 0
    return squares(
        spread, grouping.distinct[kept], grouping.group[kept], grouping.count[kept], grouping.groups
    )


def describe(coded: Coded, grouping: Grouping) -> dict[str, float]:
    """SSE of the published records, their SST (around one mean for all), and SSE / SST."""
    spread = spread_of(coded.codes, coded.count, coded.metric, coded.owner, coded.weights)
    kept = grouping.group >= 0
    row, group, count = grouping.distinct[kept], grouping.group[kept], grouping.count[kept]
    within = squares(spread, row, group, count, grouping.groups)
    whole = squares(spread, row, 0 * group, count, 1)
    return {"sse": within, "sst": whole, "sse_share": within / whole if whole > 0 else 0.0}


def squares_share(coded: Coded, grouping: Grouping) -> float:
    """SSE / SST: the share of the published records' own squares that the means give up."""
    return describe(coded, grouping)["sse_share"]

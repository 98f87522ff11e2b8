"""k-member: grow one group at a time by the row that costs least.

Problem
    Split the records into groups of at least k so that the total loss is small.

Guarantee
    None proved; at least k records in each group.

Method
    The first seed is drawn at random. Each further seed is the row farthest from the last one; its
    group takes the row that adds the least loss until it holds k records. Fewer than k records left
    over join, one tuple at a time, the group where they cost least.

Cost
    Time O(n^2), memory O(n), n distinct rows.

Reference
    J.-W. Byun, A. Kamra, E. Bertino, N. Li. Efficient k-anonymization using clustering techniques.
    DASFAA 2007.
    Differs from the paper: works on distinct rows with counts, and takes as many copies of a tuple as
    the group still needs.

Example:
    >>> FACTS.objective
    'loss'

"""

from __future__ import annotations

import numpy as np

from shoal.errors import TooFewRows
from shoal.kernels.k_member import grow_groups, place_leftovers
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

_GROUPS_BETWEEN_REPORTS = 500

FACTS = Facts(
    in_parts=True,
    title="k-member",
    objective="loss",
    guarantee="none proved; at least k rows in each group",
    time="O(n^2)",
    paper="Byun et al., DASFAA 2007",
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    k, total = task.k, coded.total
    if total < k:
        raise TooFewRows(rows=total, k=k)
    place = np.flatnonzero(coded.count)
    codes = coded.codes[place]
    free = coded.count[place]
    first = int(np.random.default_rng(task.seed).integers(place.size))
    known = np.empty(place.size)
    # a group's last piece may leave copies behind, every other piece uses up its row
    pieces = np.empty((place.size + total // k + 1, 3), dtype=np.int64)
    state = np.array([place.size, total, 0, 0])
    while state[1] >= k:
        task.progress("growing groups", 1 - int(state[1]) / total)
        grow_groups(
            codes, place, free, coded.metric, k, first, known, pieces, state, _GROUPS_BETWEEN_REPORTS
        )
    alive, _, written, groups = state.tolist()
    left = np.flatnonzero(free[:alive])
    rows, records = place[left], free[left]
    target = place_leftovers(
        coded.codes, coded.metric, pieces, written, groups, rows, records, coded.weight, task.withhold
    )
    return Grouping.of_pieces(
        np.concatenate([pieces[:written, 0], rows]),
        np.concatenate([pieces[:written, 1], target]),
        np.concatenate([pieces[:written, 2], records]),
    )

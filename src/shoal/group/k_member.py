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

from shoal.kernels.member import grow_groups
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

FACTS = Facts(
    title="k-member",
    objective="loss",
    guarantee="none proved; at least k rows in each group",
    time="O(n^2)",
    paper="Byun et al., DASFAA 2007",
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    first = int(np.random.default_rng(task.seed).integers(coded.distinct))
    pieces = grow_groups(coded.codes, coded.count, coded.metric, task.k, first)
    return Grouping.of_pieces(*pieces)

"""The neighbour bound for total loss.

A group of at least k records that holds record i also holds a record at least as far from i as i's
(k-1)-th nearest other record, and the spans of a set are at least the distance of any two of its
members. So every record pays at least that distance: their sum bounds every release. A record that may
be withheld pays its full weight at most, so its share is capped there.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.neighbours.by_span import reach_distances
from shoal.kernels.neighbours.many_columns import least_reaches
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["compares_all", "neighbour_bound"]

MANY_COLUMNS = 16
"""Axes from which on a tree of boxes leaves nothing aside, and every row is compared with every other."""


def compares_all(coded: Coded) -> bool:
    """Whether the time grows with the square of the rows."""
    return bool(coded.codes.shape[1] > MANY_COLUMNS)


def neighbour_bound(coded: Coded, task: Task) -> Proof:
    """Sum over records of the distance to the (k-1)-th nearest other record."""
    reaches = least_reaches if compares_all(coded) else reach_distances
    reach = reaches(coded.codes, coded.count, coded.metric, task.k)
    if task.withhold:
        reach = np.minimum(reach, coded.weight)
    return Proof("neighbour", float(reach @ coded.count))

"""The largest half-perimeter of a group's box: the sum of its weighted sides.

The group of record i holds at least k records, so it also holds one that is at least as far from i as i's
(k-1)-th nearest other record, and the box of a set is at least as large as the distance of any two of its
members. The largest of these distances bounds every release. On small tables the smallest box that holds i
and k records is found for every record (docs/methods/nng.md says how); the largest of them is at least as
strong. A release that withholds records may leave out the dearest ones, so their shares are left aside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.distance.spans import group_losses
from shoal.kernels.neighbours.by_span import build_tree, list_within, reach_distances
from shoal.kernels.nng.boxes import smallest_boxes
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["largest_half_perimeter", "prove"]

SMALL = 1000
"""Distinct rows up to which smallest boxes are looked for."""
STEPS = 3000
"""Boxes looked at for one row before its neighbour distance must do."""
NEAR = 400
"""Rows around one row up to which its smallest box is looked for."""


def largest_half_perimeter(coded: Coded, grouping: Grouping) -> float:
    """The largest sum of weighted sides of a group's box; what is withheld is not counted."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    starts = np.searchsorted(grouping.group[order], np.arange(grouping.groups + 1))
    return float(group_losses(coded.codes, coded.metric, grouping.distinct[order], starts).max(initial=0.0))


def prove(coded: Coded, task: Task) -> Proof:
    """The larger of the two bounds, the second where the table is small."""
    present = np.flatnonzero(coded.count)
    codes, count = coded.codes[present], coded.count[present]
    share = reach_distances(codes, count, coded.metric, task.k)
    far = _largest(share, count, task.withhold)
    lines = all(axis.form == LINE for column in coded.columns for axis in column.axes)
    if present.size > SMALL or not lines:
        return Proof("neighbour-distance", far)
    return Proof(
        "smallest-boxes", _largest(_boxes(codes, count, coded, task.k, share), count, task.withhold)
    )


def _largest(share: NDArray[np.float64], count: NDArray[np.int64], withhold: int) -> float:
    """The largest share among what is left when the dearest records are withheld."""
    order = np.argsort(-share, kind="stable")
    left = np.flatnonzero(np.cumsum(count[order]) > withhold)
    return float(share[order[left[0]]]) if left.size else 0.0


def _boxes(
    codes: NDArray[np.int32],
    count: NDArray[np.int64],
    coded: Coded,
    k: int,
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Each row's smallest box, or its neighbour distance where the search takes too long."""
    tree = build_tree(codes, count, coded.metric)
    starts, rows = list_within(tree, coded.metric, codes, share * (1 + 1e-12))
    # the box of rows that near holds k records: nothing farther than its half-perimeter can help
    ceiling = group_losses(codes, coded.metric, rows, starts) * (1 + 1e-9)
    starts, rows = list_within(tree, coded.metric, codes, ceiling)
    crowded = np.diff(starts) > NEAR
    kept = ~np.repeat(crowded, np.diff(starts))
    small = np.r_[0, np.cumsum(np.where(crowded, 0, np.diff(starts)))].astype(np.int64)
    found = smallest_boxes(
        coded.metric, codes, count, small, rows[kept].astype(np.int64), ceiling * (1 + 1e-9), k, STEPS
    )
    return np.where((found < 0) | crowded, share, np.maximum(found / (1 + 1e-8), share))

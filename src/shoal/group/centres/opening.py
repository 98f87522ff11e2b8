"""The first problem of paper 000, section 3: clusters of any size, with a cost for opening each.

Every centre has an opening cost; a cluster costs that and its size times its radius. The duals pay at least
a third of what is found (docs/proofs/cellular.md), so it costs at most 3 times the best possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.group.centres.radius import Survey, hand_over
from shoal.group.centres.settle import settled
from shoal.kernels.centres.duals import Duals, open_clusters, raise_duals
from shoal.kernels.centres.least_radius import Pieces
from shoal.kernels.neighbours.box_tree import Index, build_index, sight_of
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["open_cells", "owners"]

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]


def open_cells(coded: Coded, opening: Floats, task: Task) -> Grouping:
    """Clusters of the rows of `coded`; `opening` is the cost of each distinct row as a centre.

    The proof says what no clusters can cost less than.
    """
    space, count = coded.space, coded.count
    nothing = np.zeros(count.size)
    about = Survey(
        space=space,
        index=build_index(space, count),
        count=count,
        k=1,
        most=coded.distinct,
        withhold=0,
        reach=nothing,
        crowd=count,
        need=nothing,
        least=0.0,
    )
    task.progress("raising shares", 0.0)
    duals = raise_duals(space, count, nothing, opening, top=1, raised=0)
    inside = count > 0
    owner = owners(about.index, space, inside, duals)
    row = np.flatnonzero(inside).astype(np.int32)
    opened, group = np.unique(owner[row], return_inverse=True)
    start = Pieces(duals.centre[opened], row, group.ravel().astype(np.int32), count[row])
    found, steps = settled(about, [start], opening, task)
    proof = Proof("duals", float(duals.share @ count))
    return hand_over(about, found, proof=proof, factor=3.0, steps=steps)


def owners(index: Index, space: Any, inside: NDArray[np.bool_], duals: Duals) -> Rows:
    """The open cluster of each row `inside`, -1 for others: the second phase of the algorithm.

    A row that no open cluster took joins the one that kept its witness shut.
    """
    owner = np.full(inside.size, -1, dtype=np.int32)
    blocker = np.full(duals.centre.size, -1, dtype=np.int32)
    order = np.argsort(-duals.radius, kind="stable")
    open_clusters(
        index,
        space,
        sight_of(index, space),
        duals.share,
        order,
        duals.centre,
        duals.radius,
        inside,
        owner,
        blocker,
    )
    left = inside & (owner < 0)
    owner[left] = blocker[duals.witness[left]]
    return owner

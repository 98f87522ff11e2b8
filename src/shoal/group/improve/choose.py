"""Groups of two and three, chosen by an integer program among all that cost little more than they ought to.

Problem
    For k = 2, part a block of some hundred groups anew so that it loses least. No group needs four records:
    two pairs of them lose no more.

Guarantee
    Never more loss than before. No other way to part the block into the pairs and triples that are listed,
    and the groups it had, loses less, up to 1 in 10,000, unless the program has more than so many branches.

Method
    The bound by shares says what every record costs at least, nearly. A set of records whose loss is far
    above its shares stands in no good release, so only those with the least excess are listed, some for
    each row. The program takes every record once, and each set so often that its loss is least.

Cost
    O(b^2) looks at pairs for a block of b rows, and a program of some sets for each row.

Reference
    Our own. That k = 2 can be solved at all: E. Anshelevich, A. Karagiozova. Terminal backup, 3D matching,
    and covering cubic graphs. SIAM Journal on Computing 40, 2011. Sets by what they cost too much:
    G. Dantzig, R. Fulkerson, S. Johnson. Solution of a large-scale traveling-salesman problem. Operations
    Research 2, 1954.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.improve.block import Found
from shoal.kernels.improve.pairs import NOBODY, Listed, list_pairs
from shoal.model.coded import Metric

__all__ = ["choose_block"]

OVER, LESS, TIMES = 2.0, 0.7, 12
"""Sets are listed whose loss is above their shares by less than this many shares of a record; by less and
less, so many times, if there are too many."""
ROOM = 4
"""So many times as many as are wanted may be listed."""
NODES = 2_000
"""Branches of a program, at most."""
GAP = 1e-4
"""How near to the best its solution must come."""
SMALL = 1e-9
"""Of the dearest set: less is no unit for the costs of a program."""
COPIES = 1_000
"""Groups of a row with more copies in the block stay as they are: large numbers keep a program busy."""


def choose_block(
    codes: NDArray[np.int32],
    metric: Metric,
    row: NDArray[np.int64],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    share: NDArray[np.float64],
    sets_per_row: int,
) -> Found:
    """Choose the groups of a block, the pieces given, anew for k = 2; the new pieces and the loss won.

    `codes` are the block's own rows and `row` says which one a piece is a copy of; `share` is what a record
    of each row costs at least. Who is withheld remains so.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_array, hstack

    stays = (row, group, count, 0.0)
    inside = (group >= 0) & ~np.isin(group, group[np.bincount(row, count)[row] > COPIES])
    name, its = np.unique(group[inside], return_inverse=True)
    held = np.bincount(row[inside], count[inside], len(codes)).astype(np.int64)
    listed = _listed(codes, metric, held, share, sets_per_row)
    if name.size < 2 or listed is None:
        return stays
    sets, loss, excess = listed
    groups = csc_array((count[inside], (row[inside], its)), shape=(len(codes), name.size))
    spans = group_losses(codes, metric, groups.indices.astype(np.int32), groups.indptr.astype(np.int64))
    size: NDArray[np.int64] = groups.sum(axis=0)
    is_listed = (size <= 3) & (spans * size - groups.T @ share < excess.max(initial=-np.inf))
    is_there = sets != NOBODY
    at = np.nonzero(is_there)[0]
    chosen = csc_array(
        (np.ones(at.size, dtype=np.int64), (sets[is_there], at)), shape=(len(codes), len(sets))
    )
    among = hstack([chosen, groups[:, ~is_listed]], format="csc")
    cost = np.r_[loss, (spans * size)[~is_listed]]
    found = milp(
        cost / max(float(share.max()), SMALL * float(cost.max())),
        constraints=LinearConstraint(among, held, held),
        integrality=np.ones(cost.size, dtype=np.int64),
        bounds=Bounds(0, np.inf),
        options={"node_limit": NODES, "mip_rel_gap": GAP},
    )
    if found.x is None:
        return stays
    times = np.rint(found.x).astype(np.int64)
    won = float(spans @ size - cost @ times)
    if won <= 1e-9 * float(spans @ size) or (among @ times != held).any():
        return stays
    taken = among[:, times > 0].tocsc()  # what is taken several times is one group: it loses the same
    label = np.repeat(np.arange(taken.shape[1], dtype=np.int32), np.diff(taken.indptr))
    others, left = np.unique(group[~inside], return_inverse=True)
    number = np.where(others >= 0, taken.shape[1] + np.arange(others.size), others)
    return (
        np.r_[taken.indices.astype(np.int64), row[~inside]],
        np.r_[label, number[left].astype(np.int32)],
        np.r_[taken.data * np.repeat(times[times > 0], np.diff(taken.indptr)), count[~inside]],
        won,
    )


def _listed(
    codes: NDArray[np.int32],
    metric: Metric,
    count: NDArray[np.int64],
    share: NDArray[np.float64],
    sets_per_row: int,
) -> Listed | None:
    """The sets with the least excess, so many for each row; None where shares say nothing."""
    is_paid = (share > 0) & (count > 0)
    if not is_paid.any():
        return None
    own, packed = pack_metric(metric, codes)
    over = OVER * float(share[is_paid].mean())
    wanted = sets_per_row * len(codes)
    for _ in range(TIMES):
        listed = list_pairs(own, packed, count, share, over, ROOM * wanted)
        if listed is not None:
            sets, loss, excess = listed
            if loss.size > wanted:
                few = np.sort(np.argpartition(excess, wanted)[:wanted])
                return sets[few], loss[few], excess[few]
            return listed
        over *= LESS
    return None

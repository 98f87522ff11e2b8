"""The linear program of shares, and rounds that lead towards its solution.

Every record has a share; in every window of a cell that holds k records the k largest shares sum to at most
k times what the window costs; the sum of all shares is to be large. A round takes primal-dual steps on a
pool of cuts and then looks for windows that bear too much, which are new cuts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.boxes import Boxes
from shoal.kernels.bound.cuts import CutPool, joined, kept, loads, worst_of_rows
from shoal.kernels.bound.sets import cut_windows
from shoal.kernels.bound.steps import take_steps
from shoal.kernels.bound.windows import worst_windows

__all__ = ["go_on", "new_cuts"]

STEPS, PACE = 30, 0.5
"""Primal-dual steps between two looks, and how far shares go in one, as a part of what they are."""
FULL_LOOK = 8
"""Rounds from one look at all cells to the next, and to the next time that idle cuts are dropped."""
INSIDE = 0.85
"""In the first half of the rounds windows are sought so far on the way from shares that hold to those of
the pool: cuts found there are deeper."""
SLACK, IDLE = 1e-4, 0.05
"""Windows that exceed their cost by less give no cut; cuts with so much room left and no part go."""

Shares = NDArray[np.float64]


def new_cuts(
    boxes: Boxes, share: Shares, slack: float, cells: NDArray[np.int64] | None = None
) -> tuple[CutPool, NDArray[np.int64]]:
    """New cuts of the linear program that the shares break, of some cells or all; their windows' cells."""
    if cells is None:
        cells = np.arange(boxes.cube.cost.size)
    windows = worst_windows(boxes, share, slack, cells)
    cuts = cut_windows(boxes, share, windows)
    return worst_of_rows(cuts, windows.over, share.size), np.unique(windows.cell)


def go_on(
    boxes: Boxes,
    pool: CutPool,
    near: NDArray[np.int64],
    share: Shares,
    holds: Shares,
    most: Shares,
    rounds: int,
    see: Callable[[float], None] = lambda _done: None,
) -> tuple[Shares, CutPool]:
    """Rounds of the linear program from a pool and from `share`: mean shares of the last, the pool then.

    `near` are cells worth a look in every round, `holds` shares that no window breaks or that are to be
    trusted as if none did, and no share rises above `most`.
    """
    held = boxes.swept.held.astype(np.float64)
    share = share.copy()
    pace = PACE * (float(holds @ held / held.sum()) or float(most.mean()) or 1.0)
    for number in range(rounds):
        see(number / rounds)
        share, part = take_steps(pool, held, share, most, STEPS, pace)
        pool = pool._replace(part=part)  # the means are nearer: the next steps begin with them
        inside = INSIDE if 2 * number < rounds else 1.0
        is_full = number % FULL_LOOK == FULL_LOOK - 1
        sought = inside * share + (1.0 - inside) * holds
        more, found = new_cuts(boxes, sought, SLACK, None if is_full else near)
        if is_full:
            near = np.union1d(near, found)
            has_room = pool.limit - loads(pool, share) >= IDLE * pool.limit
            pool = kept(pool, (pool.part > 1e-9) | ~has_room)
        pool = joined(pool, more, held.size)
    return share, pool

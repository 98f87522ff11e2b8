"""One region of a table improved by itself: sweeps of local search, then rebuilds of small pools."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.near import list_near
from shoal.kernels.rebuild import make_desk, make_trial, try_rebuild
from shoal.kernels.search import sweep
from shoal.kernels.state import load_state, make_ruler, read_state

__all__ = ["improve_region"]

MOST_CHOSEN = 16
LISTED = 24
"""Near rows listed for each row."""
MOST_POOLED = 7
"""Groups in a pool, at most."""


@njit(cache=True, nogil=True)
def improve_region(
    codes, metric, row, group, count, k, quota, full, with_sweep, with_swaps, tries, orders, seed
):
    """Improve the pieces given by themselves; the new pieces and the loss won.

    `codes` are the region's own rows and `row` says which one a piece is a copy of; `orders` are the
    orders of the axes in which near rows are sought.
    """
    own, ruler = make_ruler(metric, codes)
    near = list_near(own, ruler, LISTED, orders)
    state = load_state(own, ruler, near, k, row, group, count, quota, full)
    won = 0.0
    if with_sweep:
        won += sweep(ruler, state, k, with_swaps)
    if tries > 0:
        desk = make_desk(ruler, codes.shape[0], seed)
        trial = make_trial(state)
        chosen = np.zeros(MOST_CHOSEN, dtype=np.int64)
        score = np.zeros(MOST_CHOSEN)
        for _ in range(tries):
            won += try_rebuild(ruler, state, desk, trial, k, MOST_POOLED, chosen, score)
    row, group, count = read_state(state)
    return row, group, count, won

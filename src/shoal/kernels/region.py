"""One region of a table improved by itself: a sweep of local search, then rebuilds of small pools."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import warm
from shoal.kernels.near import list_near
from shoal.kernels.rebuild import rebuild
from shoal.kernels.ruler import make_ruler
from shoal.kernels.search import sweep
from shoal.kernels.state import load_state, read_state

__all__ = ["Found", "improve_region"]

LISTED = 24
"""Near rows listed for each row."""

Found = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], float]


def improve_region(
    codes: NDArray[np.int32],
    metric,
    row: NDArray[np.int64],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    k: int,
    quota: int,
    full: float,
    with_sweep: bool,
    tries: int,
    orders: NDArray[np.int64],
    seed: int,
    heat: float,
) -> Found:
    """Improve the pieces given by themselves; the new pieces and the loss won.

    `codes` are the region's own rows and `row` says which one a piece is a copy of; `orders` are the
    orders of the axes in which near rows are sought. With `heat` the loss won may be below 0.
    """
    own, ruler = make_ruler(metric, codes)
    near = list_near(own, ruler, LISTED, orders)
    state = load_state(own, ruler, near, k, row, group, count, quota, full)
    won = sweep(ruler, state, k) if with_sweep else 0.0
    if tries > 0:
        warm.wait()
        won += rebuild(ruler, state, k, tries, seed, heat)
    return *read_state(state), won

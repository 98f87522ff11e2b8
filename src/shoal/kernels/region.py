"""One region of a table improved by itself: a sweep of local search, then rebuilds of small pools.

In tables of many columns, and of labels, rows change places instead, or too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import warm
from shoal.kernels.near import WIDE, list_near
from shoal.kernels.rebuild import rebuild
from shoal.kernels.ruler import FORM, LENGTH, Ruler, make_ruler
from shoal.kernels.search import sweep
from shoal.kernels.spans import count_labels
from shoal.kernels.state import load_state, read_state
from shoal.kernels.swaps import swap_rows

__all__ = ["LISTED", "Found", "improve_region"]

LISTED = 24
"""Near rows listed for each row."""

SWAPS, COOLER = 1200, 0.6
"""Tries to let rows change places that are worth one pool, by the number of axes; and how much less heat
they bear."""

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
    near: NDArray[np.int64] | None,
    seed: int,
    heat: float,
) -> Found:
    """Improve the pieces given by themselves; the new pieces and the loss won.

    `codes` are the region's own rows and `row` says which one a piece is a copy of; `orders` are the
    orders of the axes in which near rows are sought, unless `near` lists them as `list_near` does. With
    `heat` the loss won may be below 0.
    """
    own, ruler = make_ruler(metric, codes)
    if near is None:
        near = list_near(own, ruler, LISTED, orders)
    state = load_state(own, ruler, near, k, row, group, count, quota, full)
    won = sweep(ruler, state, k) if with_sweep else 0.0
    pools = _pools(ruler, tries)
    if pools > 0:
        warm.wait()
        won += rebuild(ruler, state, k, pools, seed, heat)
    if pools < tries:
        won += swap_rows(
            ruler, state, k, max(1, SWAPS // codes.shape[1]) * (tries - pools), seed, COOLER * heat
        )
    return *read_state(state), won


def _pools(ruler: Ruler, tries: int) -> int:
    """How many of the tries are pools: none with many columns, fewer with labels, which have no order."""
    axes = len(ruler.shape)
    labels = count_labels(ruler.shape[:, FORM], ruler.shape[:, LENGTH])
    return int(tries * (1.0 - labels / axes)) if axes <= WIDE else 0

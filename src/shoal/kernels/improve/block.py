"""One block of a table improved by itself: a sweep of local search, then rebuilds of small pools.

In tables of many columns, and of labels, rows change places instead, or too. When all is done, a block is
finished: its boxes are filled anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.distance.packed import FORM, LENGTH, PackedMetric, pack_metric
from shoal.kernels.distance.spans import count_labels
from shoal.kernels.improve import first_run
from shoal.kernels.improve.chains import settle
from shoal.kernels.improve.local_search import sweep
from shoal.kernels.improve.rebuild import rebuild
from shoal.kernels.improve.state import load_state, read_state
from shoal.kernels.improve.swaps import swap_rows
from shoal.kernels.neighbours.approximate import WIDE, list_near

__all__ = ["LISTED", "Found", "finish_block", "improve_block"]

LISTED = 24
"""Near rows listed for each row."""

SWAPS, COOLER = 1200, 0.6
"""Tries to let rows change places that are worth one pool, by the number of axes; and how much less heat
they bear."""

Found = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], float]


def improve_block(
    codes: NDArray[np.int32],
    metric,
    row: NDArray[np.int64],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    k: int,
    quota: int,
    full: float,
    orders: NDArray[np.int64],
    near: NDArray[np.int64] | None,
    with_sweep: bool,
    tries: int,
    seed: int,
    heat: float,
    share: NDArray[np.float64],
) -> Found:
    """Improve one block of a table, the pieces given, by itself; the new pieces and the loss won.

    `codes` are the block's own rows and `row` says which one a piece is a copy of; `orders` are the
    orders of the axes in which near rows are sought, unless `near` lists them as `list_near` does. With
    `heat` the loss won may be below 0. `share` is what each row contributes to a bound, or empty.
    """
    first_run.wait()
    own, packed = pack_metric(metric, codes)
    if near is None:
        near = list_near(own, packed, LISTED, orders)
    state = load_state(own, packed, near, k, row, group, count, quota, full)
    won = sweep(packed, state, k) if with_sweep else 0.0
    pools = _pools(packed, tries)
    if pools > 0:
        won += rebuild(packed, state, k, pools, seed, heat, share)
    if pools < tries:
        won += swap_rows(
            packed, state, k, max(1, SWAPS // codes.shape[1]) * (tries - pools), seed, COOLER * heat
        )
    return *read_state(state), won


def finish_block(
    codes: NDArray[np.int32],
    metric,
    row: NDArray[np.int64],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    k: int,
    quota: int,
    full: float,
    orders: NDArray[np.int64],
    near: NDArray[np.int64] | None,
) -> Found:
    """Fill the boxes of a block's groups as cheaply as can be, before a last sweep and after it.

    All is as in `improve_block`.
    """
    first_run.wait()
    own, packed = pack_metric(metric, codes)
    if near is None:
        near = list_near(own, packed, LISTED, orders)
    state = load_state(own, packed, near, k, row, group, count, quota, full)
    won = settle(packed, state, k) + sweep(packed, state, k) + settle(packed, state, k)
    return *read_state(state), won


def _pools(packed: PackedMetric, tries: int) -> int:
    """How many of a block's tries are pools: none with many columns, fewer with labels without order."""
    axes = len(packed.shape)
    labels = count_labels(packed.shape[:, FORM], packed.shape[:, LENGTH])
    return int(tries * (1.0 - labels / axes)) if axes <= WIDE else 0

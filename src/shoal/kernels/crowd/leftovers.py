"""Rows that no crowd took: each joins the group where it adds least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.improve.state import PIECES, best_group, join, load_state, new_piece

__all__ = ["insert_left"]


def insert_left(
    codes: NDArray[np.int32],
    count: NDArray[np.int64],
    metric,
    label: NDArray[np.int32],
    k: int,
    quota: int,
    full: float,
) -> int:
    """Place the leftovers: rows without a group join where they add least, or are withheld if that is less.

    At most `quota` records are withheld; a withheld record costs `full`. Rows go in the order given;
    labels are changed in place. Returns the records withheld.
    """
    left = np.flatnonzero((label < 0) & (count > 0))
    placed = np.flatnonzero(label >= 0)
    if left.size == 0 or placed.size == 0:
        return 0
    own, packed = pack_metric(metric, codes)
    near = np.zeros((0, 1), dtype=np.int64)
    state = load_state(
        own, packed, near, k, placed, label[placed], count[placed], quota, full, more=left.size
    )
    assert state.stock[PIECES] >= left.size, "every row that is left has a piece waiting"
    into = np.empty(left.size, dtype=np.int64)
    _insert(packed, state, left, count[left], into)
    names = np.append(np.unique(label[placed]), -1)  # the groups of a state lie in this order
    label[left] = names[np.where(into == state.cost.size - 1, names.size - 1, into)]
    return int(count[left][label[left] < 0].sum())


@entry
def _insert(packed, state, row, copies, into):
    """Put each leftover row into the group where it adds least; where each went."""
    for i in range(row.size):
        into[i], _ = best_group(packed, state, row[i], copies[i], np.inf, np.int64(-1))
        p = new_piece(state.piece, state.stock, state.near, row[i], copies[i])
        join(packed, state, p, into[i])

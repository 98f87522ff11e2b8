"""The metric of a small table in two arrays, and the width of a run of its codes.

Kernels that are compiled at the first run take few arrays and make none: that is most of the time a
first run waits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import leaf
from shoal.kernels.distance.spans import LINE, SET

__all__ = [
    "AT",
    "FORM",
    "KIND",
    "LENGTH",
    "PackedMetric",
    "greatest_width",
    "pack_metric",
    "place_of",
    "width",
]

PAIRS = 3
"""A form of our own: a LINE or TREE with so few codes that the spans of all pairs stand in a table."""
MOST_PAIRS = 256
BEYOND = 1e12
"""Where missing numbers stand, farther than any span is wide."""
FORM, LENGTH, AT, MISSING, KIND = 0, 1, 2, 3, 4


class PackedMetric(NamedTuple):
    """Per axis in `shape`: form, length, place in `data`, missing, kind.

    A LINE has its positions and then its whole span in `data`, a TREE its running maxima of gaps, a SET
    the price of one more member, PAIRS the span of low..high at low * length + high; `kind` is the form
    before PAIRS.
    """

    shape: NDArray[np.int64]
    data: NDArray[np.float64]


def pack_metric(metric, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], PackedMetric]:
    """The packed metric of a small table, and its codes numbered 0, 1, .. in order per axis."""
    rows, axes = codes.shape
    own = np.empty((rows, axes), dtype=np.int32)
    shape = np.zeros((axes, 5), dtype=np.int64)
    parts = [np.zeros(0)]
    for axis in range(axes):
        is_used = np.zeros(metric.size[axis], dtype=bool)
        is_used[codes[:, axis]] = True
        own[:, axis] = (np.cumsum(is_used) - 1)[codes[:, axis]]
        value = np.flatnonzero(is_used)
        kind = int(metric.form[axis])
        form = PAIRS if kind != SET and value.size <= MOST_PAIRS else kind
        missing = metric.missing[axis]
        last = value.size - 1 if missing >= 0 and value.size and value[-1] == missing else -1
        shape[axis] = form, value.size, sum(part.size for part in parts), last, kind
        data = metric.data[metric.offset[axis] : metric.offset[axis] + metric.size[axis]]
        if kind == SET:
            parts.append(metric.data[metric.offset[axis] : metric.offset[axis] + 1])
        elif kind == LINE:
            parts.append(_line(data[value], metric.most[axis], last, form))
        else:
            gaps = np.maximum.reduceat(data[: value[-1]], value[:-1]) if value.size > 1 else np.zeros(0)
            parts.append(_tree(gaps, form))
    return own, PackedMetric(shape, np.concatenate(parts))


def _line(position: NDArray[np.float64], most: float, missing: int, form: int) -> NDArray[np.float64]:
    """A line packed: positions and the whole span, or spans of all pairs; up to the missing code: whole."""
    if form == LINE:
        return np.append(position, most)
    pairs = np.triu(position[None, :] - position[:, None])
    if missing >= 0:
        pairs[:missing, missing] = most
    return pairs.ravel()


def _tree(gaps: NDArray[np.float64], form: int) -> NDArray[np.float64]:
    """A tree packed: running maxima over 1, 2, 4, .. gaps, or the spans of all pairs."""
    size = gaps.size + 1
    if form == PAIRS:
        pairs = np.zeros((size, size))
        pairs[:, 1:] = np.maximum.accumulate(np.triu(np.broadcast_to(gaps, (size, size - 1))), axis=1)
        return pairs.ravel()
    rows = [np.append(gaps, 0.0)]
    reach = 1
    while 2 * reach <= size:
        rows.append(np.maximum(rows[-1], np.append(rows[-1][reach:], np.zeros(reach))))
        reach *= 2
    return np.concatenate(rows)


@leaf
def width(shape, data, axis, low, high):
    """The span of low..high on an axis of a packed metric that is no SET. Needs low < high."""
    form = shape[axis, FORM]
    at = shape[axis, AT]
    length = shape[axis, LENGTH]
    if form == PAIRS:
        return data[at + low * length + high]
    if form == LINE:
        if high == shape[axis, MISSING]:
            return data[at + length]
        return data[at + high] - data[at + low]
    reach = 1
    while 2 * reach <= high - low:
        reach *= 2
        at += length
    return max(data[at + low], data[at + high - reach])


@leaf
def place_of(shape, data, axis, code):
    """Where a code stands on an axis of a packed metric that was a LINE; missing stands beyond all others.

    Two places are as far apart as their codes, but for `greatest_width`, which is the most.
    """
    return BEYOND if code == shape[axis, MISSING] else data[shape[axis, AT] + code]


@leaf
def greatest_width(shape, data, axis):
    """The span of a number and a missing one on an axis of a packed metric that was a LINE."""
    missing = shape[axis, MISSING]
    if missing < 0:
        return BEYOND
    return data[shape[axis, AT] + (missing if shape[axis, FORM] == PAIRS else shape[axis, LENGTH])]

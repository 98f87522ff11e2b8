"""Squared distances over columns of every kind, each column scaled to the variance 1.

A number's distance is the plain difference. A tree is laid out so that the squared distance of two values
is the span of their common ancestor: each node is a direction whose square is half of what its parent gives
up more than it does. A label is a tree of height 1. A missing number stands at the column's mean, and apart
from all present ones by the square 2, the mean square between two records of a column of variance 1.
Means, variances and sums of squares then mean the same for all kinds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.decorators import entry, inner
from shoal.kernels.distance.spans import LINE, TREE, span

__all__ = ["Spread", "apart_squared", "fill_table", "from_mean", "spread_of", "squares"]

Floats = NDArray[np.float64]


class Spread(NamedTuple):
    """Rows as points.

    `line[i]` are the coordinates of row i on numbers, `code[i]` its values on the other axes. Axis a of
    those has `size[a]` values and `height[a]` levels below its root; at start[a] + level * size[a] + value
    stand in `first` the first value below its ancestor on that level and in `gain` that ancestor's square.
    """

    line: Any
    code: Any
    size: Any
    height: Any
    start: Any
    first: Any
    gain: Any


def spread_of(codes: Any, count: Any, metric: Any, owner: Any, weight: Any) -> Spread:
    """Lay out rows for squared distances; `owner` is the column of each axis, `weight` of each column."""
    records = float(count.sum())
    lines: list[Floats] = []
    kinds: list[tuple[Any, Any, Any]] = []  # codes, first, span of each level
    of_line: list[int] = []
    of_kind: list[int] = []
    fixed: list[float | None] = []  # a scale that does not follow from the variance
    for axis, column in enumerate(owner.tolist()):
        its = codes[:, axis]
        size, at = int(metric.size[axis]), int(metric.offset[axis])
        if metric.form[axis] == LINE:
            position = metric.data[at : at + size][its].copy()
            gone = its == metric.missing[axis]
            held = count * ~gone
            position -= (held @ position) / max(held.sum(), 1)
            position[gone] = 0.0
            lines.append(position)
            of_line.append(column)
            if count[gone].sum() and (axis == 0 or owner[axis - 1] != column):
                levels = np.stack([np.arange(2), np.zeros(2, dtype=np.int64)])
                kinds.append((gone.astype(np.int32), levels, np.array([[0.0, 0.0], [2.0, 2.0]])))
                of_kind.append(column)
                fixed.append(float(weight[column]))
            continue
        if metric.form[axis] == TREE:
            height = int(metric.height[axis])
            begin = int(metric.level_offset[axis])
            levels = metric.level[begin : begin + (height + 1) * size].reshape(height + 1, size)
        else:
            levels = np.stack([np.arange(size), np.zeros(size, dtype=np.int64)])
        kinds.append((its, levels, _level_spans(metric, axis, levels)))
        of_kind.append(column)
        fixed.append(None)
    line = np.stack(lines, axis=1) if lines else np.zeros((len(codes), 0))
    for column in set(of_line):
        own = np.flatnonzero(np.array(of_line) == column)
        variance = float((count @ (line[:, own] ** 2)).sum()) / records
        line[:, own] *= np.sqrt(weight[column] / variance) if variance > 0 else 0.0
    first, gain = [], []
    start: list[int] = []
    at = 0
    for (its, levels, spans), column, known in zip(kinds, of_kind, fixed, strict=True):
        half = (spans[1:] - spans[:-1]) / 2
        scale = known
        if scale is None:
            variance = 0.0
            for level, its_half in zip(levels, half, strict=False):
                held = np.bincount(level[its], weights=count, minlength=level.size)
                variance += float((its_half * held * (1 - held / records)).sum())
            scale = weight[column] * records / variance if variance > 0 else 0.0
        start.append(at)
        first.append(levels[:-1].ravel())
        gain.append((half * scale).ravel())
        at += half.size
    return Spread(
        line=np.ascontiguousarray(line),
        code=(
            np.ascontiguousarray(np.stack([its for its, _, _ in kinds], axis=1), dtype=np.int32)
            if kinds
            else np.zeros((len(codes), 0), dtype=np.int32)
        ),
        size=np.array([levels.shape[1] for _, levels, _ in kinds], dtype=np.int64),
        height=np.array([levels.shape[0] - 1 for _, levels, _ in kinds], dtype=np.int64),
        start=np.array(start, dtype=np.int64),
        first=np.concatenate(first).astype(np.int32) if first else np.zeros(0, dtype=np.int32),
        gain=np.concatenate(gain) if gain else np.zeros(0),
    )


def _level_spans(metric: Any, axis: int, levels: Any) -> Floats:
    """For squared distances: what the ancestor of each value gives up, level by level."""
    return np.asarray(_spans_by_level(metric, axis, np.ascontiguousarray(levels, dtype=np.int32)))


@entry
def _spans_by_level(metric, axis, levels):
    """For squared distances on a tree: the span of each value's ancestor on every level."""
    height, size = levels.shape
    out = np.zeros((height, size))
    for level in range(height):
        begin = 0
        while begin < size:
            end = begin
            while end + 1 < size and levels[level, end + 1] == levels[level, begin]:
                end += 1
            whole = span(metric, axis, begin, end)
            for value in range(begin, end + 1):
                out[level, value] = whole
            begin = end + 1
    return out


def squares(spread: Spread, row: Any, group: Any, count: Any, groups: int) -> float:
    """The sum over groups of squared distances to their means; `count` copies of `row` in `group`."""
    held = np.bincount(group, weights=count, minlength=groups)
    total = 0.0
    for axis in range(spread.line.shape[1]):
        value = spread.line[row, axis]
        mean = np.bincount(group, weights=count * value, minlength=groups) / held
        total += float(count @ (value - mean[group]) ** 2)
    for axis in range(spread.code.shape[1]):
        size = int(spread.size[axis])
        for level in range(int(spread.height[axis])):
            at = int(spread.start[axis]) + level * size
            node = spread.first[at : at + size][spread.code[row, axis]]
            keys, place = np.unique(group.astype(np.int64) * size + node, return_inverse=True)
            inside = np.bincount(place.ravel(), weights=count)
            gain = spread.gain[at : at + size][keys % size]
            total += float(gain @ (inside * (1 - inside / held[keys // size])))
    return max(total, 0.0)


@inner
def apart_squared(spread, i, j):
    """The squared distance of rows i and j, over columns of every kind."""
    total = 0.0
    for axis in range(spread.line.shape[1]):
        step = spread.line[i, axis] - spread.line[j, axis]
        total += step * step
    for axis in range(spread.code.shape[1]):
        one = spread.code[i, axis]
        other = spread.code[j, axis]
        if one == other:
            continue
        at = spread.start[axis]
        for _ in range(spread.height[axis]):
            if spread.first[at + one] == spread.first[at + other]:
                break
            total += spread.gain[at + one] + spread.gain[at + other]
            at += spread.size[axis]
    return total


@inner
def fill_table(spread, share, table):
    """Squared distances from a mean to every value of the axes that are no lines.

    `share` holds for each node the share of the mean's records below it, at the place of its first value.
    """
    at = 0
    for axis in range(spread.size.size):
        size = spread.size[axis]
        own = 0.0
        for place in range(spread.height[axis] * size):
            value = place % size
            if spread.first[spread.start[axis] + place] == value:
                held = share[spread.start[axis] + place]
                own += spread.gain[spread.start[axis] + place] * held * held
        for value in range(size):
            total = own
            for level in range(spread.height[axis]):
                place = spread.start[axis] + level * size
                held = share[place + spread.first[place + value]]
                total += spread.gain[place + value] * (1.0 - 2.0 * held)
            table[at + value] = total
        at += size


@inner
def from_mean(spread, row, mean, table):
    """The squared distance of a row to a mean: coordinates on lines, and the table of the other axes."""
    total = 0.0
    for axis in range(mean.size):
        step = spread.line[row, axis] - mean[axis]
        total += step * step
    at = 0
    for axis in range(spread.size.size):
        total += table[at + spread.code[row, axis]]
        at += spread.size[axis]
    return total

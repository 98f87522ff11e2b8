"""Clusters that keep a centroid: the mean of numbers, the common ancestor of the rest.

A cluster's state is one line of `size`, `total` (sum of positions), `held` (records present), `low` (the
first value it got) and `own`. The distance of a row to a centroid is the sum over columns of the gap to
the mean, or of what the common ancestor with the row gives up; a cluster that mixes missing with present
numbers is as far as the whole column. A label counts as a tree of height 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.compile.decorators import entry, inlined, inner
from shoal.kernels.distance.spans import LINE, SET, span

__all__ = ["CentroidClusters", "assign_rows", "empty", "fill_small", "put_pieces", "to_centroids"]


class CentroidClusters(NamedTuple):
    """The state of all clusters; `own` is what the common ancestor of a cluster's values gives up."""

    size: Any
    total: Any
    held: Any
    low: Any
    own: Any


def empty(clusters: int, axes: int) -> CentroidClusters:
    """OKA's clusters without a record."""
    return CentroidClusters(
        size=np.zeros(clusters, dtype=np.int64),
        total=np.zeros((clusters, axes)),
        held=np.zeros((clusters, axes), dtype=np.int64),
        low=np.full((clusters, axes), -1, dtype=np.int32),
        own=np.zeros((clusters, axes)),
    )


@inner
def _pair(metric, axis, one, other):
    """What the common ancestor of two values gives up in an OKA centroid."""
    if one == other:
        return 0.0
    if metric.form[axis] == SET:
        return metric.most[axis]
    return span(metric, axis, min(one, other), max(one, other))


@inner
def _put(metric, state, cluster, codes, row, many):
    """Add copies of a row to an OKA cluster, whose centroid moves."""
    for axis in range(codes.shape[1]):
        code = codes[row, axis]
        if metric.form[axis] == LINE:
            if code != metric.missing[axis]:
                state.total[cluster, axis] += many * metric.data[metric.offset[axis] + code]
                state.held[cluster, axis] += many
        elif state.size[cluster] == 0:
            state.low[cluster, axis] = code
        else:
            # the ancestor of a set and one more value is that of the value and any member, or the old one
            wider = _pair(metric, axis, code, state.low[cluster, axis])
            state.own[cluster, axis] = max(state.own[cluster, axis], wider)
    state.size[cluster] += many


@inner
def _starts(metric):
    """Where the values of each axis that is no line begin in OKA's table."""
    start = np.zeros(metric.size.size + 1, dtype=np.int64)
    for axis in range(metric.size.size):
        start[axis + 1] = start[axis] + (0 if metric.form[axis] == LINE else metric.size[axis])
    return start


@inner
def _fill(metric, codes, row, start, table):
    """OKA's table of a row: what its value and every other one give up together."""
    for axis in range(codes.shape[1]):
        if metric.form[axis] != LINE:
            for code in range(metric.size[axis]):
                table[start[axis] + code] = _pair(metric, axis, code, codes[row, axis])


@inlined
def _far(form, most, size, total, held, low, own, missing, code, position, start, table, cluster, limit):
    """The distance of a row to an OKA centroid; anything above `limit` once it is known to be above.

    Takes plain arrays: handing over whole tuples costs more than the distance itself.
    """
    far = 0.0
    for axis in range(form.size):
        if form[axis] != LINE:
            far += max(own[cluster, axis], table[start[axis] + low[cluster, axis]])
        elif code[axis] == missing[axis]:
            if held[cluster, axis] > 0:
                far += most[axis]
        elif held[cluster, axis] < size[cluster]:
            far += most[axis]
        else:
            far += abs(position[axis] - total[cluster, axis] / held[cluster, axis])
        if far > limit:
            break
    return far


@inner
def _place(metric, codes, row, position):
    """Where a row stands on the lines, for its distance to an OKA centroid."""
    for axis in range(codes.shape[1]):
        if metric.form[axis] == LINE:
            position[axis] = metric.data[metric.offset[axis] + codes[row, axis]]


@inner
def _closest(metric, state, codes, row, start, table, below, hint):
    """The OKA cluster with the least size * distance; with `below` among those of fewer records only.

    `hint` is looked at first, so that most others are left after a column or two.
    """
    _fill(metric, codes, row, start, table)
    position = np.zeros(codes.shape[1])
    _place(metric, codes, row, position)
    code = codes[row]
    form, most, missing = metric.form, metric.most, metric.missing
    size, total, held, low, own = state
    best = -1
    least = np.inf
    for turn in range(-1, size.size):
        cluster = turn if turn >= 0 else hint
        if cluster < 0 or size[cluster] == 0 or (below > 0 and size[cluster] >= below):
            continue
        limit = least / size[cluster]
        far = _far(
            form, most, size, total, held, low, own, missing, code, position, start, table, cluster, limit
        )
        cost = size[cluster] * far
        if cost < least or (cost == least and cluster < best):
            least = cost
            best = cluster
    return best


@entry
def assign_rows(metric, state, codes, rows, many, label):
    """OKA: add each row and its copies to the closest cluster, which moves at once; clusters have seeds."""
    start = _starts(metric)
    table = np.empty(start[-1] + 1)
    best = -1
    for at in range(rows.size):
        best = _closest(metric, state, codes, rows[at], start, table, 0, best)
        label[at] = best
        _put(metric, state, best, codes, rows[at], many[at])


@entry
def put_pieces(metric, state, codes, rows, many, label):
    """Add pieces to the OKA clusters they are in already."""
    for at in range(rows.size):
        _put(metric, state, label[at], codes, rows[at], many[at])


@entry
def to_centroids(metric, state, codes, rows, label):
    """The distance of each piece to its own OKA cluster's centroid."""
    out = np.empty(rows.size)
    start = _starts(metric)
    table = np.empty(start[-1] + 1)
    position = np.zeros(codes.shape[1])
    form, most, missing = metric.form, metric.most, metric.missing
    size, total, held, low, own = state
    for at in range(rows.size):
        _fill(metric, codes, rows[at], start, table)
        _place(metric, codes, rows[at], position)
        out[at] = _far(
            form,
            most,
            size,
            total,
            held,
            low,
            own,
            missing,
            codes[rows[at]],
            position,
            start,
            table,
            label[at],
            np.inf,
        )
    return out


@entry
def fill_small(metric, state, codes, rows, many, k, pieces):
    """OKA: loose records go to the closest cluster of fewer than k, then to the closest; pieces written."""
    written = 0
    lacking = 0
    start = _starts(metric)
    table = np.empty(start[-1] + 1)
    best = -1
    for cluster in range(state.size.size):
        if 0 < state.size[cluster] < k:
            lacking += 1
    for at in range(rows.size):
        left = many[at]
        while left > 0:
            best = _closest(metric, state, codes, rows[at], start, table, k if lacking > 0 else 0, best)
            taken = left
            if lacking > 0:
                taken = min(left, k - state.size[best])
            _put(metric, state, best, codes, rows[at], taken)
            if lacking > 0 and state.size[best] >= k:
                lacking -= 1
            pieces[written, 0] = rows[at]
            pieces[written, 1] = best
            pieces[written, 2] = taken
            written += 1
            left -= taken
    return written

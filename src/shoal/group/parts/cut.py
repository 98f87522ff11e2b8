"""A table cut into parts that can be grouped one by one.

A tree of cuts is learnt from a sample of tuples with their copies and written down, so that any row finds
its part. Which rows stand in a part depends on values alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.parts.tree import grow_tree, route
from shoal.model.coded import Metric
from shoal.model.parts import Cuts

__all__ = ["cut_into_parts", "merge_small", "parts_of"]

Integers = NDArray[np.int64]


def cut_into_parts(codes: NDArray[np.int32], count: Integers, metric: Metric, least: int) -> Cuts:
    """Cuts such that every part keeps `least` of the records given.

    A part has less than two times as many where columns can still be cut. Rows without records cut nothing.
    """
    held = count > 0
    nodes, edges, _ = grow_tree(codes[held], count[held], metric, max(1, least))
    axis, first, many = (np.ascontiguousarray(nodes[:, at]) for at in range(3))
    return Cuts(axis, first, many, np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]))


def parts_of(codes: NDArray[np.int32], cuts: Cuts) -> Integers:
    """The part of every row."""
    out = np.empty(len(codes), dtype=np.int64)
    route(codes, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child, out)
    return out


def merge_small(records: Integers, least: int) -> Integers:
    """A block for every part, so that each block holds `least` records by exact count.

    A small part joins the next, which is near it in the tree; what is left at the end joins the last block.

    >>> merge_small(np.array([5, 1, 0, 9, 2]), 4).tolist()
    [0, 1, 1, 1, 1]
    """
    block = np.empty(len(records), dtype=np.int64)
    at = held = 0
    for part, its in enumerate(records.tolist()):
        block[part] = at
        held += its
        if held >= least:
            at, held = at + 1, 0
    if at:
        block[block == at] = at - 1
    return block

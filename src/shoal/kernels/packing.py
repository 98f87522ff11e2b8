"""Items into bins of at least k: the loops behind fold, spread and scheme.

An item is a label with its records as weight; bins are numbered from 0. Items heavier than k stand alone.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry

__all__ = ["fill_bins", "fill_lightest", "spread_round", "stack_on_lightest"]


@entry
def fill_bins(weight, order, k):
    """Packing: fill one bin after the other in the given order; items of k or more get a bin of their own.

    Returns the bin of each item (-1 = in the last bin, which stayed below k), and the bins' levels.
    """
    label = np.full(weight.size, -1, dtype=np.int32)
    level = np.zeros(weight.size, dtype=np.int64)
    bins = 0
    for item in order:
        if weight[item] >= k:
            label[item] = bins
            level[bins] = weight[item]
            bins += 1
    started = 0
    held = 0
    for at in range(order.size):
        item = order[at]
        if weight[item] >= k:
            continue
        held += weight[item]
        if held >= k:
            for back in range(started, at + 1):
                if weight[order[back]] < k:
                    label[order[back]] = bins
            level[bins] = held
            bins += 1
            started = at + 1
            held = 0
    return label, level[:bins].copy()


@entry
def stack_on_lightest(label, level):
    """Packing: put every item without a bin into the bin that is lightest now, all into the same one."""
    lightest = np.argmin(level)
    for item in range(label.size):
        if label[item] < 0:
            label[item] = lightest
    return label


@entry
def fill_lightest(weight, order, label, level):
    """Packing: put each item without a bin, in the given order, into the bin lightest at that moment."""
    for item in order:
        if label[item] < 0:
            lightest = np.argmin(level)
            label[item] = lightest
            level[lightest] += weight[item]
    return label, level


@entry
def spread_round(weight, order, label, level):
    """Packing: spread the items without a bin as the paper's experiments do.

    While the lightest bin can take the next item without exceeding the heaviest bin, it does; from the
    first item that no bin can take on, the rest goes round, lightest bin first.
    """
    most = level.max()
    turn = np.empty(0, dtype=np.int64)
    at = 0
    for item in order:
        if label[item] >= 0:
            continue
        if turn.size == 0:
            lightest = np.argmin(level)
            if level[lightest] + weight[item] <= most:
                label[item] = lightest
                level[lightest] += weight[item]
                continue
            turn = np.argsort(level, kind="mergesort")
        chosen = turn[at % turn.size]
        at += 1
        label[item] = chosen
        level[chosen] += weight[item]
    return label, level

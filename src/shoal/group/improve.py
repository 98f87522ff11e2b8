"""Improvement of any grouping whose objective is the total loss.

Problem
    Lower the total loss of a grouping, with every group at least k and the quota of withheld records
    kept.

Guarantee
    Never more loss than before, so a factor proved for the grouping still holds.

Method
    The groups are cut at random medians into regions of some hundred rows; each region is improved by
    itself, so regions run side by side and the number of threads changes nothing. The next round cuts
    elsewhere. Inside a region: close a group and spread its rows, shrink it and eject the rest, split it,
    move rows or some of their copies, withhold and give back, swap.

Cost
    A round takes O(n m) box look-ups for regions of m rows; memory O(n).

Reference
    Our own; moves as in the literature on microaggregation and clustering with least sizes.

Example:
    >>> regions(np.array([[0], [1], [8], [9]]), np.ones(4), 2, np.random.default_rng(0))
    [array([0, 1]), array([2, 3])]

"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.search import improve_region
from shoal.kernels.state import make_ruler
from shoal.model.coded import Coded
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.task import Task

__all__ = ["improve", "regions"]

REGION = 1500
"""Pieces in a region: enough groups to choose from, few enough to look at all of them."""
SWAP_UP_TO = 10
"""Swaps matter for small k only."""

Pieces = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]


def improve(coded: Coded, grouping: Grouping, task: Task) -> Grouping:
    """Lower the total loss of `grouping`; its proof stays, centres do not."""
    ruler = make_ruler(coded.metric)
    random = np.random.default_rng(task.seed)
    pieces: Pieces = (grouping.distinct, grouping.group, grouping.count)
    rounds = 2
    with ThreadPoolExecutor(task.threads or cpu_count() or 1) as pool:
        for number in range(rounds):
            task.progress("improving", number / rounds)
            parts = _cut(coded, pieces, random)
            spare = _share(task.withhold - int(pieces[2][pieces[1] < 0].sum()), pieces, parts)
            jobs = [
                pool.submit(
                    improve_region,
                    coded.codes,
                    ruler,
                    pieces[0][part],
                    pieces[1][part],
                    pieces[2][part],
                    task.k,
                    quota,
                    coded.weight,
                    3,
                    task.k <= SWAP_UP_TO,
                )
                for part, quota in zip(parts, spare, strict=True)
            ]
            pieces = _join([job.result() for job in jobs])
    return Grouping.of_pieces(
        *pieces, proof=grouping.proof, steps=grouping.steps + rounds, factor=grouping.factor
    )


def regions(
    middle: NDArray[np.integer], weight: NDArray[np.integer], most: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Cut items at random medians along random axes until a part weighs at most `most`."""
    done: list[NDArray[np.int64]] = []
    todo = [np.arange(len(middle))]
    while todo:
        items = todo.pop()
        held = weight[items].sum()
        if held <= most or items.size < 2:
            done.append(np.sort(items))
            continue
        values = middle[items, 0]
        for axis in random.permutation(middle.shape[1]):
            values = middle[items, axis]
            if values.min() < values.max():
                break
        order = np.argsort(values + random.random(items.size), kind="stable")
        place = held * random.uniform(0.4, 0.6)
        half = int(np.searchsorted(np.cumsum(weight[items[order]]), place))
        half = min(max(half, 1), items.size - 1)
        todo += [items[order[half:]], items[order[:half]]]
    return done


def _cut(coded: Coded, pieces: Pieces, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """The pieces of each region; groups stay whole, withheld pieces stand alone."""
    distinct, group, _ = pieces
    name = group.astype(np.int64)
    loose = np.flatnonzero(group < 0)
    name[loose] = int(group.max(initial=WITHHELD)) + 1 + np.arange(loose.size)
    order = np.argsort(name, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(name[order]) > 0])
    codes = coded.codes[distinct[order]]
    middle = np.minimum.reduceat(codes, starts) + np.maximum.reduceat(codes, starts)
    stops = np.r_[starts[1:], order.size]
    return [
        np.concatenate([order[starts[item] : stops[item]] for item in items])
        for items in regions(middle, stops - starts, REGION, random)
    ]


def _share(spare: int, pieces: Pieces, parts: list[NDArray[np.int64]]) -> list[int]:
    """The quota of each region: what it withholds now, and its share of what is left of the quota."""
    _, group, count = pieces
    records = np.array([count[part].sum() for part in parts])
    upto = np.floor(np.cumsum(records) * (spare / records.sum()) + 1e-9).astype(np.int64)
    share = np.diff(np.r_[0, upto])
    held = [int(count[part][group[part] < 0].sum()) for part in parts]
    return [now + int(more) for now, more in zip(held, share, strict=True)]


def _join(done: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], float]]) -> Pieces:
    """The pieces of all regions, with groups numbered apart."""
    groups = []
    at = 0
    for _, group, _, _ in done:
        groups.append(np.where(group >= 0, group + at, WITHHELD).astype(np.int32))
        at += int(group.max(initial=WITHHELD)) + 1
    return (
        np.concatenate([part[0] for part in done]),
        np.concatenate(groups),
        np.concatenate([part[2] for part in done]),
    )

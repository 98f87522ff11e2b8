"""weighted-means: k-means that learns a weight per column, then merges small clusters.

Problem
    Split the records into groups of at least k so that the total loss is small.

Guarantee
    None proved; at least k records in each group.

Method
    floor(n / k) random rows are the first centroids. Every row goes to the nearest centroid, all at once;
    then centroids move (mean of numbers, commonest value of trees and labels) and every column gets a
    weight in inverse proportion to what its cells are apart from their centroids, until nothing changes or
    `rounds` are done. Clusters of fewer than k records, smallest first, are merged with the cluster where
    that loses least.

Cost
    Time O(c n^2 / k) for c rounds, memory O(n).

Reference
    C.-C. Chiu, C.-Y. Tsai. A k-anonymity clustering method for effective data privacy preservation.
    ADMA 2007; the weights as in J. Z. Huang et al., Automated variable weighting in k-means,
    TPAMI 2005, with the exponent 2.
    Differs from the paper: works on distinct rows with counts, all copies of a row go together; a limit
    on rounds.

Example:
    >>> FACTS.options["rounds"].read("5")
    5

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.kernels.weighted_means import assign_weighted, merge_small, spans_to_centroids
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.facts import Facts, Option
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

Integers = NDArray[np.int64]


def _read_rounds(text: str) -> int:
    rounds = int(text)
    if rounds < 1:
        raise ValueError("there is at least 1 round")
    return rounds


FACTS = Facts(
    title="Weighted means",
    objective="loss",
    guarantee="none proved; at least k rows in each group",
    time="O(c n^2 / k), c rounds",
    paper="Chiu and Tsai, ADMA 2007",
    withholds=False,
    options={"rounds": Option(_read_rounds, 5, "how often centroids move at most, at least 1")},
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    rows = np.flatnonzero(coded.count)
    codes, count = coded.codes[rows], coded.count[rows]
    clusters = min(coded.total // task.k, rows.size)
    seeds = np.sort(np.random.default_rng(task.seed).choice(rows.size, size=clusters, replace=False))
    axes = codes.shape[1]
    mean, mode = _centroids(coded, codes[seeds], np.ones(clusters), np.arange(clusters), clusters)
    label = np.full(rows.size, -1, dtype=np.int64)
    weight = np.ones(axes)
    rounds = int(str(task.options.get("rounds", 5)))
    done = 0
    for done in range(1, rounds + 1):
        task.progress("moving centroids", (done - 1) / rounds)
        if assign_weighted(coded.metric, codes, weight, mean, mode, label) == 0:
            break
        used, place = np.unique(label, return_inverse=True)
        label = place.ravel().astype(np.int64)
        mean, mode = _centroids(coded, codes, count, label, used.size)
        apart = spans_to_centroids(coded.metric, codes, count, mean, mode, label)
        weight = _weights(apart)
    size = np.bincount(label, weights=count).astype(np.int64)
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(label[order]) > 0])
    low = np.minimum.reduceat(codes[order], starts)
    high = np.maximum.reduceat(codes[order], starts)
    task.progress("merging small clusters", 0.9)
    by_size = np.argsort(size, kind="stable")
    target = merge_small(coded.metric, low, high, size, by_size, task.k)
    while (target[target] != target).any():
        target = target[target]
    whole = np.full(coded.distinct, -1, dtype=np.int64)
    whole[rows] = target[label]
    return Grouping.of_labels(whole, coded.count, steps=done)


def _weights(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights that add up to the number of columns, squared; a column without spread weighs as the next."""
    spread = apart[apart > 0]
    if spread.size == 0:
        return np.ones(apart.size)
    inverse = spread.min() / np.maximum(apart, spread.min())  # at most 1, however small the spread
    return np.asarray((inverse * apart.size / inverse.sum()) ** 2)


def _centroids(
    coded: Coded, codes: NDArray[np.int32], count: NDArray[np.number], label: Integers, clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The mean position and the commonest code of each cluster, per axis.

    On a line the code matters only where it is that of missing cells: where most of the cluster is missing.
    """
    metric = coded.metric
    mean = np.zeros((clusters, codes.shape[1]))
    mode = np.full((clusters, codes.shape[1]), -2, dtype=np.int32)
    for axis in range(codes.shape[1]):
        its, missing = codes[:, axis], int(metric.missing[axis])
        if metric.form[axis] == LINE:
            at = int(metric.offset[axis])
            gone = its == missing
            held = np.bincount(label, weights=count * ~gone, minlength=clusters)
            sums = metric.data[at : at + int(metric.size[axis])][its] * count * ~gone
            mean[:, axis] = np.bincount(label, weights=sums, minlength=clusters) / np.maximum(held, 1)
            lacking = np.bincount(label, weights=count * gone, minlength=clusters)
            mode[lacking > held, axis] = missing
            continue
        size = int(metric.size[axis])
        keys, place = np.unique(label * size + its, return_inverse=True)
        many = np.bincount(place.ravel(), weights=count)
        order = np.lexsort((keys, -many, keys // size))
        first = order[np.r_[True, np.diff(keys[order] // size) > 0]]
        mode[keys[first] // size, axis] = keys[first] % size
    return mean, mode

"""Why OKA loses more than k-member here, unlike in paper 003: the paper's algorithm word for word, varied.

    python bench/papers/oka_003.py 10 50 100 200 500     # k; needs the shared data

Both algorithms are written here once more, record by record and without any short cut, so that the
comparison does not depend on Shoal's kernels. Each line varies one thing of OKA. Loss by levels, mean of
three seeds; seconds of CPU of the last run, compiled before.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import polars as pl
from numba import njit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from local import EIGHT, TREES

from adult import read_paths, shared
from shoal.encode import encode
from shoal.kernels.distance.spans import LINE, span
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan

SEEDS = 3
PRODUCT, DISTANCE, GROWTH = 0, 1, 2


class Records(NamedTuple):
    """Numbers in [0, 1], leaves of trees, and what the common ancestor of two leaves gives up."""

    number: np.ndarray
    leaf: np.ndarray
    pair: np.ndarray


def records_of(table: pl.DataFrame, columns: tuple[str, ...], trees: dict[str, Hierarchy]) -> Records:
    """Every record by itself, sorted by the columns in their order."""
    coded = encode(table, Plan(k=2, quasi=columns, hierarchies=trees, loss="levels"))
    rows = np.repeat(np.arange(coded.distinct), coded.count)
    metric, codes = coded.metric, coded.codes[rows]
    lines = [axis for axis in range(len(columns)) if metric.form[axis] == LINE]
    others = [axis for axis in range(len(columns)) if metric.form[axis] != LINE]
    number = np.stack([metric.data[metric.offset[axis] :][codes[:, axis]] for axis in lines], axis=1)
    widest = max(int(metric.size[axis]) for axis in others)
    pair = np.zeros((len(others), widest, widest))
    for tree, axis in enumerate(others):
        for one in range(metric.size[axis]):
            for other in range(one + 1, metric.size[axis]):
                pair[tree, one, other] = pair[tree, other, one] = span(metric, axis, one, other)
    return Records(number, np.ascontiguousarray(codes[:, others]).astype(np.int64), pair)


class Clusters(NamedTuple):
    """Sums, least and greatest numbers, the first leaf, and what the common ancestor gives up."""

    size: np.ndarray
    total: np.ndarray
    least: np.ndarray
    most: np.ndarray
    first: np.ndarray
    own: np.ndarray


@njit
def empty(clusters, numbers, trees):
    return Clusters(
        np.zeros(clusters, dtype=np.int64),
        np.zeros((clusters, numbers)),
        np.zeros((clusters, numbers)),
        np.zeros((clusters, numbers)),
        np.zeros((clusters, trees), dtype=np.int64),
        np.zeros((clusters, trees)),
    )


@njit
def put(record, data, its, to):
    for axis in range(data.number.shape[1]):
        x = data.number[record, axis]
        its.total[to, axis] += x
        its.least[to, axis] = x if its.size[to] == 0 else min(its.least[to, axis], x)
        its.most[to, axis] = x if its.size[to] == 0 else max(its.most[to, axis], x)
    for tree in range(data.leaf.shape[1]):
        leaf = data.leaf[record, tree]
        if its.size[to] == 0:
            its.first[to, tree] = leaf
        its.own[to, tree] = max(its.own[to, tree], data.pair[tree, leaf, its.first[to, tree]])
    its.size[to] += 1


@njit
def to_centroid(record, data, its, at):
    """The paper's distance of a record to a centroid."""
    far = 0.0
    for axis in range(data.number.shape[1]):
        far += abs(data.number[record, axis] - its.total[at, axis] / its.size[at])
    for tree in range(data.leaf.shape[1]):
        far += max(its.own[at, tree], data.pair[tree, data.leaf[record, tree], its.first[at, tree]])
    return far


@njit
def diversity(its, at):
    """Formula 1 of the paper."""
    return (its.most[at] - its.least[at]).sum() + its.own[at].sum()


@njit
def with_one_more(record, data, its, at):
    after = 0.0
    for axis in range(data.number.shape[1]):
        x = data.number[record, axis]
        after += max(its.most[at, axis], x) - min(its.least[at, axis], x)
    for tree in range(data.leaf.shape[1]):
        after += max(its.own[at, tree], data.pair[tree, data.leaf[record, tree], its.first[at, tree]])
    return after


@njit
def closest(record, data, its, how, below):
    best, least = -1, np.inf
    for at in range(its.size.size):
        if below and its.size[at] >= below:
            continue
        if how == GROWTH:
            cost = (its.size[at] + 1) * with_one_more(record, data, its, at)
            cost -= its.size[at] * diversity(its, at)
        else:
            cost = to_centroid(record, data, its, at)
            if how == PRODUCT:
                cost *= its.size[at]
        if cost < least:
            best, least = at, cost
    return best


@njit
def loss_of(its):
    """Formula 2, summed."""
    total = 0.0
    for at in range(its.size.size):
        total += its.size[at] * diversity(its, at)
    return total


@njit
def oka(data, k, seeds, order, shuffled, how):
    """Figures 1 and 2 of the paper: loss, loss before the adjustment, share of clusters below k, moved."""
    n = data.number.shape[0]
    its = empty(seeds.size, data.number.shape[1], data.leaf.shape[1])
    label = np.full(n, -1)
    for at in range(seeds.size):
        put(seeds[at], data, its, at)
        label[seeds[at]] = at
    for record in order:
        if label[record] < 0:
            label[record] = closest(record, data, its, how, 0)
            put(record, data, its, label[record])
    before = loss_of(its)
    small = (its.size < k).mean()
    far = np.empty(n)
    for record in range(n):
        far[record] = to_centroid(record, data, its, label[record])
    its = empty(seeds.size, data.number.shape[1], data.leaf.shape[1])
    loose = np.zeros(n, dtype=np.bool_)
    for record in np.argsort(far, kind="mergesort"):
        if its.size[label[record]] < k:
            put(record, data, its, label[record])
        else:
            loose[record] = True
    lacking = (its.size < k).sum()
    for record in shuffled:
        if loose[record]:
            to = closest(record, data, its, how, k if lacking else 0)
            put(record, data, its, to)
            lacking -= lacking > 0 and its.size[to] == k
    return loss_of(its), before, small, loose.mean()


@njit
def k_member(data, k, first, from_last):
    """Byun et al.: every record is looked at for every record that joins."""
    n = data.number.shape[0]
    its = empty(n // k, data.number.shape[1], data.leaf.shape[1])
    one = empty(1, data.number.shape[1], data.leaf.shape[1])
    free = np.ones(n, dtype=np.bool_)
    seed = first
    for group in range(n // k):
        one.size[0] = 0
        one.own[:] = 0.0
        one.total[:] = 0.0
        put(seed, data, one, 0)
        best, most = -1, -1.0
        for record in range(n):
            if free[record]:
                far = with_one_more(record, data, one, 0)
                if far > most:
                    best, most = record, far
        seed = last = best
        for number in range(k):
            if number:
                best, least = -1, np.inf
                for record in range(n):
                    if free[record]:
                        cost = with_one_more(record, data, its, group)
                        if cost < least:
                            best, least = record, cost
                last = best
            free[best] = False
            put(best, data, its, group)
        if from_last:
            seed = last
    for record in range(n):
        if free[record]:
            put(record, data, its, closest(record, data, its, GROWTH, 0))
    return loss_of(its)


def together(data: Records, luck: np.random.Generator) -> np.ndarray:
    """Distinct rows in random order, copies of a row one after the other."""
    lines = np.c_[data.number, data.leaf]
    fresh = np.r_[0, np.cumsum((np.diff(lines, axis=0) != 0).any(axis=1))]
    return np.argsort(luck.permutation(fresh[-1] + 1)[fresh], kind="stable")


def main(ks: list[int]) -> None:
    table = pl.read_csv(shared() / "adult" / "adult_train_complete.csv")
    trees = {name: Hierarchy.of_paths([tuple(path) for path in read_paths(name)]) for name in TREES}
    flat = {name: Hierarchy.of_paths([(path[0], "*") for path in read_paths(name)]) for name in TREES}
    plain = records_of(table, EIGHT, trees)
    turned = records_of(table, EIGHT[::-1], trees)
    level = records_of(table, EIGHT, flat)
    n = plain.number.shape[0]
    everyone = np.arange(n)
    ways = {
        "as the paper has it": (plain, None, PRODUCT),
        "sorted from the last column": (turned, None, PRODUCT),
        "rows in random order, copies together": (plain, together, PRODUCT),
        "records in random order": (plain, lambda _, luck: luck.permutation(n), PRODUCT),
        "sorted, distance without the size": (plain, None, DISTANCE),
        "sorted, growth of the loss": (plain, None, GROWTH),
        "random order, growth of the loss": (plain, together, GROWTH),
        "trees of height 1": (level, None, PRODUCT),
        "trees of height 1, random order": (level, together, PRODUCT),
    }
    for warm in (PRODUCT,):
        few = Records(plain.number[:200], plain.leaf[:200], plain.pair)
        oka(few, 10, np.arange(20), np.arange(200), np.arange(200), warm)
        k_member(few, 10, 0, True)
    print("k, way: loss, loss before the adjustment, clusters below k then, records moved, CPU s")
    for k in ks:
        for name, data, from_last in (
            ("k-member", plain, False),
            ("k-member, far from the last record", plain, True),
            ("k-member, trees of height 1", level, False),
        ):
            start = process_time()
            loss = k_member(data, k, int(np.random.default_rng(0).integers(n)), from_last)
            print(f"{k:4d} {name}: {loss:.0f} {process_time() - start:.1f}", flush=True)
        for name, (data, ordered, how) in ways.items():
            found = []
            for seed in range(SEEDS):
                luck = np.random.default_rng(seed)
                order = everyone if ordered is None else ordered(data, luck)
                seeds, shuffled = luck.choice(n, n // k, replace=False), luck.permutation(n)
                start = process_time()
                found.append(oka(data, k, seeds, order, shuffled, how))
                seconds = process_time() - start
            loss, before, small, moved = np.mean(found, axis=0)
            print(
                f"{k:4d} {name}: {loss:.0f} {before:.0f} {small:.2f} {moved:.2f} {seconds:.1f}", flush=True
            )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10, 50, 100, 200, 500])

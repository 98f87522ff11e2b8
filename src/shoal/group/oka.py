"""oka: k-means in one pass, then groups are evened out to k.

Problem
    Split the records into groups of at least k so that the total loss is small.

Guarantee
    None proved; at least k records in each group.

Method
    floor(n / k) random records are the seeds of clusters. Rows, in the order of their values, go to the
    cluster with the least size * distance to its centroid, which moves at once. Then clusters of more than
    k records give up those farthest from the centroid, and these go, in random order, to the closest
    cluster of fewer than k records; once there is none, to the closest. Centroid: mean of numbers, common
    ancestor of trees; labels count as a tree of height 1. `passes` repeats the first stage from the row
    nearest to each centroid. With `small=withhold`, small clusters are withheld, smallest first, as far as
    the quota allows, instead of being filled. `order=random` takes the rows in random order.

Cost
    Time O(n^2 / k), memory O(n).

Reference
    Paper 003: an efficient clustering method for k-anonymization (Lin and Wei, PAIS 2008).
    Differs from the paper: works on distinct rows with counts; all copies of a row go together in the
    first stage, and are split only where a cluster is full.

Example:
    >>> FACTS.options["passes"].read("2")
    2

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import TooFewRows
from shoal.kernels.oka import CentroidClusters, assign_rows, empty, fill_small, put_pieces, to_centroids
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option, one_of
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

Integers = NDArray[np.int64]
_ROWS_BETWEEN_REPORTS = 2000


def _read_passes(text: str) -> int:
    passes = int(text)
    if passes < 1:
        raise ValueError("there is at least 1 pass")
    return passes


FACTS = Facts(
    title="One-pass k-means",
    objective="loss",
    guarantee="none proved; at least k rows in each group",
    time="O(n^2 / k)",
    paper="003",
    options={
        "order": Option(
            one_of("sorted", "random"), "sorted", "the order in which rows are clustered: sorted or random"
        ),
        "passes": Option(_read_passes, 1, "how often rows are clustered anew, at least 1"),
        "small": Option(
            one_of("fill", "withhold"), "fill", "what becomes of small clusters: fill or withhold"
        ),
    },
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    total, k = coded.total, task.k
    if total < k:
        raise TooFewRows(rows=total, k=k)
    random = np.random.default_rng(task.seed)
    rows = np.flatnonzero(coded.count)
    upto = np.cumsum(coded.count[rows])
    # distinct records, so a row with many copies may be the seed of several clusters
    chosen = random.choice(total, size=total // k, replace=False)
    seeds = rows[np.searchsorted(upto, np.sort(chosen), side="right")]
    if task.options.get("order") == "random":
        rows = random.permutation(rows)
    passes = int(str(task.options.get("passes", 1)))
    row, label, many, state = _cluster(coded, rows, seeds, task, 0, passes)
    for number in range(1, passes):
        far = to_centroids(coded.metric, state, coded.codes, row, label)
        order = np.lexsort((row, far, label))
        nearest = order[np.r_[True, np.diff(label[order]) > 0]]
        row, label, many, state = _cluster(coded, rows, np.sort(row[nearest]), task, number, passes)
    withheld = np.zeros(row.size, dtype=np.bool_)
    if task.options.get("small") == "withhold":
        withheld = _too_small(label, many, task)
    return _even_out(coded, task, random, row, label, many, withheld, steps=passes)


def _cluster(
    coded: Coded, rows: Integers, seeds: Integers, task: Task, number: int, passes: int
) -> tuple[Integers, Integers, Integers, CentroidClusters]:
    """One pass: pieces (row, cluster, copies), the seeds' own first, and the clusters."""
    state = empty(seeds.size, coded.codes.shape[1])
    own = np.arange(seeds.size)
    ones = np.ones(seeds.size, dtype=np.int64)
    put_pieces(coded.metric, state, coded.codes, seeds, ones, own)
    left = coded.count[rows] - np.bincount(seeds, minlength=coded.distinct)[rows]
    rest, left = rows[left > 0], left[left > 0]
    label = np.empty(rest.size, dtype=np.int64)
    for begin in range(0, rest.size, _ROWS_BETWEEN_REPORTS):
        task.progress("clustering", (number + begin / rest.size) / passes)
        part = slice(begin, begin + _ROWS_BETWEEN_REPORTS)
        assign_rows(coded.metric, state, coded.codes, rest[part], left[part], label[part])
    return np.r_[seeds, rest], np.r_[own, label], np.r_[ones, left], state


def _too_small(label: Integers, many: Integers, task: Task) -> NDArray[np.bool_]:
    """The pieces of clusters that are withheld: the smallest first, within the quota, never all."""
    size = np.bincount(label, weights=many).astype(np.int64)
    order = np.argsort(size, kind="stable")
    order = order[size[order] < task.k]
    gone = order[np.cumsum(size[order]) <= task.withhold]
    if int(size.sum() - size[gone].sum()) < task.k:
        gone = gone[:0]
    return np.isin(label, gone)


def _even_out(
    coded: Coded,
    task: Task,
    random: np.random.Generator,
    row: Integers,
    label: Integers,
    many: Integers,
    withheld: NDArray[np.bool_],
    *,
    steps: int,
) -> Grouping:
    """The adjustment: no cluster below k."""
    lost, lost_many = row[withheld], many[withheld]
    row, label, many = row[~withheld], label[~withheld], many[~withheld]
    clusters = int(label.max()) + 1
    state = empty(clusters, coded.codes.shape[1])
    put_pieces(coded.metric, state, coded.codes, row, many, label)
    far = to_centroids(coded.metric, state, coded.codes, row, label)
    order = np.lexsort((row, far, label))
    row, label, many = row[order], label[order], many[order]
    # of each cluster the k records nearest to its centroid stay
    upto = np.cumsum(many)
    before = np.r_[0, upto[np.flatnonzero(np.diff(label))]]
    nearer = upto - many - before[np.r_[0, np.cumsum(np.diff(label) > 0)]]
    stay = np.clip(task.k - nearer, 0, many)
    kept = stay > 0
    state = empty(clusters, coded.codes.shape[1])
    put_pieces(coded.metric, state, coded.codes, row[kept], stay[kept], label[kept])
    loose, loose_many = row[stay < many], (many - stay)[stay < many]
    shuffled = random.permutation(loose.size)
    pieces = np.empty((loose.size + clusters + 1, 3), dtype=np.int64)
    task.progress("evening out", 0.9)
    written = fill_small(
        coded.metric, state, coded.codes, loose[shuffled], loose_many[shuffled], task.k, pieces
    )
    return Grouping.of_pieces(
        np.concatenate([row[kept], pieces[:written, 0], lost]),
        np.concatenate([label[kept], pieces[:written, 1], np.full(lost.size, WITHHELD)]),
        np.concatenate([stay[kept], pieces[:written, 2], lost_many]),
        steps=steps,
    )

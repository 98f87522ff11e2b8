"""threshold: grow each group until its spans pass a limit, drop those that stay small.

Problem
    Split the records into groups of at least k so that the total loss is small, with outliers withheld.

Guarantee
    None proved; at least k records in each group.

Method
    A random free row is the seed; its group takes the row that widens it least as long as its spans stay
    within `threshold` times the sum of the weights. A group that ends with fewer than k records is dropped:
    each of its rows joins the group where it adds the least loss, or is withheld, within the quota, where
    that loses less.

Cost
    Time O(n^2) at worst: one scan of the free rows per seed, then the rows near it; memory O(n).

Reference
    G. Loukides, J. Shao. Capturing data usefulness and privacy protection in k-anonymisation. SAC 2007.
    Differs from the paper: works on distinct rows with counts, all copies of a row go together; rows of
    dropped groups beyond the quota are kept.

Example:
    >>> FACTS.options["threshold"].read("0.2")
    0.2

"""

from __future__ import annotations

import math

import numpy as np

from shoal.errors import TooFewRows
from shoal.kernels.k_member import place_leftovers
from shoal.kernels.threshold import grow_within
from shoal.model.coded import Coded
from shoal.model.facts import Facts, Option
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group"]

_SEEDS_BETWEEN_REPORTS = 500


def _read_threshold(text: str) -> float:
    limit = float(text)
    if not math.isfinite(limit) or limit <= 0:
        raise ValueError("a threshold is a number above 0")
    return limit


FACTS = Facts(
    title="Threshold",
    objective="loss",
    guarantee="none proved; at least k rows in each group",
    time="O(n^2) at worst",
    paper="Loukides and Shao, SAC 2007",
    options={
        "threshold": Option(
            _read_threshold, 0.1, "how far the spans of a group may grow, as a share of all, above 0"
        ),
    },
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the rows of `coded`; the module docstring states the guarantee."""
    if coded.total < task.k:
        raise TooFewRows(rows=coded.total, k=task.k)
    place = np.flatnonzero(coded.count)
    codes, count = coded.codes[place], coded.count[place]
    order = np.random.default_rng(task.seed).permutation(place.size)
    label = np.full(place.size, -1, dtype=np.int64)
    limit = float(str(task.options.get("threshold", 0.1))) * coded.weight
    at = 0
    while at < order.size:
        task.progress("growing groups", at / order.size)
        at = grow_within(coded.metric, codes, order, label, limit, at, _SEEDS_BETWEEN_REPORTS)
    size = np.bincount(label, weights=count)
    whole = size[label] >= task.k
    if not whole.any():  # no group is large enough: one group of all, the only one that never fails
        return Grouping.of_labels(np.zeros(coded.distinct, dtype=np.int64), coded.count)
    used, own = np.unique(label[whole], return_inverse=True)
    own = own.ravel().astype(np.int64)
    by_group = np.argsort(own, kind="stable")
    pieces = np.stack([place[whole], own, count[whole]], axis=1)[by_group]
    rows, many = place[~whole], count[~whole]
    task.progress("placing what is left", 0.9)
    target = place_leftovers(
        coded.codes,
        coded.metric,
        pieces,
        len(pieces),
        used.size,
        rows,
        many,
        coded.weight,
        task.withhold,
    )
    return Grouping.of_pieces(
        np.concatenate([pieces[:, 0], rows]),
        np.concatenate([pieces[:, 1], target]),
        np.concatenate([pieces[:, 2], many]),
        steps=int(used.size),
    )

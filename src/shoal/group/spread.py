"""spread: fill groups heaviest label first and spread what is left over.

Problem
    Split the labels of one column, each with all its records, into groups of at least k records so that
    the largest group is as small as possible (min-max bin covering).

Guarantee
    At most 5/2 times the best with `variant=theorem`; at most 3 times the best is all we claim for
    `variant=simple`, where the largest group is at most max(3k - 3, k - 1 + heaviest label).

Method
    A label of k records or more is a group of its own. The others fill groups, heaviest first. If the
    last group stays light: with at most three groups begun, the labels weigh less than 5k together and
    make at most four groups, which is solved exactly; otherwise the remainder is dealt to three groups
    in parts of at most k/2 (case 1), the heaviest label is swapped into it (case 2.1), or it joins
    the lightest group (case 2.2). The simple variant is the one of the paper's experiments: what is
    left over goes to the lightest group while the largest does not grow, and then round and round.

Cost
    Time O(m log m) for m labels, plus a small integer program in the exact case; memory O(m).

Reference
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and geographic
    generalization and the min-max bin covering problem. WADS 2009. Theorem 8, Spread in its experiments.
    Differs from the paper: the case of a total below 5k, "exhaustively in O(n^4)" there, is solved by
    greedy packing where that meets the bound and by integer programming (HiGHS) where not; if that
    stops at its limit, the run claims the factor 3. Why labels of k or more may stand apart: see
    docs/proofs/spread.md.

Example:
    >>> spread(np.array([6, 6, 5, 5, 4, 3]), 10).tolist()
    [0, 1, 0, 1, 0, 1]

"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.group.families.packing import facts_of, order_of, read_order
from shoal.kernels.packing import fill_bins, fill_lightest, spread_round, stack_on_lightest
from shoal.model.coded import Coded
from shoal.model.facts import Option, one_of
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group", "spread", "spread_simply"]

Items = NDArray[np.int64]
Labels = NDArray[np.int32]

NODES = 20_000
"""Branches HiGHS may open: a limit in steps, so that a run repeats."""


FACTS = replace(
    facts_of(
        title="Spread",
        guarantee="at most 5/2 times the best largest group",
        time="O(m log m), m labels; at most four groups: an integer program",
        paper="004, Theorem 8",
        factor=2.5,
        options={
            "variant": Option(
                one_of("theorem", "simple"),
                "theorem",
                "theorem (factor 5/2) or simple (the paper's experiments, factor 3)",
            ),
            "order": Option(
                read_order, "sorted", "for the simple variant, the order of the labels: sorted or random"
            ),
        },
    ),
    least_factor=2.5,
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the labels of `coded`; the module docstring states the guarantee."""
    weight = coded.count
    if task.options.get("variant", "theorem") == "simple":
        order = order_of(weight, str(task.options.get("order", "sorted")), task.seed)
        label, factor = spread_simply(weight, order, task.k), 3.0
    else:
        label, proven = _theorem(weight, task.k)
        factor = 2.5 if proven else 3.0
    return Grouping.of_labels(label, weight, steps=int(weight.size), factor=factor)


def spread(weight: Items, k: int) -> Labels:
    """The bin of each item by Theorem 8. Needs a total weight of at least k."""
    return _theorem(weight, k)[0]


def spread_simply(weight: Items, order: Items, k: int) -> Labels:
    """The bin of each item as in the paper's experiments. Needs a total weight of at least k."""
    label, level = fill_bins(weight, order, k)
    packed: Labels = spread_round(weight, order, label, level)[0]
    return packed


def _theorem(weight: Items, k: int) -> tuple[Labels, bool]:
    """The bin of each item, and whether 5/2 is proven for it."""
    order = np.argsort(-weight, kind="stable")
    label, level = fill_bins(weight, order, k)
    big = int((weight >= k).sum())
    left = order[label[order] < 0]  # heaviest first
    rest = int(weight[left].sum())
    if rest == 0:
        return stack_on_lightest(label, level), True  # only items without records are left, if any
    if level.size == big:  # all small items together weigh less than k
        return fill_lightest(weight, order, label, level)[0], True
    if level.size - big <= 2:
        small = np.flatnonzero(weight < k)
        packed, proven = _at_most_four_bins(weight[small], k)
        label[small] = packed + big
        return label, proven
    heaviest = int(weight[left[0]])
    if 2 * heaviest <= k:
        _deal_in_three(weight, left, label, level)
        return label, True
    first = int(order[big])  # the heaviest item below k; it stands in the first greedy bin
    if int(weight[first]) + rest - heaviest >= k:
        bin_of_first = label[first]
        label[left] = level.size
        label[left[0]], label[first] = bin_of_first, level.size
        return label, True
    return stack_on_lightest(label, level), True


def _deal_in_three(weight: Items, left: Items, label: Labels, level: Items) -> None:
    """Lemma 7: the heaviest alone, the others cut in two; each part is at most k/2. In place."""
    sums = np.cumsum(weight[left[1:]])
    cut = 1 + int(np.searchsorted(sums, (sums[-1] + weight[left[0]]) / 2, side="right")) if sums.size else 1
    parts = [left[:1], left[1:cut], left[cut:]]
    parts.sort(key=lambda part: -int(weight[part].sum()))
    for part, chosen in zip(parts, np.argsort(level, kind="stable"), strict=False):
        label[part] = chosen


def _at_most_four_bins(weight: Items, k: int) -> tuple[Labels, bool]:
    """The best packing of items below k that weigh less than 5k in all; and whether it is proven."""
    total = int(weight.sum())
    best, best_label, proven = total, np.zeros(weight.size, dtype=np.int32), True
    order = np.argsort(-weight, kind="stable")
    for bins in range(total // k, 1, -1):
        least = max(k, -(-total // bins))
        if least >= best:
            break  # fewer bins are heavier still
        start = np.full(weight.size, -1, dtype=np.int32)
        label, level = fill_lightest(weight, order, start, np.zeros(bins, dtype=np.int64))
        if level.min() >= k and level.max() < best:
            best, best_label = int(level.max()), label
        if best > least:
            better, sure = _exact(weight, k, bins, best - 1)
            proven &= sure
            if better is not None:
                best_label = better
                best = int(np.bincount(better, weights=weight).max())
    return best_label, proven


def _exact(weight: Items, k: int, bins: int, most: int) -> tuple[Labels | None, bool]:
    """The best packing into this many bins of k..most or None; and whether that is sure."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_array

    sizes, kind, copies = np.unique(weight, return_inverse=True, return_counts=True)
    width = sizes.size * bins + 1  # how many of each size in each bin, and the largest level
    rows = lil_array((sizes.size + 2 * bins + bins - 1, width))
    low, high = np.zeros(rows.shape[0]), np.full(rows.shape[0], np.inf)
    for s in range(sizes.size):
        rows[s, s * bins : (s + 1) * bins] = 1
        low[s] = high[s] = copies[s]
    for b in range(bins):
        level, below, after = sizes.size + b, sizes.size + bins + b, sizes.size + 2 * bins + b
        for s, size in enumerate(sizes.tolist()):
            rows[level, s * bins + b] = size
            rows[below, s * bins + b] = -size
            if b + 1 < bins:  # bins are alike: heaviest first
                rows[after, s * bins + b] = size
                rows[after, s * bins + b + 1] = -size
        rows[below, width - 1] = 1
        low[level], high[level] = k, most
    cost = np.zeros(width)
    cost[-1] = 1
    upper = np.r_[np.repeat(copies, bins), most].astype(float)
    found = milp(
        cost,
        constraints=LinearConstraint(rows.tocsr(), low, high),
        integrality=np.ones(width, dtype=np.int64),
        bounds=Bounds(np.zeros(width), upper),
        options={"mip_rel_gap": 0.0, "node_limit": NODES},
    )
    if found.x is None:
        return None, found.status == 2
    amount = np.rint(found.x[:-1]).astype(np.int64).reshape(sizes.size, bins)
    label = np.empty(weight.size, dtype=np.int32)
    for s in range(sizes.size):
        label[kind.ravel() == s] = np.repeat(np.arange(bins, dtype=np.int32), amount[s])
    filled = np.bincount(label, weights=weight, minlength=bins)
    if filled.min() < k or filled.max() > most:
        return None, False  # the solver rounded; keep what we have
    return label, found.status == 0

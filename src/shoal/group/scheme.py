"""scheme: the relaxed approximation scheme for packing labels.

Problem
    Split the labels of one column, each with all its records, into groups of at least k records so that
    the largest group is as small as possible (min-max bin covering).

Guarantee
    With q = k / (1 - 2 epsilon), the largest group is at most (1 + epsilon) (OPT(q) + epsilon q), where
    OPT(q) is the best largest group if groups had to hold q; and at most 5/2 times the best for k, because
    the packing of `spread` is kept where it is better. Every group holds k.

Method
    Labels of at least epsilon q records are large; their sizes are rounded down to powers of 1 + epsilon.
    For each number of groups, an integer program over the ways to fill one group with rounded sizes
    finds the packing of the large labels whose heaviest group is lightest, among those in which the
    small labels can fill what is missing. Then every small label goes to the group that is lightest.

Cost
    Polynomial for a fixed epsilon, with a degree that grows fast as epsilon falls; a table that needs more
    than 100,000 ways to fill a group is refused.

Reference
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and geographic
    generalization and the min-max bin covering problem. WADS 2009. Theorem 9.
    Differs from the paper: it runs with q instead of k, so that groups hold k and not (1 - 2 epsilon) k;
    it does not list all types but solves for the best one by integer programming (HiGHS), which keeps
    the guarantee (docs/proofs/scheme.md).

Example:
    >>> FACTS.options["epsilon"].default
    0.1

"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PlanError
from shoal.group.families.packing import facts_of
from shoal.group.spread import spread
from shoal.kernels.packing import fill_lightest
from shoal.model.coded import Coded
from shoal.model.facts import Option
from shoal.model.grouping import Grouping
from shoal.model.task import Task

__all__ = ["FACTS", "group", "relaxed_packing"]

Items = NDArray[np.int64]
Labels = NDArray[np.int32]

WAYS = 100_000
NODES = 5_000
_ROUNDING = 1e-9


def _read_epsilon(text: str) -> float:
    epsilon = float(text)
    if not 0 < epsilon <= 0.25:
        raise ValueError("it is above 0 and at most 0.25")
    return epsilon


FACTS = facts_of(
    title="Scheme",
    guarantee="at most (1 + epsilon)(OPT(q) + epsilon q), q = k / (1 - 2 epsilon), and 5/2 times the best",
    time="polynomial for a fixed epsilon",
    paper="004, Theorem 9",
    factor=2.5,
    options={"epsilon": Option(_read_epsilon, 0.1, "the accuracy, above 0 and at most 0.25")},
)


def group(coded: Coded, task: Task) -> Grouping:
    """Group the labels of `coded`; the module docstring states the guarantee."""
    weight = coded.count
    epsilon = float(task.options.get("epsilon", 0.1))  # type: ignore[arg-type]
    label = spread(weight, task.k)
    relaxed = relaxed_packing(weight, task.k, epsilon)
    if _largest(weight, relaxed) < _largest(weight, label):
        label = relaxed
    return Grouping.of_labels(label, weight, steps=int(weight.size))


def relaxed_packing(weight: Items, k: int, epsilon: float) -> Labels:
    """The bin of each item by Theorem 9 alone, every bin at least k. Needs a total of at least k."""
    size: NDArray[np.float64] = weight * np.float64((1 - 2 * epsilon) / k)  # in units of q
    nominal = float(size[size < 1].sum())
    least_q = math.ceil(k / (1 - 2 * epsilon) - _ROUNDING)
    if weight.sum() < least_q:
        return np.zeros(weight.size, dtype=np.int32)  # below 2k: nobody makes two bins
    known = spread(weight, least_q)
    over = size >= 1
    if nominal >= 1 or not over.any():  # a sum of shares may fall short of 1 by rounding
        if size.max() >= 3:
            return known  # the heaviest item alone is the optimum, and greedy reaches it
        return _best_over_bins(weight, size, k, epsilon, known, one_oversize=False)
    smallest = float(size[over].min())
    if float(size.max()) >= smallest + nominal:
        return known  # what is small fits on the lightest oversize items
    return _best_over_bins(
        weight, np.where(over, size - (smallest - 1), size), k, epsilon, known, one_oversize=True
    )


def _best_over_bins(
    weight: Items, size: NDArray[np.float64], k: int, epsilon: float, known: Labels, *, one_oversize: bool
) -> Labels:
    """Try every number of bins that could still be better; `known` is a packing to beat."""
    large = np.flatnonzero(size >= epsilon)
    power = np.floor(np.log(size[large] / epsilon) / math.log1p(epsilon) + _ROUNDING).astype(np.int64)
    powers, kind, copies = np.unique(power, return_inverse=True, return_counts=True)
    rounded = epsilon * (1 + epsilon) ** powers.astype(np.float64)
    small = float(size[size < epsilon].sum())
    top = float(np.bincount(known, weights=size).max())
    ways = _ways(rounded, copies, top, oversize=rounded >= 1 - _ROUNDING if one_oversize else None)
    best, best_label = _largest(weight, known), known
    bins = int((size >= 1).sum()) if one_oversize else int(weight.sum()) // k
    fewest = bins if one_oversize else 1
    while bins >= fewest and -(-int(weight.sum()) // bins) < best:
        chosen = _lightest_type(ways, rounded, copies, bins, 1 - epsilon, small)
        if chosen is not None:
            label = _complete(weight, size, epsilon, large, kind.ravel(), rounded, ways[chosen])
            level = np.bincount(label, weights=weight, minlength=bins)
            if level.min() >= k and level.max() < best:
                best, best_label = int(level.max()), label
        bins -= 1
    return best_label


def _ways(
    rounded: NDArray[np.float64], copies: Items, top: float, *, oversize: NDArray[np.bool_] | None
) -> NDArray[np.int32]:
    """All ways to fill one bin with rounded sizes up to level `top`, one line each."""
    found: list[tuple[int, ...]] = []
    chosen = [0] * rounded.size

    def extend(at: int, room: float) -> None:
        if at < 0:
            if len(found) >= WAYS:
                raise PlanError(
                    f"epsilon makes more than {WAYS} ways to fill a group of this table. "
                    "Choose a larger epsilon, or the method spread.",
                    field="options",
                )
            found.append(tuple(chosen))
            return
        for amount in range(min(int(copies[at]), int((room + _ROUNDING) / rounded[at])) + 1):
            chosen[at] = amount
            extend(at - 1, room - amount * rounded[at])
        chosen[at] = 0

    extend(rounded.size - 1, top)
    ways = np.array(found, dtype=np.int32).reshape(len(found), rounded.size)
    return ways if oversize is None else ways[ways[:, oversize].sum(axis=1) == 1]


def _lightest_type(
    ways: NDArray[np.int32],
    rounded: NDArray[np.float64],
    copies: Items,
    bins: int,
    target: float,
    small: float,
) -> NDArray[np.int64] | None:
    """The way of each bin so that the heaviest is lightest and small items fill all up to `target`."""
    level = ways @ rounded
    caps = np.unique(level)
    low, high = 0, caps.size
    best: NDArray[np.int64] | None = None
    while low < high:
        middle = (low + high) // 2
        allowed = np.flatnonzero(level <= caps[middle])
        amount = _solve(ways[allowed], level[allowed], copies, bins, target, small)
        if amount is None:
            low = middle + 1
        else:
            best, high = np.repeat(allowed, amount), middle
    return best


def _solve(
    ways: NDArray[np.int32],
    level: NDArray[np.float64],
    copies: Items,
    bins: int,
    target: float,
    small: float,
) -> Items | None:
    """How many bins take each way, or None: all large items placed, gaps no larger than what is small."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    gap = np.maximum(0.0, target - level)
    rows = np.vstack([ways.T, np.ones(len(ways)), gap])
    equal = np.r_[copies, bins].astype(float)
    found = milp(
        gap,
        constraints=LinearConstraint(rows, np.r_[equal, -np.inf], np.r_[equal, small + _ROUNDING]),
        integrality=np.ones(len(ways), dtype=np.int64),
        bounds=Bounds(0, bins),
        options={"node_limit": NODES, "mip_rel_gap": 1.0},
    )
    return None if found.x is None else np.rint(found.x).astype(np.int64)


def _complete(
    weight: Items,
    size: NDArray[np.float64],
    epsilon: float,
    large: Items,
    kind: Items,
    rounded: NDArray[np.float64],
    ways: NDArray[np.int32],
) -> Labels:
    """Put the real large items where the type wants them, then each small one into the lightest bin."""
    label = np.full(weight.size, -1, dtype=np.int32)
    for s in range(rounded.size):
        label[large[kind == s]] = np.repeat(np.arange(len(ways), dtype=np.int32), ways[:, s])
    order = np.argsort(-weight, kind="stable")
    packed: Labels = fill_lightest(size, order, label, ways @ rounded)[0]
    return packed


def _largest(weight: Items, label: Labels) -> int:
    return int(np.bincount(label, weights=weight).max())

"""Primal-dual steps: shares rise where no cut holds them, and cuts that are overloaded hold them back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from shoal.kernels.bound.cuts import CutPool
from shoal.kernels.compile.decorators import entry

__all__ = ["take_steps"]

LARGE = 200_000
"""Entries of a pool from which on a step is worth more than one thread."""


def take_steps(
    cuts: CutPool,
    held: NDArray[np.float64],
    share: NDArray[np.float64],
    most: NDArray[np.float64],
    number: int,
    pace: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Primal-dual steps towards the largest sum of shares that the cuts allow: mean shares and mean parts.

    A. Chambolle, T. Pock. A first-order primal-dual algorithm for convex problems. J. Math. Imaging Vis.
    40, 2011; how long a step is: T. Pock, A. Chambolle. Diagonal preconditioning. ICCV 2011. Shares stay
    between 0 and `most`; `share` and the parts of the cuts move in place, and their means are nearer.
    """
    first, cut, amount = _by_row(cuts.start, cuts.row, cuts.amount, held.size)
    by_row = pace / np.maximum(np.bincount(cuts.row, cuts.amount, held.size), 1.0)
    by_cut = 1.0 / (pace * np.add.reduceat(cuts.amount, cuts.start[:-1]))
    shares, parts = np.zeros(held.size), np.zeros(cuts.limit.size)
    ahead = np.empty(held.size)
    threads = get_num_threads() if cuts.row.size > LARGE else 1
    rows, sets = _even(first, threads), _even(cuts.start, threads)
    rise = (first, cut, amount, held, cuts.part, by_row, most, share, ahead, shares)
    weigh = (cuts.start, cuts.row, cuts.amount, cuts.limit, ahead, by_cut, cuts.part, parts)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(number):
            _each(pool, rows, _rise, rise)
            _each(pool, sets, _weigh, weigh)
    return shares / number, parts / number


def _even(start: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Ranges of lists that hold about as many entries each, for the threads of a primal-dual step."""
    ends = np.searchsorted(start, np.linspace(0, start[-1], parts + 1)[1:-1])
    return list(pairwise([0, *ends.tolist(), start.size - 1]))


def _each(
    pool: ThreadPoolExecutor,
    ranges: list[tuple[int, int]],
    work: Callable[..., None],
    its: tuple[Any, ...],
) -> None:
    """One half of a primal-dual step, every range on a thread of its own; one of them writes each slot."""
    jobs = [pool.submit(work, low, high, *its) for low, high in ranges[1:]]
    work(*ranges[0], *its)
    for job in jobs:
        job.result()


@entry
def _by_row(start, row, amount, rows):
    """The entries of the cuts by row, for the steps of shares: where each row's begin, cuts, amounts."""
    first = np.zeros(rows + 1, dtype=np.int64)
    for t in range(row.size):
        first[row[t] + 1] += 1
    for i in range(rows):
        first[i + 1] += first[i]
    at = first[:-1].copy()
    cut = np.empty(row.size, dtype=np.int32)
    held = np.empty(row.size)
    for f in range(start.size - 1):
        for t in range(start[f], start[f + 1]):
            i = row[t]
            cut[at[i]] = f
            held[at[i]] = amount[t]
            at[i] += 1
    return first, cut, held


@entry
def _rise(low, high, first, cut, amount, held, part, pace, most, share, ahead, sums):
    """A primal-dual step of the shares: each rises as far as the cuts on its row do not hold it back."""
    for i in range(low, high):
        covered = 0.0
        for t in range(first[i], first[i + 1]):
            covered += amount[t] * part[cut[t]]
        now = min(max(share[i] + pace[i] * (held[i] - covered), 0.0), most[i])
        ahead[i] = 2.0 * now - share[i]
        share[i] = now
        sums[i] += now


@entry
def _weigh(low, high, start, row, amount, limit, ahead, pace, part, sums):
    """A primal-dual step of the cuts: the part of one that shares overload grows, others shrink."""
    for f in range(low, high):
        load = 0.0
        for t in range(start[f], start[f + 1]):
            load += amount[t] * ahead[row[t]]
        part[f] = max(part[f] + pace[f] * (load - limit[f]), 0.0)
        sums[f] += part[f]

"""Shares in turn: rows one after the other, each as much as the sets of k records before it can bear.

Rows are taken in the order of their guesses, in blocks. While a block is worked on, its rows count with
their guesses, which are never less than what they get: so each can be asked by itself, on any thread, and
every set is looked at when its last row comes (docs/proofs/in-turn.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.farthest_first import desk_for, least, see
from shoal.kernels.bound.own_boxes import Lists
from shoal.kernels.compile.decorators import entry
from shoal.kernels.distance.single import DOWN, slack_for
from shoal.kernels.neighbours.tiles import Tiles
from shoal.kernels.threads import over_rows

__all__ = ["balance", "in_turn"]

BLOCKS, LEAST_BLOCK = 64, 64
"""Into how many blocks rows are cut, and the least rows of one."""
LOWER = np.array([1.0, 0.7, 0.4, 0.0])
"""Where looks run out, lower guesses are tried: these parts of what was proved before."""

PACE = 0.3
"""Of the steps of a balance: small ones move prices more, large ones shares."""

Floats = NDArray[np.float64]


def in_turn(
    tiles: Tiles,
    metric: Any,
    k: int,
    lists: Lists,
    guess: Floats,
    proved: Floats,
    *,
    deepest: int,
    looks: int,
) -> tuple[Floats, NDArray[np.int32], NDArray[np.bool_]]:
    """Shares in turn: one for every row, none above its guess, and for lesser shares the set that says so.

    In every set of k records the shares add up to at most k times what its box costs. Sets have k rows,
    -1 where there is none. Last, which rows ran out of looks. Needs guesses that are neither negative nor
    above the radius of the row's list, and 0 for rows of k records.
    """
    n = tiles.place.size
    order = np.argsort(guess, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    share = guess.copy()
    out = guess.copy()
    sets = np.full((n, k), -1, dtype=np.int32)
    spoilt = np.zeros(n, dtype=np.bool_)
    slack = slack_for(metric.most.size, float(metric.most.sum()))
    block = max(LEAST_BLOCK, -(-n // BLOCKS))
    for begin in range(0, n, block):
        end = min(n, begin + block)

        def work(first: int, last: int, begin: int = begin) -> None:
            """A part of a block, by itself: shares in turn."""
            desk = desk_for(metric, k, lists.row.shape[1])
            _in_turn(
                tiles, metric, k, order, begin + first, begin + last, rank, guess, proved, share,
                lists, deepest, looks, slack, desk, out, sets, spoilt,
            )  # fmt: skip

        over_rows(end - begin, work, LEAST_BLOCK // 2)
        share[order[begin:end]] = out[order[begin:end]]
    return out, sets, spoilt


@entry
def _in_turn(
    tiles, metric, k, order, first, last, rank, guess, proved, share, lists, deepest, looks, slack,
    desk, out, sets, spoilt,
):  # fmt: skip
    """Shares in turn for one block of rows: each as much as sets of k with rows before it can bear."""
    rows = np.empty(lists.row.shape[1] + 1, dtype=np.int32)
    for p in range(first, last):
        row = order[p]
        if tiles.count[row] >= k:
            continue
        # nobody before this row has more than its guess, so no set with a row beyond that can bound it
        reach = guess[row] / DOWN + slack
        size = 0
        if tiles.count[row] > 1:
            rows[0] = row
            desk.count[0] = tiles.count[row] - 1
            desk.share[0] = guess[row]
            size = 1
        for x in range(lists.many[row]):
            if lists.far[row, x] > reach:
                break
            other = lists.row[row, x]
            if rank[other] < rank[row]:
                rows[size] = other
                desk.count[size] = tiles.count[other]
                desk.share[size] = share[other]
                size += 1
        see(desk, tiles.codes, metric, row, rows, size)
        value, _, exact = least(desk, k, size, deepest, looks, guess[row])
        if exact:
            sets[row, 0] = row
            for at in range(k - 1):
                sets[row, at + 1] = rows[desk.found[at]]
        elif value < guess[row]:
            spoilt[row] = True
            for part in LOWER:
                lower = proved[row] * part
                if lower <= value:
                    break
                if tiles.count[row] > 1:
                    desk.share[0] = lower
                again, _, _ = least(desk, k, size, deepest, looks, lower)
                value = max(value, again)
        out[row] = min(value, guess[row])


def balance(
    sets: NDArray[np.int32],
    right: Floats,
    count: Floats,
    share: Floats,
    most: Floats,
    price: Floats,
    steps: int,
) -> tuple[Floats, Floats]:
    """Guesses of shares in turn: primal-dual steps for the most count * share, each set within its limit.

    Returns the mean of the shares on the way, and the sets' prices; nothing is proved by either.
    """
    flat = sets.ravel()
    by_row = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[by_row], np.arange(count.size + 1))
    mean, ahead = np.zeros(count.size), np.empty(count.size)
    share, price = share.copy(), price.copy()
    _balance(sets, by_row // sets.shape[1], starts, right, count, share, price, most, steps, mean, ahead)
    return mean / steps, price


@entry
def _balance(sets, by_row, starts, right, count, share, price, most, steps, mean, ahead):
    """The primal-dual steps behind shares in turn: rows raise shares, sets of k rows raise prices."""
    many, k = sets.shape
    for _ in range(steps):
        for i in range(count.size):
            paid = 0.0
            for at in range(starts[i], starts[i + 1]):
                paid += price[by_row[at]]
            value = share[i] + PACE / max(1.0, starts[i + 1] - starts[i]) * (count[i] - paid)
            value = min(max(value, 0.0), most[i])
            ahead[i] = 2.0 * value - share[i]
            share[i] = value
            mean[i] += value
        for j in range(many):
            total = 0.0
            for at in range(k):
                total += ahead[sets[j, at]]
            price[j] = max(0.0, price[j] + (total - right[j]) / (PACE * k))

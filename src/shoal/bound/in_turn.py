"""The in-turn bound for total loss.

Give every record a share such that in every set of k records the shares add up to at most k times what its
box costs. Averaged over the sets of k records of a group, its shares are at most its loss; so the sum of
all shares bounds every release. Rows get their shares one after the other: each its guess, or what the sets
of rows before it leave, found by the farthest-first search of the own-box bound. Guesses come from what
was proved so far and from a balance of the sets that bound a row. Any order, guess and budget is valid. The
proof is in docs/proofs/in-turn.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.in_turn import balance, in_turn
from shoal.kernels.bound.own_boxes import listed_boxes
from shoal.kernels.distance.single import COLUMNS
from shoal.kernels.distance.spans import group_losses
from shoal.kernels.neighbours.tiles import Tiles, cut_tiles
from shoal.model.coded import Coded
from shoal.model.grouping import Proof
from shoal.model.task import Task

__all__ = ["NAME", "again", "prove_in_turn"]

NAME = "in-turn"
STEPS = 400
"""Steps of a balance."""
BOLD = 0.6
"""How much of the balance is in a guess; the rest is what was proved."""
FIRST, PAYS = 2, 1.05
"""Where the first passes prove less than so many times the own boxes, as in wide tables, no more follow."""
TOP = (3.0, 0.05)
"""A balance gives a row at most so many times its own box, and this part of everything more."""


def prove_in_turn(coded: Coded, task: Task, *, most: int, deepest: int, looks: int, passes: int) -> Proof:
    """The sum of the shares of the best of some passes; the first are the own boxes."""
    parameters = (("most", most), ("deepest", deepest), ("looks", looks), ("passes", passes))
    if coded.total < task.k:
        return Proof(NAME, 0.0, parameters)
    k, metric = task.k, coded.metric
    tiles = cut_tiles(coded.codes, coded.count, metric)
    count = tiles.count.astype(np.float64)
    own, lists = listed_boxes(
        tiles, metric, k, most=min(most, tiles.place.size), deepest=deepest, looks=looks
    )
    # Lemma 3: no guess exceeds the radius of its list; k copies of a row have nothing to share
    highest = np.where(
        tiles.count >= k, 0.0, np.minimum(lists.radius, TOP[0] * own + TOP[1] * coded.weight)
    )
    if task.withhold:
        highest = np.minimum(highest, coded.weight)
    best = np.minimum(own, highest)
    share, high = best, highest.copy()
    sets = _new(np.zeros((0, k), dtype=np.int32), lists.sets)
    price = np.zeros(len(sets))
    for at in range(passes if len(sets) else 0):
        if at == FIRST and best @ count < PAYS * (own @ count):
            break
        right = k * _costs(tiles, coded, sets)
        share, price = balance(sets, right, count, share, high, price, STEPS)
        guess = np.clip(BOLD * share + (1.0 - BOLD) * best, 0.0, highest)
        found, bounding, spoilt = in_turn(
            tiles, metric, k, lists, guess, best, deepest=deepest, looks=looks
        )
        high[spoilt] = np.minimum(high[spoilt], np.maximum(best[spoilt], own[spoilt]))
        more = _new(sets, bounding)
        sets, price = np.concatenate([sets, more]), np.concatenate([price, np.zeros(len(more))])
        if found @ count > best @ count:
            best = found
    return Proof(NAME, float(best @ count), parameters)


def again(
    coded: Coded, task: Task, *, most: float, deepest: float, looks: float, passes: float
) -> Proof | None:
    """The bound once more, from what a receipt recorded; None where that is no search."""
    if min(most, deepest) < 1 or coded.codes.shape[1] > COLUMNS:  # so many are never asked in turn
        return None
    return prove_in_turn(
        coded, task, most=int(most), deepest=int(deepest), looks=int(looks), passes=int(passes)
    )


def _new(sets: NDArray[np.int32], found: NDArray[np.int32]) -> NDArray[np.int32]:
    """The sets found that are not there yet, each once, in order."""
    lines = np.unique(np.sort(found[found[:, -1] >= 0], axis=1), axis=0)
    if not len(sets) or not len(lines):
        return lines
    both = np.concatenate([sets, lines])
    _, first = np.unique(both, axis=0, return_index=True)
    kept: NDArray[np.int32] = both[np.sort(first[first >= len(sets)])]
    return kept


def _costs(tiles: Tiles, coded: Coded, sets: NDArray[np.int32]) -> NDArray[np.float64]:
    """What the box of each set costs."""
    starts = np.arange(0, sets.size + 1, sets.shape[1])
    costs: NDArray[np.float64] = group_losses(tiles.codes, coded.metric, sets.ravel(), starts)
    return costs

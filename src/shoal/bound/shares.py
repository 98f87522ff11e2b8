"""The bound by shares for total loss: the best shares that the boxes bear, nearly.

As in the growth bound every record has a share, and in every box that holds k records the k largest shares
sum to at most k times what the box costs; their sum bounds every release. Here they are the solution of
the linear program behind that, as far as some rounds lead. A pool of cuts, sets of records with what their
shares may sum to, begins with the groups of the release itself. Primal-dual steps on the pool, then a
look at all windows of the cells for sets that would bear too much, which join the pool, and again. What
comes out nearly holds: one pass lowers shares until every window bears its own. A check that
knows nothing of the search confirms it. The proof is in docs/proofs/shares.md.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.bound.boxes import Boxes, boxes_below
from shoal.bound.growth import grown_shares, top_share
from shoal.kernels.bound.bears import all_bear
from shoal.kernels.bound.cuts import CutPool, joined, kept, loads, worst_of_rows
from shoal.kernels.bound.steps import take_steps
from shoal.kernels.bound.windows import cut_windows, group_cuts, lower_shares, worst_windows
from shoal.kernels.crowd.cube import shape_of
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Proof
from shoal.model.task import Task

__all__ = ["NAME", "again", "best_shares", "prove_by_shares", "shares_of_text", "text_of_shares"]

NAME = "shares"
STEPS = 300
"""Primal-dual steps between two looks."""
NEAR, WIDE, FINE = 1.1, 2.0, 40
"""Cells that shares so many times larger would break are looked at in every round, others in each fourth.
No share rises above so many times what it grew to and this part of everything."""
FULL_LOOK = 4
"""Rounds from one look at all cells to the next, and to the next time that idle cuts are dropped."""
INSIDE = 0.7
"""In the first half of the rounds windows are sought so far on the way from grown shares to those of the
pool: cuts found there are deeper."""
SLACK, IDLE = 1e-4, 0.05
"""Windows that exceed their cost by less give no cut; cuts with so much room left and no part go."""
TOLERANCE = 1e-10
"""What rounding of sums may add to a window: less than a bound is lowered by before it leaves the house."""

Shares = NDArray[np.float64]


def best_shares(
    coded: Coded,
    boxes: Boxes,
    k: int,
    grown: Shares,
    grouping: Grouping,
    rounds: int,
    see: Callable[[float], None],
) -> Shares:
    """Shares that every window bears, in sweep order, after so many rounds from the grown ones."""
    swept, cube, floor = boxes.swept, boxes.cube, boxes.floor
    metric, rows = coded.metric, grown.size
    axes = shape_of(coded.codes, coded.count, metric, -1).axis
    held = swept.held.astype(np.float64)
    cells = np.arange(cube.cost.size)

    def broken(share: Shares, some: NDArray[np.int64], slack: float) -> tuple[CutPool, NDArray[np.int64]]:
        windows = worst_windows(swept, cube, floor, k, share, slack, some)
        cuts = cut_windows(swept, cube, axes, metric, k, share, windows)
        return worst_of_rows(cuts, windows[3], rows), windows[0]

    pool = group_cuts(swept, axes, metric, grouping.distinct, grouping.group, grouping.count)
    first, near = broken(NEAR * grown, cells, 0.0)
    pool = joined(pool, first, rows)
    most = np.minimum(WIDE * grown + coded.weight / FINE, boxes.cap)
    share = grown.copy()
    pace = float(grown @ held / held.sum()) or coded.weight / FINE
    mean = grown
    for number in range(rounds):
        see(number / rounds)
        mean, _ = take_steps(pool, held, share, most, STEPS, pace)
        inside = INSIDE if 2 * number < rounds else 1.0
        all_cells = number % FULL_LOOK == FULL_LOOK - 1
        more, found = broken(inside * mean + (1.0 - inside) * grown, cells if all_cells else near, SLACK)
        if all_cells:
            near = np.union1d(near, found)
            pool = kept(pool, (pool.part > 1e-9) | (pool.limit - loads(pool, mean) < IDLE * pool.limit))
        pool = joined(pool, more, rows)
    tries = [lower_shares(swept, cube, floor, k, part * mean + (1.0 - part) * grown) for part in (1.0, 0.5)]
    return max([grown, *tries], key=lambda one: float(one @ held))


def prove_by_shares(
    coded: Coded,
    boxes: Boxes,
    task: Task,
    ratio: float,
    grouping: Grouping,
    rounds: int,
) -> Proof | None:
    """Sum over records of the best shares found; None where the check does not confirm them."""
    grown = grown_shares(boxes, task.k, ratio)

    def see(share: float) -> None:
        task.progress("proving a bound", share)

    share = best_shares(coded, boxes, task.k, grown, grouping, rounds, see)
    of_row = np.zeros(coded.distinct)
    of_row[boxes.swept.row] = share
    return _proved(boxes, task.k, _shortened(of_row), boxes.cap)


def _shortened(share: Shares) -> NDArray[np.float32]:
    """The shares in half the digits, none of them larger."""
    short = share.astype(np.float32)
    return np.where(short > share, np.nextafter(short, np.float32(0)), short)


def _proved(boxes: Boxes, k: int, share: NDArray[np.float32], cap: float) -> Proof | None:
    swept, cube = boxes.swept, boxes.cube
    own = share[swept.row].astype(np.float64)
    if not bool(np.all((own >= 0.0) & (own <= cap * (1.0 + TOLERANCE)))):
        return None
    if not all_bear(swept, cube, k, own, TOLERANCE):
        return None
    return Proof(NAME, float(own @ swept.held), (("cap", cap),), shares=share)


def text_of_shares(share: NDArray[np.float32]) -> str:
    """Shares as a receipt keeps them."""
    return b64encode(zlib.compress(share.astype("<f4").tobytes(), 6)).decode("ascii")


def shares_of_text(text: str, rows: int) -> NDArray[np.float32] | None:
    """What `text_of_shares` made of so many shares; None where it is something else."""
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(b64decode(text, validate=True), 4 * rows + 1)
    except (ValueError, zlib.error):
        return None
    return np.frombuffer(raw, dtype="<f4").astype(np.float32) if len(raw) == 4 * rows else None


def again(coded: Coded, task: Task, *, cap: float, shares: str) -> Proof | None:
    """The bound once more from the shares that a receipt keeps; None where they prove nothing."""
    share = shares_of_text(shares, coded.distinct)
    if share is None or not 0.0 <= cap <= top_share(coded, task) * (1 + 1e-12):
        return None
    boxes = boxes_below(coded, task.k, cap, 2**62 // 64)
    return _proved(boxes, task.k, share, cap) if boxes is not None else None

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
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.bound.boxes import Boxes, boxes_below, by_row
from shoal.bound.growth import top_share
from shoal.kernels.bound.bears import all_bear
from shoal.kernels.bound.cuts import CutPool, joined
from shoal.kernels.bound.lower import lower_shares
from shoal.kernels.bound.program import go_on, new_cuts
from shoal.kernels.bound.sets import group_cuts, row_cuts
from shoal.kernels.distance.spans import group_losses
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Guide, Proof, Sets
from shoal.model.task import Task

__all__ = [
    "NAME",
    "again",
    "best_shares",
    "prove_by_shares",
    "prove_further",
    "shares_of_text",
    "shortened",
    "text_of_shares",
]

NAME = "shares"
NEAR, WIDE, FINE = 1.1, 2.0, 40
"""Cells that shares so many times larger would break are looked at in every round, others in each fourth.
No share rises above so many times what it grew to and this part of everything."""
OWN = 0.9
"""Shares begin with this part of what their records lose in the groups that were found."""
TOLERANCE = 1e-10
"""What rounding of sums may add to a window: less than a bound is lowered by before it leaves the house."""

Shares = NDArray[np.float64]


def best_shares(
    coded: Coded,
    boxes: Boxes,
    holds: Shares,
    share: Shares,
    pool: CutPool,
    rounds: int,
    see: Callable[[float], None],
) -> tuple[Shares, Guide]:
    """Shares that every window bears, in sweep order, after so many rounds, and what was learnt from them.

    The rounds begin with `share`; the shares in `holds` break no window.
    """
    first, near = new_cuts(boxes, NEAR * holds, 0.0)
    pool = joined(pool, first, share.size)
    most = np.minimum(WIDE * holds + coded.weight / FINE, boxes.cap)
    mean, pool = go_on(boxes, pool, near, share, holds, most, rounds, see)
    held = boxes.swept.held
    tries = [holds, lower_shares(boxes, mean)]
    middle = 0.5 * (mean + holds)
    if float(middle @ held) > float(tries[1] @ held):
        tries.append(lower_shares(boxes, middle))
    best = max(tries, key=lambda one: float(one @ held))
    sets = Sets(pool.start, boxes.swept.row[pool.row].astype(np.int32), pool.amount, pool.part)
    gap = 1.0 - float(best @ held) / max(float(mean @ held), 1e-300)
    return best, Guide(by_row(coded, boxes, mean), boxes.cap, sets, gap)


def prove_by_shares(
    coded: Coded, boxes: Boxes, task: Task, grouping: Grouping, rounds: int
) -> Proof | None:
    """Sum over records of the best shares found; None where the check does not confirm them."""
    pool = group_cuts(boxes, grouping.distinct, grouping.group, grouping.count)
    own = OWN * _losses(coded, grouping)[boxes.swept.row]
    first = lower_shares(boxes, np.minimum(own, boxes.cap))
    return _checked(coded, boxes, *best_shares(coded, boxes, first, first, pool, rounds, _seen(task)))


def _losses(coded: Coded, grouping: Grouping) -> Shares:
    """What the records of each distinct row lose, on average."""
    order = np.argsort(grouping.group, kind="stable")
    order = order[grouping.group[order] >= 0]
    starts = np.searchsorted(grouping.group[order], np.arange(grouping.groups + 1))
    spans = group_losses(coded.codes, coded.metric, grouping.distinct[order], starts)
    each = np.append(spans, coded.weight)[grouping.group]  # those withheld come last
    lost = np.bincount(grouping.distinct, weights=each * grouping.count, minlength=coded.distinct)
    return np.asarray(lost / np.maximum(coded.count, 1))


def prove_further(
    coded: Coded, boxes: Boxes, task: Task, proof: Proof, guide: Guide, grouping: Grouping, rounds: int
) -> Proof | None:
    """The same after more rounds, from a guide, its proof and the groups that were found since."""
    if guide.sets is None or proof.shares is None:
        return None
    its = guide.sets
    pool = group_cuts(boxes, grouping.distinct, grouping.group, grouping.count)
    pool = pool._replace(part=np.zeros(pool.part.size))
    pool = joined(row_cuts(boxes, its.start, its.row, its.amount, its.part), pool, boxes.swept.row.size)
    row = boxes.swept.row
    holds, share = proof.shares[row].astype(np.float64), guide.share[row]
    return _checked(coded, boxes, *best_shares(coded, boxes, holds, share, pool, rounds, _seen(task)))


def _seen(task: Task) -> Callable[[float], None]:
    return lambda share: task.progress("proving a bound", share)


def _checked(coded: Coded, boxes: Boxes, share: Shares, guide: Guide) -> Proof | None:
    proof = _proved(boxes, shortened(by_row(coded, boxes, share)))
    return None if proof is None else replace(proof, guide=guide)


def shortened(share: Shares) -> NDArray[np.float32]:
    """The shares in half the digits, none of them larger."""
    short = share.astype(np.float32)
    return np.where(short > share, np.nextafter(short, np.float32(0)), short)


def _proved(boxes: Boxes, share: NDArray[np.float32]) -> Proof | None:
    swept, cube, cap = boxes.swept, boxes.cube, boxes.cap
    own = share[swept.row].astype(np.float64)
    if not bool(np.all((own >= 0.0) & (own <= cap * (1.0 + TOLERANCE)))):
        return None
    if not all_bear(swept, cube, boxes.k, own, TOLERANCE):
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
    return _proved(boxes, share) if boxes is not None else None

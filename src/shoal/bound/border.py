"""The border bound for total loss: own boxes inside parts, and the way out of them.

A group either stays in the part of one of its records, and then costs at least the cheapest box that holds
the record and k records of that part; or it leaves the part, and then costs at least the record's way to
the nearest record of another part. So the lesser of the two is what every record pays at least, and the
parts of a table can be looked at one by one, wherever they are. Any tree of cuts will do. The proof is in
docs/proofs/border.md.
"""

from __future__ import annotations

import math
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.own_boxes import own_boxes
from shoal.kernels.neighbours.tiles import FEW_COLUMNS, TILE, cut_tiles
from shoal.kernels.parts.border import ways_out
from shoal.kernels.parts.tree import route
from shoal.model.coded import Coded, Metric
from shoal.model.grouping import Proof
from shoal.model.parts import Cuts
from shoal.model.task import Task

__all__ = [
    "NAME",
    "BoxSearch",
    "again",
    "cuts_of_text",
    "proof_of_shares",
    "prove_in_parts",
    "search_for",
    "shares_of_part",
    "text_of_cuts",
]

NAME = "border"
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Part = tuple[Codes, Integers]
"""Distinct rows with their records."""
Apply = Callable[[Callable[[Part], float], Iterable[Part]], Iterable[float]]


@dataclass(frozen=True, slots=True)
class BoxSearch:
    """How far the search for own boxes goes: see `prove_by_own_boxes`."""

    most: int
    deepest: int
    looks: int
    every: int

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """As a receipt keeps them."""
        return tuple((name, float(getattr(self, name))) for name in ("most", "deepest", "looks", "every"))


_SEARCH = {
    "quick": BoxSearch(24, 2, 500, 8),
    "normal": BoxSearch(32, 3, 3000, 1),
    "thorough": BoxSearch(64, 4, 10_000, 1),
}
"""By effort; quick asks one row in `every` at most."""
PER_K = 3
"""Near rows for each of the k, at least."""
QUICKLY = 500_000
"""Rows that quick asks in all, but for one in each tile."""
STEPS = {"quick": 4e4, "normal": 4e5, "thorough": 2e6}
"""Cells compared for each row of a part of very many columns, of which no boxes leave any out."""


def search_for(task: Task, rows: int, columns: int, part: int) -> BoxSearch:
    """What the effort affords for a table of so many rows and columns, in parts of so many rows."""
    effort = task.effort.level or "normal"
    found = _SEARCH[effort]
    every = found.every
    if effort == "quick":
        every = min(max(every, -(-rows // QUICKLY)), TILE)
    if columns > FEW_COLUMNS:
        every = max(every, int(np.ceil(part * columns / STEPS[effort])))
    return BoxSearch(max(found.most, PER_K * task.k), found.deepest, found.looks, every)


def prove_in_parts(
    parts: Iterable[Part],
    metric: Metric,
    cuts: Cuts,
    task: Task,
    search: BoxSearch,
    apply: Apply = map,
) -> Proof:
    """Sum over the records of all parts, which come as distinct rows with their records, each once.

    Every record of the table must stand in the part that the cuts send it to. `apply` may look at several
    parts at a time, and gives what each has in their order.
    """
    look = partial(shares_of_part, metric=metric, cuts=cuts, task=task, search=search)
    return proof_of_shares(apply(look, parts), search, cuts)


def proof_of_shares(shares: Iterable[float], search: BoxSearch, cuts: Cuts) -> Proof:
    """The bound from what each part has, in their order."""
    return Proof(NAME, math.fsum(shares), search.parameters, cuts=cuts)


def shares_of_part(part: Part, *, metric: Metric, cuts: Cuts, task: Task, search: BoxSearch) -> float:
    """What the records of one part pay at least, all together."""
    codes, count = part
    if not count.any():
        return 0.0
    away = np.empty(len(codes))
    ways_out(codes, metric, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child, away)
    share = away
    if int(count.sum()) >= task.k:
        tiles = cut_tiles(codes, count, metric)
        inside = own_boxes(
            tiles,
            metric,
            task.k,
            most=min(search.most, tiles.place.size),
            deepest=search.deepest,
            looks=search.looks,
            every=search.every,
        )
        share = np.zeros(len(codes))  # rows without records are in no tile
        share[tiles.place] = np.minimum(inside, away[tiles.place])
    if task.withhold:
        share = np.minimum(share, float(metric.most.sum()))
    return float(share @ count) if np.isfinite(share).all() else 0.0


def text_of_cuts(cuts: Cuts) -> str:
    """A tree of cuts as a receipt keeps it."""
    sizes = np.array([cuts.axis.size, cuts.edge.size])
    every = [sizes, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child]
    return b64encode(zlib.compress(np.concatenate(every).astype("<i8").tobytes(), 9)).decode("ascii")


MOST_CUTS = 1 << 24
"""Bytes of a tree of cuts, at most."""


def cuts_of_text(text: str, axes: int) -> Cuts | None:
    """What `text_of_cuts` made for a table of so many axes; None where it is something else."""
    try:
        raw = zlib.decompressobj().decompress(b64decode(text, validate=True), MOST_CUTS)
    except (ValueError, zlib.error):
        return None
    numbers = np.frombuffer(raw[: len(raw) // 8 * 8], dtype="<i8").astype(np.int64)
    if numbers.size < 2 or min(numbers[0], numbers[1] + 1) < 1:
        return None
    nodes, edges = int(numbers[0]), int(numbers[1])
    if numbers.size != 2 + 3 * nodes + 2 * edges:
        return None
    ends = np.cumsum([2, nodes, nodes, nodes, edges])
    cuts = Cuts(*(one.copy() for one in np.split(numbers, ends)[1:]))
    return cuts if _is_tree(cuts, axes) else None


def _is_tree(cuts: Cuts, axes: int) -> bool:
    """Whether any row finds its part: nodes come before their children, edges rise from 0."""
    parts = cuts.parts
    for node in range(cuts.axis.size):
        axis, first, many = int(cuts.axis[node]), int(cuts.first[node]), int(cuts.many[node])
        if axis < 0:
            if axis != -1 or not 0 <= first < parts:
                return False
            continue
        edge, child = cuts.edge[first : first + many], cuts.child[first : first + many]
        inside = axis < axes and first >= 0 and many > 0 and first + many <= cuts.edge.size
        if not inside or edge[0] != 0 or (np.diff(edge) <= 0).any():
            return False
        if child.min() <= node or child.max() >= cuts.axis.size:
            return False
    return True


def again(coded: Coded, task: Task, *, cuts: str, **given: float) -> Proof | None:
    """The bound once more from what a receipt recorded; None where that is no search or no tree."""
    if {*given} != {"most", "deepest", "looks", "every"}:
        return None
    search = BoxSearch(*(int(given[name]) for name in ("most", "deepest", "looks", "every")))
    tree = cuts_of_text(cuts, coded.codes.shape[1])
    if tree is None or min(search.most, search.deepest, search.every) < 1:
        return None
    return prove_in_parts(_parted(coded, tree), coded.metric, tree, task, search)


def _parted(coded: Coded, cuts: Cuts) -> Iterator[tuple[Codes, Integers]]:
    part = np.empty(coded.distinct, dtype=np.int64)
    route(coded.codes, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child, part)
    order = np.argsort(part, kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        yield coded.codes[some], coded.count[some]

"""The border bound for total loss: own boxes inside parts, and the way out of them.

A group either stays in the part of one of its records, and then costs at least the cheapest box that holds
the record and k records of that part; or it leaves the part, and then costs at least the record's way to
the nearest record of another part. So the lesser of the two is what every record pays at least, and the
parts of a table can be looked at one by one, wherever they are. Any tree of cuts will do.

Where asking every row would take too long, rows are drawn by a hash of their codes, and what all pay
follows from what those pay, but for a chance of CHANCE: that bound has a name of its own. The proofs are in
docs/proofs/border.md.
"""

from __future__ import annotations

import math
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bound.own_boxes import own_boxes
from shoal.kernels.neighbours.tiles import FEW_COLUMNS, cut_tiles
from shoal.kernels.parts.border import ways_out
from shoal.kernels.parts.hashes import hash_rows
from shoal.kernels.parts.tree import route
from shoal.model.coded import Coded, Metric
from shoal.model.grouping import Proof
from shoal.model.parts import Cuts
from shoal.model.task import Task

__all__ = [
    "DRAWN",
    "NAME",
    "QUICKLY",
    "BoxSearch",
    "again",
    "cuts_of_text",
    "is_drawn_as_meant",
    "paid_in_part",
    "proof_of_shares",
    "prove_in_parts",
    "search_for",
    "share_of_paid",
    "shares_of_part",
    "text_of_cuts",
]

NAME, DRAWN = "border", "border-drawn"
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Part = tuple[Codes, Integers]
"""Distinct rows with their records."""
Load = Callable[[], Part]
"""Gives a part, which is not held before."""
Apply = Callable[[Callable[[Load], float], Sequence[Load]], Iterable[float]]


@dataclass(frozen=True, slots=True)
class BoxSearch:
    """How far the search for own boxes goes: see `prove_by_own_boxes`.

    One record in `every` is drawn; where that is not each of them, none counts more than `cap`.
    """

    most: int
    deepest: int
    looks: int
    every: int
    cap: float = 0.0

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """As a receipt keeps them."""
        names = ("most", "deepest", "looks", "every", *(["cap"] if self.every > 1 else []))
        return tuple((name, float(getattr(self, name))) for name in names)


_SEARCH = {
    "quick": BoxSearch(32, 3, 3000, 1),
    "normal": BoxSearch(32, 3, 3000, 1),
    "thorough": BoxSearch(64, 4, 10_000, 1),
}
PER_K = 3
"""Near rows for each of the k, at least."""
QUICKLY = 250_000
"""Records that quick draws in all, about."""
STEPS = {"quick": 4e4, "normal": 4e5, "thorough": 2e6}
"""Cells compared for each row of a part of very many columns, of which no boxes leave any out."""
CHANCE = 1e-12
"""Of a bound from rows that were drawn to be above what it bounds."""
CAP, TYPICAL = 2.0, 0.2
"""The cap in mean losses of the release at hand, and about what records pay, as a part of it."""


def search_for(task: Task, records: int, columns: int, part: int, loss: float) -> BoxSearch:
    """What the effort affords for a table of so many records and columns, in parts of so many rows.

    `loss` is that of a record in the release at hand, on average.
    """
    effort = task.effort.level or "normal"
    found = _SEARCH[effort]
    every = max(1, records // QUICKLY) if effort == "quick" else 1
    if columns > FEW_COLUMNS:
        every = max(every, int(np.ceil(part * columns / STEPS[effort])))
    cap = CAP * loss if every > 1 else 0.0
    return BoxSearch(max(found.most, PER_K * task.k), found.deepest, found.looks, every, cap)


def is_drawn_as_meant(
    given: Mapping[str, Any], task: Task, records: int, columns: int, loss: float
) -> bool:
    """Whether a receipt's numbers are those that the effort chooses before anything is drawn (Lemma 3).

    Else a forger could try many until one draws what he likes. Of many columns the size of parts decides
    how many are drawn, which no certificate tells.
    """
    every, cap = given.get("every"), given.get("cap")
    if not isinstance(every, float) or not isinstance(cap, float):
        return False
    meant = search_for(task, records, columns, 0, loss)
    fits = every == meant.every or (columns > FEW_COLUMNS and every > meant.every)
    return fits and math.isclose(cap, CAP * loss, rel_tol=1e-5)


def prove_in_parts(
    parts: Sequence[Load],
    metric: Metric,
    cuts: Cuts,
    task: Task,
    search: BoxSearch,
    records: int,
    apply: Apply = map,
) -> Proof:
    """Sum over the records of all parts, which come as distinct rows with their records, each once.

    Every record of the table must stand in the part that the cuts send it to. `apply` may look at several
    parts at a time, and gives what each has in their order.
    """

    def look(load: Load) -> float:
        return shares_of_part(load(), metric=metric, cuts=cuts, task=task, search=search)

    return proof_of_shares(apply(look, parts), search, cuts, records)


def proof_of_shares(shares: Iterable[float], search: BoxSearch, cuts: Cuts, records: int) -> Proof:
    """The bound of a table of so many records from what each part has, in their order."""
    total = math.fsum(shares)
    if search.every == 1:
        return Proof(NAME, total, search.parameters, cuts=cuts)
    return Proof(DRAWN, _below(total, search, records), search.parameters, cuts=cuts)


def _below(drawn: float, search: BoxSearch, records: int) -> float:
    """What all records pay at least, but for CHANCE, where those drawn stand for so much (Lemma 3)."""
    unit = search.every * search.cap
    if unit <= 0.0:
        return 0.0
    less = -math.log(CHANCE)
    tilt = math.log1p(math.sqrt(2.0 * less * search.every / (TYPICAL * max(records, 1))))
    return max(0.0, unit * (tilt * drawn / unit - less) / math.expm1(tilt))


def shares_of_part(part: Part, *, metric: Metric, cuts: Cuts, task: Task, search: BoxSearch) -> float:
    """What the records of one part pay at least, all together, or what those drawn stand for."""
    return share_of_paid(paid_in_part(part, metric=metric, cuts=cuts, task=task, search=search), search)


def share_of_paid(paid: Floats, search: BoxSearch) -> float:
    """The same from what was found in the part before the cap was known."""
    if search.every == 1:
        return math.fsum(paid)
    return float(search.every * np.minimum(paid, search.cap).sum())


def paid_in_part(part: Part, *, metric: Metric, cuts: Cuts, task: Task, search: BoxSearch) -> Floats:
    """What each row that is drawn of one part pays at least, whatever the cap, in the part's own order.

    Where all are asked, one number: what its records pay together.
    """
    codes, count = part
    drawn = _drawn(codes, count, search.every, task.seed)
    asked = np.flatnonzero(drawn)
    if asked.size == 0:
        return np.zeros(0)
    held, inside = count[asked], np.full(asked.size, np.inf)
    if int(count.sum()) >= task.k:
        tiles = cut_tiles(codes, count, metric)
        place = np.flatnonzero(drawn[tiles.place])
        found = own_boxes(
            tiles,
            metric,
            task.k,
            most=min(search.most, tiles.place.size),
            deepest=search.deepest,
            looks=search.looks,
            asked=place,
        )
        asked, held, inside = tiles.place[place], tiles.count[place], found[place]
        del tiles
    away = np.empty(asked.size)
    ways_out(codes[asked], metric, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child, away)
    share = np.minimum(inside, away)
    if task.withhold:
        share = np.minimum(share, float(metric.most.sum()))
    if not np.isfinite(share).all():
        return np.zeros(0)
    return np.array([share @ held]) if search.every == 1 else share


def _drawn(codes: Codes, count: Integers, every: int, seed: int) -> NDArray[np.bool_]:
    """Which rows are asked: each with a chance of its records in `every`, by a hash of its codes."""
    if every == 1:
        return count > 0
    hashes = np.empty(len(codes), dtype=np.uint64)
    hash_rows(codes, np.uint64(seed % 2**64), hashes)
    chance = (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn: NDArray[np.bool_] = chance * every < count
    return drawn


def text_of_cuts(cuts: Cuts) -> str:
    """A tree of cuts as a receipt keeps it."""
    sizes = np.array([cuts.axis.size, cuts.edge.size])
    every = [sizes, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child]
    return b64encode(zlib.compress(np.concatenate(every).astype("<i8").tobytes(), 9)).decode("ascii")


MOST_CUTS = 1 << 24
"""Bytes of a tree of cuts, at most."""


def cuts_of_text(text: str, size: Integers) -> Cuts | None:
    """What `text_of_cuts` made for a table with axes of so many codes; None where it is something else."""
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
    return cuts if _is_tree(cuts, size) else None


def _is_tree(cuts: Cuts, size: Integers) -> bool:
    """Whether any row finds its part: nodes come before their children, edges are codes and rise from 0."""
    parts = cuts.parts
    for node in range(cuts.axis.size):
        axis, first, many = int(cuts.axis[node]), int(cuts.first[node]), int(cuts.many[node])
        if axis < 0:
            if axis != -1 or not 0 <= first < parts:
                return False
            continue
        edge, child = cuts.edge[first : first + many], cuts.child[first : first + many]
        inside = axis < size.size and first >= 0 and many > 0 and first + many <= cuts.edge.size
        if not inside or edge[0] != 0 or (np.diff(edge) <= 0).any() or edge[-1] >= size[axis]:
            return False
        if child.min() <= node or child.max() >= cuts.axis.size:
            return False
    return True


def again(coded: Coded, task: Task, *, cuts: str, **given: float) -> Proof | None:
    """The bound once more from what a receipt recorded; None where that is no search or no tree."""
    words = {"most", "deepest", "looks", "every"}
    if {*given} - {"cap"} != words or ("cap" in given) != (given["every"] > 1):
        return None
    most, deepest, looks, every = (int(given[name]) for name in ("most", "deepest", "looks", "every"))
    search = BoxSearch(most, deepest, looks, every, given.get("cap", 0.0))
    tree = cuts_of_text(cuts, coded.metric.size)
    if tree is None or min(search.most, search.deepest, search.every) < 1:
        return None
    return prove_in_parts(list(_parted(coded, tree)), coded.metric, tree, task, search, coded.total)


def _parted(coded: Coded, cuts: Cuts) -> Iterator[Load]:
    part = np.empty(coded.distinct, dtype=np.int64)
    route(coded.codes, cuts.axis, cuts.first, cuts.many, cuts.edge, cuts.child, part)
    order = np.argsort(part, kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        yield partial(_taken, coded, some)


def _taken(coded: Coded, some: NDArray[np.intp]) -> Part:
    return coded.codes[some], coded.count[some]

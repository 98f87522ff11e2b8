"""Which pairs of records published cells still tell apart: one figure for columns of every kind.

Of the pairs of records that may differ in a column, the share whose cells have no value in common. Cells
that may mean one value are not told apart. Left out are only pairs that surely agree, since both cells are
the same single value. A raw column has 1 and a column of stars 0, whether it holds numbers, nodes of a tree
or sets. The figure follows from the release alone, so it tells nothing that the release does not. Of the
pairs that truly differ at least this share is told apart, since those are among the pairs that may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.ranges import ends_of
from shoal.check.ruler import NODES, PLACES, RANGES, Ruler, number_of
from shoal.model.cell import SUPPRESSED, parse_box, parse_set, parse_value

__all__ = ["CellsSeen", "told_apart"]

MOST = 10_000
"""More different sets or rectangles are not compared pair by pair: the figure is not known then."""
MANY = 1_000_000
"""Different cells of one column that are remembered while a table goes by."""
BLOCK = 256
EVERYWHERE = (-np.inf, np.inf)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def told_apart(
    cells: pl.DataFrame,
    records: Integers,
    ruler: Ruler,
    *,
    withheld: int,
    ends: tuple[Floats, Floats] | None = None,
) -> float | None:
    """The share for one column; None where its cells do not tell, or differ in too many ways.

    `cells` are the different cells as texts, in one column or, as typed bounds, in two or four; `records`
    says how many records have each, `ends` both ends of ranges where somebody has read them already. A
    withheld record is told from nobody, and so is a cell that does not fit.
    """
    if ruler.published == RANGES:
        sure, alike = _of_runs(_ranges(cells, ends or ends_of(cells, ruler.kind)), records)
    elif ruler.published == NODES:
        if ruler.nodes is None:
            return None
        sure, alike = _of_runs(_nodes(cells.to_series().to_list(), ruler), records)
    elif cells.height > MOST:
        return None
    elif ruler.published == PLACES:
        sure, alike = _of_boxes(_boxes(cells), records)
    else:
        sure, alike = _of_sets(_members(cells.to_series().to_list()), records)
    everybody = int(records.sum()) + withheld
    may_differ = _pairs(everybody) - alike
    return sure / may_differ if may_differ else 1.0


class CellsSeen:
    """The different cells of a column that goes by part by part, with their records."""

    def __init__(self) -> None:
        self.parts: list[pl.DataFrame] | None = []

    def add(self, cells: pl.Series, records: Integers) -> None:
        """Count one part; where cells differ in too many ways, none are kept."""
        if self.parts is None:
            return
        self.parts.append(pl.DataFrame({"cell": cells, "records": records}))
        if sum(part.height for part in self.parts) > 2 * self.parts[0].height + MANY // 8:
            self.parts = [self._joined(self.parts)]
            if self.parts[0].height > MANY:
                self.parts = None

    def join(self, other: CellsSeen) -> None:
        """Count what was counted elsewhere."""
        if other.parts is None:
            self.parts = None
        for part in other.parts or ():
            self.add(part["cell"], part["records"].to_numpy())

    def told_apart(self, ruler: Ruler, *, withheld: int) -> float | None:
        """The share for the whole column."""
        if not self.parts:
            return None
        whole = self._joined(self.parts)
        if whole.height > MANY:  # the same however the parts came
            return None
        records = whole["records"].to_numpy().astype(np.int64)
        return told_apart(whole.select("cell"), records, ruler, withheld=withheld)

    @staticmethod
    def _joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(parts).group_by("cell").agg(pl.col("records").sum()).sort("cell")


def _pairs(records: int) -> int:
    return records * (records - 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """What cells cover on a line, both ends included; missing cells stand beside it."""

    low: Floats
    high: Floats
    is_missing: NDArray[np.bool_]


def _ranges(cells: pl.DataFrame, ends: tuple[Floats, Floats]) -> _Runs:
    low, high = ends
    is_missing = cells.to_series(0).is_null().to_numpy() if cells.width == 1 else np.zeros(len(low), bool)
    unclear = ~(low <= high)  # not a number is not below anything
    return _Runs(np.where(unclear, -np.inf, low), np.where(unclear, np.inf, high), is_missing)


def _nodes(texts: Sequence[str | None], ruler: Ruler) -> _Runs:
    assert ruler.nodes is not None, "nodes are looked up in a tree"
    runs = [
        EVERYWHERE
        if text is None or text == SUPPRESSED
        else ruler.nodes.get(parse_value(text), EVERYWHERE)[:2]
        for text in texts
    ]
    ends = np.array(runs, dtype=np.float64).reshape(-1, 2)
    return _Runs(ends[:, 0], ends[:, 1], np.array([text is None for text in texts], dtype=bool))


def _of_runs(runs: _Runs, records: Integers) -> tuple[int, int]:
    """Pairs told apart, and pairs that surely agree."""
    there = ~runs.is_missing
    low, high, many = runs.low[there], runs.high[there], records[there]
    missing, total = int(records[~there].sum()), int(many.sum())
    order = np.argsort(high, kind="stable")
    below = np.r_[0, np.cumsum(many[order])]
    sure = int(many @ below[np.searchsorted(high[order], low, side="left")])
    sure += missing * (total - int(many[np.isneginf(low)].sum()))
    alike = _pairs(missing)
    single = low == high
    if single.any():
        _, at = np.unique(low[single], return_inverse=True)
        held = np.bincount(at.ravel(), weights=many[single])
        alike += sum(_pairs(int(one)) for one in held)
    return sure, alike


def _boxes(cells: pl.DataFrame) -> Iterator[tuple[float, float, float, float] | None]:
    """Both ends of both sides; None for missing."""
    for texts in cells.iter_rows():
        if len(texts) == 1 and texts[0] is None:
            yield None
            continue
        pairs = [(texts[0], texts[1]), (texts[2], texts[3])] if len(texts) == 4 else parse_box(texts[0])
        ends = [None if end is None else number_of(end, "number") for pair in pairs for end in pair]
        known = [end for end in ends if end is not None]
        yield (known[0], known[1], known[2], known[3]) if len(known) == 4 else EVERYWHERE + EVERYWHERE


def _of_boxes(
    boxes: Iterator[tuple[float, float, float, float] | None], records: Integers
) -> tuple[int, int]:
    listed = list(boxes)
    is_missing = np.array([box is None for box in listed], dtype=bool)
    ends = np.array([box or EVERYWHERE + EVERYWHERE for box in listed], dtype=np.float64).reshape(-1, 4)
    there = ends[~is_missing]
    many = records[~is_missing]
    missing = int(records[is_missing].sum())
    sure = 0
    for at in range(0, len(there), BLOCK):
        low, high, left, right = (side[:, None] for side in there[at : at + BLOCK].T)
        apart = (high < there[:, 0]) | (there[:, 1] < low) | (right < there[:, 2]) | (there[:, 3] < left)
        sure += int(many[at : at + BLOCK] @ (apart @ many))
    whole = np.isneginf(there[:, 0]) & np.isneginf(there[:, 2])
    sure = sure // 2 + missing * int(many[~whole].sum())
    points = (there[:, 0] == there[:, 1]) & (there[:, 2] == there[:, 3])
    alike = _pairs(missing) + sum(_pairs(int(one)) for one in many[points])
    return sure, alike


def _members(texts: Sequence[str | None]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Each cell's members as bits, and whether it is a single value."""
    sets = [None if text == SUPPRESSED else set(parse_set(text)) for text in texts]
    places = {member: at for at, member in enumerate(dict.fromkeys(m for one in sets for m in one or ()))}
    bits = np.zeros((len(sets), len(places) // 64 + 1), dtype=np.uint64)
    for at, one in enumerate(sets):
        if one is None:
            bits[at] = ~np.uint64(0)
            continue
        for member in one:
            bits[at, places[member] // 64] |= np.uint64(1) << np.uint64(places[member] % 64)
    return bits, np.array([one is not None and len(one) == 1 for one in sets], dtype=bool)


def _of_sets(sets: tuple[NDArray[np.uint64], NDArray[np.bool_]], records: Integers) -> tuple[int, int]:
    bits, single = sets
    sure = 0
    for at in range(0, len(bits), BLOCK):
        shared = np.zeros((len(bits[at : at + BLOCK]), len(bits)), dtype=bool)
        for word in bits.T:
            shared |= (word[at : at + BLOCK, None] & word) != 0
        sure += int(records[at : at + BLOCK] @ (~shared @ records))
    return sure // 2, sum(_pairs(int(one)) for one in records[single])

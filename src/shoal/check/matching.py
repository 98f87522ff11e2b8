"""Whether the published lines can be the original's rows: none invented, none changed.

A published line fits an original row where each quasi-identifier cell covers the row's value and all
other published values are the same. The release is true to the original exactly where a flow exists from
the original's lines (at most their records each) into the published lines (all their records). Lines that
are alike are one node with a capacity, so the graph follows the distinct lines, not the rows.

Edges are found class by class: the column that leaves the fewest candidates is looked up in an index, the
others filter. A greedy assignment places nearly everything; what is left goes through a maximum flow on the
residual graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.kanonymity import Classes, codes_of
from shoal.check.loss import PublishedCells
from shoal.model.plain import EXACT, check_text

__all__ = ["Nodes", "TuplesByCode", "edges_of", "nodes_of", "shared_codes", "unmatched"]

Integers = NDArray[np.int64]
_MOST_FLOW = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Distinct lines: by `owner` (a distinct original tuple or a class), then by their other values.

    `start` has the first node of each owner and the end, `other` the code of the other values, `records`
    what the line stands for.
    """

    start: Integers
    other: Integers
    records: Integers


def shared_codes(
    original: pl.DataFrame, published: pl.DataFrame, names: Sequence[str]
) -> tuple[Integers, Integers]:
    """One code per row of each frame, alike where all values of the columns `names` are alike.

    A column that is text on one side only is compared in the text that a CSV file would hold; numbers and
    dates of other widths, which many files have, by their values.
    """
    rows = original.height
    key = np.zeros(rows + published.height, dtype=np.int64)
    for name in names:
        one, other = original[name], published[name]
        if one.dtype != other.dtype:
            one, other = _by_value(one, other) or (_as_text(one), _as_text(other))
        codes, size = codes_of(pl.concat([one, other]))
        _, key = np.unique(key * size + codes, return_inverse=True)
        key = key.ravel().astype(np.int64)
    return key[:rows], key[rows:]


def _by_value(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series] | None:
    """Two columns of numbers, or of dates without zones, in one type that holds both exactly."""
    wide: pl.DataType
    if one.dtype.is_numeric() and other.dtype.is_numeric():
        wide = pl.Float64()
    elif all(
        d == pl.Date or (isinstance(d, pl.Datetime) and not d.time_zone) for d in (one.dtype, other.dtype)
    ):
        wide = pl.Datetime("us")
    else:
        return None
    cast = one.cast(wide), other.cast(wide)
    same = [
        c.cast(s.dtype, strict=False).equals(s, null_equal=True)
        for c, s in zip(cast, (one, other), strict=True)
    ]
    return cast if all(same) and _is_exact(cast[0], one) and _is_exact(cast[1], other) else None


def _is_exact(wide: pl.Series, narrow: pl.Series) -> bool:
    """Whether no two whole numbers have become one."""
    return not narrow.dtype.is_integer() or bool((wide.abs() < EXACT).fill_null(True).all())


def _as_text(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.String | pl.Categorical | pl.Enum):
        return series.cast(pl.String)
    check_text(series)
    lines = series.to_frame().write_csv(include_header=False, null_value="\0").splitlines()
    text = pl.Series(series.name, lines, dtype=pl.String)
    return text.set(text == "\0", None)


def nodes_of(owner: Integers, other: Integers, records: Integers, owners: int) -> Nodes:
    """Join alike lines."""
    alive = (owner >= 0) & (records > 0)
    size = int(other.max(initial=0)) + 1
    keys, inverse = np.unique(owner[alive] * size + other[alive], return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=records[alive], minlength=keys.size)
    start = np.searchsorted(keys, np.arange(owners + 1, dtype=np.int64) * size)
    return Nodes(start.astype(np.int64), keys % size, np.rint(sums).astype(np.int64))


def edges_of(
    codes: NDArray[np.int32],
    sizes: Sequence[int],
    cells: Sequence[PublishedCells | None],
    classes: Classes,
    original: Nodes,
    published: Nodes,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every pair of an original and a published node that fit, by published node.

    `codes` has one line per distinct tuple and one axis per column; `cells` are the columns' cells per
    class, None for a column that is not judged.
    """
    axes = [TuplesByCode(codes[:, a], sizes[a], cell) for a, cell in enumerate(cells) if cell is not None]
    from_parts: list[NDArray[np.int32]] = []
    to_parts: list[NDArray[np.int32]] = []
    widths = np.diff(original.start)
    everything = np.arange(len(codes), dtype=np.int32)
    for number in range(classes.sizes.size):
        by_size = sorted(axes, key=lambda axis: axis.covered[axis.place[number]])
        tuples = by_size[0].look_up(number) if by_size else everything
        for axis in by_size[1:]:
            if tuples.size == 0:
                break
            if axis.covered[axis.place[number]] < len(codes):
                tuples = tuples[axis.fits(number, tuples)]
        if tuples.size == 0:
            continue
        nodes = _ranges(original.start[tuples], widths[tuples])
        wanted = published.other[published.start[number] : published.start[number + 1]]
        place = np.searchsorted(wanted, original.other[nodes])
        fit = wanted[np.minimum(place, wanted.size - 1)] == original.other[nodes]
        from_parts.append(nodes[fit].astype(np.int32))
        to_parts.append((place[fit] + published.start[number]).astype(np.int32))
    if not from_parts:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    return np.concatenate(from_parts), np.concatenate(to_parts)


class TuplesByCode:
    """The distinct tuples by their code on one axis, and what each cell of the axis covers."""

    def __init__(self, codes: NDArray[np.int32], size: int, cells: PublishedCells) -> None:
        self.codes = codes
        self.order = np.argsort(codes, kind="stable").astype(np.int32)
        self.start = np.searchsorted(codes[self.order], np.arange(size + 1))
        self.place = cells.place.tolist()
        unfit, runs = cells.readings.unfit, cells.readings.axes[0]
        # a cell of which no codes are known may be any of them, one that does not fit none
        anything = ~runs.known & ~unfit
        first, last = np.where(anything, 0, runs.first), np.where(anything, size - 1, runs.last)
        covered = np.where(last >= first, self.start[last + 1] - self.start[first], 0)
        self.members = {
            at: np.array([code for code, _ in its]) for at, its in runs.several.items()
        }  # of sets, whose runs are single codes, in order
        for at, members in self.members.items():
            covered[at] = (self.start[members + 1] - self.start[members]).sum()
        self.first, self.last = first.tolist(), last.tolist()
        self.covered = covered.tolist()

    def look_up(self, number: int) -> NDArray[np.int32]:
        """The tuples that the cell of a class covers."""
        place = self.place[number]
        members = self.members.get(place)
        if members is not None:
            return np.concatenate([self.order[self.start[code] : self.start[code + 1]] for code in members])
        if self.last[place] < self.first[place]:
            return np.zeros(0, np.int32)
        return self.order[self.start[self.first[place]] : self.start[self.last[place] + 1]]

    def fits(self, number: int, tuples: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of some tuples the cell of a class covers."""
        place = self.place[number]
        codes = self.codes[tuples]
        members = self.members.get(place)
        if members is not None:
            at = np.minimum(np.searchsorted(members, codes), members.size - 1)
            return np.asarray(members[at] == codes)
        return np.asarray((codes >= self.first[place]) & (codes <= self.last[place]))


def _ranges(start: Integers, width: Integers) -> Integers:
    """The numbers start .. start + width - 1 of each pair, end to end."""
    ends = np.cumsum(width)
    return np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(start - ends + width, width)


def unmatched(
    original: Nodes, published: Nodes, edges: tuple[NDArray[np.int32], NDArray[np.int32]]
) -> int | None:
    """Published records that no original row can stand for; None beyond 2^31 records."""
    if int(original.records.sum()) > _MOST_FLOW or int(published.records.sum()) > _MOST_FLOW:
        return None
    source, target = edges
    flow, give, take = _greedy(source, target, original.records, published.records)
    lacking = int(take.sum())
    if lacking == 0 or source.size == 0 or int(give.sum()) == 0:
        return lacking
    left, right = original.records.size, published.records.size
    first, last = left + right, left + right + 1
    # no edge ever carries more than either of its ends holds: small capacities cannot overflow
    spare = np.minimum(original.records[source], published.records[target]) - flow
    free, used = spare > 0, flow > 0
    givers, takers = np.flatnonzero(give > 0), np.flatnonzero(take > 0)
    tails: list[NDArray[np.integer]] = [
        source[free],
        target[used] + left,
        np.full(givers.size, first),
        takers + left,
    ]
    heads: list[NDArray[np.integer]] = [
        target[free] + left,
        source[used],
        givers,
        np.full(takers.size, last),
    ]
    room = np.concatenate([spare[free], flow[used], give[givers], take[takers]])
    tail = np.concatenate(tails).astype(np.int32)
    head = np.concatenate(heads).astype(np.int32)
    from scipy.sparse import csr_array  # a release needs no flow: its users do not wait for SciPy
    from scipy.sparse.csgraph import maximum_flow

    graph = csr_array((room.astype(np.int32), (tail, head)), shape=(last + 1, last + 1))
    return lacking - int(maximum_flow(graph, first, last, method="dinic").flow_value)


def _greedy(
    source: NDArray[np.int32], target: NDArray[np.int32], records: Integers, wanted: Integers
) -> tuple[Integers, Integers, Integers]:
    """A first assignment: the lines with the least choice go first, each to the line with the least.

    Returns the flow on each edge, and what is left to give and to take.
    """
    choice = np.bincount(source, minlength=records.size)
    asked = np.bincount(target, minlength=wanted.size)
    order = np.lexsort((asked[target], source, choice[source]))
    flow = np.zeros(source.size, dtype=np.int64)
    give, take = records.tolist(), wanted.tolist()
    tails, heads = source[order].tolist(), target[order].tolist()
    for edge, tail, head in zip(order.tolist(), tails, heads, strict=True):
        here, there = give[tail], take[head]
        if here and there:
            moved = min(here, there)
            give[tail], take[head] = here - moved, there - moved
            flow[edge] = moved
    return flow, np.array(give, dtype=np.int64), np.array(take, dtype=np.int64)

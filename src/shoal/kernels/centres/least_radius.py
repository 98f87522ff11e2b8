"""The threshold tests of paper 000: whether a solution shows within t.

Each test holds for every t from the largest diameter d* of a best solution on (a group's diameter is its
largest distance between two members). So a t that fails lies below d*, and the best largest radius is at
least d* / 2. A test need not hold at every t above one that it holds at; the search only keeps "low
fails, high holds".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.centres.assignment import fill_deficits
from shoal.kernels.centres.cover import greedy_centres, heaviest_centres
from shoal.kernels.distance.rows import apart_each
from shoal.kernels.neighbours.box_tree import Index, build_index, sight_of
from shoal.kernels.neighbours.exact import count_within, nearest, shell

__all__ = ["Pieces", "Test", "Threshold", "Within", "is_tight", "least_threshold", "test_all", "test_most"]

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

FEW = 200_000
"""So many distances are looked at one by one."""
WIDER = 1.15
"""What was counted within a radius serves others down to this part of it: few rows are counted again."""


class Pieces(NamedTuple):
    """A grouping on its way: `amount` records of `row` stand in `group`, a place in `centre`."""

    centre: Rows
    row: Rows
    group: Rows
    amount: Counts


class Threshold(NamedTuple):
    """A threshold that holds, the failing one below or None, and what was found.

    `tight` says that everything below the threshold is known to fail.
    """

    value: float
    below: float | None
    tight: bool
    pieces: Pieces


Test = Callable[[float], Pieces | None]


def test_all(index: Index, space: Any, count: Counts, reach: Floats, k: int, most: int, t: float) -> Any:
    """A test of the least radius: can greedy balls of radius `t`, at most `most`, each get k records in it.

    Every row is in a group. Returns the pieces, or None.
    """
    total = int(count.sum())
    if float(reach.max(initial=0.0)) > t:
        return None
    centre, label = greedy_centres(index, space, sight_of(index, space), count, t, min(most, total // k))
    if centre.size == 0:
        return None
    row = np.flatnonzero(count > 0).astype(np.int32)
    bad, row, group, amount = fill_deficits(index, space, count, k, t, centre, row, label[row], count[row])
    return None if bad >= 0 else Pieces(centre, row, group, amount)


class Within:
    """Records within a radius of each row: as many or more than there are, where a wider one was asked."""

    def __init__(self, index: Index, space: Any, rows: int) -> None:
        """Know nothing yet."""
        self._index, self._space, self._rows = index, space, rows
        self._counted: dict[float, Counts] = {}

    def ask(self, radius: float) -> Counts:
        """The records within `radius` of each row, or within one that is at most WIDER times as wide."""
        known = min((one for one in self._counted if one >= radius), default=np.inf)
        if known > WIDER * radius:
            known = radius
            held = np.zeros(self._rows, dtype=np.int64)
            held[self._index.place] = count_within(self._index, self._space, self._index.place, radius)
            self._counted[known] = held
        return self._counted[known]


def test_most(
    index: Index,
    space: Any,
    count: Counts,
    reach: Floats,
    k: int,
    most: int,
    t: float,
    *,
    withhold: int,
    within: Within,
) -> Any:
    """The same test where `withhold` records may stay out: at most `most` balls of twice `t` hold the rest.

    A row with fewer than k records within `t` is no centre and need not be covered, but where it stands
    within `t` of a centre it joins it: the proof that groups hold k counts it. A search with many tests
    gives all of them one `within`.
    """
    inside = (count > 0) & (reach <= t)
    total = int(count.sum())
    if total - int(count[inside].sum()) > withhold:
        return None
    held = np.where(inside, within.ask(t), 0)
    centre, covered = heaviest_centres(
        index, space, sight_of(index, space), count, inside, held, t, min(most, total // k)
    )
    if total - int(count[covered].sum()) > withhold:
        return None
    mask = np.zeros(count.size, dtype=np.int64)
    mask[centre] = 1
    place = np.zeros(count.size, dtype=np.int32)
    place[centre] = np.arange(centre.size)
    alive = np.flatnonzero(count > 0).astype(np.int32)
    near, far = nearest(build_index(space, mask), space, alive)
    kept = covered[alive] | (far <= t)
    return Pieces(centre, alive[kept], place[near[kept]], count[alive[kept]])


def least_threshold(index: Index, space: Any, test: Test, *, start: float, precise: float) -> Threshold:
    """The search for the least radius: a threshold that holds, the failing one right below, what was found.

    Everything below `start`, which is a distance, fails; None stands for that where `start` holds. The
    search halves the interval to the share `precise`; then, if few distances lie in it, it ends with no
    distance strictly between the two.
    """
    found = test(start)
    if found is not None:
        return Threshold(start, None, True, found)
    low, high = start, start
    far = _far(space, index)
    while found is None:
        low = high
        high = min(2 * high, far) if high > 0 else far
        found = test(high)
        assert found is not None or high < far, "the whole table in one group holds"
    while high - low > precise * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        again = test(middle)
        if again is None:
            low = middle
        else:
            high, found = middle, again
    values = shell(index, space, low, high, FEW)
    if values is None:
        return Threshold(high, low, False, found)
    values = np.append(values[values < high], high)  # a test may also ask for twice t
    first, last = -1, values.size - 1
    while last - first > 1:
        place = (first + last) // 2
        again = test(float(values[place]))
        if again is None:
            first = place
        else:
            last, found = place, again
    below = low if first < 0 else float(values[first])
    return Threshold(float(values[last]), below, True, found)


def is_tight(index: Index, space: Any, below: float, threshold: float) -> bool:
    """The search for the least radius is over: whether no distance lies strictly between the two."""
    values = shell(index, space, below, threshold, FEW)
    return values is not None and bool((values >= threshold).all())


def _far(space: Any, index: Index) -> float:
    """Where the search for the least radius begins: no two rows are farther apart."""
    rows = np.ascontiguousarray(index.place)
    return 2.0 * float(apart_each(space, rows, np.full_like(rows, rows[0])).max())

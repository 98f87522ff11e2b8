"""Whether a part of a table obeys what every class must, so that it can be grouped by itself.

All rules survive joining: what obeys as one class can be cut into classes that do, at worst into one. So a
part is grouped by itself where it obeys as one class, and else together with its neighbour in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from shoal.kernels.rules.violation import lack_of_all, make_tallies
from shoal.model.coded import Coded
from shoal.model.packed_rules import pack_rules

__all__ = ["joined_until", "obeys_as_one"]


def obeys_as_one(coded: Coded, k: int) -> bool:
    """Whether all records as one class are k, of k persons where these are counted, and obey all rules."""
    if coded.total < k:
        return False
    if coded.held is None:
        return True
    some = np.flatnonzero(coded.count > 0)
    value, rules = pack_rules(coded.held, some, coded.count[some], k)
    return float(lack_of_all(rules, value, some, coded.count[some], make_tallies(rules))) <= 0.0


def joined_until(parts: Iterable[int], suffices: Callable[[list[int]], bool]) -> Iterator[list[int]]:
    """Parts in tree order, joined with the next until they suffice; the rest joins the last that did.

    Where all together do not, they come out as one.

    >>> list(joined_until([5, 1, 2, 9, 2], lambda some: sum(some) >= 4))
    [[5], [1, 2, 9, 2]]
    """
    done: list[int] | None = None
    open_: list[int] = []
    for part in parts:
        open_ = [*open_, part]
        if suffices(open_):
            if done is not None:
                yield done
            done, open_ = open_, []
    last = [*(done or []), *open_]
    if last:
        yield last

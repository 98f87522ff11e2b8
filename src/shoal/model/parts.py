"""A tree of cuts that sends any row of a table to a part, also rows it was not learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cuts"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Node n cuts `axis[n]`; -1 is a leaf, and then `first[n]` is its part.

    Its edges are `edge[first[n] : first[n] + many[n]]`: a code goes to the `child` of the last edge at or
    below it, whatever the form of the axis. Node 0 is the root. Parts are 0..parts-1; those near each other
    in the tree have numbers near each other.
    """

    axis: Integers
    first: Integers
    many: Integers
    edge: Integers
    child: Integers

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return int((self.axis < 0).sum())

"""A quasi-identifier once its values are known: kind, codes, and what a published cell loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.model.graph import Graph
from shoal.model.hierarchy import Hierarchy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["KINDS", "LINE", "SET", "TREE", "Axis", "Column"]

KINDS = ("number", "date", "tree", "label", "place", "region")

LINE, TREE, SET = 0, 1, 2
"""How an axis measures a set of codes: from least to greatest, by common ancestor, by members."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One line of codes that the kernels measure; most columns are one axis, a place is two.

    Codes are 0..size-1 in the order of the values; `missing` is the last code where the column has
    missing cells, else -1. Every axis loses at most `share`. A LINE has `position`, one per present
    code, from 0 to `share`; mixing missing with present loses `share`. A TREE has `gap`, one per pair
    of neighbouring codes: what their common ancestor loses; and `levels`, its nested partitions:
    height + 1 rows that hold, for each code, the first code below its ancestor. A SET loses `step`
    for every member after the first.
    """

    form: int
    size: int
    missing: int
    share: float
    position: NDArray[np.float64] | None = None
    gap: NDArray[np.float64] | None = None
    levels: NDArray[np.int32] | None = None
    step: float = 0.0

    @classmethod
    def of_set(cls, present: int, *, has_missing: bool) -> Axis:
        """A SET over so many present values: all of them together lose 1."""
        size = present + has_missing
        return cls(
            form=SET,
            size=size,
            missing=present if has_missing else -1,
            share=1.0 if size > 1 else 0.0,
            step=1.0 / (size - 1) if size > 1 else 0.0,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A quasi-identifier of one table: enough to print its cells and to judge them.

    `values` are the texts behind the codes of a tree, label or region (missing left out);
    `numbers` the values behind the codes of each axis of a number, date or place, as floats (dates as
    days, moments as microseconds). `denominator` is what the loss of the column is divided by:
    the range of a number, leaves - 1 of a tree, distinct - 1 of a label, height by levels.
    `form` says how a number is printed: integer, float, date or datetime. `counts` holds the records of
    each code, per axis. `graph` joins the values of a region that stands alone.
    """

    name: str
    kind: str
    weight: float
    axes: tuple[Axis, ...]
    has_missing: bool
    denominator: float
    values: tuple[str, ...] = ()
    numbers: tuple[NDArray[np.float64], ...] = ()
    hierarchy: Hierarchy | None = None
    form: str = "text"
    parts: tuple[str, ...] = ()
    counts: tuple[NDArray[np.int64], ...] = ()
    graph: Graph | None = None

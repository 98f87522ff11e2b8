"""Who stands with whom."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal.model.parts import Cuts

__all__ = ["WITHHELD", "Grouping", "Groups", "Guide", "Proof", "Sets"]

WITHHELD = -1


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Sets of records that limit a bound; set s has `amount` of the rows from `start[s]` to `start[s + 1]`.

    `part` says how much of a set the bound's own solution takes: 1 if it were a group, 0 if it is none.
    """

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    amount: NDArray[np.float64]
    part: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """What a search for groups may learn from a bound: nothing of it is proved.

    `share` says what a record of each distinct row costs at least, nearly, where no box dearer than `cap`
    is looked at. `sets` are the groups that the bound would like, where it has found any; `gap` is the part
    of the shares that had to go before they proved anything. Where it is `open`, near rows were not asked
    yet and may say more than the bound does.
    """

    share: NDArray[np.float64]
    cap: float
    sets: Sets | None = None
    gap: float = 1.0
    open: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """A lower bound, by name, with the parameters that let anyone compute it again.

    `shares` holds a share per distinct row where the bound is a sum of shares that were searched for,
    `cuts` the tree by which a table was parted where it was proved part by part; `guide` is what was learnt
    on the way.
    """

    name: str
    bound: float
    parameters: tuple[tuple[str, float], ...] = ()
    shares: NDArray[np.float32] | None = field(default=None, compare=False)
    cuts: Cuts | None = field(default=None, compare=False)
    guide: Guide | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """What a method returns: pieces of distinct rows, each in one group.

    Piece p puts `count[p]` copies of distinct row `distinct[p]` into `group[p]`; -1 withholds them.
    Groups are 0..groups-1 and every one is used; the counts of a distinct row add up to its copies.
    `centre` holds a distinct row per group where the method has centres. `proof` is a bound the method
    found on its way; `steps` says how much effort was spent; `factor` overrides the method's proven
    factor where this run's differs; `objective` the method's objective where an option chose another;
    `beside` lists pairs of groups where only those may ever be joined; `near` a line per distinct row: -1,
    then rows near it, nearest first, -1 after the last, where the method has found them on its way. `level`
    is a level per column (`model/levels.py`) where all cells of a column are published on that one.
    """

    distinct: NDArray[np.int32]
    group: NDArray[np.int32]
    count: NDArray[np.int64]
    centre: NDArray[np.int32] | None = None
    proof: Proof | None = None
    steps: int = 0
    factor: float | None = None
    objective: str | None = None
    beside: NDArray[np.int32] | None = None
    near: NDArray[np.int64] | None = None
    level: NDArray[np.int64] | None = None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=WITHHELD)) + 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records per group."""
        kept = self.group >= 0
        sizes = np.bincount(self.group[kept], weights=self.count[kept], minlength=self.groups)
        return np.rint(sizes).astype(np.int64)

    @property
    def withheld(self) -> int:
        """Records left out."""
        return int(self.count[self.group == WITHHELD].sum())

    def without_rows(self) -> Grouping:
        """What is still known of groups whose rows are needed no more: how many records are left out."""
        left_out = np.array([WITHHELD], dtype=np.int32)
        return replace(
            self,
            distinct=np.zeros(1, dtype=np.int32),
            group=left_out,
            count=np.array([self.withheld]),
            centre=None,
            proof=None,
            beside=None,
            near=None,
        )

    @classmethod
    def of_labels(cls, label: NDArray[np.integer], count: NDArray[np.integer], **more: object) -> Grouping:
        """A grouping that splits no copies: one label per distinct row, any numbering, -1 withheld.

        Groups are renumbered by their first distinct row.
        """
        distinct = np.arange(label.size, dtype=np.int32)
        return cls.of_pieces(distinct, label, count, **more)

    @classmethod
    def of_pieces(
        cls,
        distinct: NDArray[np.integer],
        group: NDArray[np.integer],
        count: NDArray[np.integer],
        **more: object,
    ) -> Grouping:
        """A grouping in canonical form: pieces by distinct row then group, groups by first piece.

        Pieces of one distinct row in one group are joined, empty ones dropped. `centre` in `more` is
        given per old group number and is renumbered with the groups, as is `beside`.
        """
        kept = count > 0
        distinct, group, count = distinct[kept], group[kept], count[kept]
        order = np.lexsort((group, distinct))
        distinct, group = distinct[order], group[order]
        copies = count[order].astype(np.int64)
        if distinct.size:
            new = np.r_[True, (distinct[1:] != distinct[:-1]) | (group[1:] != group[:-1])]
            starts = np.flatnonzero(new)
            copies = np.add.reduceat(copies, starts)
            distinct, group = distinct[starts], group[starts]
        old, first, inverse = np.unique(group, return_index=True, return_inverse=True)
        real = old >= 0
        rank = np.full(old.size, WITHHELD, dtype=np.int32)
        by_first = np.flatnonzero(real)[np.argsort(first[real], kind="stable")]
        rank[by_first] = np.arange(by_first.size, dtype=np.int32)
        centre = more.pop("centre", None)
        if centre is not None:
            more["centre"] = np.asarray(centre)[old[by_first]].astype(np.int32)
        beside = more.pop("beside", None)
        if beside is not None:
            more["beside"] = rank[np.searchsorted(old, np.asarray(beside))]
        return cls(
            distinct.astype(np.int32),
            rank[inverse.ravel()],
            copies,
            **more,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """A grouping seen from the input's rows.

    `label` has one group per input row, -1 = withheld; `centre` is an input row per group, or None.
    Where a row stands for several records and they were split, `label` is the group of its first.
    Who stands behind what was published: input row `source[p]` behind line `line[p]`, one pair or more
    per line.
    """

    label: NDArray[np.int32]
    centre: NDArray[np.int32] | None = None
    line: NDArray[np.integer] | None = None
    source: NDArray[np.int32] | None = None

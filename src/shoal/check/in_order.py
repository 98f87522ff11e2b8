"""A finished table that is too large for memory, judged in one pass over its lines in published order.

Nothing of what made the table is used: its lines, the plan and the columns' values. The cells of the
quasi-identifiers must rise strictly from class to class, so no class can come back later, and one pass that
remembers little counts every class. Where they do not rise, the table does not pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.check.passing import Lines, ValuesThere, changes, class_ends, rises, whole_classes
from shoal.check.persons_in_order import Told, standing_by_class
from shoal.check.tally import JudgedClasses, quasi_of
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.verdict import Verdict

__all__ = ["DISORDER", "Stretch", "follow", "judge_in_order"]

Cells = tuple[str | None, ...]
DISORDER = (
    "The lines do not stand in the order of their published cells, so a class may stand in two places and "
    "cannot be counted."
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some lines of a table: the cells of their first and last class, and whether classes rise between."""

    first: Cells
    last: Cells
    rises: bool

    @classmethod
    def of(cls, heads: pl.DataFrame, before: Stretch | None = None) -> Stretch:
        """From a line of each class, in their order, after the classes of another."""
        first, last = heads.row(0), heads.row(-1)
        if before is None:
            return cls(first, last, rises(heads))
        return cls(before.first, last, before.rises and _key(before.last) < _key(first) and rises(heads))


def follow(stretches: Iterable[Stretch]) -> bool:
    """Whether stretches, which come in any order, rise and share no class: each ends before the next."""
    every = sorted(stretches, key=lambda one: _key(one.first))
    apart = all(_key(one.last) < _key(other.first) for one, other in itertools.pairwise(every))
    return apart and all(one.rises for one in every)


def _key(cells: Cells) -> tuple[tuple[bool, str], ...]:
    return tuple((cell is None, cell or "") for cell in cells)


def judge_in_order(
    lines: Lines,
    names: Sequence[str],
    plan: Plan,
    columns: tuple[Column, ...],
    *,
    withheld: int,
    persons: Told | None = None,
    trees: Mapping[str, Hierarchy] | None = None,
) -> Verdict:
    """Judge a table with the columns `names`, whose cells are texts; see `judge` for what is looked at.

    Every column that the plan does not call sensitive, kept or count is taken for a quasi-identifier.
    `persons` says who stands behind each line; `trees` are those of rules.
    """
    quasi = quasi_of(names, plan)
    sensitive = [name for name in plan.sensitive if name in names]
    count = plan.whom.count if plan.whom.count in names else None
    reasons: tuple[str, ...] = ()
    if plan.whom.unit is not None and persons is None:
        reasons += ("Nobody said whom the published rows belong to: persons cannot be counted.",)
    spreads = {name: ValuesThere.of(lines, name, count) for name in sensitive}
    tally = JudgedClasses(plan, columns, spreads, trees or {})
    seen: Stretch | None = None
    for part in whole_classes(lines, quasi, sensitive, count):
        shown = part.select(quasi)
        seen = Stretch.of(shown[np.flatnonzero(changes(shown))], seen)
        tally.add(part, quasi)
    if seen is not None and not seen.rises:
        reasons += (DISORDER,)
    if persons is not None:
        tally.stand(standing_by_class(class_ends(lines, quasi), persons))
    return tally.verdict(names, reasons, withheld=withheld)

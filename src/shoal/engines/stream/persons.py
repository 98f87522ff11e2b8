"""Whom k counts in a table that is worked on in parts: a run stops where rows may be fewer persons."""

from __future__ import annotations

from shoal.check.passing import class_ends
from shoal.check.persons_in_order import count_in_classes, persons_by_class
from shoal.engines.persons import stop_where_counts_fill, stop_where_few
from shoal.engines.stream.values import InParts, Sorted
from shoal.model.plan import Plan

__all__ = ["check_whom_in_order"]


def check_whom_in_order(published: Sorted, plan: Plan, coded: InParts) -> None:
    """Stop where k may be met by fewer than k persons and the plan does not say whom it counts."""
    layout = coded.layout
    counts_unit = plan.whom.unit is not None
    if not layout.may_be_weights and (counts_unit or not layout.persons):
        return
    ends = class_ends(published.frames, plan.quasi)
    if layout.may_be_weights:
        stop_where_counts_fill(count_in_classes(ends, published.told("first")), plan)
    if counts_unit:
        return
    about = {one.column: one for one in coded.repeats}
    found = []
    for at, name in enumerate(layout.persons):
        one = about[name]
        persons = coded.table.rows - one.rows - one.missing + one.values + (one.missing > 0)
        found.append((name, persons, persons_by_class(ends, published.told(f"p{at}"))))
    stop_where_few(found, plan.k)

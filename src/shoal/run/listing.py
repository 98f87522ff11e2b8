"""Who is listed with whom in a release of a register, and all its lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import BrokenPromise, DataError
from shoal.group.standing.lists import Enlisted, Listed, enlist
from shoal.model.hierarchy import Builder
from shoal.model.plan import Plan
from shoal.model.register import NOBODY, RegisterState
from shoal.model.same_value import as_compared
from shoal.model.series import SCHOOL, SINCE
from shoal.model.standing import Ground
from shoal.recode import anew

__all__ = ["enlist_rows", "trees_of"]

Rows = NDArray[np.int64]


def enlist_rows(
    entries: pl.DataFrame,
    plan: Plan,
    state: RegisterState,
    former: pl.DataFrame | None,
    at_former: Rows,
    ground: Ground,
    together: Callable[[Rows], Rows],
) -> tuple[pl.DataFrame, Enlisted]:
    """New schools for those who have none, and all lists; `together` groups some rows by the whole plan."""
    school = state.lines("school", at_former, NOBODY).astype(np.int64)
    fresh = np.flatnonzero(school < 0)
    born = np.full(entries.height, -1, np.int64)
    if fresh.size >= plan.k:
        try:
            born[fresh] = together(fresh)
        except DataError:
            if state.number == 0:
                raise  # nobody has a list yet: nothing could be published
    old = former if former is not None else _no_lists(entries)
    values, listed = _coded_values(entries, old, plan)
    past = list(_past_of(state, at_former))
    rules = [(plan.sensitive.index(rule.column), rule) for rule in plan.rules_read]
    enlisted = enlist(ground, school, past, listed, values, born, rules)
    first = int(old[SCHOOL].max() or 0) + 1 if old.height else 1  # type: ignore[arg-type]
    if enlisted.new and int(enlisted.school.max()) != first + enlisted.new - 1:
        raise BrokenPromise("Schools are numbered on.")
    new = entries.with_columns(pl.Series(SCHOOL, enlisted.school)).filter(pl.col(SCHOOL) >= first)
    new = new.with_columns(pl.lit(state.number + 1, pl.Int64).alias(SINCE)).select(old.columns)
    new = new.cast(old.schema).sort(new.columns, nulls_last=True)
    return anew(pl.concat([old, new])), enlisted


def _no_lists(entries: pl.DataFrame) -> pl.DataFrame:
    texts = dict.fromkeys(entries.columns, pl.String)  # as in their file, whatever type a table came in
    return pl.DataFrame(schema={SCHOOL: pl.Int64, **texts, SINCE: pl.Int64})


def _past_of(state: RegisterState, at_former: Rows) -> Iterator[tuple[int, int]]:
    row_of = {int(person): row for row, person in enumerate(at_former.tolist()) if person >= 0}
    return ((row_of[int(p)], int(s)) for p, s in state.past.tolist() if int(p) in row_of)


def _coded_values(
    entries: pl.DataFrame, lists: pl.DataFrame, plan: Plan
) -> tuple[NDArray[np.int64], Listed]:
    """Sensitive values of rows and of entries in one coding."""
    codes: list[NDArray[np.int64]] = []
    for name in plan.sensitive:
        both = pl.concat([as_compared(entries[name]), as_compared(lists[name])])
        codes.append(both.rank("dense").fill_null(0).to_numpy().astype(np.int64))
    rows = entries.height
    values = np.stack(codes, axis=1) if codes else np.zeros((rows + lists.height, 0), np.int64)
    return values[:rows], Listed(lists[SCHOOL].to_numpy().astype(np.int64), values[rows:])


def trees_of(plan: Plan, entries: pl.DataFrame) -> dict[str, Any]:
    """The hierarchies that rules measure by."""
    trees: dict[str, Any] = {}
    for name in plan.ruled_by_hierarchy:
        tree = plan.hierarchies[name]
        if isinstance(tree, Builder):
            values = entries[name].cast(pl.String).drop_nulls().unique().to_list()
            tree = tree.build(values, column=name)
        trees[name] = tree
    return trees

"""Whom k counts: a run stops where nobody said it and rows may be fewer persons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.persons import persons_in_classes
from shoal.encode import missing_to_null
from shoal.errors import TooFewPersons, UncertainCount
from shoal.model.grouping import Groups
from shoal.model.plain import is_plain
from shoal.model.plan import Plan
from shoal.model.whom import Behind, Repeats

__all__ = ["behind", "check_whom", "repeats", "stop_where_counts_fill", "stop_where_few"]


def behind(plan: Plan, original: pl.DataFrame, groups: Groups, column: str) -> Behind:
    """Who stands behind each published line, by a column of the original."""
    if groups.line is None or groups.source is None:
        raise RuntimeError("nobody said which rows stand behind the published lines")
    who: pl.Series = missing_to_null(original[column], plan)
    return Behind(groups.line, who.gather(groups.source))


def check_whom(plan: Plan, original: pl.DataFrame, table: pl.DataFrame, groups: Groups) -> None:
    """Stop where k may be met by fewer than k persons and the plan does not say whom it counts.

    With a unit the judge counts persons, and what other identifiers say is not asked.
    """
    whom = plan.whom
    if whom.unit is not None or whom.of_persons:
        return
    if whom.count is not None:
        _check_count(plan, table, groups)
    if whom.means_rows:
        return
    found: list[tuple[str, int, NDArray[np.int64]]] = []
    for one in repeats(plan, original):
        persons = behind(plan, original, groups, one.column)
        held = persons_in_classes(table, plan, persons)
        found.append((one.column, persons.who.n_unique(), held))
    stop_where_few(found, plan.k)


def stop_where_few(found: Iterable[tuple[str, int, NDArray[np.int64]]], k: int) -> None:
    """Stop where a class holds fewer than k persons, by columns with their persons, in all and by class."""
    failed: list[tuple[int, TooFewPersons]] = []
    for column, persons, held in found:
        few = int((held < k).sum())
        if few:
            error = TooFewPersons(
                column=column, k=k, classes=held.size, failing=few, fewest=int(held.min())
            )
            failed.append((persons, error))
    if failed:
        # the finest of them tells persons apart best: names are shared, numbers of patients are not
        raise max(failed, key=lambda pair: pair[0])[1]


def _check_count(plan: Plan, table: pl.DataFrame, groups: Groups) -> None:
    """Stop where fewer than k rows fill a class: that it holds k is the count's word alone."""
    if groups.line is None or groups.source is None:
        raise RuntimeError("nobody said which rows stand behind the published lines")
    stop_where_counts_fill(
        persons_in_classes(table, plan, Behind(groups.line, pl.Series(groups.source))), plan
    )


def stop_where_counts_fill(held: NDArray[np.integer], plan: Plan) -> None:
    """Stop where a class of those that hold so many rows has fewer than k."""
    failing = int((held < plan.k).sum())
    if failing:
        raise UncertainCount(
            column=plan.whom.count or "",
            k=plan.k,
            classes=held.size,
            failing=failing,
            fewest=int(held.min()),
        )


def repeats(plan: Plan, original: pl.DataFrame) -> Iterator[Repeats]:
    """The identifiers whose values repeat, where k does not count persons."""
    if plan.whom.unit is not None or plan.whom.of_persons:
        return
    for name in plan.identifier:
        if not is_plain(original[name].dtype):  # lists and the like name nobody
            continue
        series = missing_to_null(original[name], plan)
        missing = int(series.null_count())
        sizes = series.drop_nulls().value_counts(name="\0rows")["\0rows"]
        often = sizes.filter(sizes > 1)
        if len(often) or missing > 1:
            yield Repeats(name, len(often), int(often.sum()), int(often.max() or 0), missing)  # type: ignore[arg-type]

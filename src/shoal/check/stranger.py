"""Any table, ours or not: classes, diversity, closeness and risk without a plan."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.check.judge import verdict_of
from shoal.check.kanonymity import classes_of, records_of, too_small
from shoal.errors import DataError, PlanError
from shoal.model.verdict import Verdict

__all__ = ["judge_any"]


def judge_any(
    table: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    k: int | None = None,
    count: str | None = None,
) -> Verdict:
    """Judge a table by the columns named; without k nothing but an empty table speaks against it.

    Empty text and null are one missing value. The loss is None: the cells of a stranger do not say what
    they cover.
    """
    if not quasi:
        raise PlanError("The check names no quasi-identifier. Name at least one column with -q or quasi.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise PlanError(f"k = {k!r} is not a whole number of at least 1.")
    named = [*quasi, *sensitive, *((count,) if count is not None else ())]
    doubled = sorted({name for name in named if named.count(name) > 1})
    if doubled:
        raise PlanError(f"A column is named twice: {', '.join(doubled)}. Give each one role.")
    absent = [repr(name) for name in named if name not in table.columns]
    if absent:
        raise DataError(
            f"The table has no column {', '.join(absent)}. Its columns are: {', '.join(table.columns)}."
        )
    table = table.select(named).with_columns(pl.when(pl.col(pl.String) != "").then(pl.col(pl.String)))
    classes = classes_of(table, quasi, records_of(table, count))
    reasons = too_small(classes, k) if k is not None else ()
    if classes.total == 0:
        reasons += ("The table holds no records.",)
    return verdict_of(
        table,
        classes,
        k=k,
        sensitive=sensitive,
        withheld=0,
        losses=(),
        entropy=None,
        reasons=reasons,
    )

"""Every row of a group gets the same published cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Groups
from shoal.model.missing import one_missing
from shoal.model.plan import Plan
from shoal.recode.anew import anew
from shoal.recode.centres import centres, radii_of
from shoal.recode.generalize import generalize
from shoal.recode.ids import digest_of, from_ids, to_ids
from shoal.recode.means import means
from shoal.recode.pieces import lay_out

__all__ = ["anew", "digest_of", "from_ids", "radii_of", "recode", "to_ids"]

_CELLS = {"means": means}
"""Styles whose groups publish cells of their own; the others publish what a group covers."""


def recode(
    frame: pl.DataFrame, coded: Coded, grouping: Grouping, plan: Plan
) -> tuple[pl.DataFrame, Groups]:
    """The finished table, sorted by its published values, and the groups seen from the input's rows.

    The table is made anew: it shares no memory with `frame`.
    """
    table, groups = _STYLES.get(plan.style, _rows)(one_missing(frame, plan), coded, grouping, plan)
    return anew(table), groups


def _rows(frame: pl.DataFrame, coded: Coded, grouping: Grouping, plan: Plan) -> tuple[pl.DataFrame, Groups]:
    """One line per record."""
    pieces, groups = lay_out(frame, coded, grouping, plan)
    published = _CELLS.get(plan.style, generalize)(coded, grouping, plan)
    kept = pieces.group >= 0
    parts = [published[pl.Series(pieces.group[kept])]]
    names = [*plan.sensitive, *plan.keep]
    if names:
        parts.append(frame[names][pl.Series(pieces.row[kept])])
    if plan.whom.count is not None:
        parts.append(pl.DataFrame({plan.whom.count: pieces.records[kept]}))
    table = pl.concat(parts, how="horizontal")
    # by every published value, so that nothing of the input's order remains
    sources = table.with_columns(pl.Series("\0source", pieces.row[kept]))
    sources = sources.sort(table.columns, nulls_last=True, maintain_order=False)
    # those who count persons must know who is behind a line, which the table never says
    source = sources["\0source"].to_numpy()
    return sources.drop("\0source"), replace(groups, line=np.arange(source.size), source=source)


Recode = Callable[[pl.DataFrame, Coded, Grouping, Plan], tuple[pl.DataFrame, Groups]]

_STYLES: dict[str, Recode] = {"centres": centres}
"""Styles with a shape of their own; the others publish a line per record."""

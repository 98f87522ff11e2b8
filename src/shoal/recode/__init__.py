"""Each group gets one face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from shoal.model.coded import Coded
from shoal.model.grouping import Grouping, Groups
from shoal.model.plan import Plan
from shoal.recode.centres import centres, radii_of
from shoal.recode.generalize import generalize
from shoal.recode.ids import digest_of, from_ids, to_ids
from shoal.recode.means import means
from shoal.recode.pieces import lay_out

__all__ = ["digest_of", "from_ids", "radii_of", "recode", "to_ids"]

_FACES = {"means": means}
"""Styles whose groups have faces of their own; the others publish what a group covers."""


def recode(
    frame: pl.DataFrame, coded: Coded, grouping: Grouping, plan: Plan
) -> tuple[pl.DataFrame, Groups]:
    """The finished table, sorted by its published values, and the groups seen from the input's rows."""
    return _STYLES.get(plan.style, _rows)(frame, coded, grouping, plan)


def _rows(frame: pl.DataFrame, coded: Coded, grouping: Grouping, plan: Plan) -> tuple[pl.DataFrame, Groups]:
    """One line per record."""
    pieces, groups = lay_out(frame, coded, grouping, plan)
    faces = _FACES.get(plan.style, generalize)(coded, grouping, plan)
    kept = pieces.group >= 0
    parts = [
        faces[pl.Series(pieces.group[kept])],
        frame[pl.Series(pieces.row[kept])].select(*plan.sensitive, *plan.keep),
    ]
    if plan.count is not None:
        parts.append(pl.DataFrame({plan.count: pieces.records[kept]}))
    table = pl.concat([part for part in parts if part.width], how="horizontal")
    # by every published value, so that nothing of the input's order remains
    if plan.unit is None:
        return table.sort(table.columns, nulls_last=True, maintain_order=False), groups
    # the judge counts persons, whom the table does not name
    sources = table.with_columns(pl.Series("\0source", pieces.row[kept]))
    sources = sources.sort(table.columns, nulls_last=True, maintain_order=False)
    return sources.drop("\0source"), replace(groups, source=sources["\0source"].to_numpy())


Recode = Callable[[pl.DataFrame, Coded, Grouping, Plan], tuple[pl.DataFrame, Groups]]

_STYLES: dict[str, Recode] = {"centres": centres}
"""Styles with a shape of their own; the others publish a line per record."""

"""Every row of a group gets the same published cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

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

FEW, MOST = 10_000, 2**62
"""Texts of a column that are numbered before rows are sorted, and the greatest number."""
_FACE, _SOURCE = "\0face", "\0source"
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
    faces, face = _faces(published)
    kept = pieces.group >= 0
    lines = pl.DataFrame({_FACE: face[pieces.group[kept]], _SOURCE: pieces.row[kept]})
    names = [*plan.beside]
    if names:
        lines = lines.hstack(frame[names][pl.Series(pieces.row[kept])])
    if plan.whom.count is not None:
        names.append(plan.whom.count)
        lines = lines.with_columns(pl.Series(plan.whom.count, pieces.records[kept]))
    # by every published value, so that nothing of the input's order remains
    lines = _in_order(lines, names, faces.height)
    table = faces[lines[_FACE]].hstack(lines.select(names))
    # those who count persons must know who is behind a line, which the table never says
    source = lines[_SOURCE].to_numpy()
    return table, replace(groups, line=np.arange(source.size), source=source)


def _faces(published: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    """What groups publish, each face once, in published order; and the place of every group's face.

    Faces are far fewer than rows: rows are put in order by these places, not by texts.
    """
    names = published.columns
    order = published.with_columns(pl.Series(_SOURCE, np.arange(published.height)))
    order = order.sort(names, nulls_last=True)
    other = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in names]
    new = order.select(pl.any_horizontal(other)).to_series().to_numpy().copy()
    new[:1] = True
    face = np.empty(published.height, dtype=np.uint32)
    face[order[_SOURCE].to_numpy()] = np.cumsum(new) - 1
    return order.select(names).filter(pl.Series(new)), face


def _in_order(lines: pl.DataFrame, names: list[str], faces: int) -> pl.DataFrame:
    """The lines by face, then by other values, missing last: by one whole number where that holds all."""
    key, size = lines[_FACE].cast(pl.Int64), faces
    for name in names:
        codes, its = _codes(lines[name])
        size *= its
        if codes is None or size > MOST:
            return lines.sort([_FACE, *names], nulls_last=True, maintain_order=False)
        key = key * its + codes
    return lines[key.arg_sort()]


def _codes(series: pl.Series) -> tuple[pl.Series | None, int]:
    """The place of each text among those that occur, missing last, and how many places there are.

    None where texts are too many for that to be quicker than a sort, or where there are none.
    """
    if series.dtype != pl.String:
        return None, 1
    values = series.unique().drop_nulls()
    if len(values) > FEW:
        return None, 1
    places = series.cast(pl.Enum(values.sort())).to_physical().cast(pl.Int64)
    return places.fill_null(len(values)), len(values) + 1


Recode = Callable[[pl.DataFrame, Coded, Grouping, Plan], tuple[pl.DataFrame, Groups]]

_STYLES: dict[str, Recode] = {"centres": centres}
"""Styles with a shape of their own; the others publish a line per record."""

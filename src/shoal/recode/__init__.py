"""Every row of a group gets the same published cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model.coded import Coded
from shoal.model.given_back import give_back
from shoal.model.grouping import Grouping, Groups
from shoal.model.missing import one_missing
from shoal.model.plan import Plan
from shoal.recode.anew import anew
from shoal.recode.centres import centres, radii_of
from shoal.recode.generalize import generalize
from shoal.recode.ids import digest_of, from_ids, to_ids
from shoal.recode.means import means
from shoal.recode.pieces import lay_out

__all__ = ["ShownFaces", "anew", "digest_of", "from_ids", "radii_of", "recode", "shown_faces", "to_ids"]

FEW, MOST = 10_000, 2**62
"""Texts of a column that are numbered before rows are sorted, and the greatest number."""
_FACE, _SOURCE = "\0face", "\0source"
ShownFaces = tuple[pl.DataFrame, NDArray[np.uint32]]
"""Every face that groups show, once, in published order; and the place of every group's face."""
_CELLS = {"means": means}
"""Styles whose groups publish cells of their own; the others publish what a group covers."""


def recode(
    frame: pl.DataFrame,
    coded: Coded,
    grouping: Grouping,
    plan: Plan,
    *,
    faces: ShownFaces | None = None,
) -> tuple[pl.DataFrame, Groups]:
    """The finished table, sorted by its published values, and the groups seen from the input's rows.

    The table is made anew: it shares no memory with `frame`. Where `shown_faces` has given the `faces` of
    groups before, `coded` may be without codes.
    """
    frame = one_missing(frame, plan)
    if plan.style == "centres":  # a line per group
        table, groups = centres(frame, coded, grouping, plan)
        return anew(table), groups
    return _rows(frame, coded, grouping, plan, *(faces or shown_faces(coded, grouping, plan)))


def shown_faces(coded: Coded, grouping: Grouping, plan: Plan) -> ShownFaces:
    """What groups publish of their quasi-identifiers, made anew; for all styles but centres."""
    faces, face = _faces(_CELLS.get(plan.style, generalize)(coded, grouping, plan))
    return anew(faces), face


def _rows(
    frame: pl.DataFrame,
    coded: Coded,
    grouping: Grouping,
    plan: Plan,
    faces: pl.DataFrame,
    face: NDArray[np.uint32],
) -> tuple[pl.DataFrame, Groups]:
    """One line per record.

    Whole columns are let go as soon as they have served: of a large table there is room for few.
    """
    pieces, groups = lay_out(frame, coded, grouping, plan)
    kept = pieces.group >= 0
    source, its_face = pieces.row[kept], face[pieces.group[kept]]
    beside = frame.select(plan.beside)
    if plan.beside and not _is_every(source, frame.height):
        beside = beside[pl.Series(source)]
    if plan.whom.count is not None:
        beside = pl.DataFrame([*beside, pl.Series(plan.whom.count, pieces.records[kept])])
    del pieces, kept
    # by every published value, so that nothing of the input's order remains
    order = _order(its_face, beside, faces.height)
    told = [anew(beside.select(name)[pl.Series(order)]).to_series() for name in beside.columns]
    del beside
    # those who count persons must know who is behind a line, which the table never says
    source = source[order]
    shown = pl.Series(its_face[order])
    del order, its_face
    give_back()
    # lines of a class share the cells of its face, which was made anew and is shown by every one of them
    table = pl.DataFrame([*faces[shown], *told])
    del shown
    return table, replace(groups, line=np.arange(source.size, dtype=np.int32), source=source)


def _is_every(rows: NDArray[np.integer], many: int) -> bool:
    """Whether these are all rows of so many, in their order."""
    return rows.size == many and bool((rows == np.arange(many, dtype=rows.dtype)).all())


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


def _order(face: NDArray[np.uint32], beside: pl.DataFrame, faces: int) -> NDArray[np.uint32]:
    """The lines by face, then by other values, missing last: by one whole number where that holds all."""
    key, size = face.astype(np.int64), faces
    for series in beside:
        codes, its = _codes(series)
        size *= its
        if codes is None or size > MOST:
            names = [_FACE, *beside.columns]
            lines = beside.with_columns(pl.Series(_FACE, face)).with_row_index(_SOURCE)
            return lines.sort(names, nulls_last=True, maintain_order=False)[_SOURCE].to_numpy()
        key *= its
        key += codes
    return pl.Series(key).arg_sort().to_numpy()


def _codes(series: pl.Series) -> tuple[NDArray[np.uint32] | None, int]:
    """The place of each text among those that occur, missing last, and how many places there are.

    None where texts are too many for that to be quicker than a sort, or where there are none.
    """
    if series.dtype != pl.String:
        return None, 1
    values = series.unique().drop_nulls()
    if len(values) > FEW:
        return None, 1
    places = series.cast(pl.Enum(values.sort())).to_physical().cast(pl.UInt32)
    return places.fill_null(len(values)).to_numpy(), len(values) + 1

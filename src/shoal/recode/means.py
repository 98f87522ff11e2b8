"""The typed cells of each group for the style `means`: means, common ancestors, commonest labels.

A number, date or moment is the mean of the group's present values (dates rounded down to the day); a place
is the mean of each of its two columns; a group without a present value is missing. A tree is published as
its lowest common ancestor, a label as its commonest value, of equals the first by name; missing is a value
of its own there.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.spans import boxes
from shoal.model.cell import print_value
from shoal.model.coded import Coded
from shoal.model.column import SET, Column
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode.generalize import nodes, typed

__all__ = ["means"]


def means(coded: Coded, grouping: Grouping, _plan: Plan) -> pl.DataFrame:
    """One line per group: the published cells of its quasi-identifiers."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    members, group, count = grouping.distinct[order], grouping.group[order], grouping.count[order]
    starts = np.searchsorted(group, np.arange(grouping.groups + 1))
    low, high = boxes(coded.codes, members, starts)
    faces: list[pl.Series] = []
    axis = 0
    for column in coded.columns:
        if column.axes[0].form == SET:
            faces.append(_commonest(column, coded.codes[members, axis], group, count, grouping.groups))
        elif column.numbers:
            for part, values in enumerate(column.numbers):
                name = column.parts[part] if column.parts else column.name
                codes = coded.codes[members, axis + part]
                numbers = _means(values, codes, group, count, grouping.groups)
                form = "float" if column.form in {"integer", "text"} else column.form
                faces.append(typed(pl.Series(name, numbers).fill_nan(None), form))
        else:
            faces.append(nodes(column, low[:, axis], high[:, axis]))
        axis += len(column.axes)
    return pl.DataFrame(faces)


def _means(
    values: NDArray[np.float64],
    codes: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    groups: int,
) -> NDArray[np.float64]:
    """The mean of each group's present values, not a number where it has none."""
    present = codes < values.size
    codes, group, count = codes[present], group[present], count[present]
    held = np.bincount(group, weights=count, minlength=groups)
    # around a value of the group itself, so that alike values have exactly themselves as mean
    anchor = np.full(groups, np.nan)
    anchor[group[::-1]] = values[codes[::-1]]
    apart = np.bincount(group, weights=count * (values[codes] - anchor[group]), minlength=groups)
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = anchor + apart / np.where(held > 0, held, np.nan)
    return found


def _commonest(
    column: Column,
    codes: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    groups: int,
) -> pl.Series:
    size = column.axes[0].size
    keys, place = np.unique(group.astype(np.int64) * size + codes, return_inverse=True)
    many = np.bincount(place.ravel(), weights=count)
    order = np.lexsort((keys, -many, keys // size))
    first = order[np.searchsorted(keys[order] // size, np.arange(groups))]
    texts: list[str | None] = [*(print_value(value) for value in column.values), None]
    return pl.Series(column.name, [texts[code] for code in (keys[first] % size).tolist()], dtype=pl.String)

"""The typed cells of each group for the style `means`: means, common ancestors, commonest labels.

A number, date or moment is the mean of the group's present values (dates rounded down to the day); a place
is the mean of each of its two columns. A tree is published as its lowest common ancestor, a label as its
commonest value, of equals the first by name; missing is a value of its own there.

The mean of one present value is that person's own, and of two it is nearly so: where fewer than k records
(persons, where the plan names a unit) of a group have a value, its number, date, place or label is missing.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.distance.spans import boxes
from shoal.model.cell import print_value
from shoal.model.coded import Coded
from shoal.model.column import SET
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode.generalize import nodes, typed

__all__ = ["bodies", "commonest", "means"]


def means(coded: Coded, grouping: Grouping, plan: Plan) -> pl.DataFrame:
    """One line per group: the published cells of its quasi-identifiers."""
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    members, group, count = grouping.distinct[order], grouping.group[order], grouping.count[order]
    starts = np.searchsorted(group, np.arange(grouping.groups + 1))
    low, high = boxes(coded.codes, members, starts)
    published: list[pl.Series] = []
    axis = 0
    unit = None if coded.held is None or coded.held.unit is None else coded.held.unit[members]
    for column in coded.columns:
        first = column.axes[0]
        present = coded.codes[members, axis] != first.missing
        has_k = bodies(group[present], count[present], unit, present, grouping.groups) >= plan.k
        if first.form == SET:
            found = commonest(coded.codes[members, axis], first.size, group, count, grouping.groups)
            texts: list[str | None] = [*(print_value(value) for value in column.values), None]
            cells = [texts[code] if ok else None for code, ok in zip(found, has_k, strict=True)]
            published.append(pl.Series(column.name, cells, dtype=pl.String))
        elif column.numbers:
            for part, values in enumerate(column.numbers):
                name = column.parts[part] if column.parts else column.name
                codes = coded.codes[members, axis + part]
                numbers = np.where(has_k, _means(values, codes, group, count, grouping.groups), np.nan)
                form = "float" if column.form in {"integer", "text"} else column.form
                published.append(typed(pl.Series(name, numbers).fill_nan(None), form))
        else:
            published.append(nodes(column, low[:, axis], high[:, axis]))
        axis += len(column.axes)
    return pl.DataFrame(published)


def bodies(
    group: NDArray[np.int32],
    count: NDArray[np.int64],
    unit: NDArray[np.int32] | None,
    present: NDArray[np.bool_],
    groups: int,
) -> NDArray[np.int64]:
    """Records of each group that have a value; persons where there is a unit."""
    if unit is None:
        return np.rint(np.bincount(group, weights=count, minlength=groups)).astype(np.int64)
    persons = np.unique(np.stack([group, unit[present]]), axis=1)[0]
    return np.bincount(persons, minlength=groups)


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


def commonest(
    codes: NDArray[np.int32], size: int, group: NDArray[np.int32], count: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """The code of each group that most of its records have, of equals the first; codes are below `size`."""
    keys, place = np.unique(group.astype(np.int64) * size + codes, return_inverse=True)
    many = np.bincount(place.ravel(), weights=count)
    order = np.lexsort((keys, -many, keys // size))
    first = order[np.searchsorted(keys[order] // size, np.arange(groups))]
    found: NDArray[np.int64] = keys[first] % size
    return found

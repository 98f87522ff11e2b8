"""A centre for each group that is nobody's row, and how far its records lie from it.

It is made column by column: the middle of the range of a number, date or place (over the ground the middle
of the places on the globe), the commonest value of a tree or label, of equals the first. Dates are rounded
down to the day. Where fewer than k records of a group have a value, the cell is missing, as with means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.distance.rows import EARTH, apart_each
from shoal.model.cell import print_box, print_value
from shoal.model.coded import Coded
from shoal.model.column import LINE, Column
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.recode.generalize import text_of
from shoal.recode.means import bodies, commonest

__all__ = ["middles"]

Floats = NDArray[np.float64]

DIGITS = 6
"""Of a degree, for middles on the globe: a tenth of a metre."""


@dataclass(frozen=True, slots=True, eq=False)
class _CodePieces:
    """The published pieces of a grouping by group: codes, group, records, and how many groups there are."""

    codes: NDArray[np.int32]
    group: NDArray[np.int32]
    count: NDArray[np.int64]
    groups: int


def middles(coded: Coded, grouping: Grouping, plan: Plan) -> tuple[pl.DataFrame, Floats]:
    """One line per group with the cells of its centre, and the radius of each group around it.

    Needs a distance that is measured by the columns: a matrix knows rows alone.
    """
    order = np.lexsort((grouping.distinct, grouping.group))
    order = order[grouping.group[order] >= 0]
    codes = coded.codes[grouping.distinct[order]]
    pieces = _CodePieces(codes, grouping.group[order], grouping.count[order], grouping.groups)
    held_by = None if coded.held is None else coded.held.unit
    unit = None if held_by is None else held_by[grouping.distinct[order]]
    code = np.zeros((pieces.groups, codes.shape[1]), dtype=np.int32)
    number = np.full(code.shape, np.nan)
    axis = 0
    for column in coded.columns:
        missing = column.axes[0].missing
        present = codes[:, axis] != missing
        held = bodies(pieces.group[present], pieces.count[present], unit, present, pieces.groups)
        few = held < plan.k
        for part, values in enumerate(column.numbers):
            low, high = _range(pieces, axis + part, values, present)
            middle = low + (high - low) / 2
            middle = np.floor(middle) if column.form in {"date", "datetime"} else middle
            number[:, axis + part] = np.where(few, np.nan, middle)
        if not column.numbers:
            size = column.axes[0].size
            found = commonest(codes[:, axis], size, pieces.group, pieces.count, pieces.groups)
            code[:, axis] = np.where(few, missing, found)
        axis += len(column.axes)
    if coded.space.name == "great-circle":
        number = _on_globe(coded, pieces)
        apart = _over_ground(coded, pieces, number)
    else:
        apart = _along_columns(coded, pieces, code, number)
    radius = np.zeros(pieces.groups)
    np.maximum.at(radius, pieces.group, apart)
    return pl.DataFrame(list(_published(coded.columns, code, number))), radius


def _range(
    pieces: _CodePieces, axis: int, values: Floats, present: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """The least and the greatest of each group's present numbers; not numbers where it has none."""
    there = slice(None) if present is None else present
    group, numbers = pieces.group[there], values[pieces.codes[there, axis]]
    low, high = np.full(pieces.groups, np.nan), np.full(pieces.groups, np.nan)
    np.fmin.at(low, group, numbers)
    np.fmax.at(high, group, numbers)
    return low, high


def _published(columns: tuple[Column, ...], code: NDArray[np.int32], number: Floats) -> Iterator[pl.Series]:
    """The cells of the centres, as text."""
    axis = 0
    for column in columns:
        if column.numbers:
            sides = [_texts(number[:, axis + part], column.form) for part in range(len(column.numbers))]
            cells = [
                None if None in ends else print_box([(end, end) for end in ends if end is not None])
                for ends in zip(*sides, strict=True)
            ]
        else:
            known: list[str | None] = [*(print_value(value) for value in column.values), None]
            cells = [known[at] for at in code[:, axis].tolist()]
        yield pl.Series(column.name, cells, dtype=pl.String)
        axis += len(column.axes)


def _texts(numbers: Floats, form: str) -> list[str | None]:
    """Each number as text; a middle between whole numbers has a half."""
    return [
        None
        if np.isnan(number)
        else text_of(number, "float" if form == "integer" and not number.is_integer() else form)
        for number in numbers.tolist()
    ]


def _along_columns(coded: Coded, pieces: _CodePieces, code: NDArray[np.int32], number: Floats) -> Floats:
    """How far each piece lies from its centre, by spans or straight."""
    metric = coded.metric
    is_line = metric.form == LINE
    steps = np.zeros(pieces.codes.shape)
    axis = 0
    for column in coded.columns:
        for part, values in enumerate(column.numbers):
            at = axis + part
            place = np.r_[metric.data[metric.offset[at] :][: values.size], np.nan]  # the last is missing
            # places are proportional to values
            centre = np.interp(number[:, at], values, place[:-1]) if values.size else np.nan * number[:, at]
            centre[np.isnan(number[:, at])] = np.nan  # of a single value, interp makes nan a number
            own, middle = place[pieces.codes[:, at]], centre[pieces.group]
            alike = np.isnan(own) & np.isnan(middle)
            steps[:, at] = np.where(alike, 0.0, np.nan_to_num(np.abs(own - middle), nan=metric.most[at]))
        axis += len(column.axes)
    if coded.space.name == "euclidean":
        straight: Floats = np.sqrt((steps * steps).sum(axis=1))
        return straight
    # codes of lines count for nothing here, so that trees and labels are left
    both = np.where(is_line, 0, np.vstack([pieces.codes, code])).astype(np.int32)
    rows = np.arange(pieces.group.size, dtype=np.int32)
    centres = (rows.size + pieces.group).astype(np.int32)
    apart: Floats = steps.sum(axis=1) + apart_each(coded.space._replace(codes=both), rows, centres)
    return apart


def _vectors(latitude: Floats, longitude: Floats) -> Floats:
    """Places as unit vectors from the middle of the earth."""
    north, east = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1)


def _coordinates(coded: Coded, pieces: _CodePieces) -> tuple[Floats, Floats]:
    latitude, longitude = (values for column in coded.columns for values in column.numbers)
    return latitude[pieces.codes[:, 0]], longitude[pieces.codes[:, 1]]


def _on_globe(coded: Coded, pieces: _CodePieces) -> Floats:
    """The middle of each group's places as seen from the middle of the earth, within their own range."""
    points = _vectors(*_coordinates(coded, pieces))
    east, across, north = (
        np.bincount(pieces.group, side * pieces.count, pieces.groups) for side in points.T
    )
    latitude = np.degrees(np.arctan2(north, np.hypot(east, across)))
    middle = np.round(np.stack([latitude, np.degrees(np.arctan2(across, east))], axis=1), DIGITS)
    for axis, values in enumerate(values for column in coded.columns for values in column.numbers):
        middle[:, axis] = np.clip(middle[:, axis], *_range(pieces, axis, values))
    return middle


def _over_ground(coded: Coded, pieces: _CodePieces, number: Floats) -> Floats:
    """How far each piece lies from its centre, in kilometres."""
    own = _vectors(*_coordinates(coded, pieces))
    middle = _vectors(number[:, 0], number[:, 1])[pieces.group]
    less, more = np.linalg.norm(own - middle, axis=1), np.linalg.norm(own + middle, axis=1)
    apart: Floats = 2.0 * EARTH * np.arctan2(less, more)
    return apart

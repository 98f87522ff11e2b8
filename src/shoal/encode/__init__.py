"""From a table to numbers: a survey of its columns, then distinct rows, counts, codes and the metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode import rule
from shoal.encode.space import space_of
from shoal.encode.survey import look_up, missing_to_null, survey
from shoal.errors import TooFewRows
from shoal.model.coded import Coded, Held, Ruled, pack
from shoal.model.column import Column
from shoal.model.known import Known
from shoal.model.plain import counts_of
from shoal.model.plan import Plan
from shoal.model.rule import Rule

__all__ = ["code", "distinct_lines", "encode", "hold", "missing_to_null", "survey"]

Codes = NDArray[np.int32]


def encode(frame: pl.DataFrame, plan: Plan, *, matrix: Any = None) -> Coded:
    """Survey a whole table and code it."""
    return code(frame, survey(frame, plan), plan, matrix=matrix)


def code(frame: pl.DataFrame, known: Known, plan: Plan, *, matrix: Any = None) -> Coded:
    """The rows of `frame` as numbers: a whole table, or any part of one that was surveyed.

    `matrix` holds the distance of every two rows, in the order of the table, for the distance `matrix`.
    """
    records = _records(frame, plan)
    total = int(records.sum()) if records is not None else frame.height
    if total < plan.k:
        raise TooFewRows(rows=total, k=plan.k)
    columns = [book.column for book in known.books]
    codes = [its_codes for book in known.books for its_codes in look_up(frame, book)]
    axes = [(axis, column.weight) for column in columns for axis in column.axes]
    distinct, row = distinct_lines(codes, [axis.size for axis, _ in axes])
    count = np.rint(np.bincount(row, weights=records, minlength=len(distinct))).astype(np.int64)
    metric = pack(axes)
    counted = _counted(columns, distinct, count)
    coded = Coded(
        codes=distinct,
        count=count,
        row=row,
        columns=counted,
        metric=metric,
        space=space_of(distinct, counted, metric, plan, row=row, matrix=matrix),
        records=records,
    )
    return _with_rules(frame, plan, coded) if plan.rules or plan.whom.unit is not None else coded


def _with_rules(frame: pl.DataFrame, plan: Plan, plain: Coded) -> Coded:
    columns, values = rule.code_of_values(_published(frame, plan, plain.records), plan)
    named = plan.whom.unit
    unit = rule.code_of_unit(missing_to_null(frame[named], plan)) if named is not None else None
    return hold(plain, plan.rules_read, columns, values, unit)


def _published(
    frame: pl.DataFrame, plan: Plan, records: NDArray[np.int64] | None
) -> pl.DataFrame | dict[str, pl.Series]:
    """The columns of rules, with nothing that stands in rows of no record alone: no reader counts it."""
    if records is None or (records > 0).all() or not (records > 0).any():
        return frame
    place = np.where(records > 0, np.arange(records.size), int(np.argmax(records > 0)))
    return {one.column: frame[one.column].gather(place) for one in plan.rules_read}


def hold(
    plain: Coded,
    rules: tuple[Rule, ...],
    columns: tuple[Ruled, ...],
    values: list[Codes],
    unit: tuple[Codes, int] | None,
    *,
    shares: tuple[NDArray[np.float64], ...] = (),
) -> Coded:
    """The same table, its distinct rows parted by what the rules look at: codes of every row.

    Of a part of a table `shares` has those of the values in the whole.
    """
    keys, sizes = [plain.row, *values], [plain.distinct, *(column.size for column in columns)]
    if unit is not None:
        keys.append(unit[0])
        sizes.append(unit[1])
    lines, row = distinct_lines(keys, sizes)
    count = np.rint(np.bincount(row, weights=plain.records, minlength=len(lines))).astype(np.int64)
    held = Held(
        plain=plain,
        parent=np.ascontiguousarray(lines[:, 0]),
        rules=rules,
        columns=columns,
        value=np.ascontiguousarray(lines[:, 1 : 1 + len(columns)]),
        unit=np.ascontiguousarray(lines[:, -1]) if unit is not None else None,
        units=unit[1] if unit is not None else 0,
        shares=shares,
    )
    space = plain.space._replace(
        codes=plain.space.codes[held.parent] if len(plain.space.codes) else plain.space.codes,
        points=plain.space.points[held.parent] if len(plain.space.points) else plain.space.points,
        matrix=plain.space.matrix[np.ix_(held.parent, held.parent)]
        if len(plain.space.matrix)
        else plain.space.matrix,
    )
    codes = plain.codes[held.parent]
    return replace(plain, codes=codes, count=count, row=row, space=space, held=held)


def _counted(columns: list[Column], codes: Codes, count: NDArray[np.int64]) -> tuple[Column, ...]:
    """The columns with the records of each of their codes."""
    counted: list[Column] = []
    at = 0
    for column in columns:
        sums = [
            np.bincount(codes[:, at + place], weights=count, minlength=axis.size)
            for place, axis in enumerate(column.axes)
        ]
        counted.append(replace(column, counts=tuple(np.rint(s).astype(np.int64) for s in sums)))
        at += len(column.axes)
    return tuple(counted)


def _records(frame: pl.DataFrame, plan: Plan) -> NDArray[np.int64] | None:
    """The records each row stands for, where the plan names a column that counts them."""
    name = plan.whom.count
    if name is None:
        return None
    return counts_of(missing_to_null(frame[name], plan))


def distinct_lines(codes: list[Codes], sizes: list[int]) -> tuple[Codes, NDArray[np.int32]]:
    """The distinct lines of `codes` in sorted order, and the line of each row."""
    rows = codes[0].size
    key = np.zeros(rows, dtype=np.int64)
    room = 1
    for its_codes, size in zip(codes, sizes, strict=True):
        if room > (2**62) // max(size, 1):  # make the key dense again before it overflows
            values, key = np.unique(key, return_inverse=True)
            key = key.ravel().astype(np.int64)
            room = values.size
        key = key * size + its_codes
        room *= size
    # as `np.unique` does it, in less room
    order = np.argsort(key, kind="stable").astype(np.int32)
    key = key[order]
    new = np.ones(rows, dtype=np.bool_)
    np.not_equal(key[1:], key[:-1], out=new[1:])
    del key
    row = np.empty(rows, dtype=np.int32)
    row[order] = np.cumsum(new, dtype=np.int32) - 1
    first = order[new]
    del order, new
    lines = np.empty((first.size, len(codes)), dtype=np.int32)
    for axis, its_codes in enumerate(codes):
        lines[:, axis] = its_codes[first]
    return lines, row

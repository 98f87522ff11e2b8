"""From a table to numbers: distinct rows, counts, codes and the packed metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode import label, number, place, region, rule, tree
from shoal.encode.space import space_of
from shoal.errors import DataError, PlanError, TooFewRows
from shoal.model.coded import Coded, Held, pack
from shoal.model.column import Column
from shoal.model.guess import guess_kind
from shoal.model.names import check_named
from shoal.model.plain import EXACT, check_plain
from shoal.model.plan import Kind, Plan

__all__ = ["encode", "missing_to_null"]

Codes = NDArray[np.int32]


def encode(frame: pl.DataFrame, plan: Plan, *, matrix: Any = None) -> Coded:
    """Code the quasi-identifiers of `frame`; the second border where a plan is checked.

    `matrix` holds the distance of every two rows, in the order of the table, for the distance `matrix`.
    """
    _check_columns(frame, plan)
    records = _records(frame, plan)
    total = int(records.sum()) if records is not None else frame.height
    if total < plan.k:
        raise TooFewRows(rows=total, k=plan.k)
    columns: list[Column] = []
    codes: list[Codes] = []
    for name in plan.quasi:
        column, its_codes = _encode_column(frame, name, plan)
        columns.append(column)
        codes.extend(its_codes)
    _check_published(columns, plan)
    axes = [(axis, column.weight) for column in columns for axis in column.axes]
    distinct, row = _distinct(codes, [axis.size for axis, _ in axes])
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
    return _with_rules(frame, plan, coded) if plan.rules or plan.unit is not None else coded


def _with_rules(frame: pl.DataFrame, plan: Plan, plain: Coded) -> Coded:
    """The same table, its distinct rows parted by what the rules look at."""
    columns, values = rule.code_of_values(frame, plan)
    unit = rule.code_of_unit(frame, plan)
    keys, sizes = [plain.row, *values], [plain.distinct, *(column.size for column in columns)]
    if unit is not None:
        keys.append(unit[0])
        sizes.append(unit[1])
    lines, row = _distinct(keys, sizes)
    count = np.rint(np.bincount(row, weights=plain.records, minlength=len(lines))).astype(np.int64)
    held = Held(
        plain=plain,
        parent=np.ascontiguousarray(lines[:, 0]),
        rules=plan.rules_read,
        columns=columns,
        value=np.ascontiguousarray(lines[:, 1 : 1 + len(columns)]),
        unit=np.ascontiguousarray(lines[:, -1]) if unit is not None else None,
        units=unit[1] if unit is not None else 0,
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


def missing_to_null(series: pl.Series, plan: Plan) -> pl.Series:
    """Empty strings, the plan's missing marks and not-a-number become null; text loses outer blanks."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        marks = pl.Series(["", *plan.missing], dtype=pl.String)
        series = series.str.strip_chars()
        return series.set(series.is_in(marks.implode()), None)
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if plan.missing and series.dtype.is_numeric():
        marks = pl.Series(plan.missing, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
        return series.set(series.cast(pl.Float64).is_in(marks.implode()), None)
    return series


def _encode_column(frame: pl.DataFrame, name: str, plan: Plan) -> tuple[Column, tuple[Codes, ...]]:
    declared = plan.kind(name)
    if declared is not None and declared.name == "place":
        pair = [missing_to_null(frame[part], plan) for part in declared.parts]
        if plan.style == "suppress":
            text = place.place_text(pair[0], pair[1], name, declared)
            return label.encode_suppressed(text, declared, plan)
        return place.encode_place(pair[0], pair[1], name, declared, plan)
    series = missing_to_null(frame[name], plan)
    kind = declared if declared is not None else Kind(guess_kind(series))
    if kind.name == "region":
        region.check_regions(series, plan)
    if plan.style == "suppress":
        return label.encode_suppressed(series, kind, plan)
    if kind.name == "region":
        return region.encode_region(series, plan)
    if kind.name in {"number", "date"}:
        return number.encode_number(series, kind, plan)
    if kind.name == "tree":
        return tree.encode_tree(series, plan)
    return label.encode_label(series, plan)


def _check_columns(frame: pl.DataFrame, plan: Plan) -> None:
    check_named(plan.columns, frame.columns)
    if frame.height == 0:
        raise DataError("The table has no rows. Nothing can be published.")
    for name in (*plan.sensitive, *plan.keep):
        if name in plan.sensitive or not frame[name].dtype.is_nested():  # lists may be kept, in Parquet
            check_plain(frame[name])


def _check_published(columns: list[Column], plan: Plan) -> None:
    """Cells of more than one column get names of their own, which may be taken."""
    others = [*plan.sensitive, *plan.keep, *((plan.count,) if plan.count is not None else ())]
    names = [name for column in columns for name in _published(column, plan)] + others
    doubled = sorted({repr(name) for name in names if names.count(name) > 1})
    if doubled:
        raise PlanError(
            f"The release would have two columns named {', '.join(doubled)}, since the cells "
            f"{plan.cells!r} need names of their own. Choose other cells, or rename a column first."
        )


def _published(column: Column, plan: Plan) -> tuple[str, ...]:
    parts = column.parts or (column.name,)
    if plan.style == "generalize" and plan.cells == "bounds" and column.numbers:
        return tuple(f"{part}_{end}" for part in parts for end in ("low", "high"))
    if plan.style == "generalize" and plan.cells == "middle" and column.parts:
        return tuple(name for part in parts for name in (part, f"{part}_size"))
    return parts if plan.style == "means" else (column.name,)


def _records(frame: pl.DataFrame, plan: Plan) -> NDArray[np.int64] | None:
    """The records each row stands for, where the plan names a column that counts them."""
    if plan.count is None:
        return None
    series = missing_to_null(frame[plan.count], plan)
    numbers = series.cast(pl.Float64, strict=False)
    whole = (numbers == numbers.floor()) & (numbers >= 0) & (numbers < EXACT)
    unfit = ~whole.fill_null(False)
    bad = int(unfit.sum())
    if bad:
        raise DataError(
            f"Column {plan.count!r} counts records, but {bad} of {len(series)} of its values are not "
            "whole numbers of at least 0. Clean those rows first."
        )
    return numbers.cast(pl.Int64).to_numpy()


def _distinct(codes: list[Codes], sizes: list[int]) -> tuple[Codes, NDArray[np.int32]]:
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
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    lines = np.empty((first.size, len(codes)), dtype=np.int32)
    for axis, its_codes in enumerate(codes):
        lines[:, axis] = its_codes[first]
    return lines, row.ravel().astype(np.int32)

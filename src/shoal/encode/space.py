"""The distance a plan names, over the distinct rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.model.coded import SPACES, Metric, Space
from shoal.model.column import LINE, Column
from shoal.model.plan import Plan

__all__ = ["space_of"]

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

MOST = (90.0, 180.0)
NEAR = 1e-9
"""Distances of a given matrix are compared to this share of the largest."""


def space_of(
    codes: Codes, columns: tuple[Column, ...], metric: Metric, plan: Plan, *, row: Codes, matrix: Any = None
) -> Space:
    """The space of the plan's distance; `row` is the distinct row of each input row, for a matrix."""
    if matrix is not None and plan.distance != "matrix":
        raise PlanError(
            f"A distance matrix is given and the plan says {plan.distance!r}. Give one distance, not two.",
            field="distance",
        )
    points, given = np.zeros((0, 0)), np.zeros((0, 0))
    name = plan.distance
    if name == "euclidean":
        points = _straight(codes, columns, metric)
    elif name == "great-circle":
        points = _globe(codes, columns)
    elif name == "matrix":
        given = _given(matrix, row, len(codes))
    return Space(SPACES.index(name), codes, points, given, *metric)


def _check_lines(columns: tuple[Column, ...], name: str) -> None:
    for column in columns:
        if any(axis.form != LINE for axis in column.axes):
            raise PlanError(
                f"The distance {name!r} measures numbers, dates and places; column {column.name!r} is "
                f"not measured along a line. Use the distance 'span', or leave it out.",
                field="distance",
                column=column.name,
            )
        if column.has_missing:
            missing = int(column.counts[0][column.axes[0].missing])
            raise DataError(
                f"Column {column.name!r} has {missing} missing cells, which have no place in the distance "
                f"{name!r}. Use the distance 'span', or leave those rows out.",
                field="distance",
                column=column.name,
            )


def _straight(codes: Codes, columns: tuple[Column, ...], metric: Metric) -> Floats:
    _check_lines(columns, "euclidean")
    points = np.empty(codes.shape)
    for axis, start in enumerate(metric.offset):
        points[:, axis] = metric.data[start + codes[:, axis]]
    return points


def _globe(codes: Codes, columns: tuple[Column, ...]) -> Floats:
    _check_lines(columns, "great-circle")
    numbers = [values for column in columns for values in column.numbers]
    kinds = [column.kind for column in columns]
    if kinds not in (["place"], ["number", "number"]):
        raise PlanError(
            "The distance 'great-circle' measures one place, or two number columns, the latitude first; "
            f"the plan names {len(columns)} quasi-identifiers: {', '.join(kinds)}. "
            "Leave the others out, or use the distance 'span'.",
            field="distance",
        )
    for at, (what, most) in enumerate(zip(("latitude", "longitude"), MOST, strict=True)):
        column = columns[min(at, len(columns) - 1)]
        beyond = int(column.counts[at if len(columns) == 1 else 0][np.abs(numbers[at]) > most].sum())
        if beyond:
            raise DataError(
                f"Column {column.name!r} is the {what}, but {beyond} of its "
                f"values lie beyond {most:g} degrees. Name the latitude first, or clean those rows.",
                field="distance",
                column=column.name,
            )
    latitude, longitude = (np.radians(values[codes[:, axis]]) for axis, values in enumerate(numbers))
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)


def _given(matrix: Any, row: Codes, distinct: int) -> Floats:
    """A distance per pair of distinct rows, once the matrix over the input rows is seen to be a metric."""
    if matrix is None:
        raise PlanError(
            "The distance 'matrix' needs a matrix of distances, which only the library can take: "
            "shoal.anonymize(frame, matrix=...).",
            field="distance",
        )
    try:
        whole = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "The distance matrix holds something that is not a number.", field="matrix"
        ) from None
    if whole.shape != (row.size, row.size):
        shape = " x ".join(str(side) for side in whole.shape)
        raise DataError(
            f"The distance matrix is {shape}; the table has {row.size} rows. Give one line and one column "
            "per row, in the order of the table.",
            field="matrix",
        )
    faults = {
        "are not finite": int((~np.isfinite(whole)).sum()),
        "are below 0": int((whole < 0).sum()),
        "on the diagonal are not 0": int((np.diagonal(whole) != 0).sum()),
    }
    _refuse(faults)
    near = NEAR * float(whole.max(initial=0.0))
    _refuse({"differ from their mirror": int((np.abs(whole - whole.T) > near).sum())})
    first = np.zeros(distinct, dtype=np.int64)
    first[row[::-1]] = np.arange(row.size)[::-1]
    alike = sum(int(whole[at, first[its]] > near) for at, its in enumerate(row))
    if alike:
        raise DataError(
            f"{alike} rows have the same quasi-identifiers as an earlier row, but the distance matrix sets "
            "them apart. Give rows that look alike the distance 0.",
            field="matrix",
        )
    small = whole[np.ix_(first, first)]
    small = (small + small.T) / 2
    longer = sum(int((small > small[:, [via]] + small[[via], :] + near).sum()) for via in range(distinct))
    _refuse({"are longer than a way over a third row": longer})
    return small


def _refuse(faults: dict[str, int]) -> None:
    found = [f"{many} entries {what}" for what, many in faults.items() if many]
    if found:
        raise DataError(
            f"The distance matrix is not a metric: {', '.join(found)}. Correct it first.", field="matrix"
        )

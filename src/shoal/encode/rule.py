"""Sensitive values and units as codes, for the rules that look at them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode.tree import climb
from shoal.errors import DataError
from shoal.model.coded import Ruled
from shoal.model.missing import missing_to_null
from shoal.model.packed_rules import measure_of
from shoal.model.plain import check_plain
from shoal.model.plan import Plan

__all__ = ["code_of_unit", "code_of_values"]

Codes = NDArray[np.int32]


def code_of_values(
    frame: pl.DataFrame | Mapping[str, pl.Series], plan: Plan
) -> tuple[tuple[Ruled, ...], list[Codes]]:
    """One column of codes per sensitive column and way to measure it; missing is a value of its own."""
    wanted = dict.fromkeys((rule.column, measure_of(rule)) for rule in plan.rules_read)
    columns: list[Ruled] = []
    codes: list[Codes] = []
    for name, measure in wanted:
        series = _plain(frame[name], plan)
        if measure == "hierarchy":
            column, its_codes = _by_hierarchy(series, plan)
        elif measure == "ordered":
            column, its_codes = _by_order(series)
        else:
            its_codes, size = _by_value(series)
            column = Ruled(name, measure, size)
        columns.append(column)
        codes.append(its_codes)
    return tuple(columns), codes


def code_of_unit(series: pl.Series) -> tuple[Codes, int]:
    """The unit of each row by code; rows without one might all be one person, so they share a code."""
    check_plain(series)
    return _by_value(series)


def _plain(series: pl.Series, plan: Plan) -> pl.Series:
    """What a reader of the release can tell apart: missing is one value, however it was marked."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    check_plain(series)
    return missing_to_null(series, plan.missing)


def _by_value(series: pl.Series) -> tuple[Codes, int]:
    ranks = series.rank("dense").cast(pl.Int64)
    last = int(ranks.max() or 0)  # type: ignore[arg-type]
    codes = (ranks.fill_null(last + 1) - 1).to_numpy().astype(np.int32)
    return codes, last + int(series.null_count() > 0)


def _by_order(series: pl.Series) -> tuple[Ruled, Codes]:
    numbers = _numbers(series)
    if numbers is None:
        raise DataError(
            f"A rule takes column {series.name!r} for ordered, but its values are neither numbers nor "
            "dates. Leave out 'ordered', or give the column a hierarchy.",
            field="rules",
            column=series.name,
        )
    codes, size = _by_value(numbers)
    return Ruled(series.name, "ordered", size), codes


def _numbers(series: pl.Series) -> pl.Series | None:
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return series
    if series.dtype != pl.String:
        return None
    text = series.str.strip_chars()
    text = text.set(text == "", None)
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count() and numbers.drop_nulls().is_finite().all():
        return numbers
    present = text.drop_nulls()
    # dates of one form stand in the order of their text
    forms = (r"^\d{4}-\d{2}-\d{2}$", r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$")
    return text if any(present.str.contains(form).all() for form in forms) else None


def _by_hierarchy(series: pl.Series, plan: Plan) -> tuple[Ruled, Codes]:
    tree, codes, has_missing = climb(series, plan)
    return Ruled(series.name, "hierarchy", len(tree.leaves) + has_missing, tree), codes

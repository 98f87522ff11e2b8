"""Values without a hierarchy: codes by name, published as sets, or starred out."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode.number import to_numbers, whole_days
from shoal.encode.tree import look_up, to_text
from shoal.model.column import TREE, Axis, Column
from shoal.model.hierarchy import Builder
from shoal.model.kind import Kind
from shoal.model.plan import Plan

__all__ = ["encode_label", "encode_suppressed"]


def encode_label(series: pl.Series, plan: Plan) -> tuple[Column, tuple[NDArray[np.int32], ...]]:
    """Code one label column; it gives up one step for each value after the first."""
    text, values, codes, has_missing = _coded_text(series)
    axis = Axis.of_set(len(values), has_missing=has_missing)
    column = Column(
        name=text.name,
        kind="label",
        weight=plan.weight(text.name),
        axes=(axis,),
        has_missing=has_missing,
        denominator=float(axis.size - 1),
        values=values,
    )
    return column, (codes,)


def encode_suppressed(
    series: pl.Series, kind: Kind, plan: Plan
) -> tuple[Column, tuple[NDArray[np.int32], ...]]:
    """Code a column of any kind for the style `suppress`: a value, or a star."""
    if kind.name in {"number", "date"}:
        to_numbers(series, kind)  # a number column with text is an error in every style
        series = whole_days(series)
    tree = plan.hierarchies.get(series.name)
    if isinstance(tree, Builder) and tree.ends:  # no star is needed for a value to be one with others
        cells = to_text(series)
        series = cells.replace(tree.coded(cells.drop_nulls().unique().to_list(), column=series.name))
    text, values, codes, has_missing = _coded_text(series)
    size = len(values) + has_missing
    axis = Axis(
        form=TREE,
        size=size,
        missing=len(values) if has_missing else -1,
        share=1.0 if size > 1 else 0.0,
        gap=np.ones(max(size - 1, 0)),
        levels=np.stack([np.arange(size), np.zeros(size)]).astype(np.int32),
    )
    column = Column(
        name=text.name,
        kind=kind.name,
        weight=plan.weight(text.name),
        axes=(axis,),
        has_missing=has_missing,
        denominator=1.0,
        values=values,
    )
    return column, (codes,)


def _coded_text(
    series: pl.Series,
) -> tuple[pl.Series, tuple[str, ...], NDArray[np.int32], bool]:
    text = to_text(series)
    values = tuple(text.drop_nulls().unique().sort().to_list())
    codes, missing = look_up(text, values)
    return text, values, codes, missing > 0

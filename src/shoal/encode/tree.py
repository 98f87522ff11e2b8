"""Values with a hierarchy: codes by depth-first order, measured by the common ancestor."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.model.column import TREE, Axis, Column
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plain import as_text, has_text
from shoal.model.plan import Plan

__all__ = ["climb", "encode_tree", "look_up", "to_text", "tree_column"]


def encode_tree(series: pl.Series, plan: Plan) -> tuple[Column, tuple[NDArray[np.int32], ...]]:
    """Code one column that has a hierarchy."""
    tree, codes, has_missing = climb(series, plan)
    return tree_column(series.name, tree, plan, has_missing=has_missing), (codes,)


def climb(series: pl.Series, plan: Plan) -> tuple[Hierarchy, NDArray[np.int32], bool]:
    """The tree of a column, built where it is yet to be, each cell's leaf, and whether some are missing."""
    text = to_text(series)
    tree = plan.hierarchies[series.name]
    if isinstance(tree, Builder):
        tree = tree.build(text.drop_nulls().unique().to_list(), column=series.name)
    codes, missing = look_up(text.replace(tree.within) if tree.within else text, tree.leaves)
    strange = missing - text.null_count()
    if strange:
        raise DataError(
            f"Column {series.name!r} has {strange} of {len(text)} cells whose value is not in its "
            "hierarchy. Add those values to the hierarchy, or name them as missing marks.",
            field="hierarchies",
            column=series.name,
        )
    return tree, codes, missing > 0


def look_up(text: pl.Series, values: tuple[str, ...]) -> tuple[NDArray[np.int32], int]:
    """Each cell's place among `values`, len(values) where it has none; and how many have none."""
    places = text.cast(pl.Enum(list(values)), strict=False).to_physical().cast(pl.Int32)
    return places.fill_null(len(values)).to_numpy().astype(np.int32), places.null_count()


def to_text(series: pl.Series) -> pl.Series:
    """Cells as they are written in hierarchy files: whole floats without `.0`."""
    if series.dtype == pl.String:
        return series
    if not has_text(series.dtype):
        raise DataError(
            f"Column {series.name!r} is of the type {series.dtype.base_type().__name__}, which has no "
            "text to publish. Convert it first.",
            column=series.name,
        )
    return as_text(series)


def tree_column(name: str, tree: Hierarchy, plan: Plan, *, has_missing: bool, kind: str = "tree") -> Column:
    """A tree column; missing is one more leaf right below the root."""
    present = len(tree.leaves)
    size = present + has_missing
    height = max(tree.height, 1) if has_missing else tree.height
    levels = np.empty((height + 1, size), dtype=np.int32)
    for level in range(height + 1):
        levels[level, :present] = tree.first[min(level, tree.height)]
        levels[level, present:] = present
    if has_missing:
        levels[height] = 0
    by_levels = plan.loss == "levels"
    denominator = float(height if by_levels else size - 1)
    if plan.loss == "sets":
        axis = Axis.of_set(present, has_missing=has_missing)
    else:
        axis = Axis(
            form=TREE,
            size=size,
            missing=present if has_missing else -1,
            share=1.0 if size > 1 else 0.0,
            gap=_gaps(levels, by_levels=by_levels) / (denominator or 1.0),
            levels=levels,
        )
    return Column(
        name=name,
        kind=kind,
        weight=plan.weight(name),
        axes=(axis,),
        has_missing=has_missing,
        denominator=denominator,
        values=tree.leaves,
        hierarchy=tree,
    )


def _gaps(levels: NDArray[np.int32], *, by_levels: bool) -> NDArray[np.float64]:
    """What the common ancestor of each two neighbouring codes gives up, before division."""
    size = levels.shape[1]
    gap = np.zeros(max(size - 1, 0))
    open_ = np.ones(gap.size, dtype=bool)
    for level, first in enumerate(levels):
        joined = open_ & (first[1:] == first[:-1])
        if by_levels:
            gap[joined] = level
        else:
            leaves = np.bincount(first, minlength=size)[first]
            gap[joined] = leaves[1:][joined] - 1
        open_ &= ~joined
    return gap

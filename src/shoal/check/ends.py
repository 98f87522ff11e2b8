"""Whether a table says more of values in coded ends than that they lie there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from shoal.model.cell import parse_set
from shoal.model.hierarchy import Builder, Hierarchy

__all__ = ["beyond_ends", "coding_of", "is_beyond"]


def coding_of(trees: Mapping[str, Hierarchy | Builder], column: str) -> Builder | None:
    """What codes the ends of a column; None where nothing does."""
    tree = trees.get(column)
    return tree if isinstance(tree, Builder) and tree.ends else None


def is_beyond(cell: str | None, coding: Builder) -> bool:
    """Whether a cell, or a member of a set, tells more of a value in an end than that it lies there."""
    return any(coding.is_beyond(member) for member in parse_set(cell) if member is not None)


def beyond_ends(cells: Iterable[pl.DataFrame], trees: Mapping[str, Hierarchy | Builder]) -> dict[str, int]:
    """By column whose ends are coded, how many of its rows tell more."""
    found: dict[str, int] = {}
    for frame in cells:
        for name in frame.columns:
            coding = coding_of(trees, name)
            if coding is not None:
                counted = frame[name].cast(pl.String).alias("cell").value_counts(name="rows")
                more = sum(rows for cell, rows in counted.iter_rows() if is_beyond(cell, coding))
                found[name] = found.get(name, 0) + more
    return found

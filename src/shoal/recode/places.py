"""The published cells of places: a rectangle as text, as bounds, or as centre and size."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model.cell import SUPPRESSED, print_box
from shoal.model.column import Column
from shoal.model.plan import Plan

__all__ = ["place_columns"]

Codes = NDArray[np.int32]


def place_columns(column: Column, low: Codes, high: Codes, plan: Plan) -> list[pl.Series]:
    """The cells of each group; `low` and `high` have one line per group and one axis each.

    A group that mixes missing places with others is suppressed.
    """
    missing = column.axes[0].missing
    absent, mixed = low[:, 0] == missing, high[:, 0] == missing
    if plan.cells in {"text", "id"}:
        ends = [
            _texts(column.numbers[axis], codes, mixed)
            for axis in (0, 1)
            for codes in (low[:, axis], high[:, axis])
        ]
        cells = [
            None if no else SUPPRESSED if mix else print_box([(a, b), (c, d)])
            for no, mix, a, b, c, d in zip(absent, mixed, *ends, strict=True)
        ]
        return [pl.Series(column.name, cells, dtype=pl.String)]
    published: list[pl.Series] = []
    for axis, part in enumerate(column.parts):
        values = np.r_[column.numbers[axis], np.nan]  # the last code may be missing
        least, greatest = (
            values[np.where(mixed, -1, low[:, axis])],
            values[np.where(mixed, -1, high[:, axis])],
        )
        if plan.cells == "bounds":
            pairs = {f"{part}_low": least, f"{part}_high": greatest}
        else:
            pairs = {part: (least + greatest) / 2, f"{part}_size": greatest - least}
        published += [pl.Series(name, numbers).fill_nan(None) for name, numbers in pairs.items()]
    return published


def _texts(values: NDArray[np.float64], codes: Codes, mixed: NDArray[np.bool_]) -> list[str]:
    """The text of each code; of those that will not be shown, none."""
    used, place = np.unique(np.where(mixed, 0, codes), return_inverse=True)
    texts = [repr(value) for value in values[used[used < values.size]].tolist()] or [""]
    return [texts[at] for at in place.ravel().tolist()]

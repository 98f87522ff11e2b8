"""A finished table made anew: plain values in published order, and nothing else of the original.

A sorted or filtered frame shares memory with the frame it came from: its texts are views whose offsets
tell each row's place, the texts of withheld rows stay in the buffers, bytes stay under missing cells, and
categories keep values that no row has. All of it would be written to Arrow files and pickles. So every
column is copied cell by cell into new buffers, with zeros under missing cells. Of texts that stand in many
cells each is copied once, sorted, and the cells point at it: where they point tells the text and no more.

Categories hold the values that stand in the table. An Enum keeps their order, which somebody declared.
A Categorical becomes text: its codes belong to the whole process and tell in which order values were first
met. Inside lists and structs, categories become text as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError

__all__ = ["anew"]

OFTEN = 8
"""Cells of a text, in the mean, from which on each text is copied once."""


def anew(table: pl.DataFrame) -> pl.DataFrame:
    """The same cells in the same order, in memory of their own."""
    return pl.DataFrame([_column(series) for series in table.iter_columns()])


def _column(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.Enum):
        present = set(series.unique().drop_nulls().to_list())
        kept = [value for value in series.dtype.categories.to_list() if value in present]
        return _column(series.cast(pl.String)).cast(pl.Enum(kept))
    if isinstance(series.dtype, pl.Categorical):
        series = series.cast(pl.String)
    if series.dtype == pl.String and series.len() >= OFTEN:
        values = series.unique().drop_nulls()
        if OFTEN * values.len() <= series.len():
            return _texts(series, values.sort())
    try:
        cells = _fresh(series.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()))
        return pl.Series(series.name, cells)
    except (pa.ArrowException, pl.exceptions.PolarsError):
        raise DataError(
            f"Column {series.name!r} is of the type {series.dtype.base_type().__name__}, which cannot be "
            "published. Give it a plain type first, such as text or numbers.",
            column=series.name,
        ) from None


def _texts(series: pl.Series, values: pl.Series) -> pl.Series:
    """The cells of a column of few texts, all of them in `values`."""
    places = series.cast(pl.Enum(values)).to_physical().cast(pl.UInt32).fill_null(values.len())
    copied = _fresh(values.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()))
    nothing = pl.Series([None], dtype=pl.String)
    return pl.concat([pl.Series(copied), nothing], rechunk=True).gather(places).alias(series.name)


def _fresh(cells: Any) -> Any:
    """A copy of an Arrow array that shares nothing with it, with zeros wherever it is null."""
    kind = cells.type
    missing = cells.is_null()
    if pa.types.is_dictionary(kind):
        return _fresh(cells.cast(kind.value_type))
    if pa.types.is_large_list(kind):
        sizes = pc.fill_null(pc.list_value_length(cells), 0)
        starts = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(sizes)])
        return pa.LargeListArray.from_arrays(starts, _fresh(cells.flatten()), mask=missing)
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
        places = np.arange(len(cells) * width) + cells.offset * width
        inside = pc.take(cells.values, pa.array(places, mask=np.repeat(missing.to_numpy(False), width)))
        return pa.FixedSizeListArray.from_arrays(_fresh(inside), width, mask=missing)
    if pa.types.is_struct(kind):
        parts = [_fresh(part) for part in cells.flatten()]
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(parts, names=names, mask=missing)
    if pa.types.is_nested(kind):
        raise pa.ArrowNotImplementedError
    if pa.types.is_floating(kind):
        wide = cells.cast(pa.float32()) if pa.types.is_float16(kind) else cells
        wide = pc.add(wide, pa.scalar(0.0, wide.type))  # 0.0 for -0.0
        cells = pc.if_else(pc.is_nan(wide), pa.scalar(None, wide.type), wide).cast(kind)
    # unlike a cast or a slice, which leave bytes where a cell is null; and places of Polars, since Arrow
    # loads pandas to look at those of NumPy
    return pc.take(cells, pl.int_range(len(cells), eager=True).to_arrow())

"""Persons by numbers that travel with rows: hashes of 64 bits of the cells that name them.

Two persons have one number by a chance of one in 10^19; they are then counted as one, so nobody is ever
counted twice. The hash has no salt: the same release must come out of two runs, and the numbers leave the
run as little as the cells do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.parts.hashes import SEED, hash_keys, hash_texts
from shoal.model.missing import missing_to_null
from shoal.model.plain import is_plain

__all__ = ["MISSING", "numbers_of_persons"]

MISSING = 0
"""The number of all who are missing, who may be one."""


def numbers_of_persons(cells: Any, marks: tuple[str, ...]) -> NDArray[np.int64]:
    """The number of the person in each cell of an Arrow array; `marks` are those of missing cells.

    Blanks around a text do not matter. Whole numbers and texts have the hash that Spark's `xxhash64` gives.
    """
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        words: NDArray[np.int64] = np.append(numbers_of_persons(cells.dictionary, marks), MISSING)
        places = cells.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        numbers: NDArray[np.int64] = words[places]
        return numbers
    series = missing_to_null(pl.Series(cells), marks)
    if not is_plain(series.dtype):
        raise DataError(
            f"The column that tells persons apart is of the type {series.dtype.base_type().__name__}, "
            "which cannot be compared. Give it a plain type first, such as text or numbers.",
            field="unit",
        )
    if isinstance(series.dtype, pl.Duration | pl.Time):  # of which texts do not tell all
        series = series.to_physical()
    missing = series.is_null().to_numpy()
    if series.dtype.is_integer() and series.dtype not in {pl.UInt64, pl.Int128}:
        out = np.empty(len(series), dtype=np.uint64)
        hash_keys(series.cast(pl.Int64).fill_null(0).to_numpy()[np.newaxis], out)
    elif series.dtype == pl.Binary:  # bytes need not be a text
        out = _of_texts(series.fill_null(b""))
    else:
        out = _of_texts(series.cast(pl.String).str.strip_chars().fill_null(""))
    out[out == MISSING] = 1
    out[missing] = MISSING
    return out.view(np.int64)


def _of_texts(texts: pl.Series) -> NDArray[np.uint64]:
    array: Any = texts.to_arrow()
    array = array.cast(pa.large_binary() if texts.dtype == pl.Binary else pa.large_string())
    _, ends, data = array.buffers()
    first, many = array.offset, len(array)
    places = np.frombuffer(ends, dtype=np.int64)[first : first + many + 1]
    letters = np.zeros(1, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    out = np.empty(many, dtype=np.uint64)
    hash_texts(letters, places, SEED, out)
    return out

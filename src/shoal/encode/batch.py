"""Rows as codes, batch by batch, by what a survey has found.

A column of words comes as a dictionary and each word of it is looked up once; whole numbers and dates that
lie close are looked up in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encode.space import space_of
from shoal.errors import DataError
from shoal.model.coded import Coded, pack
from shoal.model.column import Column
from shoal.model.known import Known
from shoal.model.missing import missing_to_null
from shoal.model.plan import Plan

__all__ = ["Carried", "Coder", "Lookup", "carried_of", "coder_of"]

Codes = NDArray[np.int32]
CLOSE = 4
"""Whole numbers are looked up in a table where that has at most so many places for each of them."""
SMALL = 100_000
"""A table of so many places is never too large."""


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The different cells of one column, as they were read, and their codes.

    `null` is the code of null cells, -1 where there were none; `table` has the codes by value less `least`,
    where that is not too wide.
    """

    name: str
    cells: pl.Series
    words: Any
    codes: Codes
    null: int
    table: Codes | None
    least: int

    @classmethod
    def of(cls, cells: pl.Series, codes: Codes) -> Lookup:
        """From cells, each once, and the code of each."""
        present = cells.is_not_null().to_numpy()
        null = -1 if present.all() else int(codes[~present][0])
        kept, its = cells.filter(pl.Series(present)), np.ascontiguousarray(codes[present], dtype=np.int32)
        words = kept.to_arrow().cast(pa.string()) if kept.dtype == pl.String else None
        return cls(cells.name, kept, words, its, null, *_table(kept, its))

    def codes_of(self, array: Any) -> Codes:
        """The codes of an Arrow array of cells, all of which must have been seen."""
        found = self._find(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)
        if found.size and int(found.min()) < 0:
            raise DataError(
                f"The table changed while it was read: column {self.name!r} has cells that were not there "
                "before. Let nobody write to it, and try again.",
                column=self.name,
            )
        return found

    def _find(self, array: Any) -> Codes:
        """Codes, -1 where a cell was never seen."""
        if pa.types.is_dictionary(array.type):
            words: Codes = np.append(self._find(array.dictionary), np.int32(self.null))
            places = array.indices
            if places.null_count:
                places = places.fill_null(len(words) - 1)
            its: Codes = words[places.to_numpy(zero_copy_only=False)]
            return its
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        if self.table is not None and (pa.types.is_integer(array.type) or pa.types.is_date32(array.type)):
            codes = self._by_table(array, self.table)
        elif self.words is not None:
            found = pc.index_in(array.cast(pa.string()), value_set=self.words)
            places = found.fill_null(len(self.words)).to_numpy(zero_copy_only=False)
            codes = np.append(self.codes, np.int32(-1))[places]
        else:
            codes = self._by_join(array)
        if missing is not None:
            codes[missing] = self.null
        return codes

    def _by_table(self, array: Any, table: Codes) -> Codes:
        whole = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array
        if whole.null_count:
            whole = whole.fill_null(self.least)
        places = whole.to_numpy(zero_copy_only=False).astype(np.int64) - self.least
        outside = (places < 0) | (places >= table.size)
        codes: Codes = table[np.where(outside, 0, places)]
        codes[outside] = -1
        return codes

    def _by_join(self, array: Any) -> Codes:
        """Cells of any other type: floats, moments, truth values."""
        cells = pl.DataFrame({"cell": pl.Series(array).cast(self.cells.dtype)})
        known = pl.DataFrame({"cell": self.cells, "code": self.codes})
        found = cells.join(known, on="cell", how="left", nulls_equal=True, maintain_order="left")["code"]
        return found.fill_null(-1).to_numpy().copy()


def _table(cells: pl.Series, codes: Codes) -> tuple[Codes | None, int]:
    narrow = cells.dtype.is_integer() and cells.dtype not in {pl.UInt64, pl.Int128}
    if cells.is_empty() or not (narrow or cells.dtype == pl.Date):
        return None, 0
    numbers = cells.to_physical().cast(pl.Int64).to_numpy()
    least, greatest = int(numbers.min()), int(numbers.max())
    if greatest - least >= max(SMALL, CLOSE * len(numbers)):
        return None, 0
    table = np.full(greatest - least + 1, -1, dtype=np.int32)
    table[numbers - least] = codes
    return table, least


@dataclass(frozen=True, slots=True, eq=False)
class Coder:
    """Turns batches of a surveyed table into codes. Every column has one axis."""

    columns: tuple[Column, ...]
    lookups: tuple[Lookup, ...]

    @property
    def sizes(self) -> list[int]:
        """How many codes each axis has."""
        return [axis.size for column in self.columns for axis in column.axes]

    def codes_of(self, batch: Any) -> Codes:
        """A row of codes for every row of an Arrow batch, which has the quasi-identifiers by name."""
        out = np.empty((batch.num_rows, len(self.lookups)), dtype=np.int32)
        for axis, lookup in enumerate(self.lookups):
            out[:, axis] = lookup.codes_of(batch.column(lookup.name))
        return out

    def coded(
        self,
        lines: Codes,
        count: NDArray[np.int64],
        plan: Plan,
        *,
        row: NDArray[np.int32] | None = None,
        records: NDArray[np.int64] | None = None,
    ) -> Coded:
        """Distinct tuples in rising order as methods take them; `row` is the tuple of every row."""
        metric = pack([(axis, column.weight) for column in self.columns for axis in column.axes])
        of_rows = np.zeros(0, dtype=np.int32) if row is None else row
        space = space_of(lines, self.columns, metric, plan, row=of_rows)
        return Coded(lines, count, of_rows, self.columns, metric, space, records)


def coder_of(known: Known, counts: Mapping[str, NDArray[np.int64]]) -> Coder:
    """The coder of a table; `counts` has, by column, the rows of each cell of its book."""
    columns, lookups = [], []
    for book in known.books:
        name, (codes,) = book.column.name, book.codes
        held = np.bincount(codes, weights=counts[name], minlength=book.column.axes[0].size)
        columns.append(replace(book.column, counts=(np.rint(held).astype(np.int64),)))
        lookups.append(Lookup.of(book.cells[name], codes))
    return Coder(tuple(columns), tuple(lookups))


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A column that is published as it is, by codes in the order of its published values, missing last.

    `records` has those of each code in the whole table.
    """

    lookup: Lookup
    values: pl.Series
    records: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.lookup.name

    @property
    def size(self) -> int:
        """How many codes there are, that of missing among them."""
        return len(self.values) + 1


def carried_of(cells: pl.Series, records: NDArray[np.int64], plan: Plan) -> Carried:
    """From the different cells of a sensitive or kept column, and the records of each."""
    shown = missing_to_null(cells, plan.missing)
    values = shown.drop_nulls().unique().sort()
    ranks = shown.rank("dense").cast(pl.Int64).fill_null(len(values) + 1).to_numpy() - 1
    held = np.bincount(ranks, weights=records, minlength=len(values) + 1)
    return Carried(Lookup.of(cells, ranks.astype(np.int32)), values, np.rint(held).astype(np.int64))

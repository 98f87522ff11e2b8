"""Classes: rows that look alike in every published quasi-identifier cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.model.plain import check_plain, counts_of, is_plain

__all__ = ["Classes", "classes_of", "codes_of", "join_codes", "records_of", "too_small"]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes of a table.

    `label` is the class of each row, `records` what each row stands for (1 without a count column),
    `sizes` the records of each class, `row` one row of each class. Rows of 0 records are in no class:
    their label is -1.
    """

    label: NDArray[np.int64]
    records: NDArray[np.int64]
    sizes: NDArray[np.int64]
    row: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Records in all classes."""
        return int(self.sizes.sum())


def classes_of(table: pl.DataFrame, quasi: Sequence[str], records: NDArray[np.int64]) -> Classes:
    """Sort the rows of `table` into classes by the columns `quasi`; null is a cell like any other."""
    published = table.select(quasi)
    starts = _runs(published)
    heads = published[starts]
    key, _ = join_codes((codes_of(heads[name]) for name in quasi), starts.size)
    key = np.unique(key, return_inverse=True)[1].ravel()
    lengths = np.diff(starts, append=table.height)
    if (records > 0).all():  # as nearly always: then nothing is asked row by row
        many = int(key.max(initial=-1)) + 1
        first = np.empty(many, dtype=np.int64)
        first[key[::-1]] = starts[::-1]
        sums = np.add.reduceat(records, starts) if starts.size else starts
        return Classes(np.repeat(key, lengths), records, _sums(key, sums, many), first)
    key = np.repeat(key, lengths)
    alive = np.flatnonzero(records > 0)
    # the first row of each class that stands for a record
    first = np.full(int(key.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[key[alive[::-1]]] = alive[::-1]
    rank = np.cumsum(first >= 0) - 1
    label = np.where(records > 0, rank[key], -1)
    sizes = _sums(label[alive], records[alive], int((first >= 0).sum()))
    return Classes(label, records, sizes, first[first >= 0])


def join_codes(parts: Iterable[tuple[NDArray[np.int64], int]], rows: int) -> tuple[NDArray[np.int64], int]:
    """One code per row, alike where all codes of the row are, from codes and how many there are of each."""
    key = np.zeros(rows, dtype=np.int64)
    room = 1
    for codes, size in parts:
        if room > 2**62 // max(size, 1):  # make the key dense again before it overflows
            values, key = np.unique(key, return_inverse=True)
            key, room = key.ravel().astype(np.int64), values.size
        key = key * size + codes
        room *= max(size, 1)
    return key, room


def _runs(published: pl.DataFrame) -> NDArray[np.int64]:
    """The rows that differ from the row before them: few in a release, which is sorted by its cells."""
    if published.height == 0:
        return np.zeros(0, dtype=np.int64)
    changed = np.zeros(published.height, dtype=np.bool_)
    changed[0] = True
    for series in published:
        if not is_plain(series.dtype):
            return np.arange(published.height)  # `codes_of` says what is wrong
        changed[1:] |= series[1:].ne_missing(series[:-1]).to_numpy()
    return np.flatnonzero(changed)


def codes_of(series: pl.Series) -> tuple[NDArray[np.int64], int]:
    """A code per cell, alike exactly where the cells are alike, and how many codes there are."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):  # whose hash is not their class's
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        values = series.drop_nulls().unique(maintain_order=True)
        places = series.cast(pl.Enum(values)).to_physical()
        codes = places.cast(pl.Int64).fill_null(values.len()).to_numpy()
        return codes, values.len() + 1
    check_plain(series)
    codes = series.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    return codes, int(codes.max(initial=0)) + 1


def records_of(table: pl.DataFrame, count: str | None) -> NDArray[np.int64]:
    """What each row stands for; the count column must hold whole numbers of at least 0."""
    if count is None:
        return np.broadcast_to(np.int64(1), table.height)  # which takes no room
    if count not in table.columns:
        raise DataError(
            f"The table has no column {count!r}, which should count records.", field="count", column=count
        )
    return counts_of(table[count])


def too_small(classes: Classes, k: int) -> tuple[str, ...]:
    """What speaks against k, in words and counts; nothing where every class holds k records."""
    small = classes.sizes[classes.sizes < k]
    if small.size == 0:
        return ()
    return (
        f"{small.size} of {classes.sizes.size} classes hold fewer than k = {k} records: "
        f"{int(small.sum())} records in all, the smallest class {int(small.min())}.",
    )


def _sums(label: NDArray[np.int64], records: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Records per label; exact, since sums stay far below 2^53."""
    return np.rint(np.bincount(label, weights=records, minlength=size)).astype(np.int64)

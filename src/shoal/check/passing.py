"""A large table as it passes by: whole classes at a time, and what is known of a column in all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check.diversity import ranks_of_values
from shoal.check.kanonymity import records_of

__all__ = ["RECORDS", "Lines", "ValuesThere", "changes", "class_ends", "rises", "whole_classes"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Lines = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""Gives some columns of the table, part by part, in the order of its lines, as often as it is asked."""
RECORDS = "\0records"
TOGETHER = 32
"""Counts of so many parts are joined at a time."""


def whole_classes(
    lines: Lines, quasi: Sequence[str], others: Sequence[str], count: str | None
) -> Iterator[pl.DataFrame]:
    """Parts of whole classes; lines that follow one like them are counted with it, in a column more."""
    held: pl.DataFrame | None = None
    counts = [] if count is None else [count]
    for part in lines([*quasi, *others, *counts]):
        if part.height == 0:
            continue
        records, shown = records_of(part, count), part.select(*quasi, *others)
        if not records.all():  # rows of no record are in no class
            records, shown = records[records > 0], shown.filter(pl.Series(records > 0))
            if not records.size:
                continue
        starts = np.flatnonzero(changes(shown))
        counted = shown[starts].with_columns(pl.Series(RECORDS, np.add.reduceat(records, starts)))
        if held is not None:
            counted = pl.concat([held, counted], how="vertical_relaxed")
        last = int(np.flatnonzero(changes(counted.select(quasi)))[-1])
        held = counted[last:]
        if last:
            yield counted[:last]
    if held is not None:
        yield held


def changes(table: pl.DataFrame) -> NDArray[np.bool_]:
    """Which lines differ from the one before; the first does."""
    changed = np.zeros(table.height, dtype=np.bool_)
    changed[0] = True
    for series in table.iter_columns():
        changed[1:] |= series[1:].ne_missing(series[:-1]).to_numpy()
    return changed


def rises(heads: pl.DataFrame) -> bool:
    """Whether every line is greater than the one before it, missing greatest."""
    if heads.height < 2:
        return True
    above = np.zeros(heads.height - 1, dtype=np.bool_)
    for name in reversed(heads.columns):
        one, other = heads[name][:-1], heads[name][1:]
        more = (other > one).fill_null(False).to_numpy() | (other.is_null() & one.is_not_null()).to_numpy()
        above = more | (one.eq_missing(other).to_numpy() & above)
    return bool(above.all())


def class_ends(lines: Lines, quasi: Sequence[str]) -> Integers:
    """Where each class ends, by lines, in a table whose classes stand together."""
    ends: list[Integers] = []
    last: pl.DataFrame | None = None
    seen = 0
    for part in lines(quasi):
        if part.height == 0:
            continue
        starts = np.flatnonzero(changes(part))
        if last is None or part[:1].equals(last, null_equal=True):
            starts = starts[1:]  # the first class goes on, or nothing came before it
        ends.append(starts + seen)
        seen += part.height
        last = part[-1:]
    return np.concatenate([*ends, [seen] if seen else []]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ValuesThere:
    """The different values of a sensitive column in a whole table, the records of each, and their order."""

    cells: pl.Series
    records: Integers
    values: pl.DataFrame
    rank: Integers | None

    @classmethod
    def of(cls, lines: Lines, name: str, count: str | None) -> ValuesThere:
        """One pass over a column."""
        found: list[pl.DataFrame] = []
        names = [name] if count is None else [name, count]
        for part in lines(names):
            counted = part.select(name, pl.Series(RECORDS, records_of(part, count)))
            found.append(_sums(counted, name))
            if len(found) > TOGETHER:
                found = [_sums(pl.concat(found), name)]
        counts = _sums(pl.concat(found), name).sort(name, nulls_last=True)
        cells = counts[name]
        values = counts.select(name).with_row_index("\0code")
        return cls(cells, counts[RECORDS].to_numpy(), values, ranks_of_values(cells))

    @property
    def share(self) -> Floats:
        """Of each value."""
        shares: Floats = self.records / max(int(self.records.sum()), 1)
        return shares

    @property
    def share_by_rank(self) -> Floats | None:
        """Of each place in the order behind the values."""
        if self.rank is None:
            return None
        shares: Floats = np.bincount(self.rank, weights=self.share).astype(np.float64)
        return shares

    def codes_of(self, series: pl.Series) -> Integers:
        """The place of each cell among the values."""
        found = series.to_frame().join(
            self.values, on=series.name, how="left", nulls_equal=True, maintain_order="left"
        )
        return found["\0code"].cast(pl.Int64).to_numpy()


def _sums(table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.group_by(name).agg(pl.col(RECORDS).sum())

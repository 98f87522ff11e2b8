"""Rows as lines of fixed width in scratch files: codes, what is carried, records and persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.batch import Lookup
from shoal.encode.keys import narrowest, pack_keys, unpack_keys
from shoal.encode.part import Rows
from shoal.engines.parts import PartTask
from shoal.group.parts.persons import numbers_of_persons
from shoal.recode.pieces import RowPieces

__all__ = ["LABEL", "Counted", "Layout", "Lines"]

Lines = NDArray[Any]
Kind = np.dtype[Any]
ROOM = 2**62
LABEL = "r"
"""The group of a line, or its class."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The column that says how many records a row stands for, by its different cells."""

    lookup: Lookup
    numbers: NDArray[np.int64]

    def records_of(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """The records of every row of a batch."""
        return self.numbers[self.lookup.codes_of(batch.column(self.lookup.name))]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What a line holds before its part is grouped (`put`), and after (`out`).

    Both have what is carried (s0, s1, ..), records (n) where a column counts them, and persons (p0, ..);
    before come codes (q0, ..), after the group. Lines that were joined have how often they stood there (t).
    Where counts may be weights, `first` marks one line of every row, however many it was parted into.
    """

    about: PartTask
    counted: Counted | None
    persons: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns of the table that are read."""
        counted = [] if self.counted is None else [self.counted.lookup.name]
        carried = [one.name for one in self.about.carried]
        return list(dict.fromkeys([*self.about.plan.quasi, *carried, *counted, *self.persons]))

    @property
    def carried(self) -> list[tuple[str, Kind]]:
        """The fields of what is carried."""
        kinds = narrowest([one.size for one in self.about.carried])
        return [(f"s{at}", kind) for at, kind in enumerate(kinds)]

    @property
    def put(self) -> Kind:
        """A line as it is put aside."""
        codes = [(f"q{at}", kind) for at, kind in enumerate(narrowest(self.about.coder.sizes))]
        return np.dtype([*codes, *self.carried, *self._records, *self._persons])

    @property
    def joined(self) -> Kind:
        """A line that stands for several that are alike in all."""
        return np.dtype([*self.put.descr, ("t", np.int64)])

    @property
    def beside(self) -> Kind:
        """What the judge is told beside the table: who stands behind a line, and which is a row's first."""
        flag = [("first", np.bool_)] if self.may_be_weights else []
        return np.dtype([*self._persons, *flag])

    @property
    def out(self) -> Kind:
        """A line with its group or class."""
        return np.dtype([(LABEL, np.int32), *self.carried, *self._records, *self.beside.descr])

    @property
    def may_be_weights(self) -> bool:
        """Whether a count may be a weight, since nobody said that persons are counted."""
        whom = self.about.plan.whom
        return whom.count is not None and not whom.of_persons and whom.unit is None

    @property
    def _records(self) -> list[tuple[str, Kind]]:
        if self.counted is None:
            return []
        return [("n", np.min_scalar_type(int(self.counted.numbers.max(initial=0))))]

    @property
    def _persons(self) -> list[tuple[str, Kind]]:
        return [(f"p{at}", np.dtype(np.int64)) for at in range(len(self.persons))]

    def rows_of(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch that stand for any record."""
        rows = Rows(
            self.about.coder.codes_of(batch),
            tuple(one.lookup.codes_of(batch.column(one.name)) for one in self.about.carried),
            None if self.counted is None else self.counted.records_of(batch),
            tuple(numbers_of_persons(batch.column(n), self.about.plan.missing) for n in self.persons),
        )
        if rows.records is not None and not rows.records.all():
            rows = rows.take(rows.records > 0)
        return rows

    @property
    def own(self) -> list[str]:
        """The columns that tuples are made of."""
        counted = [] if self.counted is None else [self.counted.lookup.name]
        return [*self.about.plan.quasi, *counted]

    def tuples_of(self, batch: pa.RecordBatch) -> Rows:
        """The same without what is carried and persons."""
        records = None if self.counted is None else self.counted.records_of(batch)
        rows = Rows(self.about.coder.codes_of(batch), (), records)
        return rows if records is None or records.all() else rows.take(records > 0)

    def lines_of(self, rows: Rows) -> Lines:
        """Rows as lines to be put aside."""
        lines = np.empty(rows.rows, dtype=self.put)
        for axis in range(rows.codes.shape[1]):
            lines[f"q{axis}"] = rows.codes[:, axis]
        for (name, _), codes in zip(self.carried, rows.carried, strict=True):
            lines[name] = codes
        for (name, _), who in zip(self._persons, rows.persons, strict=True):
            lines[name] = who
        if self.counted is not None:
            lines["n"] = rows.records
        return lines

    def once(self, lines: Lines) -> Lines:
        """Lines that each stand there once."""
        out = np.empty(len(lines), dtype=self.joined)
        for name in lines.dtype.names or ():
            out[name] = lines[name]
        out["t"] = 1
        return out

    def read(self, lines: Lines, *, codes: bool = True) -> Rows:
        """The rows behind lines that were put aside; without `codes` all have the same."""
        names = lines.dtype.names or ()
        shape = len(lines), len(self.about.coder.sizes)
        its = np.empty(shape, dtype=np.int32) if codes else np.zeros(shape, dtype=np.int32)
        for axis in range(shape[1] if codes else 0):
            its[:, axis] = lines[f"q{axis}"]
        records = lines["t"] if "t" in names else lines["n"].astype(np.int64) if "n" in names else None
        return Rows(
            its,
            tuple(lines[name] for name, _ in self.carried),
            records,
            tuple(lines[name] for name, _ in self._persons),
        )

    def keys_of(self, lines: Lines) -> NDArray[np.int64]:
        """Keys that are alike where lines are."""
        rows = self.read(lines)
        tables = [rows.codes, *(codes[:, np.newaxis] for codes in rows.carried)]
        keys = pack_keys(np.concatenate(tables, axis=1, dtype=np.int32), self._sizes)
        return np.concatenate([keys, *(who[np.newaxis] for who in rows.persons)])

    def of_keys(self, keys: NDArray[np.int64], times: NDArray[np.int64]) -> Lines:
        """Lines from their keys, each with how often it stood there."""
        lines = np.empty(times.size, dtype=self.joined)
        codes = unpack_keys(keys[: len(keys) - len(self.persons)], self._sizes)
        names = [name for name in self.put.names or () if name[0] in "qs"]
        for axis, name in enumerate(names):
            lines[name] = codes[:, axis]
        for at, (name, _) in enumerate(self._persons):
            lines[name] = keys[len(keys) - len(self.persons) + at]
        lines["t"] = times
        return lines

    @property
    def _sizes(self) -> list[int]:
        return [*self.about.coder.sizes, *(one.size for one in self.about.carried)]

    def labelled(self, rows: Rows, pieces: RowPieces) -> Lines:
        """Lines of published pieces with their groups; rows that were joined stand there again as often."""
        kept = np.flatnonzero(pieces.group >= 0)
        row, group, records = pieces.row[kept], pieces.group[kept], pieces.records[kept]
        if self.counted is None and rows.records is not None:
            row, group = np.repeat(row, records), np.repeat(group, records)
        lines = np.empty(row.size, dtype=self.out)
        lines[LABEL] = group
        for (name, _), codes in zip(self.carried, rows.carried, strict=True):
            lines[name] = codes[row]
        for (name, _), who in zip(self._persons, rows.persons, strict=True):
            lines[name] = who[row]
        if self.counted is not None:
            lines["n"] = records
        if self.may_be_weights:
            lines["first"] = False
            lines["first"][np.unique(row, return_index=True)[1]] = True
        return lines

    def order(self, lines: Lines, classes: int) -> NDArray[np.intp]:
        """By class, then by what is carried, column by column, then by records."""
        keys: list[NDArray[Any]] = []
        key, room = lines[LABEL].astype(np.int64), max(classes, 1)
        more: Sequence[tuple[str, int]] = [
            (f"s{at}", one.size) for at, one in enumerate(self.about.carried)
        ]
        if self.counted is not None:
            more = [*more, ("n", int(self.counted.numbers.max(initial=0)) + 1)]
        for name, size in more:
            if room > ROOM // size:
                keys.append(key)
                key, room = np.zeros(len(lines), dtype=np.int64), 1
            key = key * size + lines[name].astype(np.int64)
            room *= size
        keys.append(key)
        return np.argsort(key, kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])

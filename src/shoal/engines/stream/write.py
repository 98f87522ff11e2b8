"""The finished table: rows scattered to ranges of classes, each sorted by whole numbers and written."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.encode.keys import joined
from shoal.encode.part import Rows
from shoal.engines.stream.lines import LABEL, Layout, Lines
from shoal.engines.stream.tuples import line_keys
from shoal.engines.stream.under_way import under_way
from shoal.engines.stream.values import InParts, PartGroups, Sorted
from shoal.errors import BrokenPromise
from shoal.model.grouping import WITHHELD, Grouping
from shoal.model.plan import Plan
from shoal.model.task import Progress
from shoal.read.nameless import Nameless
from shoal.recode.faces import Faces, cells_of
from shoal.recode.order import ranks_of
from shoal.recode.pieces import RowPieces, deal

__all__ = ["write_sorted"]

RANGE = 1_000_000
"""Rows of a range, about."""
CHUNK = 1 << 20


class _Sorting:
    """Classes in published order, and the ranges of them to which rows are sent."""

    def __init__(self, coded: InParts, grouping: PartGroups) -> None:
        self.coded = coded
        self.grouping = grouping
        self.rank, self.one = ranks_of(coded.columns, grouping.faces)
        self.range = self._ranges()
        self.line = coded.layout.out
        self.files = [Nameless(coded.table.folder) for _ in range(int(self.range[-1]) + 1)]
        self._lock = threading.Lock()

    def _ranges(self) -> NDArray[np.int32]:
        """The range of every class; numbered in order, and each is used."""
        long = max(RANGE, RANGE * self.coded.total // self.coded.table.rows)  # where records are counted
        held = np.bincount(self.rank, weights=self.grouping.faces.size)  # exact below 2^53
        before = (np.cumsum(held) - held) // long
        return np.cumsum(np.diff(before, prepend=before[:1]) != 0, dtype=np.int32)

    def faces(self, first: int, end: int) -> Faces:
        """What classes show, in published order."""
        return self.grouping.faces.take(self.one[first:end])

    def send(self, lines: NDArray[Any]) -> None:
        """Rows, by group of the whole table, to the files of their ranges."""
        lines[LABEL] = self.rank[lines[LABEL]]
        to = self.range[lines[LABEL]].astype(np.min_scalar_type(len(self.files)))
        lines = lines[np.argsort(to, kind="stable")]
        held = np.bincount(to, minlength=len(self.files))
        ends = np.cumsum(held)
        with self._lock:
            for at in np.flatnonzero(held).tolist():
                self.files[at].write(lines[ends[at] - held[at] : ends[at]])


def write_sorted(coded: InParts, grouping: PartGroups, plan: Plan, progress: Progress) -> Sorted:
    """Make the finished table in a file without a name."""
    sorting = _Sorting(coded, grouping)
    progress("sorting rows", 0.0)
    if grouping.whole is None:
        _send_parts(sorting)
    else:
        _send_rows(sorting, grouping.whole, plan)
    progress("writing", 0.0)
    return _write(sorting, coded, grouping, progress)


def _send_parts(sorting: _Sorting) -> None:
    grouping, kind = sorting.grouping, sorting.line

    def scatter(at: int) -> None:
        file = grouping.rows[at]
        for first in range(0, file.size // kind.itemsize, CHUNK):
            lines = file.rows(kind, first=first, many=CHUNK)
            lines[LABEL] += grouping.first[at].astype(np.int32)
            sorting.send(lines)
        file.close()

    for _ in under_way(scatter, range(len(grouping.rows)), sorting.coded.table.hands):
        pass


def _send_rows(sorting: _Sorting, grouping: Grouping, plan: Plan) -> None:
    """The rows of few tuples stream by; those of tuples that were split wait until all are there."""
    coded, layout = sorting.coded, sorting.coded.layout
    assert coded.whole is not None, "few tuples are held"
    assert coded.keys is not None, "with their keys"
    known = joined(coded.keys)
    distinct = coded.whole.distinct
    shared = np.bincount(grouping.distinct, minlength=distinct) > 1
    copies = np.cumsum(np.where(shared, coded.whole.count, 0))
    long = max(CHUNK, CHUNK * coded.total // coded.table.rows)
    waits = (copies // long).astype(np.int32)  # ranges of tuples that are dealt together, in order
    waiting = [Nameless(coded.table.folder) for _ in range(int(waits[-1]) + 1)] if shared.any() else []
    first = np.full(distinct, WITHHELD, dtype=np.int32)
    first[grouping.distinct[::-1]] = grouping.group[::-1]

    def place(batch: pa.RecordBatch) -> tuple[Rows, NDArray[np.int32]]:
        rows = layout.rows_of(batch)
        return rows, np.searchsorted(known, joined(line_keys(rows, layout.about))).astype(np.int32)

    for rows, row in under_way(place, coded.table.scan.batches(layout.names), coded.table.hands):
        apart = shared[row]
        for at in np.unique(waits[row[apart]]).tolist():
            mine = apart & (waits[row] == at)
            waiting[at].write(_labelled(layout, rows.take(mine), row[mine]))
        sorting.send(_labelled(layout, rows.take(~apart), first[row[~apart]]))
    random = np.random.default_rng(plan.seed)
    for at, file in enumerate(waiting):
        lines = file.rows(sorting.line)
        rows, row = layout.read(lines, codes=False), lines[LABEL].astype(np.int32)
        some = ((waits == at) & shared)[grouping.distinct]
        pieces = Grouping(grouping.distinct[some], grouping.group[some], grouping.count[some])
        sorting.send(
            layout.labelled(rows, deal(row, rows.carried, pieces, distinct, random, records=rows.records))
        )
        file.close()


def _labelled(layout: Layout, rows: Rows, label: NDArray[np.int32]) -> Lines:
    """Whole rows with their labels; those below 0 are left out."""
    records = np.ones(rows.rows, dtype=np.int64) if rows.records is None else rows.records
    return layout.labelled(rows, RowPieces(np.arange(rows.rows, dtype=np.int32), label, records))


def _write(sorting: _Sorting, coded: InParts, grouping: PartGroups, progress: Progress) -> Sorted:
    columns = coded.columns
    ends = np.searchsorted(sorting.range, np.arange(len(sorting.files) + 1))
    layout = coded.layout
    values = {one.name: _words(one.values) for one in layout.about.carried}
    counted = None if layout.counted is None else layout.counted.lookup.name
    names = (*(column.name for column in columns), *values, *([] if counted is None else [counted]))
    word = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            *((column.name, word) for column in columns),
            *((name, word if pa.types.is_string(its.type) else its.type) for name, its in values.items()),
            *([] if counted is None else [(counted, pa.int64())]),
        ]
    )
    told = layout.beside

    def make(at: int) -> tuple[pa.Table, Lines]:
        lines = sorting.files[at].rows(sorting.line)
        sorting.files[at].close()
        faces = sorting.faces(int(ends[at]), int(ends[at + 1]))
        lines[LABEL] -= np.int32(ends[at])
        lines = lines[layout.order(lines, faces.groups)]
        made = []
        for axis, column in enumerate(columns):
            cells = cells_of(column, faces, axis)
            words = cells.drop_nulls().unique().sort()
            place = cells.cast(pl.Enum(words)).to_physical().cast(pl.Int32).to_arrow()
            made.append(pa.DictionaryArray.from_arrays(place.take(pa.array(lines[LABEL])), _words(words)))
        for (name, _), its in zip(layout.carried, values.values(), strict=True):
            codes = lines[name].astype(np.int64)
            places = pa.array(codes.astype(np.int32), mask=codes == len(its))
            if pa.types.is_string(its.type):
                made.append(pa.DictionaryArray.from_arrays(places, its))
            else:
                made.append(its.take(places))
        if counted is not None:
            made.append(pa.array(lines["n"].astype(np.int64)))
        beside = np.empty(len(lines), dtype=told)
        for field in told.names or ():
            beside[field] = lines[field]
        return pa.table(made, schema=schema), beside

    file, aside = Nameless(coded.table.folder), Nameless(coded.table.folder)
    digest = hashlib.sha256()
    sink = _Hashing(file, digest)
    lines = records = 0
    with pq.ParquetWriter(
        sink, schema, compression="zstd", compression_level=1, store_schema=False
    ) as writer:
        for table, beside in under_way(make, range(len(sorting.files)), coded.table.hands):
            writer.write_table(table, row_group_size=RANGE)
            lines += table.num_rows
            records += table.num_rows if counted is None else pc.sum(table[counted]).as_py() or 0
            if told.itemsize:
                aside.write(beside)
            progress(f"writing record {records:,} of {coded.total:,}", records / coded.total)
    if records != coded.total - grouping.withheld:
        raise BrokenPromise("Every record is published or withheld.")
    like: Any = pl.from_arrow(_plain(schema).empty_table())
    return Sorted(file, aside, told, names, like, lines, digest.hexdigest(), grouping.parts)


def _plain(schema: Any) -> Any:
    return pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def _words(values: pl.Series) -> Any:
    array = values.to_arrow()
    return array.cast(pa.string()) if values.dtype == pl.String else array


class _Hashing:
    """A scratch file as writers know files, which keeps the hash of what is written."""

    def __init__(self, file: Nameless, digest: Any) -> None:
        self._file = file
        self._digest = digest
        self.closed = False

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.size

    def flush(self) -> None:
        return None

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

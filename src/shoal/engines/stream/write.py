"""The finished table: rows scattered to ranges of classes, each sorted by whole numbers and written."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.encode.keys import pack_keys
from shoal.engines.stream.group import carried_kinds, deal
from shoal.engines.stream.under_way import under_way
from shoal.engines.stream.values import InParts, PartGroups, Sorted
from shoal.errors import BrokenPromise
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Progress
from shoal.read.nameless import Nameless
from shoal.recode.faces import Faces, cells_of, ranks_of

__all__ = ["write_sorted"]

RANGE = 1_000_000
"""Rows of a range, about."""
CHUNK = 1 << 20
ROOM = 2**62


class _Sorting:
    """Classes in published order, and the ranges of them to which rows are sent."""

    def __init__(self, coded: InParts, grouping: PartGroups) -> None:
        self.coded = coded
        self.grouping = grouping
        self.rank, one = ranks_of(coded.columns, grouping.faces)
        held = np.rint(np.bincount(self.rank, weights=grouping.faces.size)).astype(np.int64)
        before = np.cumsum(held) - held
        self.range = np.unique(before // RANGE, return_inverse=True)[1].ravel().astype(np.int32)
        self.faces: Faces = grouping.faces.take(one)
        self.carried = carried_kinds(coded)
        self.line = np.dtype([("r", np.int32), *self.carried])
        self.files = [Nameless(coded.table.folder) for _ in range(int(self.range[-1]) + 1)]
        self._lock = threading.Lock()

    def send(self, lines: NDArray[Any]) -> None:
        """Rows, by group of the whole table, to the files of their ranges."""
        lines["r"] = self.rank[lines["r"]]
        to = self.range[lines["r"]].astype(np.min_scalar_type(len(self.files)))
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
            lines["r"] += grouping.first[at].astype(np.int32)
            sorting.send(lines)
        file.close()

    for _ in under_way(scatter, range(len(grouping.rows)), sorting.coded.table.workers):
        pass


def _send_rows(sorting: _Sorting, grouping: Grouping, plan: Plan) -> None:
    """The rows of few tuples stream by; those of tuples that were split wait until all are there."""
    coded = sorting.coded
    assert coded.whole is not None, "few tuples are held"
    sizes = coded.coder.sizes
    keys = pack_keys(coded.whole.codes, sizes)
    packed = keys[0] if len(keys) == 1 else _joined(keys)
    shared = np.bincount(grouping.distinct, minlength=coded.whole.distinct) > 1
    copies = np.cumsum(np.where(shared, coded.whole.count, 0))
    waits = (copies // CHUNK).astype(np.int32)  # ranges of tuples that are dealt together, in order
    waiting = [Nameless(coded.table.folder) for _ in range(int(waits[-1]) + 1)] if shared.any() else []
    names = [*plan.quasi, *(one.name for one in coded.carried)]
    first = np.full(coded.whole.distinct, -1, dtype=np.int32)
    first[grouping.distinct[::-1]] = grouping.group[::-1]

    def place(batch: pa.RecordBatch) -> NDArray[Any]:
        its = pack_keys(coded.coder.codes_of(batch), sizes)
        lines = np.empty(batch.num_rows, dtype=sorting.line)
        lines["r"] = np.searchsorted(packed, its[0] if len(its) == 1 else _joined(its))
        for (name, _), one in zip(sorting.carried, coded.carried, strict=True):
            lines[name] = one.lookup.codes_of(batch.column(one.name))
        return lines

    for lines in under_way(place, coded.table.scan.batches(names), coded.table.workers):
        apart = shared[lines["r"]]
        for at in np.unique(waits[lines["r"][apart]]).tolist():
            waiting[at].write(lines[apart & (waits[lines["r"]] == at)])
        rest = lines[~apart]
        rest["r"] = first[rest["r"]]
        sorting.send(rest[rest["r"] >= 0])
    random = np.random.default_rng(plan.seed)
    for at, file in enumerate(waiting):
        lines = file.rows(sorting.line)
        here = (waits == at) & shared
        some = here[grouping.distinct]
        pieces = Grouping(grouping.distinct[some], grouping.group[some], grouping.count[some])
        carried = [lines[name] for name, _ in sorting.carried]
        lines["r"] = deal(lines["r"].astype(np.int32), carried, pieces, coded.whole.distinct, random)
        sorting.send(lines[lines["r"] >= 0])
        file.close()


def _joined(keys: NDArray[np.int64]) -> NDArray[Any]:
    """Several keys as one that is compared from left to right."""
    wide = np.empty(keys.shape[1], dtype=[(f"k{at}", np.int64) for at in range(len(keys))])
    for at, key in enumerate(keys):
        wide[f"k{at}"] = key
    return wide


def _write(sorting: _Sorting, coded: InParts, grouping: PartGroups, progress: Progress) -> Sorted:
    columns = coded.columns
    ends = np.searchsorted(sorting.range, np.arange(len(sorting.files) + 1))
    values = {one.name: _words(one.values) for one in coded.carried}
    names = (*(column.name for column in columns), *values)
    word = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            *((column.name, word) for column in columns),
            *((name, word if pa.types.is_string(its.type) else its.type) for name, its in values.items()),
        ]
    )

    def make(at: int) -> pa.Table:
        lines = sorting.files[at].rows(sorting.line)
        sorting.files[at].close()
        faces = sorting.faces.take(slice(int(ends[at]), int(ends[at + 1])))
        lines["r"] -= np.int32(ends[at])
        lines = _in_order(lines, faces.groups, coded)
        made = []
        for axis, column in enumerate(columns):
            cells = cells_of(column, faces, axis)
            words = cells.drop_nulls().unique().sort()
            place = cells.cast(pl.Enum(words)).to_physical().cast(pl.Int32).to_arrow()
            made.append(pa.DictionaryArray.from_arrays(place.take(pa.array(lines["r"])), _words(words)))
        for (name, _), its in zip(sorting.carried, values.values(), strict=True):
            codes = lines[name].astype(np.int64)
            places = pa.array(codes.astype(np.int32), mask=codes == len(its))
            if pa.types.is_string(its.type):
                made.append(pa.DictionaryArray.from_arrays(places, its))
            else:
                made.append(its.take(places))
        return pa.table(made, schema=schema)

    file = Nameless(coded.table.folder)
    digest = hashlib.sha256()
    sink = _Hashing(file, digest)
    lines = 0
    with pq.ParquetWriter(
        sink, schema, compression="zstd", compression_level=1, store_schema=False
    ) as writer:
        for at, table in enumerate(under_way(make, range(len(sorting.files)), coded.table.workers)):
            writer.write_table(table, row_group_size=RANGE)
            lines += table.num_rows
            progress("writing", (at + 1) / len(sorting.files))
    if lines != coded.total - grouping.withheld:
        raise BrokenPromise("Every row is published or withheld.")
    like: Any = pl.from_arrow(_plain(schema).empty_table())
    return Sorted(file, names, like, lines, digest.hexdigest(), grouping.parts)


def _plain(schema: Any) -> Any:
    return pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def _words(values: pl.Series) -> Any:
    array = values.to_arrow()
    return array.cast(pa.string()) if values.dtype == pl.String else array


def _in_order(lines: NDArray[Any], classes: int, coded: InParts) -> NDArray[Any]:
    """Sorted by class, then by what is carried, column by column."""
    key, room = lines["r"].astype(np.int64), max(classes, 1)
    keys = []
    for at, one in enumerate(coded.carried):
        if room > ROOM // one.size:
            keys.append(key)
            key, room = np.zeros(len(lines), dtype=np.int64), 1
        key = key * one.size + lines[f"s{at}"]
        room *= one.size
    keys.append(key)
    return lines[np.argsort(key, kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])]


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

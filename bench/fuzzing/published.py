"""What was written, read with other people's readers: the csv of Python, and Arrow."""

from __future__ import annotations

import base64
import csv
import io
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

__all__ = ["Published", "bytes_of_table", "read_published"]


@dataclass
class Published:
    """A release as a stranger finds it: rows of cells (None = missing), and all that can be scanned."""

    names: list[str]
    rows: list[list[Any]]
    is_text: bool
    certificate: dict[str, Any]
    receipt: dict[str, Any]
    lookups: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    hay: dict[str, bytes] = field(default_factory=dict)

    def cells(self, name: str) -> list[Any]:
        """The cells of a column."""
        at = self.names.index(name)
        return [row[at] for row in self.rows]

    @property
    def texts(self) -> set[str]:
        """Every text that a reader sees."""
        seen = {str(cell) for row in self.rows for cell in row if cell is not None}
        for lookup in self.lookups.values():
            seen |= {member for members in lookup.values() for member in members if member}
        return seen


def read_published(files: Any) -> Published:
    """Read the table by its ending, certificate, receipt and lookup tables."""
    table = Path(files.table)
    hay = {
        path.name: path.read_bytes() for path in (table, files.certificate, files.receipt, *files.lookups)
    }
    certificate = json.loads(hay[Path(files.certificate).name])
    receipt = json.loads(hay[Path(files.receipt).name])
    if table.suffix in {".csv", ".tsv"}:
        names, rows = _read_csv(hay[table.name].decode("utf-8"), "\t" if table.suffix == ".tsv" else ",")
    else:
        read = _read_parquet if table.suffix == ".parquet" else _read_arrow
        arrow, extra = read(table)
        names = arrow.column_names
        rows = [list(row) for row in zip(*(column.to_pylist() for column in arrow.columns), strict=True)]
        hay |= {f"{table.name}: {what}": found for what, found in extra.items()}
    lookups = {}
    for path in files.lookups:
        (_, column), lines = _read_csv(hay[path.name].decode("utf-8"), ",")
        members: dict[str, list[str | None]] = {}
        for name, member in lines:
            members.setdefault(name, []).append(member)
        lookups[column] = members
    return Published(names, rows, table.suffix in {".csv", ".tsv"}, certificate, receipt, lookups, hay)


def _read_csv(text: str, delimiter: str) -> tuple[list[str], list[list[Any]]]:
    """Lines of cells; a blank line is no row, as nearly every reader has it."""
    lines = [
        line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if line
    ]
    return lines[0], [[cell or None for cell in line] for line in lines[1:]]


def _read_parquet(path: Path) -> tuple[pa.Table, dict[str, bytes]]:
    """The table, and what stands beside the cells: statistics, dictionaries, metadata."""
    file = pa.parquet.ParquetFile(path)
    found: dict[str, bytes] = {"schema": str(file.schema).encode()}
    for key, value in (file.metadata.metadata or {}).items():
        found[f"metadata {key!r}"] = value
        if key == b"ARROW:schema":
            found["arrow schema"] = base64.b64decode(value)
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            statistics = file.metadata.row_group(group).column(column).statistics
            if statistics is not None and statistics.has_min_max:
                found[f"statistics {group} {column}"] = f"{statistics.min!r} {statistics.max!r}".encode()
    names = [
        field.name for field in file.schema_arrow if pa.types.is_string(field.type) or _is_large(field)
    ]
    with_dictionaries = pa.parquet.read_table(path, read_dictionary=names)
    found |= dict(_buffers(with_dictionaries))
    return file.read(), found


def _is_large(field: Any) -> bool:
    return pa.types.is_large_string(field.type) or pa.types.is_dictionary(field.type)


def _read_arrow(path: Path) -> tuple[pa.Table, dict[str, bytes]]:
    with pa.ipc.open_file(path) as reader:
        table = reader.read_all()
        found = dict(_buffers(table))
        found["schema"] = bytes(table.schema.serialize())
    return table, found


def _buffers(table: pa.Table) -> Iterator[tuple[str, bytes]]:
    """Every buffer that the columns refer to, dictionaries too, used or not."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        for at, chunk in enumerate(column.chunks):
            arrays = [chunk, chunk.dictionary] if pa.types.is_dictionary(chunk.type) else [chunk]
            for which, array in enumerate(arrays):
                for place, buffer in enumerate(array.buffers()):
                    if buffer is not None:
                        yield f"buffer {name} {at} {which} {place}", buffer.to_pybytes()


def bytes_of_table(table: Any) -> dict[str, bytes]:
    """All that a user hands on who pickles or writes `release.table`."""
    found = {"pickle": pickle.dumps(table)}
    if isinstance(table, pl.DataFrame):
        found["serialized"] = table.serialize()
        found |= dict(_buffers(table.to_arrow(compat_level=pl.CompatLevel.newest())))
        written = io.BytesIO()
        table.write_ipc(written)
        found["ipc"] = written.getvalue()
    elif isinstance(table, pa.Table):
        found |= dict(_buffers(table))
        found["schema"] = bytes(table.schema.serialize())
    elif isinstance(table, pd.DataFrame):
        for name in table.columns:
            if isinstance(table[name].dtype, pd.CategoricalDtype):
                found[f"categories {name}"] = repr(list(table[name].cat.categories)).encode()
        found["attributes"] = repr(table.attrs).encode()
    return found

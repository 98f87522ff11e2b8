"""Tables from files: CSV, Parquet, Arrow, Excel, Stata, SPSS and SAS.

A CSV is read as text, every column, so that codes keep their leading zeros and kept values stay as they
are. Parsers quote cells in their errors, so nothing of theirs leaves this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from shoal.errors import DataError, PlanError, ShoalError
from shoal.model.plain import check_moments
from shoal.read.header import check_header, check_names
from shoal.read.sheet import read_sheet
from shoal.read.statistics import STATISTICS, read_statistics
from shoal.read.text import read_csv
from shoal.read.unpack import check_plain_file

__all__ = ["TableRead", "check_frame", "read_table"]

TEXT = (".csv", ".tsv", ".tab", ".txt")
PACKED = tuple(suffix + ".gz" for suffix in TEXT)
BOOK = ".xlsx"

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, eq=False)
class TableRead:
    """A table as it stood in a file, and how it was written there.

    `said` tells in words what was guessed, without values. `delimiter`, `encoding` and `decimal` are
    None where the file is not text. Number columns hold decimal points whatever `decimal` is.
    """

    frame: pl.DataFrame
    said: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
) -> TableRead:
    """Read the table in a file; its ending says what it is. What is not given is guessed and said.

    `sheet` names one of an Excel file, else the first is read; `encoding` is that of a text, or of the
    texts in a Stata, SPSS or SAS file.
    """
    path = Path(path)
    _check_file(path)
    name = path.name.lower()
    suffix = path.suffix.lower()
    if sheet is not None and suffix != BOOK:
        raise PlanError(f"A sheet is named, but {path} is no {BOOK} file. Leave the sheet out.")
    if name.endswith((*TEXT, *PACKED)):
        text = read_csv(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
        table = TableRead(text.frame, text.said, text.delimiter, text.encoding, text.decimal)
        has_names = False
    elif suffix == BOOK:
        table = TableRead(*_typed(path, partial(read_sheet, sheet=sheet)))
        has_names = False
    elif suffix in STATISTICS:
        table = TableRead(*_typed(path, partial(read_statistics, encoding=encoding)))
        has_names = True
    elif suffix in READERS:
        table = TableRead(_typed(path, READERS[suffix]))
        has_names = True
    else:
        raise DataError(
            f"{path} is of no kind that can be read. Give a file that ends in one of: "
            f"{', '.join((*TEXT, *PACKED, *READERS, BOOK, *STATISTICS))}."
        )
    check_frame(table.frame, path)
    if not has_names:  # then the first line was taken for them
        check_header(table.frame, path)
    return table


def _check_file(path: Path) -> None:
    check_plain_file(path)
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DataError(f"{path} is empty. Give a file with a header and rows.")
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or 'unknown reason'}.") from None


def check_frame(frame: pl.DataFrame, path: Path | str) -> None:
    """Refuse a table without rows, columns, names or with dates that no calendar has."""
    check_names(frame.columns, path)
    if frame.width == 0:
        raise DataError(f"{path} has no columns. Give a table with a header and rows.")
    if frame.height == 0:
        raise DataError(f"{path} has a header but no rows. Nothing can be published.")
    check_moments(frame)


def _typed(path: Path, reader: Callable[[Path], Read]) -> Read:
    try:
        return reader(path)
    except ShoalError:
        raise
    except (Exception, pl.exceptions.PanicException):
        raise DataError(
            f"{path} cannot be read as a {path.suffix.lower()} file: it is damaged, cut short or of "
            "another kind. Write it again, or give it the ending of its true kind."
        ) from None


def _parquet(path: Path) -> pl.DataFrame:
    import pyarrow.parquet as pq

    def batches() -> Iterator[object]:
        with pq.ParquetFile(path) as book:
            yield from book.iter_batches()

    _pass_by(batches())
    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def _arrow(path: Path) -> pl.DataFrame:
    import pyarrow as pa

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"

    def batches() -> Iterator[object]:
        with pa.memory_map(str(path)) as source:
            if is_file:
                book = pa.ipc.open_file(source)
                yield from map(book.get_batch, range(book.num_record_batches))
            else:
                yield from pa.ipc.open_stream(source)

    _pass_by(batches())
    if is_file:
        return pl.scan_ipc(path, glob=False, hive_partitioning=False).collect()
    return pl.read_ipc_stream(path)


def _pass_by(batches: Iterator[object]) -> None:
    """Let Arrow read a file first: where a length in it is wrong, Polars ends the process."""
    import pyarrow as pa

    with suppress(pa.ArrowNotImplementedError):  # types that Polars alone knows
        for _ in batches:
            pass
    pa.default_memory_pool().release_unused()


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
}

"""Tables from files: CSV, Parquet, Arrow and Excel.

A CSV is read as text, every column, so that codes keep their leading zeros and kept values stay as they
are. Parsers quote cells in their errors, so nothing of theirs leaves this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shoal.errors import DataError, MissingExtra, ShoalError
from shoal.model.plain import EXACT
from shoal.read.empty import tell_empty
from shoal.read.header import check_header, check_names, read_names, without_nameless
from shoal.read.text import read_csv

__all__ = ["TableRead", "read_table"]

TEXT = (".csv", ".tsv", ".tab", ".txt")
PACKED = tuple(suffix + ".gz" for suffix in TEXT)


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
) -> TableRead:
    """Read the table in a file; its ending says what it is. What is not given is guessed and said."""
    path = Path(path)
    _check_file(path)
    name = path.name.lower()
    if name.endswith((*TEXT, *PACKED)):
        text = read_csv(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
        table = TableRead(text.frame, text.said, text.delimiter, text.encoding, text.decimal)
        has_names = False
    else:
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            raise DataError(
                f"{path} is of no kind that can be read. Give a file that ends in one of: "
                f"{', '.join((*TEXT, *PACKED, *READERS))}."
            )
        frame = _typed(path, reader)
        has_names = path.suffix.lower() != ".xlsx"
        left: list[str] = []
        if not has_names:
            frame, left = without_nameless(frame, path)
            left += tell_empty(frame)
        table = TableRead(frame, tuple(left))
    _check_frame(table.frame, path)
    if not has_names:  # then the first line was taken for them
        check_header(table.frame, path)
    return table


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder. Name the file that holds the table.")
        if not path.exists():
            raise DataError(f"There is no file {path}. Check the name and the folder.")
        with path.open("rb") as file:
            if not file.read(1):
                raise DataError(f"{path} is empty. Give a file with a header and rows.")
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or 'unknown reason'}.") from None


def _check_frame(frame: pl.DataFrame, path: Path) -> None:
    check_names(frame.columns, path)
    if frame.width == 0:
        raise DataError(f"{path} has no columns. Give a table with a header and rows.")
    if frame.height == 0:
        raise DataError(f"{path} has a header but no rows. Nothing can be published.")


def _typed(path: Path, reader: Callable[[Path], pl.DataFrame]) -> pl.DataFrame:
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
    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def _arrow(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    return pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)


def _excel(path: Path) -> pl.DataFrame:
    try:
        import fastexcel
    except ModuleNotFoundError:
        raise MissingExtra("fastexcel", extra="excel") from None
    book = fastexcel.read_excel(path)
    # it would give doubled and empty names new ones; the true ones stand in the first row
    first = book.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
    names = read_names(["" if name is None else name for name in first.row(0)], path)
    frame: pl.DataFrame = book.load_sheet(0).to_polars()
    return _whole(frame.rename(dict(zip(frame.columns, names, strict=True))))


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers as such: a sheet keeps every number as a float, and 34 is not to become 34.0."""
    floats = [column for column in frame.iter_columns() if column.dtype.is_float()]
    whole = [
        column.cast(pl.Int64)
        for column in floats
        if ((column == column.floor()) & (column.abs() < EXACT)).fill_null(True).all()
    ]
    return frame.with_columns(whole)


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
    ".xlsx": _excel,
}

"""A sheet of an Excel file: the first, or the one that is named."""

from __future__ import annotations

import logging
from pathlib import Path

import polars as pl

from shoal.errors import DataError, MissingExtra, choices
from shoal.read.empty import tell_empty, tell_totals
from shoal.read.header import read_names, without_nameless
from shoal.read.unpack import check_book
from shoal.read.whole import whole

__all__ = ["read_sheet"]

QUIET = logging.NullHandler()


def read_sheet(path: Path, *, sheet: str | None = None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table on a sheet, and what is to be said of it."""
    try:
        import fastexcel
    except ModuleNotFoundError:
        raise MissingExtra("fastexcel", extra="excel") from None
    merged = check_book(path)
    # it warns of empty columns, which are none; whoever listens to its log still hears it
    logging.getLogger("fastexcel").addHandler(QUIET)
    book = fastexcel.read_excel(path)
    sheets = book.sheet_names
    if sheet is not None and sheet not in sheets:
        raise DataError(f"{path} has no sheet {sheet!r}. {choices(sheets)}")
    at = 0 if sheet is None else sheets.index(sheet)
    said = [f"sheet {sheets[0]!r}, the first of {len(sheets)}"] if sheet is None and len(sheets) > 1 else []
    # it would give doubled and empty names new ones; the true ones stand in the first row
    first = book.load_sheet(at, header_row=None, n_rows=1, dtypes="string").to_polars()
    if first.height == 0:
        raise DataError(f"{path} has no table on its sheet {sheets[at]!r}. Name another sheet.")
    names = read_names(["" if name is None else name for name in first.row(0)], path)
    # every row is looked at: a type that the first ones suggest would empty cells further down
    frame: pl.DataFrame = book.load_sheet(at, schema_sample_rows=None).to_polars()
    frame = frame.with_columns(pl.col(pl.String).replace("", None))  # an empty text is missing, as in CSV
    frame = whole(frame.rename(dict(zip(frame.columns, names, strict=True))))
    frame, left = without_nameless(_days(frame), path)
    if merged:
        said.append(
            f"{merged:,} merged cells, of which only the first of each has a value (fill the others)"
        )
    return frame, (*said, *left, *tell_empty(frame), *tell_totals(frame))


def _days(frame: pl.DataFrame) -> pl.DataFrame:
    """Dates as such: a sheet keeps them as moments, at midnight."""
    moments = [column for column in frame.iter_columns() if isinstance(column.dtype, pl.Datetime)]
    return frame.with_columns(
        column.cast(pl.Date)
        for column in moments
        if (column.dt.truncate("1d") == column).fill_null(True).all()
    )

"""Excel files, made anew: the release on one sheet, what was lost on another.

Every text is written as a text: no spreadsheet runs it, whatever it begins with. Numbers are written to
their last digit, dates as dates. The time at which a file was made, and by whom, is always the same.
"""

from __future__ import annotations

from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import fastexcel
import polars as pl
import xlsxwriter

from shoal.errors import DataError
from shoal.model.certificate import Certificate
from shoal.publish.cells import check_days, check_lengths, moments, no_room, numbers
from shoal.publish.compare import compare

__all__ = ["LOST", "RELEASE", "write_workbook"]

RELEASE, LOST = "release", "lost"
"""The sheets, in their order: readers take the first."""
ENDING = ".xlsx"
MOST_ROWS, MOST_COLUMNS, MOST_SIGNS = 1_048_575, 16_384, 32_767
MOST = 9.9e307
FIRST_DAY = date(1900, 3, 1)
"""The first after a day that Excel has and the calendar has not."""
MADE = datetime(2000, 1, 1)
OPTIONS = {
    "in_memory": True,  # else cells would stand in files of their own
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}
FORMATS = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss.000"}


class _Exact(float):
    """A number that is written to its last digit: XlsxWriter would stop at 16, which is not always it."""

    def __format__(self, _spec: str) -> str:
        return repr(float(self))


def write_workbook(table: pl.DataFrame, path: Path, certificate: Certificate | None) -> None:
    """Write an .xlsx file and read it again; without a certificate it has one sheet only."""
    columns = _prepared(table)
    content = BytesIO()
    book = xlsxwriter.Workbook(content, OPTIONS)
    book.set_properties({"created": MADE})
    formats = {kind: book.add_format({"num_format": text}) for kind, text in FORMATS.items()}
    sheet = book.add_worksheet(RELEASE)
    for at, series in enumerate(columns):
        sheet.write_string(0, at, series.name)
        _fill(sheet, at, series, formats.get(series.dtype.base_type()))
    if table.height and all(cell is None for cell in table.row(-1)):
        sheet.write_string(table.height, 0, "")  # readers stop at the last row with a cell
    sheet.freeze_panes(1, 0)
    if certificate is not None:
        _tell_loss(book.add_worksheet(LOST), certificate)
    book.close()
    path.write_bytes(content.getbuffer())
    compare(table, lambda: _read(path, table))


def _prepared(table: pl.DataFrame) -> list[pl.Series]:
    """The columns in types that a sheet has."""
    if table.height > MOST_ROWS or table.width > MOST_COLUMNS:
        raise DataError(
            f"The release has {table.height:,} rows and {table.width:,} columns; a sheet holds "
            f"{MOST_ROWS:,} and {MOST_COLUMNS:,}. Write Parquet or CSV."
        )
    long = [name for name in table.columns if _signs(name) > MOST_SIGNS]
    if long:
        raise DataError(f"{len(long)} names of columns have more than {MOST_SIGNS:,} signs. Shorten them.")
    return [_column(series) for series in table.iter_columns()]


def _signs(text: str) -> int:
    """The length of a text as a sheet counts it."""
    return len(text.encode("utf-16-le")) // 2


def _column(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        text = series.cast(pl.String)
        if (text.str.len_bytes() > MOST_SIGNS).any():
            lengths = pl.Series([None if cell is None else _signs(cell) for cell in text], dtype=pl.Int64)
            check_lengths(series, lengths, MOST_SIGNS, ENDING)
        return text
    if isinstance(dtype, pl.Boolean | pl.Null):
        return series
    if dtype.is_numeric():
        return numbers(series, ENDING, most=MOST)
    if isinstance(dtype, pl.Date) or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None):
        check_days(series, FIRST_DAY, ENDING)
        return series if isinstance(dtype, pl.Date) else moments(series, ENDING)
    raise no_room(series, ENDING)


def _fill(sheet: Any, at: int, series: pl.Series, form: Any) -> None:
    """The cells of a column below its name; a missing one is no cell."""
    write = sheet.write_string
    if series.dtype == pl.Boolean:
        write = sheet.write_boolean
    elif series.dtype.is_numeric():
        write = sheet.write_number
    elif form is not None:
        write = sheet.write_datetime
    is_number = series.dtype.is_numeric()
    for row, cell in enumerate(series, 1):
        if cell is None:
            continue
        value = _Exact(cell) if is_number else cell
        written = write(row, at, value) if form is None else write(row, at, value, form)
        if written != 0:
            raise DataError(
                f"Column {series.name!r} has a cell that a sheet cannot hold.", column=series.name
            )


def _tell_loss(sheet: Any, certificate: Certificate) -> None:
    """What the certificate says for everybody: the loss by column, and the figures of the release."""
    lines: list[tuple[str, float | str | None]] = [("column", "loss in percent")]
    for column in certificate.columns:
        loss = None if column.loss is None else round(100 * column.loss, 6)
        lines.append((column.name, loss))
    lines += [
        ("", None),
        ("all columns", certificate.loss_percent),
        ("k", certificate.k),
        ("records", certificate.records),
        ("published", certificate.published),
        ("withheld", certificate.withheld),
        ("classes", certificate.classes),
        ("smallest class", certificate.smallest_class),
        ("method", certificate.method),
    ]
    for row, (name, figure) in enumerate(lines):
        sheet.write_string(row, 0, name)
        if isinstance(figure, str):
            sheet.write_string(row, 1, figure)
        elif figure is not None:
            sheet.write_number(row, 1, _Exact(figure))


def _read(path: Path, like: pl.DataFrame) -> pl.DataFrame:
    """The first sheet as a reader sees it, in the types that were judged."""
    book = fastexcel.read_excel(path)
    names = book.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars().row(0)
    empty: dict[str | int, Any] = {at: "string" for at, c in enumerate(like) if c.null_count() == len(c)}
    sheet = book.load_sheet(0, header_row=0, schema_sample_rows=None, dtypes=empty or None)
    found: pl.DataFrame = sheet.to_polars()
    if list(names) != like.columns or found.width != like.width:
        return found
    cells = zip(found.iter_columns(), like.schema.items(), strict=True)
    return pl.DataFrame([_as_type(column, dtype).alias(name) for column, (name, dtype) in cells])


def _as_type(found: pl.Series, dtype: pl.DataType) -> pl.Series:
    if found.dtype == pl.String:
        found = found.set(found == "", None)
    if isinstance(dtype, pl.Date) and (found.cast(dtype).cast(found.dtype) != found).any():
        return found  # a date with a time
    return found.cast(dtype)

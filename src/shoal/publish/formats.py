"""Tables as files, by ending; every file is read again before it gets its name.

What was judged is what a reader must see. A CSV file holds texts only, so each of its texts is read as the
type that the judged column has, and so are the cells of Stata, SPSS and Excel files, which know few types;
Parquet and Arrow must give the very same table.
"""

from __future__ import annotations

import csv
import errno
import io
import os
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from shoal.errors import DataError, MissingExtra
from shoal.publish.compare import compare, compare_columns

if TYPE_CHECKING:
    import polars as pl

    from shoal.model.certificate import Certificate

__all__ = ["WRITERS", "Writer", "as_type", "check_parts"]

PARTS = {
    ".xlsx": (("xlsxwriter", "fastexcel"), "excel"),
    ".dta": (("pyreadstat",), "statistics"),
    ".sav": (("pyreadstat",), "statistics"),
}
"""The packages that a format needs to be written and read again, and the extra that brings them."""


class Writer(Protocol):
    """Writes a table to a path, and reads it again.

    A delimiter stands between cells where there is one; what the certificate says of losses goes along
    where there is room for it.
    """

    def __call__(
        self, table: pl.DataFrame, path: Path, delimiter: str, certificate: Certificate | None = None, /
    ) -> None:
        """Write, read again, compare."""


def check_parts(ending: str) -> None:
    """Whether the packages are there that files of this ending need."""
    packages, extra = PARTS.get(ending, ((), ""))
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, extra=extra)


def _write_csv(
    table: pl.DataFrame, path: Path, delimiter: str, _certificate: Certificate | None = None
) -> None:
    write_csv(table, path, delimiter)
    compare(table, lambda: read_csv(path, delimiter, table))


def write_csv(table: pl.DataFrame, file: Path | IO[bytes], delimiter: str, *, header: bool = True) -> None:
    """Write lines, below a header or below those that are there."""
    from shoal.model.plain import has_text

    for name, dtype in table.schema.items():
        if not has_text(dtype):
            kind = dtype.base_type().__name__  # the full name of an Enum lists its values
            raise DataError(
                f"Column {name!r} is a {kind}, which CSV cannot hold. Write Parquet or Arrow.", column=name
            )
    # alone in its line, an empty cell would be a blank line, which most readers skip
    null = '""' if table.width == 1 else ""
    table.write_csv(file, separator=delimiter, null_value=null, include_header=header)


def read_csv(source: Path | bytes, delimiter: str, like: pl.DataFrame) -> pl.DataFrame:
    """The lines of a file or a text with a header, in the types of another table."""
    import polars as pl

    opened = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with io.TextIOWrapper(opened, encoding="utf-8", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), [])
    # Polars leaves quotes of names as they stand
    texts = pl.read_csv(source, separator=delimiter, infer_schema=False, glob=False, new_columns=names)
    if names != like.columns:
        return texts
    return pl.DataFrame(
        [as_type(text, dtype) for text, dtype in zip(texts, like.schema.values(), strict=True)]
    )


def as_type(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The cells of a text file in the type that was written; a quoted nothing is nothing."""
    import polars as pl

    text = text.set(text == "", None)
    if isinstance(dtype, pl.Datetime):
        return text.str.to_datetime(time_unit=dtype.time_unit, time_zone=dtype.time_zone)
    if isinstance(dtype, pl.Date):
        return text.str.to_date()
    if isinstance(dtype, pl.Time):
        return text.str.to_time()
    if isinstance(dtype, pl.Boolean):
        return (text == "true").set(~text.is_in(["true", "false"]), None)
    return text.cast(dtype)


def _write_parquet(
    table: pl.DataFrame, path: Path, _delimiter: str, _certificate: Certificate | None = None
) -> None:
    import polars as pl

    try:
        table.write_parquet(path)
    except pl.exceptions.PolarsError:  # so it says that a disk is full
        raise OSError(errno.EIO, os.strerror(errno.EIO)) from None
    compare_columns(
        table,
        lambda: pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_schema().names(),
        lambda names, first, rows: (
            pl.scan_parquet(path, glob=False, hive_partitioning=False)
            .select(names)
            .slice(first, rows)
            .collect()
        ),
    )


def _write_arrow(
    table: pl.DataFrame, path: Path, _delimiter: str, _certificate: Certificate | None = None
) -> None:
    import polars as pl

    table.write_ipc(path)
    compare(table, lambda: pl.scan_ipc(path, glob=False, hive_partitioning=False).collect())


def _write_tsv(
    table: pl.DataFrame, path: Path, _delimiter: str, _certificate: Certificate | None = None
) -> None:
    _write_csv(table, path, "\t")


def _write_excel(
    table: pl.DataFrame, path: Path, _delimiter: str, certificate: Certificate | None = None
) -> None:
    from shoal.publish.workbook import write_workbook

    write_workbook(table, path, certificate)


def _write_stata(
    table: pl.DataFrame, path: Path, _delimiter: str, _certificate: Certificate | None = None
) -> None:
    from shoal.publish.statistics import write_stata

    write_stata(table, path)


def _write_spss(
    table: pl.DataFrame, path: Path, _delimiter: str, _certificate: Certificate | None = None
) -> None:
    from shoal.publish.statistics import write_spss

    write_spss(table, path)


WRITERS: dict[str, Writer] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
    ".ipc": _write_arrow,
    ".xlsx": _write_excel,
    ".dta": _write_stata,
    ".sav": _write_spss,
}

"""A CSV that Excel opens by a double click: UTF-8 by its first bytes, decimals as it reads them.

With decimal commas the cells stand between semicolons, as they do where commas are decimal. Numbers inside
ranges and sets are text and keep their points.
"""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import PlanError, choices
from shoal.publish.compare import compare
from shoal.publish.formats import read_csv, write_csv

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DECIMALS", "check_for_excel", "write_for_excel"]

DECIMALS = {"point": (".", ","), "comma": (",", ";")}
"""How numbers are written, and what stands between cells then."""
NUMBER = r"^-?\d+(\.\d+)?$"


def check_for_excel(table: Path, decimals: str) -> None:
    """Whether such a file can be written under this name."""
    if decimals not in DECIMALS:
        raise PlanError(
            f"There are no such decimals for Excel: {decimals!r}. {choices(DECIMALS)}", field="for_excel"
        )
    if table.suffix.lower() != ".csv":
        raise PlanError(
            "What is written for Excel ends in .csv; a file that ends in .xlsx is for it as it is.",
            field="for_excel",
        )


def write_for_excel(table: pl.DataFrame, path: Path, decimals: str) -> None:
    """Write, read again, compare."""
    import polars as pl

    sign, delimiter = DECIMALS[decimals]
    changed = _with_decimals(table) if sign == "," else []
    shown = table.with_columns(
        pl.col(name).cast(pl.String).str.replace(".", ",", literal=True) for name in changed
    )
    text = io.BytesIO()
    write_csv(shown, text, delimiter)
    path.write_bytes(codecs.BOM_UTF8 + text.getvalue())

    def read() -> pl.DataFrame:
        written = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        texts = read_csv(written, delimiter, shown)
        return texts.with_columns(
            pl.col(name).str.replace(",", ".", literal=True).cast(table.schema[name]) for name in changed
        )

    compare(table, read)


def _with_decimals(table: pl.DataFrame) -> list[str]:
    """The columns of numbers of which some have decimals; numbers that came as text are among them."""
    import polars as pl

    found = []
    for column in table.iter_columns():
        if not (column.dtype.is_float() or column.dtype == pl.String):
            continue
        texts = column.cast(pl.String).drop_nulls()
        if len(texts) and texts.str.contains(NUMBER).all() and texts.str.contains(".", literal=True).any():
            found.append(column.name)
    return found

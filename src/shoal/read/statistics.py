"""Tables from Stata, SPSS and SAS files, as their users see them.

Where every value of a column has a label, the labels are its values, in the order of their codes. Values
that a file declares missing (9 for "refused", .a to .z) are missing. Dates are dates.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError, MissingExtra
from shoal.read.spss import is_sound
from shoal.read.whole import whole

__all__ = ["STATISTICS", "read_statistics"]

STATISTICS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""By ending, what reads it."""
MOST_LISTED = 8


def read_statistics(path: Path, *, encoding: str | None = None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table in a file, and what is to be said of it."""
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise MissingExtra("pyreadstat", extra="statistics") from None
    if path.suffix.lower() == ".sav" and not is_sound(path):
        raise ValueError  # as any damaged file
    read = getattr(pyreadstat, STATISTICS[path.suffix.lower()])
    try:
        frame, about = read(path, encoding=encoding, output_format="polars")
    except Exception:
        if encoding is None:
            raise
        raise DataError(
            f"{path} cannot be read in the encoding {encoding!r}: the file is damaged, or its encoding is "
            "another. Most files name theirs: leave it out."
        ) from None
    mixed = [repr(column.name) for column in frame.iter_columns() if column.dtype == pl.Object]
    if mixed:
        raise DataError(f"{path} has values of mixed types in column {', '.join(mixed)}. Mend them first.")
    texts: list[str] = []
    partly: list[str] = []
    columns: list[pl.Series] = []
    for column in frame.iter_columns():
        cells = _plain(column)
        labels = about.variable_value_labels.get(column.name)
        if labels and cells.null_count() < len(cells):
            labelled = _labelled(cells, labels)
            (partly if labelled is None else texts).append(column.name)
            cells = cells if labelled is None else labelled
        columns.append(cells)
    said = []
    if texts:
        said.append(f"value labels read as the values of {_listed(texts)}")
    if partly:
        said.append(f"value labels left out in {_listed(partly)}: not every value has one")
    return whole(pl.DataFrame(columns)), tuple(said)


def _listed(names: list[str]) -> str:
    shown = ", ".join([*names[:MOST_LISTED], *["..."] * (len(names) > MOST_LISTED)])
    return f"{len(names)} column{'s' * (len(names) > 1)} ({shown})"


def _plain(column: pl.Series) -> pl.Series:
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if isinstance(column.dtype, pl.Datetime):  # which are kept as floats of seconds
        return column.dt.round("1ms")
    return column


def _labelled(cells: pl.Series, labels: Mapping[Any, str]) -> pl.Series | None:
    """The labels in place of the values; None where a value has none."""
    is_text = cells.dtype == pl.String
    if not is_text and not cells.dtype.is_numeric():
        return None
    known = {key: text for key, text in labels.items() if isinstance(key, str) == is_text}
    keys = pl.Series(list(known), dtype=pl.String if is_text else pl.Float64)
    values = cells if is_text else cells.cast(pl.Float64)
    if not values.drop_nulls().is_in(keys.implode()).all():
        return None
    texts = values.replace_strict(keys, list(known.values()), default=None, return_dtype=pl.String)
    present = set(texts.drop_nulls().unique())
    order = dict.fromkeys(known[key] for key in sorted(known) if known[key] in present)
    return texts.cast(pl.Enum(list(order)))

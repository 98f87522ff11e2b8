"""Stata and SPSS files, made anew: what was judged, and no word of when, where or from what.

Truth values and declared categories become numbers with value labels, so that a statistician sees the
texts and counts the codes; codes count from 1 in the declared order, or are 0 and 1. All other texts stay
texts. A missing cell is the system's missing value, or an empty text. The time at which a file was made
stands in its head: it is always the same here, so that the same release gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat

from shoal.errors import DataError
from shoal.publish.cells import MILLISECOND, check_days, check_lengths, moments, no_room, numbers, refuse
from shoal.publish.compare import compare

__all__ = ["write_spss", "write_stata"]

MOST = 8.9e307
"""Stata's missing values lie beyond."""
MOST_WHOLE = 2_000_000_000
"""Below it, whole numbers are written as such."""
VERSION = 14
"""Of Stata: the first with Unicode, and read by every edition since."""
STATA_TIME = b"01 Jan 2000 00:00"
SPSS_TIME = b"01 Jan 0000:00:00"
STATA_WORDS = re.compile(
    r"_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_[nN]|_pi|_pred|_rc|_skip|str(\d+|L)|using|with"
)
SPSS_WORDS = re.compile(r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Room:
    """What a format can hold; lengths are in bytes."""

    ending: str
    first_day: date
    text: int
    label: int
    name: str


STATA = _Room(
    ".dta",
    date(100, 1, 1),
    2045,
    32_000,
    "at most 32 letters, digits and underlines, none of them first a digit, and no word of Stata's own",
)
SPSS = _Room(
    ".sav",
    date(1582, 10, 15),
    32_767,
    120,
    "a letter, then letters, digits and _ . @ # $ up to 64 bytes, no word of SPSS's own, and no other name "
    "that differs in capitals alone",
)


def write_stata(table: pl.DataFrame, path: Path) -> None:
    """Write a .dta file and read it again."""
    _check_names(table, [name for name in table.columns if not _is_stata_name(name)], STATA)
    columns, labels = _prepared(table, STATA)
    _write(pyreadstat.write_dta, columns, path, version=VERSION, variable_value_labels=labels)
    _stamp(path, STATA_TIME, _stata_stamp)
    compare(table, lambda: _read(pyreadstat.read_dta, path, table))


def write_spss(table: pl.DataFrame, path: Path) -> None:
    """Write a .sav file and read it again."""
    seen: dict[str, int] = {}
    for name in table.columns:
        seen[name.casefold()] = seen.get(name.casefold(), 0) + 1
    bad = [name for name in table.columns if not _is_spss_name(name) or seen[name.casefold()] > 1]
    _check_names(table, bad, SPSS)
    columns, labels = _prepared(table, SPSS)
    formats = {name: "F12.0" for name, dtype in columns.schema.items() if dtype == pl.Int32}
    formats |= {name: "DATETIME23.3" for name, dtype in columns.schema.items() if dtype == pl.Datetime}
    _write(pyreadstat.write_sav, columns, path, variable_value_labels=labels, variable_format=formats)
    _stamp(path, SPSS_TIME, lambda head: 92 if head.startswith(b"$FL2") else -1)
    compare(table, lambda: _read(pyreadstat.read_sav, path, table))


def _is_stata_name(name: str) -> bool:
    return re.fullmatch(r"[^\W\d]\w{0,31}", name) is not None and not STATA_WORDS.fullmatch(name)


def _is_spss_name(name: str) -> bool:
    fits = re.fullmatch(r"[^\W\d_]([\w.@#$]*[\w@#$])?", name) is not None and len(name.encode()) <= 64
    return fits and not SPSS_WORDS.fullmatch(name)


def _check_names(table: pl.DataFrame, bad: list[str], limits: _Room) -> None:
    if bad:
        raise DataError(
            f"A {limits.ending} file cannot hold the column name{'s' * (len(bad) > 1)} "
            f"{', '.join(map(repr, bad))}. It takes {limits.name}. Rename them in the original, or write "
            "another format."
        )
    if table.width == 0:
        raise DataError(f"A {limits.ending} file cannot hold a table without columns.")


def _prepared(table: pl.DataFrame, limits: _Room) -> tuple[pl.DataFrame, dict[str, dict[int, str]]]:
    """The columns in types that the format has, and the labels of those that are codes."""
    columns: list[pl.Series] = []
    labels: dict[str, dict[int, str]] = {}
    for series in table.iter_columns():
        if isinstance(series.dtype, pl.Boolean):
            columns.append(series.cast(pl.Int32))
            labels[series.name] = {0: "false", 1: "true"}
        elif isinstance(series.dtype, pl.Enum) and _fit(series.dtype.categories, limits):
            columns.append(series.to_physical().cast(pl.Int32) + 1)
            labels[series.name] = dict(enumerate(series.dtype.categories.to_list(), 1))
        else:
            columns.append(_column(series, limits))
    return pl.DataFrame(columns), labels


def _fit(texts: pl.Series, limits: _Room) -> bool:
    return bool((texts.str.len_bytes() <= limits.label).all() and (texts.str.strip_chars() == texts).all())


def _column(series: pl.Series, limits: _Room) -> pl.Series:
    ending, dtype = limits.ending, series.dtype
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        text = series.cast(pl.String)
        check_lengths(series, text.str.len_bytes(), limits.text, ending)
        if ending == ".sav":
            refuse(series, text.str.ends_with(" "), "texts with a blank at their end", ending)
        return text
    if isinstance(dtype, pl.Null):
        return series.cast(pl.Float64)
    if dtype.is_numeric():
        floats = numbers(series, ending, most=MOST)
        whole = dtype.is_integer() and bool((floats.abs() < MOST_WHOLE).fill_null(True).all())
        return floats.cast(pl.Int32) if whole else floats
    if isinstance(dtype, pl.Date):
        check_days(series, limits.first_day, ending)
        return series
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        check_days(series, limits.first_day, ending)
        return moments(series, ending).cast(pl.Datetime("us"))
    if isinstance(dtype, pl.Time):
        return moments(series, ending)
    raise no_room(series, ending)


def _write(write: Any, columns: pl.DataFrame, path: Path, **words: Any) -> None:
    try:
        write(columns, path, **words)
    except OSError:
        raise
    except Exception:  # writers quote cells in their errors
        raise DataError(
            "The package that writes Stata and SPSS files refused the table. Write another format."
        ) from None


def _stata_stamp(head: bytes) -> int:
    mark = b"<timestamp>" + bytes([len(STATA_TIME)])
    place = head.find(mark)
    return place if place < 0 else place + len(mark)


def _stamp(path: Path, time: bytes, find: Any) -> None:
    """Put the one time of all files in place of the present one."""
    with path.open("r+b") as file:
        place = find(file.read(512))
        if place < 0:
            raise DataError("The file has no place for its time, so it is not published.")
        file.seek(place)
        file.write(time)


def _read(read: Any, path: Path, like: pl.DataFrame) -> pl.DataFrame:
    """The file as its readers see it, labels in place of codes, in the types that were judged."""
    found: pl.DataFrame
    found, about = read(path, output_format="polars")
    if found.columns != like.columns:
        return found
    labels = about.variable_value_labels
    return pl.DataFrame(
        [_as_type(found[name], dtype, labels.get(name)) for name, dtype in like.schema.items()]
    )


def _as_type(found: pl.Series, dtype: pl.DataType, labels: Mapping[Any, str] | None) -> pl.Series:
    if labels is not None:
        codes = [float(code) for code in labels]
        texts = found.cast(pl.Float64).replace_strict(
            codes, list(labels.values()), default="\0", return_dtype=pl.String
        )
        found = texts.set(found.is_null(), None)
        if isinstance(dtype, pl.Boolean):
            return (found == "true").set(~found.is_in(["true", "false"]), None)
    if found.dtype == pl.String:
        found = found.set(found == "", None)
    elif isinstance(found.dtype, pl.Datetime):  # which are kept as floats of seconds
        found = found.dt.round("1ms")
    elif isinstance(found.dtype, pl.Time):
        found = _rounded(found)
    return found.cast(dtype)


def _rounded(times: pl.Series) -> pl.Series:
    rounded = (times.cast(pl.Int64) + MILLISECOND // 2) // MILLISECOND * MILLISECOND
    return rounded.cast(pl.Time)

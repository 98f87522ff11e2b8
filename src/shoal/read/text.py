"""Text tables: encoding, delimiter and decimal comma guessed; every column read as text."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError, PlanError
from shoal.read.empty import tell_empty, tell_totals
from shoal.read.header import read_names, without_nameless
from shoal.read.unpack import read_packed

__all__ = ["TextTable", "decode", "guess_delimiter", "read_csv", "take_separator"]

DELIMITERS = (",", ";", "\t", "|")
WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
SAMPLE = 1 << 16
SAMPLE_ROWS = 1000
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MOST_NUMBERS = 0.8
"""The share of different cells that are numbers from which on the others look like slips."""
COMMA_NUMBER = r"^\s*[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?\s*$"
POINT_NUMBER = r"^\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*$"
THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"
SEPARATOR = re.compile(rb'("?)sep=([^"\r\n])\1[ \t]*(\r\n|\n)', re.IGNORECASE)
"""The line by which Excel is told the delimiter of the lines below."""
MOST_MARKS = 2
"""Texts without a digit that a number column may hold besides numbers: marks for missing cells."""


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A table read from text, what was guessed in words, and how the text was written."""

    frame: pl.DataFrame
    said: tuple[str, ...]
    delimiter: str
    encoding: str
    decimal: str


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a text table from its header on, how they are cut, and how many stood above."""

    raw: bytes
    delimiter: str
    path: Path
    above: int

    def reader(self) -> Any:
        """The lines as lists of cells, with `line_num`."""
        text = io.TextIOWrapper(io.BytesIO(self.raw), encoding="utf-8", newline="")
        return csv.reader(text, delimiter=self.delimiter)


def read_csv(
    path: Path, *, delimiter: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> TextTable:
    """Read a text table with a header; what is not given is guessed and said."""
    if decimal not in {None, ".", ","}:
        raise PlanError(f"There is no decimal sign {decimal!r}. Choose one of: '.', ','.", field="decimal")
    said = []
    whole, found = decode(path, encoding)
    raw, named = take_separator(whole)
    above = whole.count(b"\n", 0, len(whole) - len(raw))
    del whole
    if not raw:
        raise DataError(f"{path} is empty. Give a file with a header and rows.")
    if encoding is None:
        said.append(f"encoding {found}")
    if delimiter is None:
        delimiter = named or guess_delimiter(raw, prefer="\t" if ".ts" in path.name.lower() else ",")
        said.append(f"delimiter {_shown(delimiter)}" + (", as its first line says" if named else ""))
    else:
        delimiter = WORDS.get(delimiter.strip().lower(), delimiter)
        if len(delimiter.encode()) != 1 or delimiter in '"\n\r\0':
            raise PlanError(
                f"The delimiter {delimiter!r} is not one plain character, such as ';' or tab.",
                field="delimiter",
            )
    lines = _Lines(raw, delimiter, path, above)
    header = _header(lines)
    names = read_names(header, path)
    if any(name != name.strip() for name in header):
        said.append("blanks around column names removed")
    frame, left = without_nameless(_parse(lines, names), path)
    if b'""' in raw:  # a quoted nothing is nothing: text files know no empty text beside missing
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    said += [*left, *tell_empty(frame), *tell_totals(frame)]
    if decimal == "." or b"," not in raw or (decimal is None and delimiter == ","):
        return TextTable(frame, tuple(said), delimiter, found, decimal or ".")
    del raw, lines
    frame, decimal_said, found_decimal = _decimals(frame, decimal)
    return TextTable(frame, (*said, *decimal_said), delimiter, found, found_decimal)


def decode(path: Path, encoding: str | None) -> tuple[bytes, str]:
    """The file as UTF-8 with plain line ends, unpacked; and the encoding it was in."""
    try:
        raw = read_packed(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or 'it is damaged'}.") from None
    found = encoding or next((name for bom, name in BOMS if raw.startswith(bom)), "utf-8")
    try:
        known = codecs.lookup(found).name
        if known == "utf-8-sig" or (known == "utf-8" and raw.startswith(codecs.BOM_UTF8)):
            raw = raw.removeprefix(codecs.BOM_UTF8)
        elif known != "utf-8":  # plain UTF-8 is checked by the parser, at no cost
            text = raw.decode(found).removeprefix("\ufeff").encode()
            _check_lines(path, raw, text, found)
            raw = text
    except LookupError:
        raise PlanError(
            f"There is no encoding {found!r}. Give utf-8, utf-16, cp1252, latin-1 or another of Python's.",
            field="encoding",
        ) from None
    except UnicodeError:
        raise DataError(
            f"{path} is not written in the encoding {found}. Name the right one.", field="encoding"
        ) from None
    if not raw or raw.isspace():
        raise DataError(f"{path} is empty. Give a file with a header and rows.")
    if b"\0" in raw:
        raise DataError(
            f"{path} holds zero bytes, so it is not plain text. If it is UTF-16, name the encoding "
            "utf-16-le or utf-16-be.",
            field="encoding",
        )
    if b"\r" in raw and b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    return raw, found


def take_separator(raw: bytes) -> tuple[bytes, str | None]:
    """What stands below blank lines and the line `sep=;` that Excel writes, and the sign it names."""
    raw = raw.lstrip(b"\r\n")
    match = SEPARATOR.match(raw)
    if match is None:
        return raw, None
    return raw[match.end() :].lstrip(b"\r\n"), match[2].decode()


def guess_delimiter(raw: bytes, *, prefer: str = ",") -> str:
    """The delimiter that cuts the first lines into the same number of cells, at least two."""
    lines = raw[:SAMPLE].decode("utf-8", errors="replace").splitlines(keepends=True)
    if len(raw) > SAMPLE and len(lines) > 1:
        lines.pop()  # cut off in the middle
    best, best_score = prefer, (0.0, 0, False)
    for delimiter in DELIMITERS:
        try:
            widths = [len(cells) for cells in csv.reader(lines[:500], delimiter=delimiter) if cells]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        share = widths.count(widths[0]) / len(widths)
        score = (share, widths[0], delimiter == prefer)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _shown(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


def _header(lines: _Lines) -> list[str]:
    if _row(lines.delimiter).match(lines.raw) is None:
        raise _bad_quotes(lines, 1)
    try:
        header: list[str] = next(lines.reader())
    except UnicodeError:
        raise _not_utf8(lines.path) from None
    except csv.Error:
        raise _bad_quotes(lines, 1) from None
    return header


def _parse(lines: _Lines, names: list[str]) -> pl.DataFrame:
    raw = lines.raw
    if len(names) > 1 and raw.endswith((b"\n\n", b"\n\r\n")):  # one column: blank means missing
        raw = raw.rstrip(b"\r\n")
    try:
        frame = pl.read_csv(
            raw,
            has_header=True,
            separator=lines.delimiter,
            infer_schema=False,
            new_columns=names,
            raise_if_empty=False,
        )
    except (Exception, pl.exceptions.PanicException):
        raise _what_is_wrong(lines, len(names)) from None
    if frame.width != len(names):
        raise _what_is_wrong(lines, len(names))
    _check_inner_quotes(lines)
    if len(names) == 1 or _is_full(raw, frame, lines.delimiter):
        return frame
    blank, short, long = _uneven(lines, len(names))
    if short or long or not blank:
        raise _what_is_wrong(lines, len(names))
    places = pl.Series(blank, dtype=pl.UInt32)
    return frame.filter(~pl.int_range(frame.height, dtype=pl.UInt32, eager=True).is_in(places.implode()))


def _row(delimiter: str, *, quotes_inside: bool = True) -> re.Pattern[bytes]:
    """One row with its line end, its quotes as they should be; a cell without them may hold some."""
    sign = re.escape(delimiter.encode())
    bare = rb'(?:[^"%b\r\n][^%b\r\n]*+)?+' if quotes_inside else rb'[^"%b\r\n]*+'
    cell = rb'(?:"(?:[^"]++|"")*+"|%b)' % bare.replace(b"%b", sign)
    return re.compile(rb"%b(?:%b%b)*+(?:\r\n|\n|\r|\Z)" % (cell, sign, cell))


def _first_odd_row(lines: _Lines, row: re.Pattern[bytes]) -> int:
    """The line where the first row begins that is not such a row; 0 if there is none."""
    at = 0
    while at < len(lines.raw):
        match = row.match(lines.raw, at)
        if match is None:
            return 1 + lines.raw.count(b"\n", 0, at)
        at = match.end()
    return 0


def _check_inner_quotes(lines: _Lines) -> None:
    """Refuse single quotes inside a quoted cell: the parser drops them without a word."""
    sign = re.escape(lines.delimiter.encode())
    if re.search(rb'"(?<=[^%b\r\n"]")[^%b\r\n"]' % (sign, sign), lines.raw):
        line = _first_odd_row(lines, _row(lines.delimiter))
        if line:
            raise _bad_quotes(lines, line)


def _is_full(raw: bytes, frame: pl.DataFrame, delimiter: str) -> bool:
    """Whether every line has a cell for every column.

    The parser refuses longer lines and fills up shorter ones without a word; so the delimiters of the
    file, less those inside quoted cells, must be as many as full lines need.
    """
    found = raw.count(delimiter.encode())
    if b'"' in raw:
        inside = frame.select(pl.all().str.count_matches(delimiter, literal=True).sum())
        found -= sum(inside.row(0)) + sum(name.count(delimiter) for name in frame.columns)
    return bool(found == (frame.width - 1) * (frame.height + 1))


def _uneven(lines: _Lines, width: int) -> tuple[list[int], list[int], list[int]]:
    """The places of blank lines among the rows, and the lines where short and long rows begin."""
    blank: list[int] = []
    short: list[int] = []
    long: list[int] = []
    reader = lines.reader()
    try:
        next(reader)
        line = reader.line_num + 1
        for at, cells in enumerate(reader):
            if not cells:
                blank.append(at)
            elif len(cells) < width:
                short.append(line)
            elif len(cells) > width:
                long.append(line)
            line = reader.line_num + 1
    except UnicodeError:
        raise _not_utf8(lines.path) from None
    except csv.Error:
        raise _bad_quotes(lines, _first_odd_row(lines, _row(lines.delimiter))) from None
    return blank, short, long


def _what_is_wrong(lines: _Lines, width: int) -> DataError:
    _, short, long = _uneven(lines, width)
    line = _first_odd_row(lines, _row(lines.delimiter))
    if line:
        return _bad_quotes(lines, line)
    line = _first_odd_row(lines, _row(lines.delimiter, quotes_inside=False))
    if not short and not long:
        return _bad_quotes(lines, line)
    found = " and ".join(
        f"{_many(len(places), 'line')} {'has' if len(places) == 1 else 'have'} {than} cells"
        for places, than in ((short, "fewer"), (long, "more"))
        if places
    )
    quotes = f" Line {lines.above + line} has a quote inside a cell: does a blank stand before it?"
    return DataError(
        f"{lines.path} is ragged: its header names {_many(width, 'column')}, but {found}, the first on "
        f"line {lines.above + min(short + long)}. Mend this, or name the right delimiter "
        f"(it was read with {_shown(lines.delimiter)}).{quotes * (line > 0)}",
        field="delimiter",
    )


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _bad_quotes(lines: _Lines, line: int) -> DataError:
    where = f" in the row that begins on line {lines.above + line}" if line else ""
    return DataError(
        f"{lines.path} has quotes{where} that are not closed or stand inside a cell. Write quotes inside a "
        "quoted cell twice, and close every quoted cell."
    )


def _check_lines(path: Path, raw: bytes, text: bytes, encoding: str) -> None:
    """Refuse a text whose line ends are gone once it is decoded: it was written in another encoding."""
    ends = (b"\n", b"\r")
    if any(end in raw for end in ends) and not any(end in text for end in ends):
        raise DataError(
            f"{path} does not seem to be written in the encoding {encoding}: read so, it has no lines. "
            "Name the right one, such as utf-8, cp1252 or latin-1.",
            field="encoding",
        )


def _not_utf8(path: Path) -> DataError:
    return DataError(
        f"{path} is not written in UTF-8. Name its encoding, such as cp1252 (Windows in Western "
        "Europe) or latin-1.",
        field="encoding",
    )


def _decimals(frame: pl.DataFrame, decimal: str | None) -> tuple[pl.DataFrame, list[str], str]:
    """Decimal commas as points, in columns that hold nothing but numbers and marks for missing.

    Where the comma is asked for, some cells of a column may be neither; where it is not, these are told.
    """
    commas, nearly, sure, points = [], [], False, False
    for column in frame.iter_columns():
        if not _looks_numeric(column.head(SAMPLE_ROWS)) or not _looks_numeric(column):
            if _has_mostly_commas(column.head(SAMPLE_ROWS)) and _has_mostly_commas(column):
                nearly.append(column.name)
            continue
        values = column.drop_nulls().unique()
        numbers = values.filter(values.str.contains(r"\d"))
        with_comma = numbers.filter(numbers.str.contains(",", literal=True))
        if len(with_comma) and numbers.str.contains(COMMA_NUMBER).all():
            commas.append(column.name)
            sure |= not with_comma.str.contains(THOUSANDS).all()
        elif not len(with_comma):
            points |= bool(numbers.str.contains(POINT_NUMBER).any())
    told = []
    if decimal == ",":
        commas += nearly
    elif nearly:
        told = [f"commas left as they are in columns {', '.join(nearly)}: some cells are no numbers"]
    if not commas:
        return frame, told, decimal or "."
    if decimal is None and (points or not sure):
        why = (
            "other columns have decimal points"
            if points
            else "they may also stand between thousands; name the decimal sign"
        )
        return frame, [*told, f"commas left as they are in columns {', '.join(commas)}: {why}"], "."
    frame = frame.with_columns(
        pl.when(pl.col(name).str.contains(COMMA_NUMBER))
        .then(
            pl.col(name)
            .str.replace_all(".", "", literal=True)
            .str.replace(",", ".", literal=True)
            .str.strip_chars()
        )
        .otherwise(pl.col(name))
        .alias(name)
        for name in commas
    )
    return frame, [f"decimal ',' in columns {', '.join(commas)}", *told], ","


def _has_mostly_commas(cells: pl.Series) -> bool:
    """Whether nearly all of the cells that differ are numbers, some of them with a comma."""
    values = cells.drop_nulls().unique()
    numbers = values.filter(values.str.contains(COMMA_NUMBER))
    is_most = len(numbers) >= MOST_NUMBERS * len(values)
    return is_most and bool(numbers.str.contains(",", literal=True).any())


def _looks_numeric(cells: pl.Series) -> bool:
    """Whether the cells are numbers, with commas or points, but for a few marks without a digit."""
    values = cells.drop_nulls().unique()
    marks = values.filter(~values.str.contains(r"\d"))
    numeric = values.str.contains(COMMA_NUMBER) | values.str.contains(POINT_NUMBER)
    return len(marks) <= MOST_MARKS and int(numeric.sum()) + len(marks) == len(values)

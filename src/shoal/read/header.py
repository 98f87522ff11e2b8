"""The first line of a table: the names of its columns, or not.

Where it does not hold them, it is a person's row: taken for names it would be lost to the release, and
shown. So columns are told by their numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shoal.errors import DataError
from shoal.model.guess import NUMBER
from shoal.model.names import check_literal

__all__ = ["check_header", "check_names", "read_names", "without_nameless"]

SAMPLE_ROWS = 1000
DAY = r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?$"
YEAR = r"(18|19|20|21)\d\d"
MOST_LISTED = 4
NAMELESS = "\0"
"""With its number, in place of a name that is not there."""


def read_names(header: list[str], path: Path | str) -> list[str]:
    """The names of a header without outer blanks, a mark where there is none, refused if doubled."""
    names = [name.strip() for name in header]
    check_literal(names, what=path)
    places = defaultdict(list)
    for at, name in enumerate(names, 1):
        places[name or f"{NAMELESS}{at}"].append(at)
    alike = [at for at in places.values() if len(at) > 1]
    if alike:
        listed = _listed([_listed(at, " and ") for at in alike], "; ")
        raise DataError(
            f"{path} gives one name to several columns: {listed}, counted from the left. Rename them; if "
            "the first line is a row, put a line of names first."
        )
    return list(places)


def without_nameless(frame: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, list[str]]:
    """The columns with a name, and what to say of others; refused where these hold anything."""
    nameless = [name for name in frame.columns if name.startswith(NAMELESS)]
    if not nameless:
        return frame, []
    cells = frame.select(nameless).cast(pl.String)
    full = [
        int(name.removeprefix(NAMELESS))
        for name in nameless
        if bool((cells[name].str.strip_chars() != "").fill_null(False).any())
    ]
    if full:
        raise _no_name(full, frame.width, path)
    many = f"{len(nameless)} columns" if len(nameless) > 1 else "1 column"
    return frame.drop(nameless), [f"{many} without name and cells left out"]


def check_names(names: list[str], path: Path | str) -> None:
    """Refuse names that are alike or empty, in a file that holds nothing else for names."""
    nameless = [at for at, name in enumerate(read_names(names, path), 1) if name.startswith(NAMELESS)]
    if nameless:
        raise _no_name(nameless, len(names), path)


def _no_name(places: list[int], width: int, path: Path | str) -> DataError:
    hint = "row numbers written by other programs often stand in such a column"
    if 2 * len(places) > width:
        hint = "if a title stands above the line of names, take it out"
    return DataError(
        f"{path} has {len(places)} of {width} columns without a name: {_listed(places, ', ')}, counted "
        f"from the left. Name every column, or take it out; {hint}."
    )


def _listed(words: Sequence[object], between: str) -> str:
    more = f"{between}more" if len(words) > MOST_LISTED else ""
    return between.join(str(word) for word in words[:MOST_LISTED]) + more


def check_header(frame: pl.DataFrame, path: Path) -> None:
    """Refuse a table whose first line looks like a row, or stands again among the rows."""
    repeated = _times_repeated(frame)
    if repeated:
        times = "once" if repeated == 1 else f"{repeated:,} times"
        raise DataError(f"{path} has its line of column names again among the rows, {times}. Take it out.")
    numbered = _are_numbered(frame.columns)
    alike = sum(_is_like_its_cells(frame[name], numbered=numbered) for name in frame.columns)
    if 2 * alike > frame.width:
        like = f"{alike} of the {frame.width} cells of its first line look like the cells below them"
        if frame.width == 1:
            like = "its first line looks like the lines below"
        raise DataError(
            f"{path} seems to have no line of column names: {like}. Put a line of names first, or rename "
            "those columns."
        )


def _times_repeated(frame: pl.DataFrame) -> int:
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    if len(texts) < frame.width or frame.width == 1:
        return 0
    for name in texts:  # most names are no cell of their column: one look is enough
        frame = frame.filter(frame[name] == name)
        if frame.height == 0:
            break
    return frame.height


def _are_numbered(names: list[str]) -> bool:
    """Whether the names that are numbers are years, or count from 0 or 1."""
    numbers = [name for name in names if re.fullmatch(NUMBER, name)]
    counts = [str(count) for count in range(len(numbers) + 1)]
    return numbers in (counts[:-1], counts[1:]) or all(re.fullmatch(YEAR, name) for name in numbers)


def _is_like_its_cells(series: pl.Series, *, numbered: bool) -> bool:
    name = series.name
    is_number = re.fullmatch(NUMBER, name) is not None
    if is_number and numbered:
        return False
    if series.dtype.is_numeric():
        return is_number
    if series.dtype.is_temporal():
        return re.fullmatch(DAY, name) is not None
    if series.dtype != pl.String:
        return False
    cells = series.head(SAMPLE_ROWS).str.strip_chars()
    cells = cells.filter(cells != "")
    for shape in (NUMBER, DAY):
        if re.fullmatch(shape, name) and len(cells) and cells.str.contains(shape).all():
            return True
    # a column that holds nothing but its name marks what was chosen
    return 0 < int((cells == name).sum()) < len(cells)

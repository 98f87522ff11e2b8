"""What the columns of a table are: kinds, ranges and dictionaries, from each cell once.

However often a cell stands in a table, it is read once. What it became is kept in a book, in which every
row of the table, or of any part of it, can look its cells up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode import label, number, place, region, tree
from shoal.errors import BrokenPromise, DataError, PlanError
from shoal.model import missing
from shoal.model.column import Column
from shoal.model.guess import doubt_kept, doubt_label, guess_kind, is_questionable
from shoal.model.known import Book, Known
from shoal.model.names import check_named, check_published_names
from shoal.model.plain import check_plain, check_text, check_texts, is_plain, is_text
from shoal.model.plan import Plan

__all__ = ["doubts_of_kept", "look_up", "missing_to_null", "survey", "survey_cells"]

Codes = NDArray[np.int32]
OFTEN = 8
"""Cells of a text, in the mean, from which on a dictionary of the texts pays."""


def survey(frame: pl.DataFrame, plan: Plan) -> Known:
    """Learn the quasi-identifiers of `frame`; the second border where a plan is checked."""
    if frame.height == 0:
        check_named(plan.columns, frame.columns)
        raise DataError("The table has no rows. Nothing can be published.")
    _check_columns(frame, plan)
    known, schema = _known(frame, plan), frame.schema
    kept = [name for name in plan.keep if is_plain(schema[name])]
    values = {name: frame[name].drop_nulls().n_unique() for name in kept}
    return replace(known, doubts=(*known.doubts, *doubts_of_kept(values, frame.height)))


def doubts_of_kept(values: Mapping[str, int], rows: int) -> Iterator[str]:
    """What speaks against publishing columns as they are that have so many different values."""
    return filter(None, (doubt_kept(name, many, rows) for name, many in values.items()))


def survey_cells(cells: Mapping[str, pl.Series], like: pl.DataFrame, plan: Plan) -> Known:
    """The same from the different cells of each column alone; `like` has the columns without rows."""
    _check_columns(like, plan)
    for series in cells.values():
        check_texts(series)
    return _known({name: cells[name] for name in plan.quasi}, plan)


def _known(frame: pl.DataFrame | Mapping[str, pl.Series], plan: Plan) -> Known:
    guessed = {name: _guessed(frame[name], plan) for name in plan.quasi if plan.kind(name) is None}
    doubts = _doubts(frame, guessed, plan)
    plan = replace(plan, kinds={**plan.kinds, **guessed})
    books = tuple(_book_of(frame, name, plan) for name in plan.quasi)
    _check_published([book.column for book in books], plan)
    return Known(books, guessed, doubts)


def _guessed(series: pl.Series, plan: Plan) -> str:
    return guess_kind(missing_to_null(series.unique() if is_plain(series.dtype) else series, plan))


def _doubts(
    frame: pl.DataFrame | Mapping[str, pl.Series], guessed: Mapping[str, str], plan: Plan
) -> tuple[str, ...]:
    """What speaks against kinds that were guessed; a question where they are hardly meant."""
    said = []
    for name in (name for name, kind in guessed.items() if kind == "label"):
        doubt = doubt_label(frame[name], plan.missing)
        if doubt and is_questionable(frame[name], plan.missing):
            raise DataError(
                f"{doubt} Nobody said its kind, and sets of so many labels are hardly meant; the kind "
                "label says that they are.",
                field="kinds",
                column=name,
            )
        said += [doubt] if doubt else []
    return tuple(said)


def look_up(frame: pl.DataFrame, book: Book) -> tuple[Codes, ...]:
    """The codes of every row, one array per axis. Needs cells that the survey has seen."""
    names = book.cells.columns
    if len(names) == 1 and book.cells.dtypes == [pl.String] and OFTEN * book.cells.height <= frame.height:
        at = _places(frame[names[0]], book.cells[names[0]])
        return tuple(codes[at] for codes in book.codes)
    numbered = book.cells.with_row_index("\0at")
    found = frame.select(names).join(
        numbered, on=names, how="left", nulls_equal=True, maintain_order="left"
    )
    at = found["\0at"].to_numpy()
    return tuple(codes[at] for codes in book.codes)


def _places(texts: pl.Series, cells: pl.Series) -> NDArray[np.uint32]:
    """The place of each text among `cells`: sooner by a dictionary than by a join."""
    missing = cells.is_null().arg_max() or 0
    there = cells.fill_null("\0")  # which no cell has
    if texts.null_count() > 0 == cells.null_count():
        raise BrokenPromise("Every cell was surveyed.")
    try:
        return texts.cast(pl.Enum(there)).to_physical().cast(pl.UInt32).fill_null(missing).to_numpy()
    except pl.exceptions.PolarsError:  # which quotes the cell
        raise BrokenPromise("Every cell was surveyed.") from None


def missing_to_null(series: pl.Series, plan: Plan) -> pl.Series:
    """Empty strings, the plan's missing marks and not-a-number become null; text loses outer blanks."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    series = missing.missing_to_null(series, plan.missing)
    return series.str.strip_chars() if series.dtype == pl.String else series


def _book_of(frame: pl.DataFrame | Mapping[str, pl.Series], name: str, plan: Plan) -> Book:
    kind = plan.kind(name)
    names = kind.parts if kind is not None and kind.name == "place" else (name,)
    rows = pl.DataFrame([frame[one] for one in names])
    cells = rows.unique(maintain_order=True) if all(is_plain(dtype) for dtype in rows.dtypes) else rows
    try:
        column, codes = _encode_column(cells, name, plan)
    except DataError:
        _encode_column(rows, name, plan)  # says the same of the whole column, whose cells it counts
        raise
    return Book(column, cells, codes)


def _encode_column(frame: pl.DataFrame, name: str, plan: Plan) -> tuple[Column, tuple[Codes, ...]]:
    kind = plan.kind(name)
    assert kind is not None, "what nobody declared was guessed before"
    if kind.name == "place":
        pair = [missing_to_null(frame[part], plan) for part in kind.parts]
        if plan.style == "suppress":
            text = place.place_text(pair[0], pair[1], name, kind)
            return label.encode_suppressed(text, kind, plan)
        return place.encode_place(pair[0], pair[1], name, kind, plan)
    series = missing_to_null(frame[name], plan)
    if kind.name == "region":
        region.check_regions(series, plan)
    if plan.style == "suppress":
        return label.encode_suppressed(series, kind, plan)
    if kind.name == "region":
        return region.encode_region(series, plan)
    if kind.name in {"number", "date"}:
        return number.encode_number(series, kind, plan)
    if kind.name == "tree":
        return tree.encode_tree(series, plan)
    return label.encode_label(series, plan)


def _check_columns(frame: pl.DataFrame, plan: Plan) -> None:
    check_named(plan.columns, frame.columns)
    plan.whom.check_against(frame.columns)
    if plan.whom.unit is not None:
        check_plain(frame[plan.whom.unit])
    for name in (*plan.sensitive, *plan.keep):
        if name in plan.sensitive or not frame[name].dtype.is_nested():  # lists may be kept, in Parquet
            check_plain(frame[name])
        if plan.style == "centres":  # which writes its values as text
            check_text(frame[name])
    hidden = {*plan.identifier, plan.whom.unit, plan.pseudonym}
    published = {*plan.quasi, *plan.columns} - hidden
    check_published_names(sorted({*published, *plan.beside}))
    texts = sorted(name for name, kind in frame.schema.items() if name in published and is_text(kind))
    has_zero = frame.select(pl.col(texts).cast(pl.String).str.contains("\0", literal=True).any())
    for name in texts:
        if has_zero[name].any():
            check_texts(frame[name])  # says so


def _check_published(columns: list[Column], plan: Plan) -> None:
    """Cells of more than one column get names of their own, which may be taken."""
    others = [*plan.beside, *((plan.whom.count,) if plan.whom.count is not None else ())]
    names = [name for column in columns for name in _published(column, plan)] + others
    doubled = sorted({repr(name) for name in names if names.count(name) > 1})
    if doubled:
        raise PlanError(
            f"The release would have two columns named {', '.join(doubled)}, since the cells "
            f"{plan.cells!r} need names of their own. Choose other cells, or rename a column first.",
            field="cells",
        )


def _published(column: Column, plan: Plan) -> tuple[str, ...]:
    parts = column.parts or (column.name,)
    if plan.style == "generalize" and plan.cells == "bounds" and column.numbers:
        return tuple(f"{part}_{end}" for part in parts for end in ("low", "high"))
    if plan.style == "generalize" and plan.cells == "middle" and column.parts:
        return tuple(name for part in parts for name in (part, f"{part}_size"))
    return parts if plan.style == "means" else (column.name,)

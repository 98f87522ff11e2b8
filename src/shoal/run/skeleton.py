"""The values of a column as a private file, to be filled in to a hierarchy."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.encode.tree import to_text
from shoal.model.missing import missing_to_null
from shoal.model.names import check_named
from shoal.model.plan import words_of
from shoal.model.words import Names
from shoal.publish.atomic import PRIVATE, Drafts, sync_folder
from shoal.publish.target import as_data_error, check_file
from shoal.read.frames import to_polars
from shoal.read.hierarchy import RECORDS, hierarchy_of

__all__ = ["Skeleton", "write_skeleton"]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Where the values lie, how many there are, and how many records have them."""

    path: Path
    values: int
    records: int


def write_skeleton(
    frame: Any,
    column: str,
    path: str | os.PathLike[str],
    *,
    levels: int = 2,
    missing_from: Any = None,
    missing: Names = (),
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Skeleton:
    """Write the values of a column with their counts, as a hierarchy file whose levels are to be filled in.

    The file holds cells of the table: it is private, readable by you alone. Once its empty cells are
    filled, `read_hierarchy` reads it; the column of records is left aside.

    Args:
        frame: The table.
        column: The column whose values are listed, the commonest first.
        path: A .csv file.
        levels: How many levels above the values are to be filled in.
        missing_from: A hierarchy, or its file: only values without a place in it are listed.
        missing: Marks for missing cells, which have no place.
        inputs: Files that must not be overwritten.

    """
    _, table = to_polars(frame)
    check_named([column], table.columns)
    target = check_file(path, "list of values", [".csv"], inputs=inputs)
    cells = to_text(missing_to_null(table[column], words_of("missing", missing))).drop_nulls()
    counts = cells.str.strip_chars().value_counts(sort=False, name="\0rows")
    counts = counts.sort(["\0rows", column], descending=[True, False])
    if missing_from is not None:
        tree = hierarchy_of(missing_from, column=column)
        known = tree.leaves if hasattr(tree, "leaves") else ()
        counts = counts.filter(~pl.col(column).is_in(pl.Series(known, dtype=pl.String).implode()))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"level{level}" for level in range(levels + 1)), RECORDS])
    writer.writerows([value, *[""] * levels, rows] for value, rows in counts.iter_rows())
    with as_data_error(target, "list of values"), Drafts(target) as drafts:
        draft = drafts.new(target, mode=PRIVATE)
        draft.write(text.getvalue())
        draft.place()
        sync_folder(target.parent)
    return Skeleton(target, counts.height, int(counts["\0rows"].sum()))

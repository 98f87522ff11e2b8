"""The different cells of every column, and how often each stands in the table: one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.batch import Carried, carried_of
from shoal.encode.survey import survey_cells
from shoal.engines.stream.under_way import under_way
from shoal.errors import DataError, TooFewRows
from shoal.model.known import Known
from shoal.model.plain import check_moments
from shoal.model.plan import Plan
from shoal.model.whom import Repeats
from shoal.read.scan import Scan

__all__ = ["Surveyed", "repeats_of", "survey_scan"]

ROWS = "\0rows"
TOGETHER = 16
"""Counts of so many batches are joined at a time."""
HASHES = 32_000_000
"""Cells of an identifier that are compared at a time: 256 MB of hashes."""


@dataclass(frozen=True, slots=True, eq=False)
class Surveyed(Known):
    """What is known of a table that is never whole in memory.

    Also the rows of every cell of a book, and the columns that are published as they are.
    """

    counts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    carried: tuple[Carried, ...] = ()


def survey_scan(scan: Scan, plan: Plan, workers: int) -> Surveyed:
    """Learn the columns of a table in one pass."""
    names = [*plan.quasi, *plan.sensitive, *plan.keep]
    if scan.rows < plan.k:
        raise TooFewRows(rows=scan.rows, k=plan.k)
    lacking = [name for name in names if name not in scan.columns]
    counts = {} if lacking else _counts(scan, names, workers)
    for its in counts.values():
        check_moments(its)
    cells = {name: its[name] for name, its in counts.items()}
    known = survey_cells(cells, scan.like, plan)
    return Surveyed(
        known.books,
        known.guessed,
        known.doubts,
        {name: counts[name][ROWS].to_numpy() for name in plan.quasi},
        tuple(carried_of(cells[name], plan) for name in (*plan.sensitive, *plan.keep)),
    )


def _counts(scan: Scan, names: Sequence[str], workers: int) -> dict[str, pl.DataFrame]:
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in names}

    def count(batch: pa.RecordBatch) -> list[pl.DataFrame]:
        return [_counted(name, batch.column(name), scan.like.schema[name]) for name in names]

    for counted in under_way(count, scan.batches(names), workers):
        for name, its in zip(names, counted, strict=True):
            found[name].append(its)
            if len(found[name]) > TOGETHER:
                found[name] = [_joined(found[name], name)]
    return {name: _joined(its, name).sort(name, nulls_last=True) for name, its in found.items()}


def _counted(name: str, cells: Any, kind: pl.DataType) -> pl.DataFrame:
    if pa.types.is_dictionary(cells.type):
        words = len(cells.dictionary)
        held = np.bincount(
            cells.indices.fill_null(words).to_numpy(zero_copy_only=False), minlength=words + 1
        )
        values = pl.Series(name, cells.dictionary, dtype=kind).extend(pl.Series(name, [None], dtype=kind))
        return pl.DataFrame({name: values, ROWS: held.astype(np.int64)}).filter(pl.col(ROWS) > 0)
    series = pl.Series(name, cells).cast(kind)
    return series.to_frame().group_by(name).len(ROWS).cast({ROWS: pl.Int64})


def _joined(parts: list[pl.DataFrame], name: str) -> pl.DataFrame:
    return pl.concat(parts).group_by(name).agg(pl.col(ROWS).sum())


def repeats_of(scan: Scan, plan: Plan) -> tuple[Repeats, ...]:
    """The identifiers whose values repeat; stops where the plan does not say whom k counts.

    Cells are compared by hashes of 64 bits, so what is counted may at worst be too much by chance.
    """
    found = []
    for name in plan.identifier:
        if name not in scan.columns or scan.like.schema[name].is_nested():
            continue
        values = rows = most = missing = 0
        turns = -(-scan.rows // HASHES)
        for turn in range(turns):
            kept: list[NDArray[np.uint64]] = []
            for frame in scan.frames([name]):
                cells = frame[name].drop_nulls()
                missing += (frame.height - len(cells)) * (turn == 0)
                hashes = cells.hash(seed=0).to_numpy()
                kept.append(hashes[hashes % np.uint64(turns) == turn])
            _, times = np.unique(np.concatenate(kept), return_counts=True)
            often = times[times > 1]
            values, rows = values + often.size, rows + int(often.sum())
            most = max(most, int(often.max(initial=0)))
        if values or missing > 1:
            found.append(Repeats(name, values, rows, most, missing))
    if found and not plan.whom.means_rows:
        one = found[0]
        raise DataError(
            f"Column {one.column!r} is an identifier that repeats: {one.values:,} of its values stand in "
            f"{one.rows:,} rows, and {one.missing:,} are missing, so a class of k rows may be fewer than k "
            "persons. Say unit = rows where rows are meant; the engine 'memory' counts persons.",
            field="unit",
            column=one.column,
        )
    return tuple(found)

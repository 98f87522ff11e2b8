"""The different cells of every column, and the records of each: one pass, or two where a column counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.batch import Carried, Lookup, carried_of
from shoal.encode.survey import doubts_of_kept, missing_to_null, survey_cells
from shoal.engines.stream.limits import LEAST
from shoal.engines.stream.lines import Counted
from shoal.engines.stream.under_way import Hands, under_way
from shoal.errors import DataError, PlanError, TooFewRows
from shoal.group.parts.persons import numbers_of_persons
from shoal.model.known import Known
from shoal.model.names import check_named
from shoal.model.plain import EXACT, check_moments, counts_of
from shoal.model.plan import Plan
from shoal.model.task import Progress
from shoal.model.whom import Repeats
from shoal.read.scan import Scan

__all__ = ["Surveyed", "repeats_of", "survey_scan"]

ROWS, RECORDS = "\0rows", "\0records"
TOGETHER = 16
"""Counts of so many batches are joined at a time."""
COPIES = 3
"""How often the different values of a column are held at a time, about: joined, sorted, looked up."""
HASHES = 16_000_000
"""Cells of an identifier that are compared at a time: 128 MB of hashes."""


@dataclass(frozen=True, slots=True, eq=False)
class Surveyed(Known):
    """What is known of a table that is never whole in memory.

    Also the records of every cell of a book, the columns that are published as they are, the one that
    counts records, how many there are, and the identifiers that repeat.
    """

    counts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    carried: tuple[Carried, ...] = ()
    counted: Counted | None = None
    total: int = 0
    repeats: tuple[Repeats, ...] = ()


def survey_scan(scan: Scan, plan: Plan, hands: Hands, progress: Progress) -> Surveyed:
    """Learn the columns of a table."""
    check_named(plan.columns, scan.columns)
    names = [*plan.quasi, *plan.sensitive, *plan.keep]
    counted = _counted_by(scan, plan, hands)
    counts = _counts(scan, names, hands, counted, progress)
    total = int(counts[names[0]][RECORDS].sum())
    if total < plan.k:
        raise TooFewRows(rows=total, k=plan.k)
    for its in counts.values():
        check_moments(its)
    cells = {name: its[name] for name, its in counts.items()}
    known = survey_cells(cells, scan.like, plan)
    held = {name: its[RECORDS].to_numpy() for name, its in counts.items()}
    return Surveyed(
        known.books,
        known.guessed,
        (*known.doubts, *doubts_of_kept({name: held[name].size for name in plan.keep}, scan.rows)),
        {name: held[name] for name in plan.quasi},
        tuple(carried_of(cells[name], held[name], plan) for name in (*plan.sensitive, *plan.keep)),
        counted,
        total,
        repeats_of(scan, plan),
    )


def _counted_by(scan: Scan, plan: Plan, hands: Hands) -> Counted | None:
    """The column that counts records, from its different cells."""
    name = plan.whom.count
    if name is None:
        return None
    found = _counts(scan, [name], hands, None, lambda _what, _share: None)[name]
    numbers = counts_of(missing_to_null(found[name], plan))
    if float(numbers.astype(np.float64) @ found[ROWS].to_numpy()) >= EXACT:
        raise DataError(
            f"Column {name!r} counts 2^53 records and more, which cannot be right.",
            field="count",
            column=name,
        )
    return Counted(Lookup.of(found[name], np.arange(len(numbers), dtype=np.int32)), numbers)


def _counts(
    scan: Scan, names: Sequence[str], hands: Hands, counted: Counted | None, progress: Progress
) -> dict[str, pl.DataFrame]:
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
    chosen = names if counted is None else [*names, counted.lookup.name]

    def count(batch: pa.RecordBatch) -> tuple[int, list[pl.DataFrame]]:
        records = None if counted is None else counted.records_of(batch)
        kinds = scan.like.schema
        return batch.num_rows, [_count(name, batch.column(name), kinds[name], records) for name in names]

    rows = 0
    for many, its_counts in under_way(count, scan.batches(chosen), hands):
        rows += many
        progress(f"encoding row {rows:,} of {scan.rows:,}", rows / scan.rows)
        for name, its in zip(names, its_counts, strict=True):
            found[name].append(its)
            if len(found[name]) > TOGETHER:
                found[name] = [_joined(found[name], name)]
        if len(found[names[0]]) == 1:
            _check_values(found, hands)
    return {name: _joined(its, name).sort(name, nulls_last=True) for name, its in found.items()}


def _check_values(found: dict[str, list[pl.DataFrame]], hands: Hands) -> None:
    """Stop where the different values of the columns need more memory than there may be."""
    sizes = {name: sum(its.estimated_size() for its in parts) for name, parts in found.items()}
    needed = LEAST + COPIES * sum(sizes.values())
    if hands.most is not None and needed > hands.most:
        name = max(sizes, key=lambda one: sizes[one])
        raise PlanError(
            f"The different values of the columns need more than {needed / 1e9:.1f} GB of memory, most of "
            f"them column {name!r}, and {hands.most / 1e9:.1f} GB are allowed. Allow more memory, or leave "
            "the column out.",
            field="memory",
            column=name,
        )


def _count(name: str, cells: Any, kind: pl.DataType, records: NDArray[np.int64] | None) -> pl.DataFrame:
    """The different cells of a batch, with their rows and their records."""
    if pa.types.is_dictionary(cells.type):
        words = len(cells.dictionary)
        places = cells.indices.fill_null(words).to_numpy(zero_copy_only=False)
        rows = np.bincount(places, minlength=words + 1).astype(np.int64)
        held = rows
        if records is not None:
            held = np.rint(np.bincount(places, weights=records, minlength=words + 1)).astype(np.int64)
        values = pl.Series(name, cells.dictionary, dtype=kind).extend(pl.Series(name, [None], dtype=kind))
        return pl.DataFrame({name: values, ROWS: rows, RECORDS: held}).filter(pl.col(ROWS) > 0)
    series = pl.Series(name, cells).cast(kind)
    held_by = pl.Series(RECORDS, np.ones(len(series), dtype=np.int64) if records is None else records)
    sums = (pl.len().cast(pl.Int64).alias(ROWS), pl.col(RECORDS).sum())
    return pl.DataFrame([series, held_by]).group_by(name).agg(sums)


def _joined(parts: list[pl.DataFrame], name: str) -> pl.DataFrame:
    return pl.concat(parts).group_by(name).agg(pl.col(ROWS, RECORDS).sum())


def repeats_of(scan: Scan, plan: Plan) -> tuple[Repeats, ...]:
    """The identifiers whose values repeat, where k does not count persons.

    Cells are compared by hashes of 64 bits, so what is counted may at worst be too much by chance.
    """
    found: list[Repeats] = []
    if plan.whom.unit is not None or plan.whom.of_persons:
        return ()
    for name in plan.identifier:
        if scan.like.schema[name].is_nested():
            continue
        values = rows = most = missing = 0
        turns = -(-scan.rows // HASHES)
        for turn in range(turns):
            kept: list[NDArray[np.int64]] = []
            for batch in scan.batches([name]):
                numbers = numbers_of_persons(batch.column(name), plan.missing)
                missing += int((numbers == 0).sum()) * (turn == 0)
                mine = numbers != 0
                if turns > 1:
                    mine &= numbers.view(np.uint64) % np.uint64(turns) == turn
                kept.append(numbers[mine])
            _, times = np.unique(np.concatenate(kept), return_counts=True)
            often = times[times > 1]
            values, rows = values + often.size, rows + int(often.sum())
            most = max(most, int(often.max(initial=0)))
        if values or missing > 1:
            found.append(Repeats(name, values, rows, most, missing))
    return tuple(found)

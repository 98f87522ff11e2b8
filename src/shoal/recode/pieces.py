"""From pieces of distinct rows back to the input's rows.

Copies of a tuple may be spread over groups. Which of them goes where must depend neither on the
order of the input nor on what is sensitive about them: they are put in the order of their published
values, then shuffled by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model.coded import Coded
from shoal.model.grouping import WITHHELD, Grouping, Groups
from shoal.model.plan import Plan
from shoal.recode.pseudonyms import LOTS

__all__ = ["RowPieces", "deal", "lay_out"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RowPieces:
    """Published lines to be: input row, its group (-1 = withheld), and the records it stands for."""

    row: NDArray[np.int32]
    group: NDArray[np.int32]
    records: NDArray[np.int64]


def lay_out(frame: pl.DataFrame, coded: Coded, grouping: Grouping, plan: Plan) -> tuple[RowPieces, Groups]:
    """Give every input row its group; a row of several records may become several pieces."""
    label, shared = _labels(coded.row, coded.distinct, grouping)
    rows: NDArray[np.integer] = _sharing(coded.row, coded.records, shared)
    if rows.size == 0:
        pieces = _whole(coded.records, label)
    else:
        rows = _shuffled(_sorted(frame, coded, rows, plan), coded.row, plan.seed)
        pieces = _dealt(coded.row, coded.records, grouping, label, rows, shared)
        label = label.copy()
        # a row's own label is that of its first piece
        label[pieces.row[::-1]] = pieces.group[::-1]
    return pieces, Groups(label, _centre_rows(coded, grouping))


def deal(
    row: NDArray[np.int32],
    published: Sequence[NDArray[np.integer]],
    grouping: Grouping,
    distinct: int,
    random: int | np.random.Generator,
    *,
    records: Integers | None = None,
) -> RowPieces:
    """The same by numbers alone: the distinct row of every row, and codes of what is published of it."""
    label, shared = _labels(row, distinct, grouping)
    rows: NDArray[np.integer] = _sharing(row, records, shared)
    if rows.size == 0:
        return _whole(records, label)
    keys = [one[rows] for one in published]
    if records is not None:
        keys.append(records[rows])
    rows = _shuffled(rows[np.lexsort([*keys[::-1], row[rows]])], row, random)
    return _dealt(row, records, grouping, label, rows, shared)


def _labels(
    row: NDArray[np.int32], distinct: int, grouping: Grouping
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The group of every row by its distinct row's first piece, and which distinct rows have several."""
    first = np.full(distinct, WITHHELD, dtype=np.int32)  # a row without records is in no group
    first[grouping.distinct[::-1]] = grouping.group[::-1]
    return first[row], np.bincount(grouping.distinct, minlength=distinct) > 1


def _sharing(
    row: NDArray[np.int32], records: Integers | None, shared: NDArray[np.bool_]
) -> NDArray[np.integer]:
    """The rows of shared tuples; those without a record are in no group, whatever tuple they came to."""
    its = shared[row]
    return np.flatnonzero(its if records is None else its & (records > 0))


def _whole(held: Integers | None, label: NDArray[np.int32]) -> RowPieces:
    row = np.arange(label.size, dtype=np.int32)
    records = held if held is not None else np.ones(label.size, dtype=np.int64)
    kept = records > 0
    return RowPieces(row[kept], label[kept], records[kept])


def _shuffled(
    rows: NDArray[np.integer], row: NDArray[np.int32], random: int | np.random.Generator
) -> NDArray[np.integer]:
    """Rows that stand by distinct row, shuffled within each."""
    luck = np.random.default_rng(random).random(rows.size)
    return rows[np.lexsort((luck, row[rows]))]


def _sorted(
    frame: pl.DataFrame, coded: Coded, rows: NDArray[np.integer], plan: Plan
) -> NDArray[np.integer]:
    """`rows` by distinct row, and within one by published values."""
    names = [*plan.sensitive, *plan.keep, *([plan.whom.count] if plan.whom.count else [])]
    if LOTS in frame.columns:  # rows that differ in their pseudonym: it must not tell where they go
        names.append(LOTS)
    keyed = (
        frame[pl.Series(rows)]
        .with_columns(pl.Series("\0distinct", coded.row[rows]), pl.Series("\0row", rows))
        .select("\0distinct", "\0row", *names)  # of no names, a frame would have no rows
    )
    # rows that tie in all of these are alike in the release: their order cannot matter
    return keyed.sort(["\0distinct", *names], nulls_last=True)["\0row"].to_numpy()


def _dealt(
    row: NDArray[np.int32],
    all_records: Integers | None,
    grouping: Grouping,
    label: NDArray[np.int32],
    rows: NDArray[np.integer],
    shared: NDArray[np.bool_],
) -> RowPieces:
    """Lay the records of shared tuples and their pieces end to end and cut wherever either ends."""
    held = all_records[rows] if all_records is not None else np.ones(rows.size, np.int64)
    dealt = np.flatnonzero(shared[grouping.distinct])
    row_ends = np.cumsum(held)
    piece_ends = np.cumsum(grouping.count[dealt])
    ends = np.union1d(row_ends, piece_ends)
    ends = ends[ends > 0]
    records = np.diff(ends, prepend=0)
    at_row = rows[np.searchsorted(row_ends, ends)]
    at_group = grouping.group[dealt[np.searchsorted(piece_ends, ends)]]
    alone = _whole(all_records, label)
    plain = ~shared[row[alone.row]]
    return RowPieces(
        np.concatenate([alone.row[plain], at_row.astype(np.int32)]),
        np.concatenate([alone.group[plain], at_group]),
        np.concatenate([alone.records[plain], records]),
    )


def _centre_rows(coded: Coded, grouping: Grouping) -> NDArray[np.int32] | None:
    if grouping.centre is None:
        return None
    some_row = np.empty(coded.distinct, dtype=np.int32)
    some_row[coded.row[::-1]] = np.arange(coded.row.size, dtype=np.int32)[::-1]
    return some_row[grouping.centre]

"""Rows as codes: the tuples of a table counted, or sampled where they are too many, and how it is cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.batch import coder_of
from shoal.encode.keys import keys_needed, pack_keys, unpack_keys
from shoal.encode.part import Rows, code_lines, ruled_values
from shoal.engines.parts import PartTask, cuts_of, persons_counted
from shoal.engines.stream.lines import Layout
from shoal.engines.stream.survey import Surveyed
from shoal.engines.stream.under_way import under_way
from shoal.engines.stream.values import InParts, Streamed
from shoal.group.parts.sample import Tuples, add, count_tuples, empty
from shoal.model.coded import Coded
from shoal.model.plan import Plan
from shoal.model.task import Progress

__all__ = ["code_in_parts", "line_keys"]

TOGETHER = 4
"""Batches whose tuples are joined at a time."""


def line_keys(rows: Rows, about: PartTask) -> NDArray[np.int64]:
    """Keys of the distinct rows of a table: codes, what rules see, and the person where it is counted."""
    seen = about.ruled.seen(rows.carried)
    codes = np.concatenate([rows.codes, *(one[:, np.newaxis] for one in seen)], axis=1)
    keys = pack_keys(codes, [*about.coder.sizes, *about.ruled.sizes])
    if about.plan.whom.unit is not None:
        keys = np.concatenate([keys, rows.persons[:1]])
    return keys


def code_in_parts(table: Streamed, known: Surveyed, plan: Plan, progress: Progress) -> InParts:
    """Few tuples are counted and held; of many a sample is, from which the cuts are learnt.

    Where rules look at more than the tuples, few are those that differ in that too.
    """
    coder = coder_of(known, known.counts)
    about = PartTask(coder, known.carried, ruled_values(known.carried, plan), plan, known.total)
    persons = persons_counted(plan, [one.column for one in known.repeats])
    layout = Layout(about, known.counted, persons)
    coded = InParts(table, layout, coder.columns, known.repeats)
    ruled, sizes = about.is_ruled, coder.sizes

    def count(batch: pa.RecordBatch) -> tuple[int, int, Tuples, Tuples | None]:
        rows = layout.rows_of(batch) if ruled else layout.tuples_of(batch)
        some = count_tuples(pack_keys(rows.codes, sizes), rows.records, zeros=found.zeros)
        if lines is None:
            return batch.num_rows, rows.rows, some, None
        return batch.num_rows, rows.rows, some, count_tuples(line_keys(rows, about), rows.records)

    found = empty(keys_needed(sizes))
    lines: Tuples | None = None
    if ruled:
        lines = empty(keys_needed([*sizes, *about.ruled.sizes]) + (plan.whom.unit is not None))
    waiting: list[tuple[Tuples, Tuples | None]] = []

    def join() -> tuple[Tuples, Tuples | None]:
        every = None
        if lines is not None:
            every = add([lines, *(its for _, its in waiting if its is not None)], plan.part)
            every = every if every.are_all else None
        return add([found, *(some for some, _ in waiting)], plan.part), every

    rows = held = 0
    for many, mine, some, its in under_way(
        count, table.scan.batches(layout.names if ruled else layout.own), table.hands
    ):
        rows += many
        held += mine  # rows that stand for any record
        progress(f"counting row {rows:,} of {table.rows:,}", rows / table.rows)
        waiting.append((some, its))
        if len(waiting) >= TOGETHER:
            found, lines = join()
            waiting = []
    found, lines = join()
    if found.are_all and (lines is not None or not ruled):
        keys = found if lines is None else lines
        return coded.with_few(_whole(keys, about), keys.keys)
    return coded.with_cuts(cuts_of(found, coder, plan, rows=held, total=known.total))


def _whole(keys: Tuples, about: PartTask) -> Coded:
    sizes = [*about.coder.sizes, *about.ruled.sizes]
    has_unit = about.plan.whom.unit is not None
    codes = unpack_keys(keys.keys[: len(keys.keys) - has_unit], sizes)
    axes = len(about.coder.sizes)
    values = [np.ascontiguousarray(codes[:, axes + at]) for at in range(len(about.ruled.sizes))]
    persons = (keys.keys[-1],) if has_unit else ()
    tuples = np.ascontiguousarray(codes[:, :axes])
    return code_lines(tuples, values, persons, keys.count, about.coder, about.ruled, about.plan)

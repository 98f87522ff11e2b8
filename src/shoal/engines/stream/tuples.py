"""Rows as codes: the tuples of a table counted, or sampled where they are too many, and how it is cut."""

from __future__ import annotations

import pyarrow as pa

from shoal.encode.batch import coder_of
from shoal.encode.keys import keys_needed, pack_keys, unpack_keys
from shoal.engines.stream.survey import Surveyed
from shoal.engines.stream.under_way import under_way
from shoal.engines.stream.values import InParts, Streamed
from shoal.group.parts.cut import cut_into_parts
from shoal.group.parts.sample import Tuples, add, count_tuples, empty
from shoal.model.coded import pack
from shoal.model.plan import Plan

__all__ = ["code_in_parts", "heavy"]

TOGETHER = 4
"""Batches whose tuples are joined at a time."""


def heavy(plan: Plan) -> int:
    """Copies from which on a tuple is a class of its own and enters no part."""
    return max(plan.part // 2, plan.k)


def code_in_parts(table: Streamed, known: Surveyed, plan: Plan) -> InParts:
    """Few tuples are counted and held; of many a sample is, from which the cuts are learnt."""
    coder = coder_of(known, known.counts)
    sizes = coder.sizes
    names = list(plan.quasi)

    def count(batch: pa.RecordBatch) -> Tuples:
        return count_tuples(pack_keys(coder.codes_of(batch), sizes), zeros=found.zeros)

    found, waiting = empty(keys_needed(sizes)), []
    for some in under_way(count, table.scan.batches(names), table.workers):
        waiting.append(some)
        if len(waiting) >= TOGETHER:
            found, waiting = add([found, *waiting], plan.part), []
    found = add([found, *waiting], plan.part)
    lines = unpack_keys(found.keys, sizes)
    about = InParts(table, coder, known.carried, coder.columns, table.rows)
    if found.are_all:
        whole = coder.coded(lines, found.count, plan)
        return InParts(table, coder, known.carried, coder.columns, table.rows, whole=whole)
    metric = pack([(axis, column.weight) for column in coder.columns for axis in column.axes])
    light = found.count < heavy(plan)
    records = int(found.count[light].sum())
    least = max(plan.k, (max(plan.part, 4 * plan.k) >> found.zeros) // 2, 1)
    cuts = cut_into_parts(lines[light], found.count[light], metric, min(least, max(records, 1)))
    return InParts(table, coder, about.carried, coder.columns, table.rows, cuts=cuts)

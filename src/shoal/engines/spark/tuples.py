"""Rows as keys, kept by Spark; their tuples counted, or sampled where they are too many, and the cuts.

The sample is that of `group/parts/sample`: tuples whose hash ends in zeros, with all of their copies, and
as few zeros as leave no more than a part. Spark's own hash chooses them, so most rows never leave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.encode.batch import Coder, coder_of
from shoal.encode.keys import keys_needed, pack_keys, unpack_keys
from shoal.engines.parts import cuts_of
from shoal.engines.spark.ask import collected, renamed
from shoal.engines.spark.send import of_batches
from shoal.engines.spark.values import InSpark, Kept, SparkTable, SurveyedInSpark
from shoal.errors import DataError
from shoal.group.parts.sample import Tuples, add
from shoal.model.missing import missing_to_null
from shoal.model.plan import Plan

__all__ = ["KEYS", "Coding", "carried_names", "code_frame", "code_rows", "key_names"]

KEYS = "k"
"""How the names of keys begin."""


def key_names(coder: Coder) -> list[str]:
    """The columns of packed codes."""
    return [f"{KEYS}{at}" for at in range(keys_needed(coder.sizes))]


def carried_names(plan: Plan) -> list[str]:
    """The columns that are published as they are, by the names they have on the way."""
    return [f"s{at}" for at in range(len(plan.sensitive) + len(plan.keep))]


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """What a worker needs to turn rows into keys."""

    coder: Coder
    quasi: tuple[str, ...]
    carried: tuple[str, ...]
    missing: tuple[str, ...]


def code_frame(table: SparkTable, known: SurveyedInSpark, plan: Plan) -> InSpark:
    """Few tuples are counted and held; of many a sample is, from which the cuts are learnt."""
    coder = coder_of(known, known.counts)
    rows = Kept(_coded(table, coder, plan))
    found = _sampled(rows.frame, coder, known.rows, plan)
    if found.are_all and int(found.count.sum()) != known.rows:
        raise DataError("The table changed while it was read. Let nobody write to it, and try again.")
    lines = unpack_keys(found.keys, coder.sizes)
    if found.are_all:
        whole = coder.coded(lines, found.count, plan)
        return InSpark(table, rows, coder, coder.columns, known.rows, whole=whole)
    cuts = cuts_of(found, coder, plan, rows=known.rows, total=known.rows)
    return InSpark(table, rows, coder, coder.columns, known.rows, cuts=cuts)


def _coded(table: SparkTable, coder: Coder, plan: Plan) -> Any:
    from pyspark.sql.types import LongType, StructField, StructType

    carried = (*plan.sensitive, *plan.keep)
    quasi = [f"c{at}" for at in range(len(plan.quasi))]
    source = renamed(table.frame, [*plan.quasi, *carried], [*quasi, *carried_names(plan)])
    schema = StructType(
        [
            *(StructField(name, LongType()) for name in key_names(coder)),
            *(StructField(one.name, one.dataType) for one in source.schema.fields[len(quasi) :]),
        ]
    )
    about = Coding(coder, plan.quasi, carried, plan.missing)
    return source.mapInArrow(of_batches(code_rows, about), schema)


def code_rows(about: Coding, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: rows as keys with what is carried, missing cells as such."""
    many = len(about.quasi)
    names = [f"{KEYS}{at}" for at in range(keys_needed(about.coder.sizes))]
    for batch in batches:
        quasi = pa.RecordBatch.from_arrays(batch.columns[:many], names=list(about.quasi))
        keys = pack_keys(about.coder.codes_of(quasi), about.coder.sizes)
        carried = [_shown(array, about.missing) for array in batch.columns[many:]]
        yield pa.RecordBatch.from_arrays(
            [*map(pa.array, keys), *carried], names=[*names, *batch.schema.names[many:]]
        )


def _shown(array: Any, marks: tuple[str, ...]) -> Any:
    if pa.types.is_nested(array.type):
        return array
    series = missing_to_null(pl.Series(array), marks)
    return series.to_arrow().cast(array.type)


def _sampled(coded: Any, coder: Coder, rows: int, plan: Plan) -> Tuples:
    """The tuples with as few zeros as leave at most `part`, looked for from the number of rows on."""
    most = plan.part
    zeros = max(0, int(np.floor(np.log2(max(rows / most, 1)))))
    while True:
        found = _with_zeros(coded, coder, zeros)
        if zeros == 0 or found.count.size > most:
            return add([found], most)
        # fewer than a part: look for about one and a half, which leaves half as many at most
        lower = found.count.size * 2.0**zeros / (1.5 * most)
        zeros = min(zeros - 1, max(0, int(np.floor(np.log2(max(lower, 1.0))))))


def _with_zeros(coded: Any, coder: Coder, zeros: int) -> Tuples:
    from pyspark.sql import functions as f

    names = key_names(coder)
    some = coded.select(*names)
    if zeros:
        some = some.where(f.xxhash64(*names).bitwiseAND(f.lit((1 << zeros) - 1)) == 0)
    counted = some.groupBy(*names).agg(f.count(f.lit(1)).alias("n"))
    arrived = collected(counted, "counting tuples")
    keys = np.stack([arrived.column(name).to_numpy() for name in names])
    count = arrived.column("n").to_numpy().astype(np.int64)
    order = np.lexsort(keys[::-1])
    return Tuples(np.ascontiguousarray(keys[:, order]), count[order], zeros)

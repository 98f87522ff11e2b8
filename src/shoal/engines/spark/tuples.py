"""Rows as keys, kept by Spark; their tuples counted, or sampled where they are too many, and the cuts.

The sample is that of `group/parts/sample`: tuples whose hash ends in zeros, with all of their copies, and
as few zeros as leave no more than a part. Spark's own hash chooses them, so most rows never leave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.batch import Coder, coder_of
from shoal.encode.keys import keys_needed, pack_keys, unpack_keys
from shoal.encode.part import code_lines, ruled_values
from shoal.engines.parts import PartTask, cuts_of
from shoal.engines.spark.ask import collected, renamed
from shoal.engines.spark.send import of_batches
from shoal.engines.spark.values import TIMES, InSpark, Kept, SparkTable, SurveyedInSpark
from shoal.errors import DataError
from shoal.group.parts.persons import numbers_of_persons
from shoal.group.parts.sample import Tuples, add
from shoal.model.coded import Coded
from shoal.model.missing import missing_to_null
from shoal.model.plain import counts_of
from shoal.model.plan import Plan

__all__ = [
    "KEYS",
    "Coding",
    "carried_names",
    "code_frame",
    "code_rows",
    "key_names",
    "line_names",
    "seen_of",
]

KEYS = "k"
"""How the names of keys begin."""


def key_names(coder: Coder) -> list[str]:
    """The columns of packed codes."""
    return [f"{KEYS}{at}" for at in range(keys_needed(coder.sizes))]


def carried_names(plan: Plan) -> list[str]:
    """The columns that are published as they are, by the names they have on the way."""
    return [f"s{at}" for at in range(len(plan.sensitive) + len(plan.keep))]


def line_names(about: PartTask) -> list[str]:
    """The columns of all keys of a row: its codes, what rules see of it, and the person it belongs to."""
    seen = [f"l{at}" for at in range(keys_needed(about.ruled.sizes))] if about.ruled.columns else []
    return [*key_names(about.coder), *seen, *(["p"] if about.plan.whom.unit is not None else [])]


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """What a worker needs to turn rows into keys; `places` are those of ruled columns among the carried."""

    about: PartTask
    places: tuple[int, ...]


def code_frame(table: SparkTable, known: SurveyedInSpark, plan: Plan) -> InSpark:
    """Few tuples are counted and held; of many a sample is, from which the cuts are learnt.

    Where rules look at more than the tuples, few are those that differ in that too.
    """
    coder = coder_of(known, known.counts)
    about = PartTask(coder, known.ruled, ruled_values(known.ruled, plan), plan, known.total)
    rows = Kept(_coded(table, about))
    names = key_names(coder)
    coded = InSpark(table, rows, about, coder.columns, known.lines)
    found = _sampled(coded, names, plan.part)
    if found.are_all and int(found.count.sum()) != known.total:
        raise DataError("The table changed while it was read. Let nobody write to it, and try again.")
    if found.are_all:
        lines = found
        if about.is_ruled and _different(rows.frame, line_names(about)) <= plan.part:
            lines = _with_zeros(coded, line_names(about), 0)
        if not about.is_ruled or len(lines.keys) > len(names):
            return replace(coded, whole=_whole(lines, about), keys=lines.keys)
    return replace(coded, cuts=cuts_of(found, coder, plan, rows=known.lines, total=known.total))


def _whole(lines: Tuples, about: PartTask) -> Coded:
    """Few distinct rows as methods take them."""
    many = keys_needed(about.coder.sizes)
    codes = unpack_keys(lines.keys[:many], about.coder.sizes)
    has_unit = about.plan.whom.unit is not None
    seen = seen_of(lines.keys[many : len(lines.keys) - has_unit], about)
    persons = (lines.keys[-1],) if has_unit else ()
    return code_lines(codes, list(seen), persons, lines.count, about.coder, about.ruled, about.plan)


def seen_of(keys: NDArray[np.int64], about: PartTask) -> tuple[NDArray[np.int32], ...]:
    """What rules see, from its keys."""
    if not about.ruled.columns:
        return ()
    codes = unpack_keys(keys, about.ruled.sizes)
    return tuple(np.ascontiguousarray(codes[:, at]) for at in range(codes.shape[1]))


def _coded(table: SparkTable, about: PartTask) -> Any:
    from pyspark.sql.types import LongType, StructField, StructType

    plan = about.plan
    carried = (*plan.sensitive, *plan.keep)
    unit = [] if plan.whom.unit is None else [plan.whom.unit]
    count = [] if plan.whom.count is None else [plan.whom.count]
    quasi = [f"c{at}" for at in range(len(plan.quasi))]
    source = renamed(
        table.frame,
        [*plan.quasi, *unit, *carried, *count],
        [*quasi, *(["who"] if unit else []), *carried_names(plan), *([TIMES] if count else [])],
    )
    first = len(quasi) + len(unit)
    schema = StructType(
        [
            *(StructField(name, LongType()) for name in line_names(about)),
            *(
                StructField(one.name, one.dataType)
                for one in source.schema.fields[first : first + len(carried)]
            ),
            *([StructField(TIMES, LongType())] if count else []),
        ]
    )
    places = tuple(carried.index(one.name) for one in about.carried)
    return source.mapInArrow(of_batches(code_rows, Coding(about, places)), schema)


def code_rows(coding: Coding, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: rows as keys with what is carried, missing cells as such."""
    about, plan = coding.about, coding.about.plan
    many, has_unit = len(plan.quasi), plan.whom.unit is not None
    names = line_names(about)
    for batch in batches:
        quasi = pa.RecordBatch.from_arrays(batch.columns[:many], names=list(plan.quasi))
        keys = [*pack_keys(about.coder.codes_of(quasi), about.coder.sizes)]
        counted = plan.whom.count is not None
        last = batch.num_columns - counted
        carried = [_shown(array, plan.missing) for array in batch.columns[many + has_unit : last]]
        if about.ruled.columns:
            its = [
                one.lookup.codes_of(carried[at])
                for one, at in zip(about.carried, coding.places, strict=True)
            ]
            seen = np.stack(about.ruled.seen(its), axis=1)
            keys += [*pack_keys(seen, about.ruled.sizes)]
        if has_unit:
            keys.append(numbers_of_persons(batch.columns[many], plan.missing))
        coded = pa.RecordBatch.from_arrays(
            [*map(pa.array, keys), *carried],
            names=[*names, *batch.schema.names[many + has_unit : last]],
        )
        if counted:
            records = counts_of(missing_to_null(pl.Series(batch.column(last)), plan.missing))
            coded = coded.append_column(TIMES, pa.array(records)).filter(pa.array(records > 0))
        yield coded


def _shown(array: Any, marks: tuple[str, ...]) -> Any:
    if pa.types.is_nested(array.type):
        return array
    series = missing_to_null(pl.Series(array), marks)
    return series.to_arrow().cast(array.type)


def _sampled(coded: InSpark, names: list[str], most: int) -> Tuples:
    """The tuples with as few zeros as leave at most so many, looked for from the number of rows on."""
    zeros = max(0, int(np.floor(np.log2(max(coded.lines / most, 1)))))
    while True:
        found = _with_zeros(coded, names, zeros)
        if zeros == 0 or found.count.size > most:
            return add([found], most)
        # fewer than a part: look for about one and a half, which leaves half as many at most
        lower = found.count.size * 2.0**zeros / (1.5 * most)
        zeros = min(zeros - 1, max(0, int(np.floor(np.log2(max(lower, 1.0))))))


def _different(coded: Any, names: list[str]) -> int:
    from pyspark.sql import functions as f

    counted = coded.select(*names).distinct().agg(f.count(f.lit(1)).alias("n"))
    return int(collected(counted, "counting tuples").column(0)[0].as_py())


def _with_zeros(coded: InSpark, names: list[str], zeros: int) -> Tuples:
    from pyspark.sql import functions as f

    some = coded.rows.frame
    if zeros:
        some = some.where(f.xxhash64(*names).bitwiseAND(f.lit((1 << zeros) - 1)) == 0)
    counted = some.groupBy(*names).agg(coded.records.alias("n"))
    arrived = collected(counted, "counting tuples")
    keys = np.stack([arrived.column(name).to_numpy() for name in names])
    count = arrived.column("n").to_numpy().astype(np.int64)
    order = np.lexsort(keys[::-1])
    return Tuples(np.ascontiguousarray(keys[:, order]), count[order], zeros)

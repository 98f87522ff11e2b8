"""A table of few distinct tuples: grouped as in memory, while its rows stay where they are.

Copies of a tuple that were split over groups are dealt as in memory: in the order of what is carried, then
by luck. Luck is a long row of numbers of which every copy has its own, so nobody must hold all copies: the
place of a copy says its number, wherever that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.keys import joined
from shoal.engines.parts import Work
from shoal.engines.spark.accounts import account_of
from shoal.engines.spark.ask import collected
from shoal.engines.spark.finish import counted_fields, fields_by_group, solved_names, solved_schema
from shoal.engines.spark.send import of_batches
from shoal.engines.spark.tuples import carried_names, line_names
from shoal.engines.spark.values import ACCOUNT, TIMES, InSpark, Kept, PartsSolved
from shoal.errors import BrokenPromise
from shoal.model.grouping import WITHHELD
from shoal.model.plan import Plan
from shoal.model.task import Task
from shoal.recode.faces import faces_of
from shoal.recode.order import InOrder

__all__ = ["deal_copies", "draw_luck", "find_copies", "group_few", "publish_rows"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Placing:
    """Where rows go, by the keys of their tuples, which stand in rising order.

    `first` is the group of a tuple that was not split. Copies of those that were (`shared`) have numbers
    from `start` on, their records from `begin` on, and `ends` and `group` say, for each piece, where its
    records end and whose they are.
    """

    keys: Integers
    first: NDArray[np.int32]
    shared: NDArray[np.bool_]
    start: Integers
    begin: Integers
    ends: Integers
    group: NDArray[np.int32]
    cells: tuple[Any, ...]
    names: tuple[str, ...]
    plan: Plan


def group_few(coded: InSpark, task: Task, plan: Plan, work: Work) -> PartsSolved:
    """The work applied to all tuples; rows follow where their tuples went."""
    whole = coded.whole
    assert whole is not None, "few tuples are held"
    assert coded.keys is not None, "with their keys"
    grouping = work(task, whole)
    faces, _ = faces_of(whole, grouping)
    account = account_of(coded.columns, faces, part=0, steps=grouping.steps, withheld=grouping.withheld)
    task.progress("placing rows", 0.0)
    shared = np.bincount(grouping.distinct, minlength=whole.distinct) > 1
    records = np.where(shared, whole.count, 0)
    copies = np.where(shared, _copies(coded), 0) if shared.any() else records
    first = np.full(whole.distinct, WITHHELD, dtype=np.int32)
    first[grouping.distinct[::-1]] = grouping.group[::-1]
    dealt = np.flatnonzero(shared[grouping.distinct])
    dealt = dealt[np.argsort(grouping.distinct[dealt], kind="stable")]
    about = _Placing(
        coded.keys,
        first,
        shared,
        np.cumsum(copies) - copies,
        np.cumsum(records) - records,
        np.cumsum(grouping.count[dealt]),
        grouping.group[dealt],
        tuple(fields_by_group(InOrder(coded.columns), faces)),
        tuple(solved_names(coded.about)),
        plan,
    )
    rows = Kept(_placed(coded, plan, about))
    published = int(collected(rows.frame.agg(coded.records), "placing rows").column(0)[0].as_py() or 0)
    if published != account.records or published + grouping.withheld != coded.total:
        raise BrokenPromise("Every row is published or withheld.")
    coded.rows.close()
    return PartsSolved(
        rows,
        (account,),
        grouping.withheld,
        grouping.steps,
        whole=grouping,
        proof=grouping.proof,
        objective=grouping.objective,
        factor=grouping.factor,
    )


def _copies(coded: InSpark) -> Integers:
    """The rows of every tuple."""
    from pyspark.sql import functions as f

    assert coded.whole is not None, "few tuples are held"
    assert coded.keys is not None, "with their keys"
    if coded.about.plan.whom.count is None:
        return coded.whole.count
    names = line_names(coded.about)[: len(coded.keys)]
    told = collected(coded.rows.frame.groupBy(*names).agg(f.count(f.lit(1)).alias("n")), "counting rows")
    place = np.searchsorted(
        joined(coded.keys), joined(np.stack([told.column(name).to_numpy() for name in names]))
    )
    copies = np.zeros(coded.whole.distinct, dtype=np.int64)
    copies[place] = told.column("n").to_numpy()
    return copies


def _placed(coded: InSpark, plan: Plan, about: _Placing) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType
    from pyspark.sql.window import Window

    rows = coded.rows.frame
    schema = solved_schema(coded, coded.about)
    done = rows.mapInArrow(of_batches(publish_rows, about), schema)
    if not about.shared.any():
        return done
    counted = [] if plan.whom.count is None else [TIMES]
    carried = [*carried_names(plan), *counted]
    fields = [one for one in rows.schema.fields if one.name in carried]
    tuple_, place, luck = (
        StructField("t", LongType()),
        StructField("j", IntegerType()),
        StructField("luck", DoubleType()),
    )
    copies = rows.mapInArrow(of_batches(find_copies, about), StructType([tuple_, *fields]))
    order = [f.col(name).asc_nulls_last() for name in carried] or [f.lit(0)]
    numbered = copies.select(
        "t", f.row_number().over(Window.partitionBy("t").orderBy(*order)).alias("j"), *carried
    )
    lucky = numbered.mapInArrow(of_batches(draw_luck, about), StructType([tuple_, place, luck, *fields]))
    shuffled = lucky.select(
        "t", f.row_number().over(Window.partitionBy("t").orderBy("luck", "j")).alias("j"), *carried
    )
    if counted:
        before = Window.partitionBy("t").orderBy("j").rowsBetween(Window.unboundedPreceding, 0)
        shuffled = shuffled.withColumn("e", f.sum(TIMES).over(before))
    return done.unionByName(shuffled.mapInArrow(of_batches(deal_copies, about), schema))


def _tuples(about: _Placing, batch: Any) -> Integers:
    """The tuple of every row."""
    keys = np.stack([array.to_numpy() for array in batch.columns[: len(about.keys)]])
    return np.searchsorted(joined(about.keys), joined(keys))


def publish_rows(about: _Placing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of tuples that were not split."""
    many = len(about.keys)
    for batch in batches:
        found = _tuples(about, batch)
        group = np.where(about.shared[found], WITHHELD, about.first[found]).astype(np.int32)
        counted = about.plan.whom.count is not None
        records = batch.column(TIMES).to_numpy() if counted else None
        carried = batch.columns[many : batch.num_columns - counted]
        row = np.flatnonzero(group >= 0)
        yield _published(
            about, group[row], carried, found, row, records if records is None else records[row]
        )


def find_copies(about: _Placing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of tuples that were split."""
    many = len(about.keys)
    for batch in batches:
        found = _tuples(about, batch)
        kept = pa.array(about.shared[found])
        names = ["t", *batch.schema.names[many:]]
        yield pa.RecordBatch.from_arrays([pa.array(found), *batch.columns[many:]], names=names).filter(kept)


def draw_luck(about: _Placing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: every copy with its own number of the long row."""
    source = np.random.PCG64(about.plan.seed)
    begin = source.state
    draw = np.random.Generator(source)
    for batch in batches:
        number = about.start[batch.column("t").to_numpy()] + batch.column("j").to_numpy() - 1
        luck = np.empty(number.size)
        breaks = np.flatnonzero(np.diff(number, prepend=-2) != 1)
        for first, last in zip(breaks, np.append(breaks[1:], number.size), strict=True):
            source.state = begin
            source.advance(int(number[first]))
            luck[first:last] = draw.random(last - first)
        yield pa.RecordBatch.from_arrays(
            [batch.column("t"), batch.column("j"), pa.array(luck), *batch.columns[2:]],
            names=["t", "j", "luck", *batch.schema.names[2:]],
        )


def deal_copies(about: _Placing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: copies to the groups of their tuple, as many as each gets."""
    for batch in batches:
        found = batch.column("t").to_numpy()
        if about.plan.whom.count is None:
            number = about.start[found] + batch.column("j").to_numpy() - 1
            group = about.group[np.searchsorted(about.ends, number, side="right")]
            row = np.flatnonzero(group >= 0)
            yield _published(about, group[row], batch.columns[2:], found, row, None)
        else:
            group, row, records = _cut(about, found, batch)
            yield _published(about, group, batch.columns[2:-2], found, row, records)


def _cut(
    about: _Placing, found: Integers, batch: Any
) -> tuple[NDArray[np.int32], NDArray[np.intp], Integers]:
    """Rows of several records, cut wherever a group of their tuple has what it gets."""
    end = about.begin[found] + batch.column("e").to_numpy()
    first = end - batch.column(TIMES).to_numpy()
    ends = about.ends
    piece = np.searchsorted(ends, first, side="right")
    many = np.searchsorted(ends, end, side="left") - piece + 1
    row = np.repeat(np.arange(found.size), many)
    piece = piece[row] + np.arange(row.size) - np.repeat(np.cumsum(many) - many, many)
    starts = np.append(0, ends)[piece]
    records = np.minimum(end[row], ends[piece]) - np.maximum(first[row], starts)
    group = about.group[piece]
    kept = group >= 0
    return group[kept], row[kept], records[kept]


def _published(
    about: _Placing,
    group: NDArray[np.int32],
    carried: list[Any],
    found: Integers,
    row: NDArray[np.intp],
    records: Integers | None,
) -> Any:
    """Lines with their groups, from the rows they come of, and the records of each where these count."""
    arrays = [one.take(pa.array(group)) for one in about.cells]
    arrays += [one.take(pa.array(row)) for one in carried]
    if about.plan.whom.unit is not None:  # the last key of a tuple is the person
        arrays.append(pa.array(about.keys[-1][found[row]]))
    if records is not None:
        arrays += counted_fields(about.plan, records, row)
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.nulls(row.size, pa.string())], names=[*about.names, ACCOUNT]
    )

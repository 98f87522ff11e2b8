"""Every part grouped by itself, on whichever worker Spark sends it to.

Rows are routed to their parts by the cuts, parts are counted exactly before any row is moved, and a tuple
with more copies than a part holds is a class of its own, whose rows stay where they are. What depends on
luck has a seed of its own in every part, so a task that is done again gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.keys import unpack_keys
from shoal.encode.part import Rows
from shoal.engines.parts import LARGE, PartTask, Work, solve_part, too_heavy, withhold_in_parts
from shoal.engines.spark.accounts import account_of, accounts_in, with_account
from shoal.engines.spark.bound import Looking, look_at_tuples, looking_for
from shoal.engines.spark.finish import counted_fields, fields_by_group, solved_names, solved_schema
from shoal.engines.spark.obey import Obeying
from shoal.engines.spark.route import (
    MOST_TASKS,
    Routing,
    lighten,
    routed,
    rows_by_part,
    tuples_alone,
    which_alone,
)
from shoal.engines.spark.send import of_batches, of_group
from shoal.engines.spark.tuples import key_names, line_names, seen_of
from shoal.engines.spark.values import ACCOUNT, TIMES, InSpark, Kept, PartsSolved
from shoal.errors import BrokenPromise, DataError
from shoal.group.parts.rules import joined_until
from shoal.model.coded import Coded
from shoal.model.grouping import Grouping
from shoal.model.plan import Plan
from shoal.model.task import Task, quiet
from shoal.recode.faces import faces_of
from shoal.recode.order import InOrder

__all__ = ["group_parts", "publish_alone", "repeat_rows", "solve_blocks", "solve_rows"]

Integers = NDArray[np.int64]
ALONE = 2**31
"""The part of tuples that are classes of their own: behind all others."""
AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class _Solving:
    """What it takes to group any part, and to publish it: small, and all that travels."""

    about: PartTask
    task: Task
    work: Work
    alone: Integers
    looking: Looking | None = None

    @property
    def names(self) -> list[str]:
        """The columns of rows that are grouped."""
        return solved_names(self.about)


def group_parts(coded: InSpark, task: Task, plan: Plan, work: Work) -> PartsSolved:
    """Count parts, join what cannot stand alone, group each."""
    assert coded.cuts is not None, "a table of many tuples is cut"
    asked, task = task, withhold_in_parts(task, plan)
    task.progress("counting parts", 0.0)
    parts = coded.cuts.parts
    keys = len(key_names(coded.coder))
    routing = Routing(
        tuple(coded.coder.sizes), coded.cuts, np.arange(parts), np.zeros((keys, 0), dtype=np.int64)
    )
    rows, records = rows_by_part(coded, routing)
    if rows.sum() != coded.lines or records.sum() != coded.total:
        raise DataError("The table changed while it was read. Let nobody write to it, and try again.")
    joined = np.zeros(parts, dtype=np.bool_)
    swollen = rows > LARGE * plan.part
    if swollen.any():
        joined, routing = lighten(coded, routing, swollen, plan)
        if routing.alone.size and coded.is_ruled:
            raise too_heavy(plan)
    alone = tuples_alone(coded, routing)
    taken = alone.by_part(routing)
    rows, records = rows - taken[0], records - taken[1]
    obey = Obeying(coded, routing) if coded.is_ruled else None

    def suffices(some: list[int]) -> bool:
        return int(records[some].sum()) >= plan.k and (obey is None or obey.together(some))

    blocks = list(joined_until(np.flatnonzero(rows).tolist(), suffices))
    if routing.alone.size and len(blocks) == 1 and not suffices(blocks[0]):
        raise too_heavy(plan)
    block = np.full(parts, -1, dtype=np.int64)
    for at, its in enumerate(blocks):
        block[its] = at
    quiet_task = replace(task, threads=1, progress=quiet)
    about = replace(coded.about, carried=())  # what rules see was looked up
    task.progress(f"grouping {len(blocks):,} parts", 0.0)
    looking = looking_for(coded, asked, alone)
    solving = _Solving(about, quiet_task, work, routing.alone, looking)
    kept = Kept(_solved(coded, replace(routing, block=block), joined, solving))
    accounts = accounts_in(kept.frame)
    withheld = sum(one.withheld for one in accounts)
    if sum(one.records for one in accounts) + withheld != coded.total:
        raise BrokenPromise("Every row is published or withheld.")
    steps = sum(one.steps for one in accounts)
    return PartsSolved(kept, accounts, withheld, steps, looked=looking is not None)


def _solved(coded: InSpark, routing: Routing, joined: NDArray[np.bool_], solving: _Solving) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql.types import LongType, StructField, StructType

    schema = solved_schema(coded, solving.about)
    mixed = np.isin(routing.block, routing.block[joined])  # blocks in which any part is joined
    blocks = max(1, len(np.unique(routing.block[~mixed & (routing.block >= 0)])))
    # as many tasks as blocks, whatever the session says of shuffles: a worker holds one at a time
    tasks = min(blocks, MOST_TASKS)
    own = (f.col("block") % tasks).cast("int")
    plain = routed(coded, routing.only(~mixed)).repartitionById(tasks, own)
    if mixed.any() or blocks > tasks:  # several may come to one task, and each must be whole
        plain = plain.sortWithinPartitions("block")
    done = plain.mapInArrow(of_batches(solve_blocks, solving), schema)
    if joined.any():
        lines = routed(coded, routing.only(joined)).groupBy("block", *coded.rows.frame.columns)
        once = routed(coded, routing.only(mixed & ~joined)).withColumn(TIMES, f.lit(1).cast("long"))
        together = lines.agg(f.count(f.lit(1)).alias(TIMES)).unionByName(once).repartition("block")
        wide = StructType([*schema.fields, StructField(TIMES, LongType())])
        solved = together.groupBy("block").applyInArrow(of_group(solve_rows, solving), wide)
        done = done.unionByName(solved.mapInArrow(of_batches(repeat_rows, None), schema))
    if solving.alone.size:
        done = done.unionByName(coded.rows.frame.mapInArrow(of_batches(publish_alone, solving), schema))
    return done


def solve_blocks(solving: _Solving, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the parts that come to it, one after the other, each of whose rows stand together."""
    held: list[Any] = []
    block = -1
    for batch in batches:
        numbers = batch.column(0).to_numpy()
        starts = np.flatnonzero(np.diff(numbers, prepend=block)).tolist()
        for first, end in zip([0, *starts], [*starts, numbers.size], strict=True):
            if held and first in starts:
                yield from solve_rows(solving, block, pa.Table.from_batches(held)).to_batches(AT_ONCE)
                held = []
            if first < end:
                held.append(batch.slice(first, end - first))
                block = int(numbers[first])
    if held:
        yield from solve_rows(solving, block, pa.Table.from_batches(held)).to_batches(AT_ONCE)


def solve_rows(solving: _Solving, block: int, table: Any) -> Any:
    """On a worker: the rows of one part, published; those that were joined say how often they stand."""
    about = solving.about
    counted = about.plan.whom.count is not None
    joined = table.column_names[-1] == TIMES and not counted
    many, has_unit = len(line_names(about)), about.plan.whom.unit is not None
    keys = np.stack([table.column(1 + at).to_numpy() for at in range(many)])
    own = len(key_names(about.coder))
    carried = [
        table.column(at).combine_chunks() for at in range(1 + many, table.num_columns - (joined or counted))
    ]
    rows = Rows(
        unpack_keys(keys[:own], about.coder.sizes),
        tuple(ranks_of(one) for one in carried),
        table.column(TIMES).to_numpy() if joined or counted else None,
        (keys[-1],) if has_unit else (),
        seen_of(keys[own : many - has_unit], about),
    )
    paid: list[tuple[int, str]] = []

    def work(task: Task, coded: Coded) -> Grouping:
        if solving.looking is not None:
            paid.extend(look_at_tuples(solving.looking, coded))
        return solving.work(task, coded)

    found = solve_part(rows, about, solving.task, work)
    pieces = found.pieces
    kept = np.flatnonzero(pieces.group >= 0)
    place, row = pa.array(pieces.group[kept]), pa.array(pieces.row[kept])
    arrays = [one.take(place) for one in fields_by_group(InOrder(about.coder.columns), found.faces)]
    arrays += [one.take(row) for one in carried]
    if has_unit:
        arrays.append(pa.array(keys[-1]).take(row))
    if counted:
        arrays += counted_fields(about.plan, pieces.records[kept], pieces.row[kept])
    account = account_of(
        about.coder.columns,
        found.faces,
        part=block,
        steps=found.steps,
        withheld=found.withheld,
        paid=tuple(paid),
    )
    told = with_account(arrays, solving.names, account)
    if joined:
        times = pa.array(np.append(1, pieces.records[kept]))
        told = told.append_column(TIMES, times)
    return told


def repeat_rows(_: None, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: rows that were joined, as often as they stood there, some at a time."""
    for batch in batches:
        ends = np.cumsum(batch.column(TIMES).to_numpy())
        rows = batch.select(batch.schema.names[:-1])
        for first in range(0, int(ends[-1]) if ends.size else 0, AT_ONCE):
            places = np.arange(first, min(first + AT_ONCE, int(ends[-1])))
            yield rows.take(pa.array(np.searchsorted(ends, places, side="right")))


def publish_alone(solving: _Solving, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of tuples that are classes of their own, and an account of them."""
    about, names = solving.about, solving.names
    many, counted = len(solving.alone), about.plan.whom.count is not None
    lines = unpack_keys(solving.alone, about.coder.sizes)
    coded = about.coder.coded(lines, np.ones(len(lines), dtype=np.int64), about.plan)
    each = Grouping.of_labels(np.arange(len(lines), dtype=np.int32), coded.count)
    faces, _ = faces_of(coded, each)
    fields = fields_by_group(InOrder(about.coder.columns), faces)
    held = np.zeros(len(lines), dtype=np.int64)
    empty = None
    for batch in batches:
        keys = np.stack([array.to_numpy() for array in batch.columns[:many]])
        which = which_alone(solving.alone, keys)
        kept = np.flatnonzero(which >= 0)
        records = (
            np.ones(kept.size, dtype=np.int64) if not counted else batch.column(TIMES).to_numpy()[kept]
        )
        held += np.rint(np.bincount(which[kept], records, held.size)).astype(np.int64)
        arrays = [one.take(pa.array(which[kept])) for one in fields]
        arrays += [one.take(pa.array(kept)) for one in batch.columns[many : batch.num_columns - counted]]
        if counted:
            arrays += counted_fields(about.plan, records, kept)
        published = [*arrays, pa.nulls(len(kept), pa.string())]
        yield pa.RecordBatch.from_arrays(published, names=[*names, ACCOUNT])
        empty = [one.slice(0, 0) for one in arrays]
    if empty is not None and held.any():
        there = np.flatnonzero(held)
        its = replace(faces.take(there), size=held[there])
        account = account_of(about.coder.columns, its, part=ALONE, steps=0, withheld=0)
        yield from with_account(empty, names, account).to_batches()


def ranks_of(cells: Any) -> NDArray[np.int64]:
    """The place of each cell of a carried column in the order of its values, missing last."""
    series = pl.Series(cells)
    if series.dtype.is_nested():
        return np.zeros(len(series), dtype=np.int64)
    ranks: NDArray[np.int64] = series.rank("dense").cast(pl.Int64).fill_null(len(series) + 1).to_numpy()
    return ranks

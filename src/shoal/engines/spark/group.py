"""Every part grouped by itself, on whichever worker Spark sends it to.

Rows are routed to their parts by the cuts, parts are counted exactly before any row is moved, and a tuple
with more copies than a part holds is a class of its own, whose rows stay where they are. What depends on
luck has a seed of its own in every part, so a task that is done again gives the same rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.keys import unpack_keys
from shoal.encode.part import Rows
from shoal.engines.parts import (
    LARGE,
    PartTask,
    Work,
    heavy,
    obeys,
    solve_part,
    too_heavy,
    withhold_in_parts,
)
from shoal.engines.spark.ask import collected, named
from shoal.engines.spark.send import of_batches, of_group
from shoal.engines.spark.tuples import carried_names, key_names, line_names, seen_of
from shoal.engines.spark.values import ACCOUNT, ORDER, PERSON, Account, InSpark, Kept, PartsSolved
from shoal.errors import BrokenPromise, DataError
from shoal.group.parts.cut import parts_of
from shoal.group.parts.rules import joined_until
from shoal.model.coded import pack
from shoal.model.column import Column
from shoal.model.grouping import Grouping
from shoal.model.parts import Cuts
from shoal.model.plan import Plan
from shoal.model.task import Task, quiet
from shoal.recode.faces import Faces, cells_of, faces_of, lost_on, order_of

__all__ = [
    "account_of",
    "accounts_in",
    "cells_by_group",
    "group_parts",
    "published_names",
    "published_schema",
    "route_all",
]

Integers = NDArray[np.int64]
TIMES = "t"
"""How often a row stands there."""
ALONE = 2**31
"""The part of tuples that are classes of their own: behind all others."""
MOST_TASKS = 10_000
AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class _Routing:
    """How rows find the block they are grouped in (-1 is none), by their part; some tuples find none."""

    sizes: tuple[int, ...]
    cuts: Cuts
    block: Integers
    alone: Integers

    @property
    def keys(self) -> int:
        """How many keys a row has."""
        return len(self.alone)

    def only(self, parts: NDArray[np.bool_]) -> _Routing:
        """The same for the rows of some parts."""
        return replace(self, block=np.where(parts, self.block, -1))


@dataclass(frozen=True, slots=True, eq=False)
class _Solving:
    """What it takes to group any part, and to publish it: small, and all that travels."""

    about: PartTask
    task: Task
    work: Work
    alone: Integers

    @property
    def names(self) -> list[str]:
        """The columns of the finished table."""
        return published_names(self.about)


def published_names(about: PartTask) -> list[str]:
    """The order and the columns of the finished table, and the person behind a row where they count."""
    plan = about.plan
    person = [] if plan.whom.unit is None else [PERSON]
    return [ORDER, *plan.quasi, *plan.sensitive, *plan.keep, *person]


def group_parts(coded: InSpark, task: Task, plan: Plan, work: Work) -> PartsSolved:
    """Count parts, join what cannot stand alone, group each."""
    assert coded.cuts is not None, "a table of many tuples is cut"
    task = withhold_in_parts(task, plan)
    task.progress("counting parts", 0.0)
    parts = coded.cuts.parts
    keys = len(key_names(coded.coder))
    routing = _Routing(
        tuple(coded.coder.sizes), coded.cuts, np.arange(parts), np.zeros((keys, 0), dtype=np.int64)
    )
    rows = _rows_by_part(coded, routing)
    if rows.sum() != coded.total:
        raise DataError("The table changed while it was read. Let nobody write to it, and try again.")
    joined = np.zeros(parts, dtype=np.bool_)
    swollen = rows > LARGE * plan.part
    if swollen.any():
        joined, routing = _lighten(coded, routing, swollen, plan)
        if routing.alone.size and coded.is_ruled:
            raise too_heavy(plan)
        rows = rows - _rows_alone(coded, routing) if routing.alone.size else rows
    obey = _Obeying(coded, routing) if coded.is_ruled else None

    def suffices(some: list[int]) -> bool:
        return int(rows[some].sum()) >= plan.k and (obey is None or obey.together(some))

    blocks = list(joined_until(np.flatnonzero(rows).tolist(), suffices))
    if routing.alone.size and len(blocks) == 1 and not suffices(blocks[0]):
        raise too_heavy(plan)
    block = np.full(parts, -1, dtype=np.int64)
    for at, its in enumerate(blocks):
        block[its] = at
    quiet_task = replace(task, threads=1, progress=quiet)
    about = replace(coded.about, carried=())  # what rules see was looked up
    task.progress(f"grouping {len(blocks):,} parts", 0.0)
    solving = _Solving(about, quiet_task, work, routing.alone)
    kept = Kept(_solved(coded, replace(routing, block=block), joined, solving))
    accounts = accounts_in(kept.frame)
    withheld = sum(one.withheld for one in accounts)
    if sum(one.records for one in accounts) + withheld != coded.total:
        raise BrokenPromise("Every row is published or withheld.")
    return PartsSolved(kept, accounts, withheld, sum(one.steps for one in accounts))


class _Obeying:
    """Whether parts obey as one class: by what rules see in each, and by persons, k of each at most."""

    def __init__(self, coded: InSpark, routing: _Routing) -> None:
        from pyspark.sql import functions as f
        from pyspark.sql.window import Window

        self.about = coded.about
        self.k = coded.about.plan.k
        rows = _routed(coded, routing)
        names = line_names(self.about)[len(key_names(coded.coder)) :]
        self.has_unit = self.about.plan.whom.unit is not None
        seen = names[: len(names) - self.has_unit]
        self.seen: dict[int, tuple[Integers, Integers]] = {}
        self.persons: dict[int, NDArray[np.int64]] = {}
        if seen:
            counted = rows.groupBy("block", *seen).agg(f.count(f.lit(1)).alias("n"))
            told = collected(counted, "counting what rules look at")
            block = told.column("block").to_numpy()
            keys = np.stack([told.column(name).to_numpy() for name in seen])
            many = told.column("n").to_numpy()
            for part in np.unique(block).tolist():
                self.seen[part] = keys[:, block == part], many[block == part]
        if self.has_unit:
            each = rows.select("block", "p").distinct()
            some = f.row_number().over(Window.partitionBy("block").orderBy("p"))
            told = collected(each.withColumn("j", some).where(f.col("j") <= self.k), "counting persons")
            block, who = told.column("block").to_numpy(), told.column("p").to_numpy()
            for part in np.unique(block).tolist():
                self.persons[part] = who[block == part]

    def together(self, parts: list[int]) -> bool:
        """Whether some parts do."""
        if self.has_unit and np.unique(np.concatenate([self.persons[one] for one in parts])).size < self.k:
            return False
        if not self.seen:
            return True
        keys = np.concatenate([self.seen[one][0] for one in parts], axis=1)
        many = np.concatenate([self.seen[one][1] for one in parts])
        codes = np.zeros((many.size, len(self.about.coder.sizes)), dtype=np.int32)
        rows = Rows(codes, (), many, (), seen_of(keys, self.about))
        return obeys(rows, replace(self.about, plan=replace(self.about.plan, unit=None)))


def _rows_by_part(coded: InSpark, routing: _Routing) -> Integers:
    from pyspark.sql import functions as f

    some = coded.rows.frame.select(*key_names(coded.coder))
    counted = some.mapInArrow(of_batches(count_parts, routing), "part int, n bigint")
    arrived = collected(counted.groupBy("part").agg(f.sum("n").alias("n")), "counting parts")
    rows = np.zeros(routing.cuts.parts, dtype=np.int64)
    rows[arrived.column("part").to_numpy()] = arrived.column("n").to_numpy()
    return rows


def count_parts(about: _Routing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of every part."""
    held = np.zeros(about.cuts.parts, dtype=np.int64)
    for batch in batches:
        held += np.bincount(_parts(about, batch)[0], minlength=held.size)
    there = np.flatnonzero(held)
    yield pa.RecordBatch.from_arrays(
        [pa.array(there.astype(np.int32)), pa.array(held[there])], names=["part", "n"]
    )


def _parts(about: _Routing, batch: Any) -> tuple[Integers, Integers]:
    """The part of every row, and its keys."""
    keys = np.stack([array.to_numpy() for array in batch.columns[: about.keys]])
    return parts_of(unpack_keys(keys, about.sizes), about.cuts), keys


def _lighten(
    coded: InSpark, routing: _Routing, swollen: NDArray[np.bool_], plan: Plan
) -> tuple[NDArray[np.bool_], _Routing]:
    """Large parts whose rows are alike are joined; of others, tuples of very many rows stand alone."""
    from pyspark.sql import functions as f

    names = key_names(coded.coder)
    rows = _routed(coded, routing.only(swollen))
    lines = rows.groupBy("block", *coded.rows.frame.columns).agg(f.lit(1).alias("one"))
    arrived = collected(
        lines.groupBy("block").agg(f.count(f.lit(1)).alias("n")), "counting rows that are alike"
    )
    few = arrived.column("n").to_numpy() <= LARGE * plan.part
    joined = np.zeros(swollen.size, dtype=np.bool_)
    joined[arrived.column("block").to_numpy()[few]] = True
    rest = swollen & ~joined
    if not rest.any():
        return joined, routing
    tuples = _routed(coded, routing.only(rest)).groupBy("block", *names)
    counted = Kept(tuples.agg(f.count(f.lit(1)).alias("n")))
    many = counted.frame.groupBy("block").agg(f.count(f.lit(1)).alias("m"))
    large = many.where(f.col("m") > LARGE * plan.part).select("block")
    heavy_ones = counted.frame.where(f.col("n") >= heavy(plan)).join(large, "block", "left_anti")
    arrived = collected(heavy_ones.select(*names), "counting tuples")
    counted.close()
    keys = np.stack([arrived.column(name).to_numpy() for name in names])
    return joined, replace(routing, alone=keys[:, np.lexsort(keys[::-1])])


def _rows_alone(coded: InSpark, routing: _Routing) -> Integers:
    """The rows of tuples that stand alone, by part."""
    from pyspark.sql import functions as f

    names = key_names(coded.coder)
    some = coded.rows.frame.select(*names).mapInArrow(
        of_batches(keep_alone, routing), ", ".join(f"{name} bigint" for name in names)
    )
    arrived = collected(some.groupBy(*names).agg(f.count(f.lit(1)).alias("n")), "counting tuples")
    keys = np.stack([arrived.column(name).to_numpy() for name in names])
    part = parts_of(unpack_keys(keys, routing.sizes), routing.cuts)
    held = np.bincount(part, weights=arrived.column("n").to_numpy(), minlength=routing.cuts.parts)
    return np.rint(held).astype(np.int64)


def keep_alone(about: _Routing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of tuples that stand alone."""
    for batch in batches:
        keys = np.stack([array.to_numpy() for array in batch.columns])
        yield batch.filter(pa.array(_which(about.alone, keys) >= 0))


def _which(alone: Integers, keys: Integers) -> NDArray[np.int32]:
    """Which of the tuples that stand alone each row is, -1 where it is none."""
    which = np.full(keys.shape[1], -1, dtype=np.int32)
    for at, its in enumerate(alone.T):
        which[(keys == its[:, np.newaxis]).all(axis=0)] = at
    return which


def _routed(coded: InSpark, routing: _Routing) -> Any:
    """Rows with their block, without those that have none."""
    from pyspark.sql.types import LongType, StructField, StructType

    rows = coded.rows.frame
    schema = StructType([StructField("block", LongType()), *rows.schema.fields])
    return rows.mapInArrow(of_batches(route_rows, routing), schema)


def route_all(rows: Any, cuts: Cuts, sizes: tuple[int, ...], keys: int) -> Any:
    """Rows that begin with their keys, each with its part, in as many tasks as there are parts."""
    from pyspark.sql.types import LongType, StructField, StructType

    routing = _Routing(sizes, cuts, np.arange(cuts.parts), np.zeros((keys, 0), dtype=np.int64))
    schema = StructType([StructField("block", LongType()), *rows.schema.fields])
    routed = rows.mapInArrow(of_batches(route_rows, routing), schema)
    return routed.repartition(max(1, min(cuts.parts, MOST_TASKS)), "block")


def route_rows(about: _Routing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: rows with their block, without those that have none."""
    for batch in batches:
        part, keys = _parts(about, batch)
        block = np.where(_which(about.alone, keys) >= 0, -1, about.block[part])
        routed = pa.RecordBatch.from_arrays(
            [pa.array(block), *batch.columns], names=["block", *batch.schema.names]
        )
        yield routed.filter(pa.array(block >= 0))


def published_schema(coded: InSpark, plan: Plan) -> Any:
    """The columns of `published_names`, and that of accounts."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    kinds = {one.name: one.dataType for one in coded.rows.frame.schema.fields}
    return StructType(
        [
            StructField(ORDER, LongType()),
            *(StructField(name, StringType()) for name in plan.quasi),
            *(
                StructField(name, kinds[short])
                for name, short in zip((*plan.sensitive, *plan.keep), carried_names(plan), strict=True)
            ),
            *([] if plan.whom.unit is None else [StructField(PERSON, LongType())]),
            StructField(ACCOUNT, StringType()),
        ]
    )


def _solved(coded: InSpark, routing: _Routing, joined: NDArray[np.bool_], solving: _Solving) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql.types import LongType, StructField, StructType

    schema = published_schema(coded, solving.about.plan)
    mixed = np.isin(routing.block, routing.block[joined])  # blocks in which any part is joined
    blocks = len(np.unique(routing.block[~mixed & (routing.block >= 0)]))
    # as many tasks as blocks, whatever the session says of shuffles: a worker holds one at a time
    plain = _routed(coded, routing.only(~mixed)).repartition(max(1, min(blocks, MOST_TASKS)), "block")
    done = plain.groupBy("block").applyInArrow(of_group(solve_rows, solving), schema)
    if joined.any():
        lines = _routed(coded, routing.only(joined)).groupBy("block", *coded.rows.frame.columns)
        once = _routed(coded, routing.only(mixed & ~joined)).withColumn(TIMES, f.lit(1).cast("long"))
        together = lines.agg(f.count(f.lit(1)).alias(TIMES)).unionByName(once).repartition("block")
        wide = StructType([*schema.fields, StructField(TIMES, LongType())])
        solved = together.groupBy("block").applyInArrow(of_group(solve_rows, solving), wide)
        done = done.unionByName(solved.mapInArrow(of_batches(repeat_rows, None), schema))
    if solving.alone.size:
        done = done.unionByName(coded.rows.frame.mapInArrow(of_batches(publish_alone, solving), schema))
    return done


def solve_rows(solving: _Solving, block: int, table: Any) -> Any:
    """On a worker: the rows of one part, published; those that were joined say how often they stand."""
    about = solving.about
    joined = table.column_names[-1] == TIMES
    many, has_unit = len(line_names(about)), about.plan.whom.unit is not None
    keys = np.stack([table.column(1 + at).to_numpy() for at in range(many)])
    own = len(key_names(about.coder))
    carried = [table.column(at) for at in range(1 + many, table.num_columns - joined)]
    rows = Rows(
        unpack_keys(keys[:own], about.coder.sizes),
        tuple(ranks_of(one) for one in carried),
        table.column(TIMES).to_numpy() if joined else None,
        (keys[-1],) if has_unit else (),
        seen_of(keys[own : many - has_unit], about),
    )
    found = solve_part(rows, about, solving.task, solving.work)
    pieces = found.pieces
    order = np.argsort(pieces.group, kind="stable")
    order = order[pieces.group[order] >= 0]
    place, row = pa.array(pieces.group[order]), pa.array(pieces.row[order])
    arrays = [cells.take(place) for cells in cells_by_group(about.coder.columns, found.faces)]
    arrays += [one.take(row) for one in carried]
    if has_unit:
        arrays.append(pa.array(keys[-1]).take(row))
    account = account_of(
        about.coder.columns, found.faces, part=block, steps=found.steps, withheld=found.withheld
    )
    told = with_account(arrays, solving.names, account)
    if joined:
        times = pa.array(np.append(1, pieces.records[order]))
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


def with_account(arrays: list[Any], names: Sequence[str], account: Account) -> Any:
    """Published rows, and one more that says what is known of them."""
    rows = len(arrays[0])
    table = pa.table([*arrays, pa.nulls(rows, pa.string())], names=[*names, ACCOUNT])
    told = [pa.nulls(1, one.type) for one in table.columns[:-1]]
    line = pa.table([*told, pa.array([json.dumps(asdict(account))], pa.string())], names=[*names, ACCOUNT])
    return pa.concat_tables([line, table])


def publish_alone(solving: _Solving, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of tuples that are classes of their own, and an account of them."""
    about, names = solving.about, solving.names
    many = len(solving.alone)
    lines = unpack_keys(solving.alone, about.coder.sizes)
    coded = about.coder.coded(lines, np.ones(len(lines), dtype=np.int64), about.plan)
    each = Grouping.of_labels(np.arange(len(lines), dtype=np.int32), coded.count)
    faces, _ = faces_of(coded, each)
    cells = cells_by_group(about.coder.columns, faces)
    held = np.zeros(len(lines), dtype=np.int64)
    empty = None
    for batch in batches:
        keys = np.stack([array.to_numpy() for array in batch.columns[:many]])
        which = _which(solving.alone, keys)
        order = np.argsort(which, kind="stable")
        order = order[which[order] >= 0]
        held += np.bincount(which[order], minlength=held.size)
        arrays = [one.take(pa.array(which[order])) for one in cells]
        arrays += [one.take(pa.array(order)) for one in batch.columns[many:]]
        published = [*arrays, pa.nulls(len(order), pa.string())]
        yield pa.RecordBatch.from_arrays(published, names=[*names, ACCOUNT])
        empty = [one.slice(0, 0) for one in arrays]
    if empty is not None and held.any():
        there = np.flatnonzero(held)
        its = replace(faces.take(there), size=held[there])
        account = account_of(about.coder.columns, its, part=ALONE, steps=0, withheld=0)
        yield from with_account(empty, names, account).to_batches()


def account_of(columns: Sequence[Column], faces: Faces, *, part: int, steps: int, withheld: int) -> Account:
    """What the groups of a part show and lose."""
    metric = pack([(axis, column.weight) for column in columns for axis in column.axes])
    lows, highs, losses, stars = [], [], [], []
    for axis, column in enumerate(columns):
        lost = lost_on(metric, faces, axis) * faces.size
        low, high = faces.low[axis], faces.high[axis]
        missing = column.axes[0].missing
        shown = high != missing if column.numbers else np.zeros(faces.groups, dtype=np.bool_)
        starred = (high == missing) & (low != high) if column.numbers else shown
        lows.append(int(low[shown].min()) if shown.any() else -1)
        highs.append(int(high[shown].max()) if shown.any() else -1)
        losses.append(math.fsum(lost[~starred]))
        stars.append(math.fsum(lost[starred]))
    return Account(
        part=part,
        records=int(faces.size.sum()),
        groups=faces.groups,
        withheld=withheld,
        steps=steps,
        low=tuple(lows),
        high=tuple(highs),
        lost=tuple(losses),
        starred=tuple(stars),
    )


def accounts_in(published: Any) -> tuple[Account, ...]:
    """What all parts say, by part; asking for it makes Spark do the work."""
    told = published.where(named(ACCOUNT).isNotNull()).select(named(ACCOUNT))
    lines = collected(told, "grouping parts").column(0).to_pylist()
    found = [Account(**{word: _fixed(value) for word, value in json.loads(line).items()}) for line in lines]
    return tuple(sorted(found, key=lambda one: (one.part, one.records, one.lost)))


def _fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def cells_by_group(columns: Sequence[Column], faces: Faces) -> list[Any]:
    """The order of every group, and the published texts of every column, a cell per group."""
    return [
        pa.array(order_of(columns, faces)),
        *(
            cells_of(column, faces, axis).to_arrow().cast(pa.string())
            for axis, column in enumerate(columns)
        ),
    ]


def ranks_of(cells: Any) -> NDArray[np.int64]:
    """The place of each cell of a carried column in the order of its values, missing last."""
    series = pl.Series(cells)
    if series.dtype.is_nested():
        return np.zeros(len(series), dtype=np.int64)
    ranks: NDArray[np.int64] = series.rank("dense").cast(pl.Int64).fill_null(len(series) + 1).to_numpy()
    return ranks

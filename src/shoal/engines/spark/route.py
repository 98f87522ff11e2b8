"""Rows find their parts: routed by the cuts, counted exactly, and lightened before any row is moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encode.keys import unpack_keys
from shoal.engines.parts import LARGE, heavy
from shoal.engines.spark.ask import collected
from shoal.engines.spark.send import of_batches
from shoal.engines.spark.tuples import key_names
from shoal.engines.spark.values import TIMES, InSpark, Kept
from shoal.group.parts.cut import parts_of
from shoal.model.parts import Cuts
from shoal.model.plan import Plan

__all__ = [
    "MOST_TASKS",
    "Alone",
    "Routing",
    "count_parts",
    "keep_alone",
    "lighten",
    "route_all",
    "route_rows",
    "routed",
    "rows_by_part",
    "tuples_alone",
    "which_alone",
]

Integers = NDArray[np.int64]
MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """How rows find the block they are grouped in (-1 is none), by their part; some tuples find none."""

    sizes: tuple[int, ...]
    cuts: Cuts
    block: Integers
    alone: Integers

    @property
    def keys(self) -> int:
        """How many keys a row has."""
        return len(self.alone)

    def only(self, parts: NDArray[np.bool_]) -> Routing:
        """The same for the rows of some parts."""
        return replace(self, block=np.where(parts, self.block, -1))


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """Tuples that stand alone, by their keys in rising order, with the rows and the records of each."""

    keys: Integers
    rows: Integers
    records: Integers

    @classmethod
    def none(cls, keys: int) -> Alone:
        """None, of so many keys."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros((keys, 0), dtype=np.int64), nothing, nothing)

    def by_part(self, routing: Routing) -> tuple[Integers, Integers]:
        """The rows and the records that they take from every part."""
        part = parts_of(unpack_keys(self.keys, routing.sizes), routing.cuts)
        rows, records = (
            np.rint(np.bincount(part, held, routing.cuts.parts)).astype(np.int64)
            for held in (self.rows, self.records)
        )
        return rows, records


def rows_by_part(coded: InSpark, routing: Routing) -> tuple[Integers, Integers]:
    """How many rows every part has, and how many records."""
    from pyspark.sql import functions as f

    times = [] if coded.about.plan.whom.count is None else [TIMES]
    some = coded.rows.frame.select(*key_names(coded.coder), *times)
    counted = some.mapInArrow(of_batches(count_parts, routing), "part int, n bigint, r bigint")
    asked = counted.groupBy("part").agg(f.sum("n").alias("n"), f.sum("r").alias("r"))
    arrived = collected(asked, "counting parts")
    held = np.zeros((2, routing.cuts.parts), dtype=np.int64)
    held[:, arrived.column("part").to_numpy()] = [arrived.column(name).to_numpy() for name in ("n", "r")]
    return held[0], held[1]


def count_parts(about: Routing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of every part, and its records."""
    rows, records = np.zeros((2, about.cuts.parts), dtype=np.int64)
    for batch in batches:
        part = _parts(about, batch)[0]
        held = np.bincount(part, minlength=rows.size)
        rows += held
        if batch.num_columns > about.keys:
            weights = batch.column(about.keys).to_numpy()
            held = np.rint(np.bincount(part, weights=weights, minlength=rows.size)).astype(np.int64)
        records += held
    there = np.flatnonzero(rows)
    yield pa.RecordBatch.from_arrays(
        [pa.array(there.astype(np.int32)), pa.array(rows[there]), pa.array(records[there])],
        names=["part", "n", "r"],
    )


def _parts(about: Routing, batch: Any) -> tuple[Integers, Integers]:
    """The part of every row, and its keys."""
    keys = np.stack([array.to_numpy() for array in batch.columns[: about.keys]])
    return parts_of(unpack_keys(keys, about.sizes), about.cuts), keys


def lighten(
    coded: InSpark, routing: Routing, swollen: NDArray[np.bool_], plan: Plan
) -> tuple[NDArray[np.bool_], Routing]:
    """Large parts whose rows are alike are joined; of others, tuples of very many rows stand alone."""
    from pyspark.sql import functions as f

    names = key_names(coded.coder)
    joined = np.zeros(swollen.size, dtype=np.bool_)
    if plan.whom.count is None:  # else rows are published with the records of each
        rows = routed(coded, routing.only(swollen))
        lines = rows.groupBy("block", *coded.rows.frame.columns).agg(f.lit(1).alias("one"))
        arrived = collected(
            lines.groupBy("block").agg(f.count(f.lit(1)).alias("n")), "counting rows that are alike"
        )
        few = arrived.column("n").to_numpy() <= LARGE * plan.part
        joined[arrived.column("block").to_numpy()[few]] = True
    rest = swollen & ~joined
    if not rest.any():
        return joined, routing
    tuples = routed(coded, routing.only(rest)).groupBy("block", *names)
    counted = Kept(tuples.agg(f.count(f.lit(1)).alias("n")))
    many = counted.frame.groupBy("block").agg(f.count(f.lit(1)).alias("m"))
    large = many.where(f.col("m") > LARGE * plan.part).select("block")
    heavy_ones = counted.frame.where(f.col("n") >= heavy(plan)).join(large, "block", "left_anti")
    arrived = collected(heavy_ones.select(*names), "counting tuples")
    counted.close()
    keys = np.stack([arrived.column(name).to_numpy() for name in names])
    return joined, replace(routing, alone=keys[:, np.lexsort(keys[::-1])])


def tuples_alone(coded: InSpark, routing: Routing) -> Alone:
    """The tuples that stand alone, and how much of the table they are."""
    from pyspark.sql import functions as f

    names = key_names(coded.coder)
    if not routing.alone.size:
        return Alone.none(len(names))
    times = [] if coded.about.plan.whom.count is None else [TIMES]
    some = coded.rows.frame.select(*names, *times).mapInArrow(
        of_batches(keep_alone, routing), ", ".join(f"{name} bigint" for name in (*names, *times))
    )
    asked = some.groupBy(*names).agg(f.count(f.lit(1)).alias("n"), coded.records.alias("r"))
    arrived = collected(asked, "counting tuples")
    keys = np.stack([arrived.column(name).to_numpy() for name in names])
    order = np.lexsort(keys[::-1])
    rows, records = (arrived.column(name).to_numpy().astype(np.int64)[order] for name in ("n", "r"))
    return Alone(np.ascontiguousarray(keys[:, order]), rows, records)


def keep_alone(about: Routing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of tuples that stand alone."""
    for batch in batches:
        keys = np.stack([array.to_numpy() for array in batch.columns[: about.keys]])
        yield batch.filter(pa.array(which_alone(about.alone, keys) >= 0))


def which_alone(alone: Integers, keys: Integers) -> NDArray[np.int32]:
    """Which of the tuples that stand alone each row is, -1 where it is none."""
    which = np.full(keys.shape[1], -1, dtype=np.int32)
    for at, its in enumerate(alone.T):
        which[(keys == its[:, np.newaxis]).all(axis=0)] = at
    return which


def routed(coded: InSpark, routing: Routing) -> Any:
    """Rows with their block, without those that have none."""
    from pyspark.sql.types import LongType, StructField, StructType

    rows = coded.rows.frame
    schema = StructType([StructField("block", LongType()), *rows.schema.fields])
    return rows.mapInArrow(of_batches(route_rows, routing), schema)


def route_all(rows: Any, cuts: Cuts, sizes: tuple[int, ...], keys: int) -> Any:
    """Rows that begin with their keys, each with its part, in as many tasks as there are parts."""
    from pyspark.sql.types import LongType, StructField, StructType

    routing = Routing(sizes, cuts, np.arange(cuts.parts), np.zeros((keys, 0), dtype=np.int64))
    schema = StructType([StructField("block", LongType()), *rows.schema.fields])
    routed = rows.mapInArrow(of_batches(route_rows, routing), schema)
    return routed.repartition(max(1, min(cuts.parts, MOST_TASKS)), "block")


def route_rows(about: Routing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: rows with their block, without those that have none."""
    for batch in batches:
        part, keys = _parts(about, batch)
        block = np.where(which_alone(about.alone, keys) >= 0, -1, about.block[part])
        routed = pa.RecordBatch.from_arrays(
            [pa.array(block), *batch.columns], names=["block", *batch.schema.names]
        )
        yield routed.filter(pa.array(block >= 0))

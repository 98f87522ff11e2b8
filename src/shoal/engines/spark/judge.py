"""A finished table on Spark, judged by its classes: Spark groups and counts them, workers measure them.

Nothing of what made the table is used: its rows, the plan and the columns' values. Rows are sent by the
cells of their quasi-identifiers, so every class is whole wherever it is looked at.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.check.passing import RECORDS, ValuesThere, changes
from shoal.check.persons import Standing
from shoal.check.tally import JudgedClasses, quasi_of
from shoal.engines.spark.ask import collected, named, renamed
from shoal.engines.spark.send import of_batches
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.verdict import Verdict

__all__ = ["judge_frame", "measure_classes"]


@dataclass(frozen=True, slots=True, eq=False)
class _Measuring:
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    plan: Plan
    columns: tuple[Column, ...]
    spreads: Mapping[str, ValuesThere]
    trees: Mapping[str, Hierarchy]


def judge_frame(
    frame: Any,
    names: Sequence[str],
    plan: Plan,
    columns: tuple[Column, ...],
    *,
    withheld: int,
    person: str | None = None,
    trees: Mapping[str, Hierarchy] | None = None,
) -> Verdict:
    """Judge a table with the columns `names`, whose cells are texts; see `judge` for what is looked at.

    The column `person` says who stands behind each row, by number; `trees` are those of rules.
    """
    from pyspark.sql import functions as f

    quasi = quasi_of(names, plan)
    sensitive = [name for name in plan.sensitive if name in names]
    spreads = {name: _spread(frame, name) for name in sensitive}
    short = [f"c{at}" for at in range(len(quasi) + len(sensitive))]
    rows = renamed(frame, [*quasi, *sensitive], short)
    by_class = rows.repartition(*short[: len(quasi)]) if sensitive else rows
    counted = by_class.groupBy(*short).agg(f.count(f.lit(1)).alias("n"))
    if sensitive:
        counted = counted.sortWithinPartitions(*short)
    about = _Measuring(tuple(quasi), tuple(sensitive), plan, columns, spreads, trees or {})
    told = counted.mapInArrow(of_batches(measure_classes, about), "told binary")
    tally = JudgedClasses(plan, columns, {}, {})
    for one in collected(told, "checking the finished table").column(0).to_pylist():
        tally.join(pickle.loads(one))
    if person is not None:
        tally.stand(_standing(frame, quasi, person))
    return tally.verdict(names, withheld=withheld)


def _standing(frame: Any, quasi: Sequence[str], person: str) -> Standing:
    """How persons stand in the classes: different ones in each, and the smallest class of everybody."""
    from pyspark.sql import functions as f
    from pyspark.sql.window import Window

    short = [f"c{at}" for at in range(len(quasi))]
    pairs = renamed(frame, [*quasi, person], [*short, "p"]).distinct()
    held = pairs.select("p", *short, f.count(f.lit(1)).over(Window.partitionBy(*short)).alias("d"))
    classes = held.select(*short, "d").distinct().groupBy("d").agg(f.count(f.lit(1)).alias("n"))
    least = held.groupBy("p").agg(f.min("d").alias("d")).groupBy("d").agg(f.count(f.lit(1)).alias("n"))
    found = []
    for one in (classes, least):
        told = collected(one.orderBy("d"), "counting persons")
        found += [told.column(name).to_numpy().astype(np.int64) for name in ("d", "n")]
    size, times, smallest, many = found
    return Standing(np.repeat(size, times), smallest, many)


def _spread(frame: Any, name: str) -> ValuesThere:
    from pyspark.sql import functions as f

    counted = frame.groupBy(named(name)).agg(f.count(f.lit(1)).alias(RECORDS))
    arrived: Any = pl.from_arrow(collected(counted, "counting sensitive values"))
    known = arrived.rename({arrived.columns[0]: name})
    return ValuesThere.of(lambda _names: iter([known]), name, RECORDS)


def measure_classes(about: _Measuring, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: what is counted of whole classes, whose lines stand together."""
    tally = JudgedClasses(about.plan, about.columns, about.spreads, about.trees)
    held: pl.DataFrame | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        some: Any = pl.from_arrow(
            pa.Table.from_batches([batch]).rename_columns([*about.quasi, *about.sensitive, RECORDS])
        )
        some = some.cast({name: about.spreads[name].cells.dtype for name in about.sensitive})
        if held is not None:
            some = pl.concat([held, some])
        last = int(np.flatnonzero(changes(some.select(about.quasi)))[-1])
        held = some[last:]
        if last:
            tally.add(some[:last], about.quasi)
    if held is not None:
        tally.add(held, about.quasi)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(tally.counted)], pa.binary())], names=["told"])

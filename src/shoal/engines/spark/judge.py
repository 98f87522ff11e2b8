"""A finished table on Spark, judged by its classes: Spark groups and counts them, workers measure them.

Nothing of what made the table is used: its rows, the plan and the columns' values. Rows are sent by the
cells of their quasi-identifiers, so every class is whole wherever it is looked at. Lines are sorted by a
hash of those cells, then by the cells themselves: whatever the hash, a class stands together.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.check.passing import RECORDS, ValuesThere, whole_classes
from shoal.check.persons import Standing
from shoal.check.tally import JudgedClasses, quasi_of
from shoal.engines.spark.ask import collected, named, renamed
from shoal.engines.spark.send import of_batches
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.verdict import Verdict

__all__ = ["judge_frame", "measure_classes"]

LINES = "\0lines"
"""The column of how many rows a line stands for."""


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
    counts: Mapping[str, Any] | None = None,
) -> Verdict:
    """Judge a table with the columns `names`, whose cells are texts; see `judge` for what is looked at.

    The column `person` says who stands behind each row, by number; `trees` are those of rules; `counts` are
    the values of sensitive columns with their rows, where these were counted in this very frame.
    """
    from pyspark.sql import functions as f

    quasi = quasi_of(names, plan)
    sensitive = [name for name in plan.sensitive if name in names]
    known = counts or {}
    spreads = {name: _spread(name, known.get(name) or _counted(frame, name)) for name in sensitive}
    short = [f"c{at}" for at in range(len(quasi) + len(sensitive))]
    rows = renamed(frame, [*quasi, *sensitive], short)
    if sensitive:  # hardly any two rows are alike, so they are not counted before they are sent and sorted
        by_class = rows.withColumn("h", f.xxhash64(*short[: len(quasi)])).repartition("h")
        counted = by_class.sortWithinPartitions("h", *short).select(*short, f.lit(1).cast("long"))
    else:
        counted = rows.groupBy(*short).agg(f.count(f.lit(1)))
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


def _counted(frame: Any, name: str) -> Any:
    from pyspark.sql import functions as f

    return collected(frame.groupBy(named(name)).agg(f.count(f.lit(1))), "counting sensitive values")


def _spread(name: str, counted: Any) -> ValuesThere:
    known: Any = pl.from_arrow(counted.rename_columns([name, RECORDS]))
    return ValuesThere.of(lambda _names: iter([known]), name, RECORDS)


def measure_classes(about: _Measuring, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: what is counted of whole classes, whose lines stand together."""
    tally = JudgedClasses(about.plan, about.columns, about.spreads, about.trees)
    names = [*about.quasi, *about.sensitive, LINES]

    def lines(_names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in batches:
            some: Any = pl.from_arrow(pa.Table.from_batches([batch]).rename_columns(names))
            yield some.cast({name: about.spreads[name].cells.dtype for name in about.sensitive})

    for part in whole_classes(lines, about.quasi, about.sensitive, LINES):
        tally.add(part, about.quasi)
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(tally.counted)], pa.binary())], names=["told"])

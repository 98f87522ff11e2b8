"""A finished table on Spark, judged by its classes where it is kept: workers read, count and measure.

Nothing of what made the table is used: its rows, the plan and the columns' values. The cells of the
quasi-identifiers must rise strictly from class to class in what a worker reads, and what one read must end
before what another did begins, so no class can stand in two places. Where they do not, it does not pass.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.check.in_order import DISORDER, Stretch, follow
from shoal.check.passing import RECORDS, ValuesThere, changes, whole_classes
from shoal.check.persons import Standing
from shoal.check.tally import JudgedClasses, quasi_of
from shoal.engines.spark.ask import collected, named, renamed, row_hash
from shoal.engines.spark.send import of_batches
from shoal.model.column import Column
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.verdict import Verdict

__all__ = ["judge_frame", "measure_classes", "rows_by_class"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Measuring:
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    count: str | None
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
) -> tuple[Verdict, list[int]]:
    """Judge a table with the columns `names`, whose cells are texts; see `judge` for what is looked at.

    The column `person` says who stands behind each row, by number; `trees` are those of rules. Also gives
    what the rows that were judged are recognised by: see `content_of`.
    """
    quasi = quasi_of(names, plan)
    sensitive = [name for name in plan.sensitive if name in names]
    count = plan.whom.count if plan.whom.count in names else None
    looked_at = [*quasi, *sensitive, *([] if count is None else [count])]
    spreads = {name: _spread(name, _counted(frame, name, count)) for name in sensitive}
    cells = [named(name).alias(f"c{at}") for at, name in enumerate(looked_at)]
    rows = frame.select(*cells, row_hash(names).alias("h"))
    about = _Measuring(tuple(quasi), tuple(sensitive), count, plan, columns, spreads, trees or {})
    told = rows.mapInArrow(of_batches(measure_classes, about), "told binary")
    tally = JudgedClasses(plan, columns, {}, {})
    stretches, content = [], [0, 0, 0]
    for one in collected(told, "checking the finished table").column(0).to_pylist():
        counted, stretch, sums = pickle.loads(one)
        tally.join(counted)
        stretches.append(stretch)
        content = [was + more for was, more in zip(content, sums, strict=True)]
    reasons = () if follow(stretches) else (DISORDER,)
    if person is not None:
        tally.stand(_standing(frame, quasi, person))
    return tally.verdict(names, reasons, withheld=withheld), content


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


def rows_by_class(frame: Any, quasi: Sequence[str], first: str) -> Integers:
    """How many rows each class holds, where `first` marks one line of every row."""
    from pyspark.sql import functions as f

    short = [f"c{at}" for at in range(len(quasi))]
    lines = renamed(frame, [*quasi, first], [*short, "first"])
    held = lines.groupBy(*short).agg(f.sum(f.col("first").cast("long")).alias("d"))
    told = collected(held.groupBy("d").agg(f.count(f.lit(1)).alias("n")), "counting rows")
    size, times = (told.column(name).to_numpy().astype(np.int64) for name in ("d", "n"))
    return np.repeat(size, times)


def _counted(frame: Any, name: str, count: str | None) -> Any:
    from pyspark.sql import functions as f

    records = f.count(f.lit(1)) if count is None else f.sum(named(count))
    return collected(frame.groupBy(named(name)).agg(records), "counting sensitive values")


def _spread(name: str, counted: Any) -> ValuesThere:
    known: Any = pl.from_arrow(counted.rename_columns([name, RECORDS]))
    return ValuesThere.of(lambda _names: iter([known]), name, RECORDS)


def measure_classes(about: _Measuring, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: what is counted of whole classes, whose lines stand together, and where they end."""
    tally = JudgedClasses(about.plan, about.columns, about.spreads, about.trees)
    names = [*about.quasi, *about.sensitive, *([] if about.count is None else [about.count])]
    sums = [0, 0, 0]

    def lines(_names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in batches:
            hashes = batch.column(len(names)).to_numpy()
            sums[0] += hashes.size
            sums[1] += int((hashes & 0xFFFFFFFF).sum())
            sums[2] += int((hashes.view(np.uint64) >> np.uint64(32)).sum())
            table = pa.Table.from_batches([batch]).select(range(len(names)))
            some: Any = pl.from_arrow(table.rename_columns(names))
            yield some.cast({name: about.spreads[name].cells.dtype for name in about.sensitive})

    seen: Stretch | None = None
    for part in whole_classes(lines, about.quasi, about.sensitive, about.count):
        shown = part.select(about.quasi)
        seen = Stretch.of(shown[np.flatnonzero(changes(shown))], seen)
        tally.add(part, about.quasi)
    if seen is not None:
        told = pickle.dumps((tally.counted, seen, sums))
        yield pa.RecordBatch.from_arrays([pa.array([told], pa.binary())], names=["told"])

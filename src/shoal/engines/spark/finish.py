"""The finished table: rows sorted by whole numbers, and their cells printed where they were sorted.

Grouped rows hold what they publish as fields of `recode/order`: a few whole numbers that stand in the order
of the texts. Spark sends and sorts rows by these, once; texts are made of the sorted rows, a class at a
time, and Spark keeps the finished table in its order for the judge, the reader and the writer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.parts import PartTask
from shoal.engines.spark.ask import named
from shoal.engines.spark.send import of_batches
from shoal.engines.spark.tuples import carried_names
from shoal.engines.spark.values import ACCOUNT, FIRST, PERSON, TIMES, InSpark
from shoal.model.column import Column
from shoal.model.plan import Plan
from shoal.recode.faces import Faces
from shoal.recode.order import InOrder

__all__ = [
    "counted_fields",
    "fields_by_group",
    "finish",
    "may_be_weights",
    "print_cells",
    "solved_names",
    "solved_schema",
]

Integers = NDArray[np.int64]
WHO = "w"
"""The person behind a row."""
LEAST = 100_000
"""Rows that are sorted together, at least, where there are as many."""


def _field_names(columns: tuple[Column, ...]) -> list[str]:
    return [f"f{at}" for at in range(len(InOrder(columns).fields))]


def solved_names(about: PartTask) -> list[str]:
    """The columns of a grouped row: its fields, what is carried, and the person where they count."""
    plan = about.plan
    person = [] if plan.whom.unit is None else [WHO]
    return [*_field_names(about.coder.columns), *carried_names(plan), *person, *_counted_names(plan)]


def _counted_names(plan: Plan) -> list[str]:
    if plan.whom.count is None:
        return []
    return [TIMES, FIRST] if may_be_weights(plan) else [TIMES]


def may_be_weights(plan: Plan) -> bool:
    """Whether a count may be a weight, since nobody said that persons are counted."""
    whom = plan.whom
    return whom.count is not None and not whom.of_persons and whom.unit is None


def counted_fields(plan: Plan, records: Integers, row: NDArray[np.integer]) -> list[Any]:
    """The records of lines, and which of them is the first of its row, where it was parted."""
    fields = [pa.array(records.astype(np.int64))]
    if may_be_weights(plan):
        first = np.zeros(row.size, dtype=np.bool_)
        first[np.unique(row, return_index=True)[1]] = True
        fields.append(pa.array(first))
    return fields


def solved_schema(coded: InSpark, about: PartTask) -> Any:
    """The columns of `solved_names`, and that of accounts."""
    from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

    kinds = {one.name: one.dataType for one in coded.rows.frame.schema.fields}
    in_order = InOrder(about.coder.columns)
    return StructType(
        [
            *(
                StructField(f"f{at}", StringType() if in_order.is_text(at) else LongType())
                for at in range(len(in_order.fields))
            ),
            *(StructField(name, kinds[name]) for name in carried_names(about.plan)),
            *([] if about.plan.whom.unit is None else [StructField(WHO, LongType())]),
            *(
                StructField(name, LongType() if name == TIMES else BooleanType())
                for name in _counted_names(about.plan)
            ),
            StructField(ACCOUNT, StringType()),
        ]
    )


def fields_by_group(in_order: InOrder, faces: Faces) -> list[Any]:
    """The fields of groups as Arrow has them."""
    return [
        one.to_arrow().cast(pa.string()) if isinstance(one, pl.Series) else pa.array(one)
        for one in in_order.tell(faces)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Printing:
    columns: tuple[Column, ...]
    names: tuple[str, ...]


def finish(solved: Any, about: PartTask, rows: int) -> Any:
    """The finished table from grouped rows, in its order; who stands behind a row comes last."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    plan, columns = about.plan, about.coder.columns
    fields, counted, carried = _field_names(columns), _counted_names(plan), carried_names(plan)
    names = [*fields, *carried, *counted[:1], *([] if plan.whom.unit is None else [WHO]), *counted[1:]]
    sort = [f.col(name).asc_nulls_last() for name in (*fields, *carried, *counted[:1])]
    own = solved.where(f.col(ACCOUNT).isNull()).select(*map(named, names))
    # a class has one first field, so all of it comes to one task, which holds little of it at a time
    tasks = -(-rows // max(plan.part, LEAST))
    in_order = own.repartitionByRange(max(1, tasks), sort[0]).sortWithinPartitions(*sort)
    kinds = {one.name: one.dataType for one in solved.schema.fields}
    published = [*plan.sensitive, *plan.keep]
    published += [] if plan.whom.count is None else [plan.whom.count]
    published += [*([] if plan.whom.unit is None else [PERSON]), *counted[1:]]
    schema = StructType(
        [
            *(StructField(column.name, StringType()) for column in columns),
            *(
                StructField(name, kinds[short])
                for name, short in zip(published, names[len(fields) :], strict=True)
            ),
        ]
    )
    printing = _Printing(columns, tuple(one.name for one in schema.fields))
    return in_order.mapInArrow(of_batches(print_cells, printing), schema)


def print_cells(about: _Printing, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the texts of rows, made once for rows that follow one like them."""
    in_order = InOrder(about.columns)
    many = len(in_order.fields)
    for batch in batches:
        if batch.num_rows == 0:
            continue
        told: list[Any] = [
            pl.Series(array) if in_order.is_text(at) else array.to_numpy()
            for at, array in enumerate(batch.columns[:many])
        ]
        new = np.zeros(batch.num_rows, dtype=np.bool_)
        new[0] = True
        for one in told:
            other = (
                one[1:].ne_missing(one[:-1]).to_numpy()
                if isinstance(one, pl.Series)
                else one[1:] != one[:-1]
            )
            new[1:] |= other
        run = pa.array(np.cumsum(new) - 1)
        heads = [one.filter(pl.Series(new)) if isinstance(one, pl.Series) else one[new] for one in told]
        cells = [one.to_arrow().cast(pa.string()).take(run) for one in in_order.texts(heads)]
        yield pa.RecordBatch.from_arrays([*cells, *batch.columns[many:]], names=list(about.names))

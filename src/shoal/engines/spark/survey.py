"""The different cells of every quasi-identifier, and how often each stands in the table: one pass.

Every worker counts its own rows, and Spark adds up what they found. In the same pass texts and dates are
looked at that no release can hold, and rows are added up to the salted mark of the table.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.encode.batch import Carried, carried_of
from shoal.encode.survey import survey_cells
from shoal.engines.spark.ask import collected, in_own_words, named, renamed
from shoal.engines.spark.send import of_batches
from shoal.engines.spark.values import SparkTable, SurveyedInSpark
from shoal.errors import DataError, TooFewRows
from shoal.group.parts.marks import sum_of_many_rows
from shoal.model.known import Known
from shoal.model.marks import added, mark_of_rows, marked_columns
from shoal.model.missing import missing_to_null
from shoal.model.names import check_literal
from shoal.model.plain import EXACT, check_moments, check_texts, counts_of
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt
from shoal.model.whom import Repeats

__all__ = ["count_cells", "open_frame", "repeats_of", "survey_frame"]

N = "\0n"
"""The rows of a cell, or their records, beside a column of any name."""
MOST = 1_000_000
"""Different cells that a worker remembers before it tells them."""
PLAIN = "UTF8_BINARY"
"""Spark's word for texts that are the same where their bytes are."""
TOGETHER = 8
"""Counts of so many batches are joined at a time."""


def open_frame(frame: Any, plan: Plan) -> SparkTable:
    """Take a frame of Spark in."""
    names = list(frame.columns)
    check_literal(names)
    same = [name for name in names if [other.lower() for other in names].count(name.lower()) > 1]
    if same:
        raise DataError(
            f"Spark takes the columns {', '.join(map(repr, same))} for one. Rename them.", column=same[0]
        )
    nested = [name for name in (*plan.sensitive, *plan.keep) if _is_nested(frame, name)]
    if nested:
        raise DataError(
            f"Column {nested[0]!r} holds lists, maps or structs, which a table on Spark cannot keep. Leave "
            "it out, or give it a plain type first.",
            column=nested[0],
        )
    used = [name for name in names if name in {*plan.columns, plan.whom.unit, plan.whom.count}]
    _check_collations(frame, used)
    with in_own_words("looking at the columns"):
        few = frame.select(*map(named, used)).limit(0).toArrow() if used else pa.table({})
    typed: Any = pl.from_arrow(few)
    empty = pl.DataFrame(schema=dict.fromkeys(names, pl.Null))
    return SparkTable(frame, empty.with_columns(typed.get_columns()).select(names))


def _is_nested(frame: Any, name: str) -> bool:
    kinds = {one.name: one.dataType.typeName() for one in frame.schema.fields}
    return kinds.get(name) in {"array", "map", "struct", "variant"}


def _check_collations(frame: Any, names: list[str]) -> None:
    """Refuse texts that Spark takes for one though they differ: it would count and hash them as one."""
    for one in frame.schema.fields:
        if one.name in names and getattr(one.dataType, "collation", PLAIN) != PLAIN:
            raise DataError(
                f"Column {one.name!r} has a collation, by which Spark may take different texts for one. "
                f"Give it plain texts first: collate(..., '{PLAIN}'), of lower-case texts where case does "
                "not matter.",
                column=one.name,
            )


@dataclass(frozen=True, slots=True)
class _ToCount:
    """What a worker needs: the columns to count (by place in `names`), those to mark, and the salt.

    The first `quasi` of those counted are looked at by the driver. The column `records`, whose own rows are
    counted, says how many records each row stands for.
    """

    names: tuple[str, ...]
    schema: dict[str, pl.DataType]
    quasi: int
    counted: int
    marked: tuple[str, ...]
    salt: str
    records: str | None


def survey_frame(table: SparkTable, plan: Plan) -> SurveyedInSpark:
    """Learn the columns of a table in one pass."""
    like = table.like
    check = {name: like[name] for name in plan.quasi if name in like.columns}
    if len(check) < len(plan.quasi) or any(name not in like.columns for name in plan.columns):
        survey_cells(check, like, plan)  # says which are lacking
    salt = secrets.token_hex(32)
    whom = plan.whom
    marked = marked_columns(like, [*plan.columns, whom.unit, whom.count])
    ruled = list(dict.fromkeys(rule.column for rule in plan.rules_read))
    by = [] if whom.count is None else [whom.count]
    names = list(dict.fromkeys([*plan.quasi, *ruled, *by, *plan.sensitive, *plan.keep, *marked]))
    about = _ToCount(
        tuple(names),
        {name: like.schema[name] for name in names},
        len(plan.quasi),
        len(plan.quasi) + len(ruled) + len(by),
        tuple(marked),
        salt,
        whom.count,
    )
    counts, mark = _counted(table, about)
    cells = {name: counts[name][name] for name in plan.quasi}
    total = rows = lines = int(counts[plan.quasi[0]][N].sum())
    if whom.count is not None:
        rows, lines = _rows_counted(counts[whom.count], whom.count, plan)
    if rows == 0:
        raise DataError("The table has no rows. Nothing can be published.")
    if total < plan.k:
        raise TooFewRows(rows=total, k=plan.k)
    known: Known = survey_cells(cells, like, plan)
    table.receipts[:] = [Receipt(salt, mark_of_rows(mark, marked, rows, salt))]
    held = {name: counts[name][N].to_numpy() for name in plan.quasi}
    seen = tuple(_carried(counts[name], name, plan) for name in ruled)
    return SurveyedInSpark(known.books, known.guessed, known.doubts, held, total, lines, seen)


def _rows_counted(counts: pl.DataFrame, name: str, plan: Plan) -> tuple[int, int]:
    """The rows of a table, and those that stand for any record, from the cells that count records."""
    rows = counts[N].to_numpy()
    numbers = counts_of(missing_to_null(counts[name], plan.missing), rows)
    return int(rows.sum()), int(rows[numbers > 0].sum())


def _carried(counts: pl.DataFrame, name: str, plan: Plan) -> Carried:
    """What rules look at, from the cells as they travel: missing ones are null."""
    shown = counts.with_columns(missing_to_null(counts[name], plan.missing)).group_by(name)
    its = shown.agg(pl.col(N).sum()).sort(name, nulls_last=True)
    return carried_of(its[name], its[N].to_numpy(), plan)


def _counted(table: SparkTable, about: _ToCount) -> tuple[dict[str, pl.DataFrame], Any]:
    from pyspark.sql import functions as f
    from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

    short = [f"c{at}" for at in range(len(about.names))]
    source = renamed(table.frame, about.names, short)
    kinds = list(source.schema.fields[: about.counted])
    schema = StructType(
        [
            StructField("at", IntegerType()),
            StructField("n", LongType()),
            StructField("mark", BinaryType()),
            *(StructField(one.name, one.dataType) for one in kinds),
        ]
    )
    found = source.mapInArrow(of_batches(count_cells, about), schema)
    grouped = found.groupBy("at", "mark", *short[: about.counted]).agg(f.sum("n").alias("n"))
    arrived: Any = pl.from_arrow(collected(grouped, "counting the cells of the columns"))
    counts = {}
    for at, name in enumerate(about.names[: about.counted]):
        its = arrived.filter(pl.col("at") == at).select(pl.col(f"c{at}").alias(name), pl.col("n").alias(N))
        its = its.with_columns(its[name].cast(about.schema[name]))
        check_moments(its.select(name))
        counts[name] = its.sort(name, nulls_last=True)
    marks = arrived.filter(pl.col("at") < 0)["mark"].drop_nulls().to_list()
    times = arrived.filter(pl.col("at") < 0)["n"].to_list()
    return counts, added(one for one, many in zip(marks, times, strict=True) for _ in range(many))


def count_cells(about: _ToCount, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the cells of each counted column with their rows, and the mark of the rows."""
    waiting: dict[int, list[pl.DataFrame]] = {at: [] for at in range(about.counted)}
    total = None
    fields: list[Any] = []
    for batch in batches:
        fields = [batch.schema.field(f"c{at}") for at in range(about.counted)]
        _check_letters(about, batch)
        frame: Any = pl.from_arrow(pa.Table.from_batches([batch]))
        frame = frame.rename(dict(zip(frame.columns, about.names, strict=True))).cast(about.schema)
        others = frame.select(about.names[about.quasi :])  # those counted are looked at by the driver
        for series in others.iter_columns():
            check_texts(series)
        check_moments(others)
        rows = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
        records = rows if about.records is None else _records(frame[about.records])
        for at, name in enumerate(about.names[: about.counted]):
            many = rows if name == about.records else records
            waiting[at].append(_joined([pl.DataFrame([frame[name], many.alias(N)])], name))
            if len(waiting[at]) > TOGETHER:
                waiting[at] = [_joined(waiting[at], name)]
        some = sum_of_many_rows(frame.select(about.marked), about.salt)
        total = some if total is None else total + some
        if sum(len(its[0]) for its in waiting.values()) > MOST:
            yield from _told(about, waiting, fields)
            waiting = {at: [] for at in waiting}
    if total is None:
        return
    yield from _told(about, waiting, fields)
    yield _line(fields, -1, None, np.array([1]), total.astype("<u8").tobytes())


def _check_letters(about: _ToCount, batch: Any) -> None:
    """Refuse texts of bytes that are no letters, which Spark may hold, and Polars takes unseen."""
    for name, array in zip(about.names, batch.columns, strict=True):
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            try:
                array.validate(full=True)
            except pa.ArrowInvalid:
                raise DataError(
                    f"Column {name!r} has texts that are not UTF-8. Clean those rows first.", column=name
                ) from None


def _records(cells: pl.Series) -> pl.Series:
    """The records of rows; what is no number of records is refused by the driver, who sees all cells."""
    # as `counts_of` reads them: a short float has more digits than its text
    plain = cells if cells.dtype.is_numeric() else cells.cast(pl.String)
    numbers = plain.cast(pl.Float64, strict=False)
    fit = numbers.is_finite() & (numbers >= 0) & (numbers < EXACT)
    return numbers.set(~fit.fill_null(False), 0.0).fill_null(0.0).cast(pl.Int64)


def _joined(parts: list[pl.DataFrame], name: str) -> pl.DataFrame:
    return pl.concat(parts).group_by(name).agg(pl.col(N).sum())


def _told(about: _ToCount, waiting: dict[int, list[pl.DataFrame]], fields: list[Any]) -> Iterator[Any]:
    for at, its in waiting.items():
        if its:
            found = _joined(its, about.names[at])
            yield _line(fields, at, found[about.names[at]], found[N].to_numpy(), None)


def _line(fields: list[Any], at: int, cells: pl.Series | None, n: Any, mark: bytes | None) -> Any:
    arrays = [
        pa.array(np.full(len(n), at, dtype=np.int32)),
        pa.array(n, type=pa.int64()),
        pa.array([mark] * len(n), type=pa.binary()),
    ]
    for place, field in enumerate(fields):
        if place == at and cells is not None:
            arrays.append(cells.to_arrow().cast(field.type))
        else:
            arrays.append(pa.nulls(len(n), field.type))
    return pa.RecordBatch.from_arrays(arrays, names=["at", "n", "mark", *(one.name for one in fields)])


def repeats_of(table: SparkTable, plan: Plan) -> tuple[Repeats, ...]:
    """The identifiers whose values repeat; stops where the plan does not say whom k counts."""
    from pyspark.sql import functions as f

    found: list[Repeats] = []
    if plan.whom.unit is not None or plan.whom.of_persons:
        return ()
    for name in plan.identifier:
        if name not in table.columns or table.like.schema[name].is_nested():
            continue
        its = renamed(table.frame, [name], ["who"]).groupBy("who").agg(f.count(f.lit(1)).alias("n"))
        often = f.col("who").isNotNull() & (f.col("n") > 1)
        asked = its.agg(
            f.count(f.when(often, 1)).alias("values"),
            f.sum(f.when(often, f.col("n"))).alias("rows"),
            f.max(f.when(often, f.col("n"))).alias("most"),
            f.sum(f.when(f.col("who").isNull(), f.col("n"))).alias("missing"),
        )
        line = collected(asked, "counting identifiers").to_pylist()[0]
        values, rows, most, missing = (
            int(line[word] or 0) for word in ("values", "rows", "most", "missing")
        )
        if values or missing > 1:
            found.append(Repeats(name, values, rows, most, missing))
    if found and not plan.whom.means_rows:
        one = found[0]
        raise DataError(
            f"Column {one.column!r} is an identifier that repeats: {one.values:,} of its values stand in "
            f"{one.rows:,} rows, and {one.missing:,} are missing, so a class of k rows may be fewer than k "
            "persons. Say unit = rows where rows are meant, or name the column as the unit.",
            field="unit",
            column=one.column,
        )
    return tuple(found)

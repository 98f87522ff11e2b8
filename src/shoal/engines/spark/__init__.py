"""Tables on Spark: its own operators count, route, sort and write; parts are grouped on its workers.

Only what a frame of Spark offers is used, no RDD and nothing of the Java machine, so a server that is
spoken to by Spark Connect serves as well. The table never comes to the driver, and nothing that a worker
must hold grows with it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.engines import Engine
from shoal.engines.parts import HoldsLittle, in_unit
from shoal.engines.persons import stop_where_counts_fill
from shoal.engines.spark.bound import prove_by_parts
from shoal.engines.spark.few import group_few
from shoal.engines.spark.finish import finish, may_be_weights
from shoal.engines.spark.group import group_parts
from shoal.engines.spark.judge import judge_frame, rows_by_class
from shoal.engines.spark.survey import open_frame, repeats_of, survey_frame
from shoal.engines.spark.tuples import code_frame
from shoal.engines.spark.values import (
    FIRST,
    PERSON,
    InSpark,
    Kept,
    OnSpark,
    PartsSolved,
    SparkTable,
    SurveyedInSpark,
)
from shoal.engines.spark.write import write_published
from shoal.engines.stream import ENGINE as STREAM
from shoal.engines.stream import in_parts
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.figures import Places
from shoal.model.files import Files
from shoal.model.grouping import Grouping, Proof
from shoal.model.known import Known
from shoal.model.plan import Plan
from shoal.model.pseudonym import Key
from shoal.model.receipt import Receipt
from shoal.model.task import Progress, Task
from shoal.model.verdict import Verdict
from shoal.model.whom import Repeats
from shoal.read.spark import limit_batches

__all__ = ["ENGINE", "Spark"]


class Spark(HoldsLittle):
    """The engine for frames of Spark."""

    def settle(self, plan: Plan) -> Plan:
        """As a stream does: the two group the same parts by the same methods."""
        return STREAM.settle(plan)

    def open(self, frame: Any, plan: Plan, key: Key | None = None) -> SparkTable:
        """A frame of Spark."""
        if not type(frame).__module__.startswith("pyspark.sql."):
            raise DataError("The engine 'spark' takes frames of Spark. Give one, or choose another engine.")
        table = open_frame(frame, plan)
        long = {*plan.keep, *plan.identifier} & {*table.columns}  # texts of any length, often
        kinds = {table.like.schema[name] for name in long}
        limit_batches(frame.sparkSession, narrow=not {pl.String, pl.Binary} & kinds)
        return table

    def seal(self, table: SparkTable) -> Callable[[], Receipt]:
        """A receipt over the rows in any order, which the survey added up."""
        return lambda: table.receipts[0]

    def survey(self, table: SparkTable, plan: Plan, progress: Progress) -> SurveyedInSpark:
        """Each cell of a column once, and whom k counts."""
        repeats_of(table, plan)
        return survey_frame(table, plan)

    def code(
        self, table: SparkTable, known: Known, plan: Plan, progress: Progress, *, matrix: Any = None
    ) -> InSpark:
        """The tuples, all of them or a sample."""
        if matrix is not None:
            raise PlanError("A table that is worked on in parts takes no matrix.", field="distance")
        assert isinstance(known, SurveyedInSpark), "this engine surveyed the table"
        return code_frame(table, known, plan)

    def choose(self, plan: Plan, coded: InSpark) -> Plan:
        """As a stream does."""
        return plan if coded.whole is not None else in_parts(plan)

    def group(
        self, coded: InSpark, task: Task, plan: Plan, work: Callable[[Task, Coded], Grouping]
    ) -> PartsSolved:
        """Each part by itself, or all tuples at once where they are few."""
        return (group_parts if coded.whole is None else group_few)(coded, task, plan, work)

    def see(self, coded: InSpark, grouping: PartsSolved, plan: Plan) -> tuple[Places, InSpark]:
        """From what the parts say of their groups."""
        places = grouping.places(coded.columns)
        columns, whole = in_unit(coded.columns, coded.whole, places)
        if columns is coded.columns:
            return places, coded
        return places, replace(coded, columns=columns, whole=whole)

    def value(self, objective: str, coded: InSpark, grouping: PartsSolved) -> float:
        """The total loss, added up from the parts in their order, in the unit of what is published."""
        lost = [grouping.withheld * coded.weight]
        for axis, (was, column) in enumerate(zip(coded.coder.columns, coded.columns, strict=True)):
            unit = was.denominator / column.denominator if column.denominator else 0.0
            its = [one.lost[axis] * (1.0 if was is column else unit) for one in grouping.accounts]
            lost += [*its, *(one.starred[axis] for one in grouping.accounts)]
        return math.fsum(lost)

    def recode(
        self, table: SparkTable, coded: InSpark, grouping: PartsSolved, plan: Plan, progress: Progress
    ) -> OnSpark:
        """Rows are sorted by what their groups publish, and printed."""
        progress("sorting rows", 0.0)
        counted = [] if plan.whom.count is None else [plan.whom.count]
        names = (*plan.quasi, *plan.sensitive, *plan.keep, *counted)
        finished = finish(grouping.rows.frame, coded.about, coded.lines)
        return OnSpark(Kept(finished), names, len(grouping.accounts))

    def check(
        self,
        table: SparkTable,
        published: OnSpark,
        plan: Plan,
        coded: InSpark,
        progress: Progress,
        *,
        withheld: int,
    ) -> Verdict:
        """The independent judge reads the finished table, and sums up what its rows are recognised by."""
        has_unit = plan.whom.unit is not None
        verdict, published.content[:] = judge_frame(
            published.beside(PERSON) if has_unit else published.frame(),
            published.names,
            plan,
            coded.columns,
            withheld=withheld,
            person=PERSON if has_unit else None,
            trees=coded.about.ruled.trees,
        )
        return verdict

    def whom(
        self, table: SparkTable, published: OnSpark, plan: Plan, coded: InSpark
    ) -> tuple[Repeats, ...]:
        """Identifiers that repeat, where rows are meant; stops where a count may be a weight."""
        if may_be_weights(plan):
            stop_where_counts_fill(rows_by_class(published.beside(FIRST), plan.quasi, FIRST), plan)
        return repeats_of(table, plan)

    def bound(
        self,
        coded: InSpark,
        task: Task,
        prove: Callable[..., Proof | None],
        grouping: PartsSolved | None = None,
    ) -> Proof | None:
        """Of few tuples as in memory, else that of a stream."""
        if coded.whole is None:
            assert grouping is not None, "parts were grouped before"
            loss = self.value("loss", coded, grouping) / coded.total
            proof = prove_by_parts(coded, task, grouping, loss)
            coded.rows.close()
            return proof
        return prove(coded.whole, grouping=None if grouping is None else grouping.whole)

    def hand_back(self, table: SparkTable, published: OnSpark) -> tuple[Any, dict[str, Any]]:
        """A frame of Spark over the finished table."""
        return published.frame(), {}

    def publish(
        self,
        published: OnSpark,
        plan: Plan,
        verdict: Verdict,
        certificate: Certificate,
        receipt: Receipt,
        path: str | os.PathLike[str],
        *,
        delimiter: str = ",",
        inputs: Iterable[str | os.PathLike[str]] = (),
        map_to: str | os.PathLike[str] | None = None,
    ) -> Files:
        """A folder of Parquet files with its papers, all together or nothing."""
        if map_to is not None:
            raise PlanError("A table that is worked on in parts has no map.", field="engine")
        return write_published(published, verdict, certificate, receipt, path, inputs=inputs)

    def sealed(self, published: OnSpark) -> pl.DataFrame:
        """There is none in memory."""
        raise PlanError(
            "A table on Spark is written to a folder of Parquet files, and is never one frame in memory.",
            field="engine",
        )

    def draw_map(
        self, published: OnSpark, plan: Plan, verdict: Verdict, path: str | os.PathLike[str]
    ) -> Path:
        """There is none."""
        raise PlanError("A table that is worked on in parts has no map.", field="engine")


ENGINE: Engine[SparkTable, InSpark, PartsSolved, OnSpark] = Spark()

"""Tables larger than memory, on one machine: read batch by batch, grouped part by part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from shoal.bound import prove_in_parts, search_for
from shoal.bound.border import Load
from shoal.check.in_order import judge_in_order
from shoal.engines.parts import HoldsLittle, in_unit
from shoal.engines.stream.group import group_in_parts
from shoal.engines.stream.limits import check_plan, hands_of
from shoal.engines.stream.persons import check_whom_in_order
from shoal.engines.stream.survey import Surveyed, survey_scan
from shoal.engines.stream.tuples import code_in_parts
from shoal.engines.stream.under_way import Hands, under_way
from shoal.engines.stream.values import InParts, PartGroups, Sorted, Streamed
from shoal.engines.stream.write import write_sorted
from shoal.errors import PlanError, choices
from shoal.group import METHODS, facts
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
from shoal.read.nameless import folder_of
from shoal.read.scan import scan_frame
from shoal.recode.faces import losses_of, places_of

__all__ = ["ENGINE", "Stream", "in_parts"]


AUTO: dict[str, tuple[str, dict[str, object]]] = {
    "quick": ("mondrian", {"widest": "200"}),
    "normal": ("crowd", {"search": "no"}),
}
"""The method behind `auto` by effort, with its options; with more effort crowds are improved by search."""


def in_parts(plan: Plan) -> Plan:
    """The plan with the method behind `auto` for a table that is grouped part by part."""
    if plan.method != "auto":
        return plan
    method, more = AUTO.get(plan.effort, ("crowd", {}))
    return replace(plan, method=method, options={**more, **plan.options})


class Stream(HoldsLittle):
    """The engine for tables that do not fit into memory."""

    def settle(self, plan: Plan) -> Plan:
        """Only methods whose parts may be grouped one by one."""
        check_plan(plan)
        if plan.method != "auto" and not facts(plan.method).in_parts:
            possible = [name for name in METHODS if facts(name).in_parts]
            raise PlanError(
                f"Method {plan.method!r} does not work on a table in parts. {choices(possible)}",
                field="method",
            )
        return plan

    def open(self, frame: Any, plan: Plan, key: Key | None = None) -> Streamed:
        """A scan, a lazy frame, a dataset of Arrow, or any frame."""
        scan = scan_frame(frame, plan.scratch)
        return Streamed(scan, folder_of(plan.scratch), hands_of(plan, scan.rows))

    def seal(self, table: Streamed) -> Callable[[], Receipt]:
        """A receipt over the cells in their order, which are read when it is asked for."""
        return lambda: Receipt.of_parts(table.scan.frames())

    def survey(self, table: Streamed, plan: Plan, progress: Progress) -> Surveyed:
        """Each cell of a column once, and which identifiers repeat."""
        return survey_scan(table.scan, plan, table.hands, progress)

    def code(
        self, table: Streamed, known: Known, plan: Plan, progress: Progress, *, matrix: Any = None
    ) -> InParts:
        """The tuples, all of them or a sample."""
        if matrix is not None:
            raise PlanError("A table that is worked on in parts takes no matrix.", field="distance")
        assert isinstance(known, Surveyed), "this engine surveyed the table"
        return code_in_parts(table, known, plan, progress)

    def choose(self, plan: Plan, coded: InParts) -> Plan:
        """Quick by cuts, else by crowds; few tuples as in memory."""
        return plan if coded.whole is not None else in_parts(plan)

    def group(
        self, coded: InParts, task: Task, plan: Plan, work: Callable[[Task, Coded], Grouping]
    ) -> PartGroups:
        """Each part by itself."""
        return group_in_parts(coded, task, plan, work)

    def see(self, coded: InParts, grouping: PartGroups, plan: Plan) -> tuple[Places, InParts]:
        """From the faces of all groups."""
        places = places_of(coded.columns, grouping.faces)
        columns, whole = in_unit(coded.columns, coded.whole, places)
        if columns is coded.columns:
            return places, coded
        return places, replace(coded, columns=columns, whole=whole)

    def value(self, objective: str, coded: InParts, grouping: PartGroups) -> float:
        """The total loss, from the faces of all groups."""
        return losses_of(coded.metric, grouping.faces) + grouping.withheld * coded.weight

    def recode(
        self, table: Streamed, coded: InParts, grouping: PartGroups, plan: Plan, progress: Progress
    ) -> Sorted:
        """Into a file without a name, in published order."""
        return write_sorted(coded, grouping, plan, progress)

    def check(
        self,
        table: Streamed,
        published: Sorted,
        plan: Plan,
        coded: InParts,
        progress: Progress,
        *,
        withheld: int,
    ) -> Verdict:
        """The independent judge reads the file once, and who stands behind its lines."""
        return judge_in_order(
            published.frames,
            list(published.names),
            plan,
            coded.columns,
            withheld=withheld,
            persons=published.told("p0") if plan.whom.unit is not None else None,
            trees=coded.layout.about.ruled.trees,
        )

    def whom(self, table: Streamed, published: Sorted, plan: Plan, coded: InParts) -> tuple[Repeats, ...]:
        """Identifiers that repeat; stops where rows may be fewer persons."""
        check_whom_in_order(published, plan, coded)
        return coded.repeats

    def bound(
        self,
        coded: InParts,
        task: Task,
        prove: Callable[..., Proof | None],
        grouping: PartGroups | None = None,
    ) -> Proof | None:
        """Of few tuples as in memory, else by own boxes in parts and the way out of them."""
        if coded.whole is not None:
            return prove(coded.whole, grouping=None if grouping is None else grouping.whole)
        if coded.cuts is None or grouping is None or not grouping.again:
            return None
        return prove_in_parts(
            grouping.again,
            coded.metric,
            coded.cuts,
            task,
            search_for(
                task,
                coded.total,
                len(coded.columns),
                coded.layout.about.plan.part,
                self.value("loss", coded, grouping) / coded.total,
            ),
            coded.total,
            partial(_looked_at, hands=coded.table.hands, progress=task.progress),
        )

    def hand_back(self, table: Streamed, published: Sorted) -> tuple[Any, dict[str, Any]]:
        """A lazy frame over the finished file."""
        return _lazy(published), {}

    def publish(
        self,
        published: Sorted,
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
        """All files of a release together, or none."""
        from shoal.publish.large import LargeTable
        from shoal.publish.table import write_release

        if map_to is not None:
            raise PlanError("A table that is worked on in parts has no map.", field="engine")
        table = LargeTable(published.file.reader, published.digest, published.frames)
        return write_release(table, verdict, certificate, receipt, path, delimiter=delimiter, inputs=inputs)

    def sealed(self, published: Sorted) -> pl.DataFrame:
        """There is none in memory."""
        raise PlanError(
            "A table that is worked on in parts is written to files. Write it to a Parquet file.",
            field="engine",
        )

    def draw_map(
        self, published: Sorted, plan: Plan, verdict: Verdict, path: str | os.PathLike[str]
    ) -> Path:
        """There is none."""
        raise PlanError("A table that is worked on in parts has no map.", field="engine")


def _looked_at(
    look: Callable[[Load], float], parts: Sequence[Load], *, hands: Hands, progress: Progress
) -> Iterator[float]:
    """What is found in each part, with a word after it; whoever looks loads it, so few are held."""
    for done, found in enumerate(under_way(look, parts, hands), 1):
        progress(f"proving a bound, part {done:,} of {len(parts):,}", done / len(parts))
        yield found


def _lazy(published: Sorted) -> pl.LazyFrame:
    from polars.io.plugins import register_io_source

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        _batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for frame in published.frames(with_columns):
            some = frame if left is None else frame.head(left)
            if left is not None:
                left -= some.height
            yield some if predicate is None else some.filter(predicate)
            if left == 0:
                return

    return register_io_source(source, schema=published.like.schema, is_pure=True)


ENGINE = Stream()

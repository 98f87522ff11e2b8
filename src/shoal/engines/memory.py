"""All verbs in this process: a table is a Polars frame, and one part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.bound import value_of
from shoal.check.judge import judge
from shoal.encode import code, survey
from shoal.encode.published import as_published, published_places, ranges_of
from shoal.engines.persons import behind, check_whom, repeats
from shoal.errors import NotAnonymous
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.figures import Places
from shoal.model.files import Files
from shoal.model.given_back import give_back
from shoal.model.grouping import Grouping, Groups, Proof
from shoal.model.known import Known
from shoal.model.mark import mark_of
from shoal.model.plan import Plan
from shoal.model.pseudonym import Key
from shoal.model.receipt import Receipt
from shoal.model.task import Progress, Task
from shoal.model.verdict import Verdict
from shoal.model.whom import Repeats
from shoal.read.frames import to_polars
from shoal.read.guess import repeats_in
from shoal.read.hand_back import Origin, hand_back, origin_of

__all__ = ["ENGINE", "Finished", "Memory", "Opened"]


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A table in memory, and the kind of frame it came in; pseudonyms and their key where it has some.

    `faces` are those that its groups show, once they are known.
    """

    frame: pl.DataFrame
    origin: Origin
    pseudonyms: tuple[pl.Series, ...] = ()
    key: Key | None = None
    faces: tuple[pl.DataFrame, NDArray[np.uint32]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.frame.height


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A finished table: `judged` with sets as texts, `written` with their ids where the plan wants them.

    `behind` says who stands behind the lines of the one, `groups` who behind those of the other.
    """

    judged: pl.DataFrame
    behind: Groups
    written: pl.DataFrame
    groups: Groups
    lookups: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    seal: str = ""  # of what is written, from when it was made: this and nothing else is published

    @property
    def sealed(self) -> tuple[pl.DataFrame, Mapping[str, pl.DataFrame]]:
        """What is written, if it is still what was made to be judged."""
        if mark_of(self.written, *self.lookups.values()) != self.seal:
            raise NotAnonymous(
                "The table is no longer the one that was judged, so nothing was written. Anonymize again."
            )
        return self.written, self.lookups

    def first_lines(self) -> str:
        """The first lines as HTML, for notebooks."""
        return self.written.head(5)._repr_html_()


class Memory:
    """The engine for tables that fit into memory."""

    def settle(self, plan: Plan) -> Plan:
        """All that a plan can say is possible here."""
        return plan

    def open(self, frame: Any, plan: Plan, key: Key | None = None) -> Opened:
        """Any eager or lazy frame."""
        from shoal.recode.anew import anew
        from shoal.recode.pseudonyms import pseudonyms_of

        native, table = to_polars(frame)
        kept = [name for name in (*plan.sensitive, *plan.keep) if name in table.columns]
        anew(table[kept].clear())  # what could not be published is refused before any work
        # centres publish their values as text, with counts
        origin = origin_of(native, table, kept if plan.style != "centres" else ())
        return Opened(table, origin, pseudonyms_of(table, plan, key), key)

    def seal(self, table: Opened) -> Callable[[], Receipt]:
        """A receipt over the cells in their order, made beside other work."""
        aside = ThreadPoolExecutor(1)
        made = aside.submit(Receipt.of, table.frame)
        aside.shutdown(wait=False)
        return made.result

    def survey(self, table: Opened, plan: Plan, progress: Progress) -> Known:
        """Each cell of a column once."""
        return survey(table.frame, plan)

    def code(
        self, table: Opened, known: Known, plan: Plan, progress: Progress, *, matrix: Any = None
    ) -> Coded:
        """The whole table is one part."""
        return code(table.frame, known, plan, matrix=matrix)

    def when_coded(self, table: Opened, plan: Plan) -> Opened:
        """Without quasi-identifiers; one column stays, which knows how many rows there are."""
        others = {*plan.beside, *plan.identifier, *plan.whom.columns, plan.pseudonym}
        coded = [name for name in plan.quasi if name not in others and name in table.frame.columns]
        return replace(table, frame=table.frame.drop(coded[len(coded) == table.frame.width :]))

    def choose(self, plan: Plan, coded: Coded) -> Plan:
        """Nothing of its own."""
        return plan

    def group(
        self, coded: Coded, task: Task, plan: Plan, work: Callable[[Task, Coded], Grouping]
    ) -> Grouping:
        """The one part."""
        return work(task, coded)

    def see(self, coded: Coded, grouping: Grouping, plan: Plan) -> tuple[Places, Coded]:
        """From the rows of every group."""
        places = published_places(coded, grouping, plan)
        return places, as_published(coded, ranges_of(coded.columns, places))

    def value(self, objective: str, coded: Coded, grouping: Grouping) -> float:
        """From the rows of every group."""
        return value_of(objective, coded, grouping)

    def bound(
        self,
        coded: Coded,
        task: Task,
        prove: Callable[..., Proof | None],
        grouping: Grouping | None = None,
    ) -> Proof | None:
        """The one part."""
        return prove(coded, grouping=grouping)

    def when_proved(
        self, table: Opened, coded: Coded, grouping: Grouping, plan: Plan
    ) -> tuple[Opened, Coded, Grouping]:
        """What the groups show takes the place of what tells rows apart, unless a row of each is shown."""
        from shoal.recode import shown_faces

        if plan.style == "centres":
            return table, coded, grouping
        faces = shown_faces(coded, grouping, plan)
        grouping = replace(grouping, proof=None, near=None)
        return replace(table, faces=faces), coded.without_codes(), grouping

    def recode(
        self, table: Opened, coded: Coded, grouping: Grouping, plan: Plan, progress: Progress
    ) -> Finished:
        """Published cells, in fresh memory."""
        from shoal.recode import digest_of, recode, to_ids

        frame = table.frame.with_columns(table.pseudonyms)
        judged, groups = recode(frame, coded, grouping, plan, faces=table.faces)
        if plan.cells != "id":
            return Finished(judged, groups, judged, groups, seal=mark_of(judged))
        written, lookups, order = to_ids(judged, coded.columns)
        marks = {name: digest_of(lookup, name) for name, lookup in lookups.items()}
        moved = groups if groups.line is None else replace(groups, line=np.argsort(order)[groups.line])
        return Finished(judged, groups, written, moved, lookups, marks, mark_of(written, *lookups.values()))

    def whom(self, table: Opened, published: Finished, plan: Plan, coded: Coded) -> tuple[Repeats, ...]:
        """Identifiers that repeat, and columns without a role that seem to name persons."""
        check_whom(plan, table.frame, published.judged, published.behind)
        guessed = repeats_in(table.frame, plan.columns, unit=plan.unit, count=plan.count)
        return (*repeats(plan, table.frame), *guessed)

    def when_published(
        self, table: Opened, coded: Coded, grouping: Grouping, plan: Plan
    ) -> tuple[Opened, Coded, Grouping]:
        """No row, unless the judge must know whose it was."""
        if plan.whom.unit is None and plan.pseudonym is None:
            table = replace(table, frame=table.frame.clear(), faces=None)
        return table, coded.without_rows(), grouping.without_rows()

    def check(
        self,
        table: Opened,
        published: Finished,
        plan: Plan,
        coded: Coded,
        progress: Progress,
        *,
        withheld: int,
    ) -> Verdict:
        """The independent judge; who a line belongs to is told beside the table, which never says it."""
        give_back()  # what was let go
        unit, named = plan.whom.unit, plan.pseudonym
        return judge(
            published.judged,
            plan,
            coded.columns,
            withheld=withheld,
            persons=None if unit is None else behind(plan, table.frame, published.behind, unit),
            named=None if named is None else behind(plan, table.frame, published.behind, named),
            key=table.key,
            trees=coded.held.trees if coded.held is not None else {},
        )

    def hand_back(self, table: Opened, published: Finished) -> tuple[Any, dict[str, Any]]:
        """Frames of their own memory."""
        lookups = {
            name: hand_back(lookup, table.origin.plain) for name, lookup in published.lookups.items()
        }
        return hand_back(published.written, table.origin), lookups

    def publish(
        self,
        published: Finished,
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
        from shoal.publish.map import check_map, map_of
        from shoal.publish.table import write_release

        sources = list(inputs)
        table, lookups = published.sealed
        drawings = []
        if map_to is not None:
            check_map(map_to, inputs=sources)
            drawings.append(map_of(_with_sets(table, lookups), plan, verdict, map_to))
        return write_release(
            table,
            verdict,
            certificate,
            receipt,
            path,
            delimiter=delimiter,
            inputs=sources,
            lookups=lookups,
            drawings=drawings,
        )

    def sealed(self, published: Finished) -> pl.DataFrame:
        """The frame itself."""
        return published.sealed[0]

    def draw_map(
        self, published: Finished, plan: Plan, verdict: Verdict, path: str | os.PathLike[str]
    ) -> Path:
        """One map, with its sets written out."""
        from shoal.publish.map import draw_map

        return draw_map(_with_sets(*published.sealed), plan, verdict, path)


def _with_sets(table: pl.DataFrame, lookups: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    from shoal.recode import from_ids

    return from_ids(table, lookups)


ENGINE = Memory()

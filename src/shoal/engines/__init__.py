"""Where the verbs run.

An engine knows how its tables are kept: a table is a handle that nobody else looks inside. The order of the
verbs stands in `run`, once for all places; between them an engine lets go of what nobody needs any more. In
memory a table is one part; an engine that cuts tables into parts applies `group`'s work to each of them,
where it lives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shoal.errors import MissingExtra, PlanError, choices

if TYPE_CHECKING:
    import polars as pl

    from shoal.model.certificate import Certificate
    from shoal.model.coded import Coded
    from shoal.model.column import Column
    from shoal.model.figures import Places
    from shoal.model.files import Files
    from shoal.model.grouping import Grouping, Groups, Proof
    from shoal.model.known import Known
    from shoal.model.plan import Plan
    from shoal.model.pseudonym import Key
    from shoal.model.receipt import Receipt
    from shoal.model.task import Progress, Task
    from shoal.model.verdict import Verdict
    from shoal.model.whom import Repeats

__all__ = [
    "ENGINES",
    "C",
    "CodedTable",
    "Engine",
    "G",
    "Grouped",
    "P",
    "Published",
    "T",
    "Table",
    "load",
    "settle",
]

ENGINES = ("memory", "stream", "spark")
NEEDED = {"spark": ("pyspark",)}
"""What an engine needs that is not among the usual parts."""


class Table(Protocol):
    """A table that was opened."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def rows(self) -> int:
        """How many rows it has."""


class CodedTable(Protocol):
    """A table as numbers, wherever they are."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The quasi-identifiers."""

    @property
    def total(self) -> int:
        """How many records there are."""

    @property
    def weight(self) -> float:
        """The sum of the columns' weights."""

    @property
    def is_ruled(self) -> bool:
        """Whether rules or a unit are held."""


class Grouped(Protocol):
    """Who stands with whom, wherever that is kept; see `Grouping`."""

    @property
    def withheld(self) -> int:
        """Records left out."""

    @property
    def steps(self) -> int:
        """How much effort was spent."""

    @property
    def proof(self) -> Proof | None:
        """A bound that was found on the way."""

    @property
    def objective(self) -> str | None:
        """What was aimed at, where it is not what the method says."""

    @property
    def factor(self) -> float | None:
        """The proven factor of this run, where it is not what the method says."""


class Published(Protocol):
    """A finished table, as it was judged and as it is written, and who stands behind its lines."""

    @property
    def groups(self) -> Groups:
        """The groups, seen from the rows that came in."""

    @property
    def marks(self) -> dict[str, str]:
        """A digest of each lookup table, by column, where sets are published by their ids."""

    def first_lines(self) -> str:
        """The first lines as HTML, for notebooks."""


T = TypeVar("T", bound=Table)
C = TypeVar("C", bound=CodedTable)
G = TypeVar("G", bound=Grouped)
P = TypeVar("P", bound=Published)


class Engine(Protocol[T, C, G, P]):
    """The verbs that depend on where a table is."""

    def settle(self, plan: Plan) -> Plan:
        """The plan with what this place decides; refuses what it cannot do."""

    def open(self, frame: Any, plan: Plan, key: Key | None = None) -> T:
        """Take a table in; refuses columns that could not be handed back as they came."""

    def seal(self, table: T) -> Callable[[], Receipt]:
        """A new receipt with the salted fingerprint of the table, when that is asked for."""

    def survey(self, table: T, plan: Plan, progress: Progress) -> Known:
        """Learn what the columns are: kinds, ranges, dictionaries."""

    def code(self, table: T, known: Known, plan: Plan, progress: Progress, *, matrix: Any = None) -> C:
        """Turn rows into numbers."""

    def when_coded(self, table: T, plan: Plan) -> T:
        """The table without what nobody needs once it is coded."""

    def choose(self, plan: Plan, coded: C) -> Plan:
        """The plan with the method behind `auto` for this table, where this place has one of its own."""

    def group(self, coded: C, task: Task, plan: Plan, work: Callable[[Task, Coded], Grouping]) -> G:
        """Do the work of grouping, where the coded rows are: on all of them, or part by part."""

    def see(self, coded: C, grouping: G, plan: Plan) -> tuple[Places, C]:
        """The table in the unit of what is published, and between which values that is."""

    def value(self, objective: str, coded: C, grouping: G) -> float:
        """What the groups reach, in the objective's own unit."""

    def bound(
        self, coded: C, task: Task, prove: Callable[..., Proof | None], grouping: G | None = None
    ) -> Proof | None:
        """Prove a bound, where the coded rows are; the search for it may begin with the groups."""

    def when_proved(self, table: T, coded: C, grouping: G, plan: Plan) -> tuple[T, C, G]:
        """The same without what nobody needs once there is nothing more to prove."""

    def recode(self, table: T, coded: C, grouping: G, plan: Plan, progress: Progress) -> P:
        """Make the finished table anew."""

    def whom(self, table: T, published: P, plan: Plan, coded: C) -> tuple[Repeats, ...]:
        """Who repeats; stops where nobody said whom k counts and rows may be fewer persons."""

    def when_published(self, table: T, coded: C, grouping: G, plan: Plan) -> tuple[T, C, G]:
        """The same without what nobody needs once the finished table is made."""

    def check(
        self, table: T, published: P, plan: Plan, coded: C, progress: Progress, *, withheld: int
    ) -> Verdict:
        """Judge the finished table, persons among them where the plan names a unit."""

    def hand_back(self, table: T, published: P) -> tuple[Any, dict[str, Any]]:
        """The published table and its lookup tables as frames of the user's own, of the kind given."""

    def publish(
        self,
        published: P,
        plan: Plan,
        verdict: Verdict,
        certificate: Certificate,
        receipt: Receipt,
        path: str | os.PathLike[str],
        *,
        delimiter: str,
        inputs: Iterable[str | os.PathLike[str]],
        map_to: str | os.PathLike[str] | None,
    ) -> Files:
        """Write what was judged, if the verdict has passed and it is still the same."""

    def sealed(self, published: P) -> pl.DataFrame:
        """What is written, as one frame in memory, if it is still what was judged."""

    def draw_map(self, published: P, plan: Plan, verdict: Verdict, path: str | os.PathLike[str]) -> Any:
        """Draw what was judged, on the same terms."""


def settle(plan: Plan, frame: Any) -> tuple[Engine[Any, Any, Any, Any], Plan]:
    """The engine for a table, and the plan with what it decides."""
    name = plan.engine
    if name == "auto":
        name = "spark" if is_spark(frame) else "stream" if _comes_in_batches(frame) else "memory"
    if plan.pseudonym is not None and name != "memory":
        raise PlanError(
            f"Pseudonyms are made of tables in memory, and this one runs as {name}. Run it in memory, or "
            "leave out the pseudonym.",
            field="engine",
        )
    at = load(name)
    return at, at.settle(replace(plan, engine=name))


def _comes_in_batches(frame: Any) -> bool:
    """Whether a table is read batch by batch; a lazy frame is collected unless a stream is asked for."""
    kind = type(frame)
    return kind.__name__ == "Scan" or kind.__module__ == "pyarrow._dataset"


def is_spark(frame: Any) -> bool:
    """Whether a frame is one of Spark, which need not be there."""
    return type(frame).__module__.startswith("pyspark.sql.")


def load(name: str) -> Engine[Any, Any, Any, Any]:
    """The engine of that name."""
    if name not in ENGINES:
        raise PlanError(f"There is no engine {name!r}. {choices(('auto', *ENGINES))}", field="engine")
    for part in NEEDED.get(name, ()):
        if find_spec(part) is None:
            raise MissingExtra(part, extra=name)
    engine: Engine[Any, Any, Any, Any] = import_module(f"shoal.engines.{name}").ENGINE
    return engine

"""Where the verbs run.

An engine knows how its tables are kept: a table is a handle that nobody else looks inside. The order of the
verbs stands in `run`, once for all places. In memory a table is one part; an engine that cuts tables into
parts applies `group`'s work to each of them, where it lives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shoal.errors import MissingExtra, PlanError, choices

if TYPE_CHECKING:
    import polars as pl

    from shoal.model.certificate import Certificate
    from shoal.model.coded import Coded
    from shoal.model.files import Files
    from shoal.model.grouping import Grouping, Groups, Proof
    from shoal.model.known import Known
    from shoal.model.plan import Plan
    from shoal.model.receipt import Receipt
    from shoal.model.verdict import Verdict
    from shoal.model.whom import Repeats

__all__ = ["ENGINES", "Engine", "P", "Published", "T", "Table", "load"]

ENGINES = ("memory",)


class Table(Protocol):
    """A table that was opened."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def rows(self) -> int:
        """How many rows it has."""


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
P = TypeVar("P", bound=Published)


class Engine(Protocol[T, P]):
    """The verbs that depend on where a table is."""

    def open(self, frame: Any, plan: Plan) -> T:
        """Take a table in; refuses columns that could not be handed back as they came."""

    def seal(self, table: T) -> Receipt:
        """A new receipt with the salted fingerprint of the table."""

    def survey(self, table: T, plan: Plan) -> Known:
        """Learn what the columns are: kinds, ranges, dictionaries."""

    def code(self, table: T, known: Known, plan: Plan, *, matrix: Any = None) -> Coded:
        """Turn rows into numbers."""

    def group(self, coded: Coded, work: Callable[[Coded], Grouping]) -> Grouping:
        """Do the work of grouping, where the coded rows are."""

    def recode(self, table: T, coded: Coded, grouping: Grouping, plan: Plan) -> P:
        """Make the finished table anew."""

    def check(self, table: T, published: P, plan: Plan, coded: Coded, *, withheld: int) -> Verdict:
        """Judge the finished table, persons among them where the plan names a unit."""

    def whom(self, table: T, published: P, plan: Plan) -> tuple[Repeats, ...]:
        """Who repeats; stops where nobody said whom k counts and rows may be fewer persons."""

    def bound(self, coded: Coded, prove: Callable[[Coded], Proof | None]) -> Proof | None:
        """Prove a bound, where the coded rows are."""

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


def load(name: str) -> Engine[Any, Any]:
    """The engine of that name."""
    if name not in ENGINES:
        raise PlanError(f"There is no engine {name!r}. {choices(ENGINES)}", field="engine")
    try:
        engine: Engine[Any, Any] = import_module(f"shoal.engines.{name}").ENGINE
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("shoal"):
            raise
        raise MissingExtra(error.name, extra=name) from None
    return engine

"""The pages: frozen values that are shown as HTML by a template, or as JSON to whoever asks for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from shoal.web.form import ColumnForm, PlanForm
from shoal.web.session import Problem

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = [
    "ColumnsPage",
    "ComparePage",
    "PublishPage",
    "ResultPage",
    "RunPage",
    "RunsPage",
    "TablePage",
    "TreePage",
    "as_html",
    "as_plain",
    "fragment",
]


@dataclass(frozen=True, slots=True)
class TablePage:
    """Choose a table."""

    endings: Sequence[str]
    largest: str
    template = "table.html"


@dataclass(frozen=True, slots=True)
class ColumnsPage:
    """What the columns are, and how they are protected."""

    form: PlanForm
    columns: Sequence[Mapping[str, Any]]
    said: Sequence[str]
    revision: int
    tab: str
    command: str
    note: str = ""
    problem: Problem | None = None
    remedies: Sequence[Mapping[str, Any]] = ()
    template = "columns.html"

    def problem_at(self, at: str, column: str | None = None) -> str:
        """What is wrong with one field, "" where nothing is."""
        found = self.problem
        if found is None or found.at != at or (column is not None and found.column not in {column, None}):
            return ""
        return found.words

    @property
    def has_place(self) -> bool:
        """Whether the problem is shown at a field of this page."""
        if self.problem is None or self.problem.at is None:
            return False
        by_column = self.problem.at in {"kinds", "hierarchies", "weights", "rules", "quasi", "sensitive"}
        return not by_column or self.problem.column in {column.name for column in self.form.columns}


@dataclass(frozen=True, slots=True)
class TreePage:
    """What a column may be called when it must be less precise."""

    at: int
    column: ColumnForm
    listed: Sequence[str]
    distinct: int
    suggestion: str
    revision: int
    tab: str
    note: str = ""
    template = "tree.html"


@dataclass(frozen=True, slots=True)
class RunPage:
    """How far a run is."""

    number: int
    title: str
    state: str
    what: str
    words: str
    template = "run.html"


@dataclass(frozen=True, slots=True)
class ResultPage:
    """What came of a run."""

    number: int
    facts: Mapping[str, Any]
    command: str
    runs: int
    template = "result.html"


@dataclass(frozen=True, slots=True)
class ComparePage:
    """What each k costs."""

    number: int
    facts: Mapping[str, Any]
    template = "compare.html"


@dataclass(frozen=True, slots=True)
class RunsPage:
    """All runs of the session, side by side."""

    runs: Sequence[Mapping[str, Any]]
    template = "runs.html"


@dataclass(frozen=True, slots=True)
class PublishPage:
    """What may leave this machine, and what must not."""

    number: int
    facts: Mapping[str, Any]
    questions: Sequence[tuple[str, str]]
    context: Mapping[str, Any]
    has_report: bool
    command: str
    template = "publish.html"


Page = TablePage | ColumnsPage | TreePage | RunPage | ResultPage | ComparePage | RunsPage | PublishPage


def as_html(page: Page, **around: Any) -> str:
    """The page in its frame; `around` is what all pages show."""
    return _templates().get_template(page.template).render(page=page, **around)


def as_plain(page: Page) -> dict[str, Any]:
    """The same value for JSON."""
    return asdict(page)


def fragment(name: str, **facts: Any) -> str:
    """A part of a page that changes while it is looked at."""
    return _templates().get_template(name).render(**facts)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def load(name: str) -> str:
        return files("shoal.web").joinpath("templates", name).read_text(encoding="utf-8")

    made = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"count": lambda number: f"{number:,}", "figure": lambda number: f"{number:.3g}"}
    return made

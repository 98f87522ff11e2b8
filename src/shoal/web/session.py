"""What the server knows: names, counts, the form and the runs. The table itself is in the hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.web.form import ColumnForm, PlanForm
from shoal.web.hand import FAILED, Hand, Job

__all__ = ["COMPARE", "RUN", "Problem", "Run", "Session"]

RUN, COMPARE = "run", "compare"
PLAIN = ("k", "unit", "withhold", "effort", "method", "style", "missing", "seed")
BY_COLUMN = ("role", "kind", "weight", "rule")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, in words, with the field and the column they speak of."""

    words: str
    at: str | None = None
    column: str | None = None


@dataclass(slots=True)
class Run:
    """A run or a comparison of several k: what was asked, and how far it is."""

    number: int
    what: str
    form: PlanForm
    job: Job = field(default_factory=Job)
    context: dict[str, Any] = field(default_factory=dict)


class Session:
    """One user's table, plan and runs. Two tabs share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hand = Hand(folder)
        self.name = ""
        self.table: dict[str, Any] | None = None
        self.form = PlanForm()
        self.runs: list[Run] = []
        self.problem: Problem | None = None
        self._changes: list[str] = []  # the tab that made each revision
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def revision(self) -> int:
        """How often the form has changed."""
        return len(self._changes)

    def is_fresh(self, tab: str, revision: int) -> bool:
        """Whether nobody but this tab changed the form since it was shown there."""
        return 0 <= revision <= self.revision and all(one == tab for one in self._changes[revision:])

    def change(self, form: PlanForm, tab: str = "") -> None:
        """Take another form."""
        if form != self.form:
            self.form = form
            self._changes.append(tab)

    def filled(self, given: Mapping[str, str]) -> PlanForm:
        """The form as it was filled in."""
        columns = tuple(
            replace(
                column,
                **{name: given[f"{name}-{at}"] for name in BY_COLUMN if f"{name}-{at}" in given},
            )
            for at, column in enumerate(self.form.columns)
        )
        plain: dict[str, Any] = {name: given[name] for name in PLAIN if name in given}
        return replace(self.form, columns=columns, **plain)

    async def open(self, path: Path, name: str, plan: Path | None = None) -> Job:
        """Open a table; what was there before is forgotten once it is read."""
        words = {"path": str(path), "name": name, "plan": None if plan is None else str(plan)}
        job = await self.hand.ask("open", words)
        if job.state != FAILED:
            self.name, self.table = name, job.facts
            self.runs, self.problem = [], None
            self._changes.append("")
            self.form = PlanForm.of_plain(job.facts["form"])
        return job

    def column(self, at: int) -> ColumnForm:
        """A column by its place; raises `LookupError` where there is none."""
        return self.form.columns[at]

    @property
    def running(self) -> Run | None:
        """The run that is not yet at its end."""
        return next((run for run in self.runs if run.job.is_running), None)

    def start(self, what: str) -> Run:
        """Start a run with the form as it stands, unless one is running: then that is it."""
        if self.running is not None:
            return self.running
        run = Run(len(self.runs) + 1, what, self.form)
        self.runs.append(run)
        self.problem = None
        words: dict[str, Any] = {"form": run.form.to_plain()}
        if what == RUN:
            words["number"] = run.number
        task = asyncio.create_task(self._follow(run, words))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run

    async def _follow(self, run: Run, words: dict[str, Any]) -> None:
        await self.hand.ask(run.what, words, job=run.job)
        if run.job.state == FAILED:
            self.problem = Problem(run.job.words, run.job.at, run.job.column)

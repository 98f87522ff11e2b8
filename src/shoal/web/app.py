"""The pages by their addresses: each reads what was asked, asks the hand, and shows a page."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

import shoal
from shoal.web import pages
from shoal.web.form import PlanForm
from shoal.web.hand import DONE, FAILED, Job
from shoal.web.look import apply, remedies_for
from shoal.web.session import COMPARE, RUN, Problem, Run, Session

__all__ = ["ENDINGS", "Bench"]

TEXTS = (".csv", ".tsv", ".tab", ".txt")
ENDINGS = (
    *TEXTS,
    *(f"{ending}.gz" for ending in TEXTS),
    *(".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx"),
    *(".dta", ".sav", ".sas7bdat", ".xpt"),
)
TREES = (".csv", ".tsv", ".txt", ".yaml", ".yml")
PLANS = (".yaml", ".yml")
LARGEST, SMALL = 2 * 2**30, 16 * 2**20
"""Bytes of a table, and of a plan, a hierarchy or a form."""
STATIC = {"bench.css": "text/css", "bench.js": "text/javascript", "icon.svg": "image/svg+xml"}
STALE = "The plan was changed in another tab. Here it is as it stands now; nothing was run."
OFTEN, PATIENCE, POINTS = 0.1, 10.0, 400
PRIVATE = ("receipt",)


class Bench:
    """The workbench of one session."""

    def __init__(self, session: Session, *, largest: int = LARGEST) -> None:
        self.session = session
        self.largest = largest
        self._asked = 0
        self._uploaded: Path | None = None
        get, post, put = ["GET"], ["POST"], ["PUT"]
        self.app = Starlette(
            routes=[
                Route("/start", self.start, methods=get),
                Route("/", self.table, methods=get),
                Route("/upload/{name}", self.upload, methods=put),
                Route("/columns", self.columns, methods=get),
                Route("/plan", self.plan, methods=post),
                Route("/plan/{name}", self.load_plan, methods=put),
                Route("/plan.yaml", self.save_plan, methods=get),
                Route("/ask", self.ask, methods=post),
                Route("/tree/{at:int}", self.tree, methods=get),
                Route("/tree/{at:int}", self.save_tree, methods=post),
                Route("/tree/{at:int}/try", self.try_tree, methods=post),
                Route("/tree/{at:int}/{name}", self.read_tree, methods=put),
                Route("/runs", self.runs, methods=get),
                Route("/runs/{number:int}", self.run, methods=get),
                Route("/runs/{number:int}/events", self.events, methods=get),
                Route("/runs/{number:int}/cancel", self.cancel, methods=post),
                Route("/runs/{number:int}/again", self.again, methods=post),
                Route("/runs/{number:int}/publish", self.publish, methods=get),
                Route("/runs/{number:int}/publish", self.report, methods=post),
                Route("/runs/{number:int}/files/{what}", self.download, methods=get),
                Route("/static/{name}", self.static, methods=get),
            ],
            exception_handlers={LookupError: _not_there, HTTPException: _refused, Exception: _bug},
        )

    # Table

    async def start(self, request: Request) -> Response:
        """The first page: a table that was named on the command line need not be chosen."""
        return _to(request, "/" if self.session.table is None else "/columns")

    async def table(self, request: Request) -> Response:
        """Choose a table."""
        return self._show(request, pages.TablePage(ENDINGS, f"{self.largest / 2**30:g} GB"))

    async def upload(self, request: Request) -> Response:
        """Take a table in, part by part, and open it."""
        name = _plain_name(request.path_params["name"])
        target = await self._take(request, name, "table", ENDINGS, self.largest)
        job = await self.session.open(target, name)
        if job.state != DONE:
            target.unlink(missing_ok=True)
        elif self._uploaded is not None:
            self._uploaded.unlink(missing_ok=True)
        self._uploaded = target if job.state == DONE else self._uploaded
        return _done(job)

    # Columns

    async def columns(self, request: Request) -> Response:
        """What the columns are, and how they are protected."""
        if self.session.table is None:
            return _to(request, "/")
        return self._columns(request)

    def _columns(self, request: Request, *, status: int = 200, note: str = "") -> Response:
        session = self.session
        assert session.table is not None
        problem = session.problem
        page = pages.ColumnsPage(
            form=session.form,
            columns=session.table["columns"],
            said=session.table["said"],
            revision=session.revision,
            tab=secrets.token_hex(8),
            command=self._command(session.form),
            note=note,
            problem=problem,
            remedies=remedies_for(problem.at, problem.column, problem.words) if problem is not None else (),
        )
        return self._show(request, page, status)

    async def plan(self, request: Request) -> Response:
        """Keep what was filled in, and measure the risk; where several ask, the newest is answered."""
        given = await _given(request)
        if self.session.table is None or not self._is_fresh(given):
            return PlainTextResponse(STALE, 409)
        self.session.change(self.session.filled(given), given.get("tab", ""))
        self._asked += 1
        mine, form = self._asked, self.session.form
        html = pages.fragment("risk.html", job=None)
        if form.of_role("quasi") and self.session.running is None:
            words = {"form": form.to_plain()}
            job = await self.session.hand.ask("risk", words, is_wanted=lambda: mine == self._asked)
            html = pages.fragment("risk.html", job=job)
        return JSONResponse(
            {"revision": self.session.revision, "risk": html, "command": self._command(form)}
        )

    async def load_plan(self, request: Request) -> Response:
        """Lay a plan file over the form."""
        if self.session.table is None:
            return PlainTextResponse("Open a table first, then its plan.", 422)
        target = await self._take(request, _plain_name(request.path_params["name"]), "plan", PLANS, SMALL)
        words = {"form": self.session.form.to_plain(), "path": str(target)}
        job = await self.session.hand.ask("load_plan", words)
        target.unlink()
        if job.state == DONE:
            self.session.problem = None
            self.session.change(PlanForm.of_plain(job.facts["form"]))
        return _done(job)

    async def save_plan(self, request: Request) -> Response:
        """The plan as a file."""
        if self.session.table is None:
            return _to(request, "/")
        job = await self.session.hand.ask("save_plan", {"form": self.session.form.to_plain()})
        if job.state != DONE:
            self.session.problem = Problem(job.words, job.at, job.column)
            return self._columns(request, status=422)
        head = {"content-disposition": 'attachment; filename="plan.yaml"'}
        return Response(job.facts["text"], media_type="application/yaml", headers=head)

    async def ask(self, request: Request) -> Response:
        """The buttons of the Columns page: run, compare, save the plan, open a hierarchy."""
        given = await _given(request)
        if self.session.table is None:
            return _to(request, "/")
        if not self._is_fresh(given):
            return self._columns(request, status=409, note=STALE)
        self.session.change(self.session.filled(given), given.get("tab", ""))
        what, _, at = given.get("what", RUN).partition("-")
        if what == "tree":
            return _to(request, f"/tree/{int(at)}")
        if what == "save":
            return _to(request, "/plan.yaml")
        run = self.session.start(COMPARE if what == COMPARE else RUN)
        return _to(request, f"/runs/{run.number}")

    # Hierarchy

    async def tree(self, request: Request) -> Response:
        """What a column may be called when it must be less precise."""
        return await self._tree(request)

    async def _tree(self, request: Request, *, status: int = 200, note: str = "") -> Response:
        at = request.path_params["at"]
        column = self.session.column(at)
        job = await self.session.hand.ask("list_values", {"column": column.name})
        facts = job.facts or {"listed": [], "distinct": 0, "suggestion": ""}
        session = self.session
        page = pages.TreePage(
            at, column, **facts, revision=session.revision, tab=secrets.token_hex(8), note=note or job.words
        )
        return self._show(request, page, status)

    async def save_tree(self, request: Request) -> Response:
        """Keep a hierarchy."""
        given = await _given(request)
        column = self.session.column(request.path_params["at"])
        if not self._is_fresh(given):
            return await self._tree(request, status=409, note=STALE)
        text = given.get("text", "").replace("\r", "")
        self.session.change(self.session.form.changed(column.name, tree=text), given.get("tab", ""))
        return _to(request, "/columns")

    async def try_tree(self, request: Request) -> Response:
        """A hierarchy tried while it is typed; where several ask, the newest is answered."""
        given = await _given(request)
        column = self.session.column(request.path_params["at"])
        self._asked += 1
        mine = self._asked
        marks = [mark.strip() for mark in self.session.form.missing.split(",") if mark.strip()]
        words = {"column": column.name, "text": given.get("text", ""), "missing": marks}
        job = await self.session.hand.ask("try_tree", words, is_wanted=lambda: mine == self._asked)
        return HTMLResponse(pages.fragment("tried.html", job=job))

    async def read_tree(self, request: Request) -> Response:
        """A hierarchy file as text for the field."""
        column = self.session.column(request.path_params["at"])
        target = await self._take(request, _plain_name(request.path_params["name"]), "tree", TREES, SMALL)
        job = await self.session.hand.ask("read_tree", {"column": column.name, "path": str(target)})
        target.unlink()
        return PlainTextResponse(job.facts["text"]) if job.state == DONE else _done(job)

    # Run and result

    async def runs(self, request: Request) -> Response:
        """All runs of the session."""
        shown = [
            {
                "number": run.number,
                "what": run.what,
                "state": run.job.state,
                "k": run.form.k,
                "effort": run.form.effort,
                "quasi": ", ".join(run.form.of_role("quasi")),
                "rules": "; ".join(
                    f"{c.name}: {c.rule}" for c in run.form.columns if c.rule and c.role == "sensitive"
                ),
                "loss": run.job.facts.get("loss"),
                "least": run.job.facts.get("least"),
                "classes": run.job.facts.get("classes"),
            }
            for run in self.session.runs
        ]
        return self._show(request, pages.RunsPage(shown))

    async def run(self, request: Request) -> Response:
        """How far a run is, or what came of it."""
        run = self._run_of(request)
        job, number = run.job, run.number
        if job.state == DONE and run.what == COMPARE:
            return self._show(request, pages.ComparePage(number, job.facts))
        if job.state == DONE:
            command = self._command(run.form)
            return self._show(request, pages.ResultPage(number, job.facts, command, len(self.session.runs)))
        if job.state == FAILED and run is self.session.runs[-1] and self.session.problem is not None:
            return _to(request, "/columns")  # where it is told at its field
        title = "What does each k cost?" if run.what == COMPARE else f"Run {number}, k = {run.form.k}"
        return self._show(request, pages.RunPage(number, title, job.state, job.what, job.words))

    async def events(self, request: Request) -> Response:
        """How far a run is, told as it goes on; every message is whole, so that a reload continues."""
        return StreamingResponse(_told(self._run_of(request).job), media_type="text/event-stream")

    async def cancel(self, request: Request) -> Response:
        """Kill the run."""
        run = self._run_of(request)
        self.session.hand.cancel(run.job)
        return _to(request, f"/runs/{run.number}")

    async def again(self, request: Request) -> Response:
        """Run again with a remedy applied."""
        given = await _given(request)
        run = self._run_of(request)
        looks = run.job.facts.get("look") or remedies_for(run.job.at, run.job.column, run.job.words)
        remedy = looks[int(given.get("remedy", "0"))]["remedy"]
        self.session.change(apply(run.form, remedy))
        return _to(request, f"/runs/{self.session.start(RUN).number}")

    # Publish

    async def publish(self, request: Request) -> Response:
        """What may leave this machine, and what must not."""
        run = self._done_run(request)
        page = pages.PublishPage(
            number=run.number,
            facts=run.job.facts,
            questions=tuple(shoal.QUESTIONS.items()),
            context=run.context,
            has_report=(self.session.folder / f"run-{run.number}" / "report.html").exists(),
            command=self._command(run.form),
        )
        return self._show(request, page)

    async def report(self, request: Request) -> Response:
        """Write the report."""
        given = await _given(request, several=("confirmed",))
        run = self._done_run(request)
        names = ("purpose", "recipients", "conditions", "assessor", "date", "next_review")
        run.context = {name: given.get(name, "") for name in names}
        run.context["confirmed"] = [name for name in given.get("confirmed", "").split("\n") if name]
        words = {"form": run.form.to_plain(), "number": run.number, "files": run.job.facts["files"]}
        job = await self.session.hand.ask("write_report", {**words, "context": run.context})
        return _to(request, f"/runs/{run.number}/publish") if job.state == DONE else _done(job)

    async def download(self, request: Request) -> Response:
        """A file of a release."""
        run = self._done_run(request)
        what = request.path_params["what"]
        names = {**run.job.facts["files"], "report": "report.html"}
        names |= {f"lookup-{at}": name for at, name in enumerate(run.job.facts["lookups"])}
        path = self.session.folder / f"run-{run.number}" / names[what]
        if not path.exists():
            raise LookupError
        return FileResponse(path, filename=path.name)

    async def static(self, request: Request) -> Response:
        """Our own style and script."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise LookupError
        return Response(files("shoal.web").joinpath(name).read_bytes(), media_type=STATIC[name])

    # Shared by pages

    def _show(self, request: Request, page: pages.Page, status: int = 200) -> Response:
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse(pages.as_plain(page), status)
        table = self.session.table
        done = [run for run in self.session.runs if run.what == RUN and run.job.state == DONE]
        around = {
            "base": request.scope["base"],
            "file": self.session.name,
            "rows": None if table is None else table["rows"],
            "last_run": self.session.runs[-1].number if self.session.runs else None,
            "last_result": done[-1].number if done else None,
        }
        return HTMLResponse(pages.as_html(page, **around), status)

    def _command(self, form: PlanForm) -> str:
        stem = Path(self.session.name).stem or "table"
        target = _quoted(f"{stem}-k{form.k}.csv")
        return f"shoal anonymize {_quoted(self.session.name)} --plan plan.yaml -o {target}"

    def _is_fresh(self, given: dict[str, str]) -> bool:
        number = given.get("revision", "")
        return number.isdigit() and self.session.is_fresh(given.get("tab", ""), int(number))

    def _run_of(self, request: Request) -> Run:
        number: int = request.path_params["number"]
        if not 1 <= number <= len(self.session.runs):
            raise LookupError
        return self.session.runs[number - 1]

    def _done_run(self, request: Request) -> Run:
        run = self._run_of(request)
        if run.what != RUN or run.job.state != DONE:
            raise LookupError
        return run

    async def _take(
        self, request: Request, name: str, stem: str, endings: tuple[str, ...], largest: int
    ) -> Path:
        """A sent file in the private folder, under a name of ours; what is too large leaves nothing."""
        ending = max((one for one in endings if name.lower().endswith(one)), key=len, default="")
        if not ending:
            raise HTTPException(415, f"Give a file that ends in one of: {', '.join(endings)}.")
        told = request.headers.get("content-length", "0")
        target = self.session.folder / f"{stem}-{secrets.token_hex(4)}{ending}"
        words = f"The file is larger than the workbench takes ({largest / 2**30:.2g} GB)."
        if not told.isdigit() or int(told) > largest:
            raise HTTPException(413, words)
        size = 0
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with open(handle, "wb") as file:
                async for part in request.stream():
                    size += len(part)
                    if size > largest:
                        raise HTTPException(413, words)
                    file.write(part)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target


async def _given(request: Request, *, several: tuple[str, ...] = ()) -> dict[str, str]:
    """A form's fields; those of `several` values have one on each line."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > SMALL:
            raise HTTPException(413, "The form is too large.")
    found = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200_000)
    return {name: "\n".join(values) if name in several else values[-1] for name, values in found.items()}


async def _told(job: Job) -> AsyncIterator[str]:
    while True:
        changed = job.changed
        drawn = shoal.svg(shoal.Fall(tuple(job.losses[-POINTS:]), job.least)) if job.losses else ""
        facts = {
            "what": job.what,
            "share": job.share,
            "seconds": job.seconds,
            "state": job.state,
            "loss": job.losses[-1][1] if job.losses else None,
            "least": job.least,
            "drawing": drawn,
        }
        yield f"data: {json.dumps(facts)}\n\n"
        if not job.is_running:
            return
        try:
            await asyncio.wait_for(changed.wait(), PATIENCE)
        except TimeoutError:
            yield ": still here\n\n"
        await asyncio.sleep(OFTEN)  # ten pictures a second are enough


def _done(job: Job) -> Response:
    return Response(status_code=204) if job.state == DONE else PlainTextResponse(job.words, 422)


def _to(request: Request, path: str) -> Response:
    return RedirectResponse(request.scope["base"] + path, 303)


def _plain_name(name: str) -> str:
    """A file's name without folders and signs that no name needs; "table" where nothing is left."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable())[-100:].lstrip(".") or "table"


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)


async def _not_there(_: Request, __: Exception) -> Response:
    return PlainTextResponse("There is no such page.", 404)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, error.status_code)


async def _bug(_: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)
    words = f"Something went wrong inside Shoal ({type(error).__name__}). This is a bug: please report it."
    return PlainTextResponse(words, 500)

"""The pages by raw requests, with the hand in its own process: uploads, runs, stale tabs, cancelling."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import polars as pl
import pytest

import shoal

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

from shoal.web.app import ENDINGS, Bench
from shoal.web.folder import private_folder
from shoal.web.hand import GONE
from shoal.web.session import Session

ROWS = 60
CANARY = "zqcanary"
TABLE = pl.DataFrame(
    {
        "name": [f"{CANARY}n{row}" for row in range(ROWS)],
        "age": [str(20 + 7 * row % 61) for row in range(ROWS)],
        "city": [f"{CANARY}{'abc'[row % 3]}" for row in range(ROWS)],
        "diagnosis": [f"{CANARY}d{row % 4}" for row in range(ROWS)],
    }
)


class Asker:
    """Requests straight to the pages, as the guard passes them on."""

    def __init__(self, folder, largest=2**20):
        self.session = Session(folder)
        self.bench = Bench(self.session, largest=largest)

    async def __call__(self, method, path, body=b"", headers=(), parts=1):
        sent = [body[at * len(body) // parts : (at + 1) * len(body) // parts] for at in range(parts)]
        said = []

        async def receive():
            if not sent:  # nobody goes away
                await asyncio.Event().wait()
            part = sent.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(sent)}

        async def send(message):
            said.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1"), *headers],
            "base": "/secret",
        }
        await self.bench.app(scope, receive, send)
        self.heads = dict(said[0]["headers"])
        return said[0]["status"], b"".join(one.get("body", b"") for one in said[1:]).decode()

    async def send(self, path, **words):
        return await self("POST", path, urlencode(words).encode())

    async def page(self, path):
        """A page as the value it is."""
        status, text = await self("GET", path, headers=[(b"accept", b"application/json")])
        assert status == 200, text
        return json.loads(text)

    async def upload(self):
        assert (await self("PUT", "/upload/in.csv", TABLE.write_csv().encode(), parts=3))[0] == 204

    async def form(self):
        page = await self.page("/columns")
        return {"revision": page["revision"], "tab": page["tab"]}

    async def ended(self, number):
        async with asyncio.timeout(120):
            while self.session.runs[number - 1].job.is_running:
                await self.session.runs[number - 1].job.changed.wait()


@asynccontextmanager
async def asking(**words):
    with private_folder() as folder:
        asker = Asker(folder, **words)
        try:
            yield asker
        finally:
            await asker.session.hand.close()


async def gone(pid):
    async with asyncio.timeout(30):
        while True:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.05)


def scenario(test):
    """Run a test that waits."""

    def run():
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


def test_the_endings_are_those_that_can_be_read(tmp_path):
    (tmp_path / "a.odd").write_text("x")
    with pytest.raises(shoal.DataError) as error:
        shoal.read_table(tmp_path / "a.odd")
    named = str(error.value).partition("one of: ")[2].rstrip(".")
    assert sorted(named.split(", ")) == sorted(ENDINGS)


@scenario
async def test_from_a_table_to_its_files():
    async with asking() as ask:
        assert "Which table?" in (await ask("GET", "/"))[1]
        assert (await ask("GET", "/columns"))[0] == 303
        await ask.upload()
        folder = ask.session.folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [stat.S_IMODE(path.stat().st_mode) for path in folder.glob("table-*")] == [0o600]
        form = await ask.form()
        status, said = await ask.send("/plan", **form, **{"role-1": "quasi", "role-2": "quasi", "k": "4"})
        assert status == 200
        assert "RISK" in json.loads(said)["risk"]
        assert "-k4.csv" in json.loads(said)["command"]
        assert (await ask.send("/ask", **form, what="run", effort="quick"))[0] == 303
        assert ask.heads[b"location"] == b"/secret/runs/1"
        told = (await ask("GET", "/runs/1/events"))[1].split("\n\n")
        last = json.loads([one for one in told if one.startswith("data: ")][-1][6:])
        assert last["state"] == "done"
        facts = (await ask.page("/runs/1"))["facts"]
        assert facts["passed"]
        assert (await ask("GET", "/runs/1"))[1].count("<h1>k = 4 holds") == 1
        assert (await ask.send("/runs/1/publish", purpose="x", confirmed="quasi"))[0] == 303
        for what in ("table", "certificate", "plan", "report", "receipt"):
            status, text = await ask("GET", f"/runs/1/files/{what}")
            assert status == 200
            assert b"attachment" in ask.heads[b"content-disposition"]
            if what in {"certificate", "plan", "report"}:
                assert CANARY not in text
        for path in ("/runs/2", "/runs/0", "/runs/1/files/no", "/tree/9", "/static/app.py", "/nix"):
            assert (await ask("GET", path))[0] == 404, path
        # what each k costs, and all runs side by side
        await ask.send("/ask", **(await ask.form()), what="compare")
        await ask.ended(2)
        assert (await ask("GET", "/runs/2"))[1].count("Loss over k") >= 1
        assert [run["what"] for run in (await ask.page("/runs"))["runs"]] == ["run", "compare"]
    assert not folder.exists()


@scenario
async def test_a_stale_tab_is_refused_and_shown_the_plan_as_it_stands():
    async with asking() as ask:
        await ask.upload()
        one, other = await ask.form(), await ask.form()
        assert (await ask.send("/plan", **one, k="7"))[0] == 200
        assert (await ask.send("/plan", **one, k="8"))[0] == 200  # its own changes do not make it stale
        assert (await ask.send("/plan", **other, k="9"))[0] == 409
        status, page = await ask.send("/ask", **other, k="9", what="run")
        assert status == 409
        assert "changed in another tab" in page
        assert ask.session.form.k == "8"
        assert ask.session.runs == []
        assert (await ask.send("/tree/1", **other, text="flat()"))[0] == 409
        assert (await ask.send("/ask", k="9", what="run"))[0] == 409
        fresh = await ask.form()
        assert (await ask.send("/tree/2", **fresh, text="flat()"))[0] == 303
        assert ask.session.form.columns[2].tree == "flat()"


UPLOADS = {
    "another ending": ("a.pdf", b"x", (), 415),
    "no ending": ("csv", b"x", (), 415),
    "the folder above": ("..", b"x", (), 415),
    "no csv": ("a.csv", b"", (), 422),
    "no parquet": ("a.parquet", CANARY.encode(), (), 422),
    "too large, and says so": ("a.csv", b"x", [(b"content-length", b"1048577")], 413),
    "too large, and does not say so": ("a.csv", b"a,b\n" + b"1,2\n" * 300_000, (), 413),
    "an odd length": ("a.csv", b"x", [(b"content-length", b"-1")], 413),
}


@pytest.mark.parametrize(("name", "body", "headers", "status"), UPLOADS.values(), ids=UPLOADS)
def test_wrong_uploads_leave_nothing(name, body, headers, status):
    async def scene():
        async with asking() as ask:
            got, words = await ask("PUT", f"/upload/{name}", body, headers, parts=4)
            assert got == status, words
            assert CANARY not in words
            assert str(ask.session.folder) not in words
            assert [path.name for path in ask.session.folder.iterdir()] == ["lock"]
            assert ask.session.table is None

    asyncio.run(scene())


@scenario
async def test_a_name_is_never_a_path():
    async with asking() as ask:
        for name in ("../../evil.csv", "a/b.csv"):
            assert (await ask("PUT", f"/upload/{name}", b"a,b\n1,2\n"))[0] == 404
        odd = "..\\..\\x\n<b>.csv"
        assert (await ask("PUT", f"/upload/{odd}", TABLE.write_csv().encode()))[0] == 204
        assert ask.session.name == "x<b>.csv"
        assert "<b>" not in (await ask("GET", "/columns"))[1]
        inside = {path.name.partition("-")[0] for path in ask.session.folder.iterdir()}
        assert inside == {"lock", "table"}


@scenario
async def test_a_cancelled_run_is_killed_and_the_next_goes_on():
    async with asking() as ask:
        await ask.upload()
        await ask.send("/ask", **(await ask.form()), what="run", effort="600s", k="2")
        run = ask.session.runs[0]
        pid = None
        async with asyncio.timeout(120):
            while run.job.what == "starting":
                await run.job.changed.wait()
            pid = ask.session.hand._process.pid
        assert (await ask.send("/ask", **(await ask.form()), what="run"))[0] == 303
        assert len(ask.session.runs) == 1  # one at a time
        await ask.send("/runs/1/cancel")
        assert "Cancelled. Nothing was published." in (await ask("GET", "/runs/1"))[1]
        await gone(pid)
        assert not (ask.session.folder / "run-1").exists()
        await ask.send("/ask", **(await ask.form()), what="run", effort="quick", k="5")
        await ask.ended(2)
        assert (await ask.page("/runs/2"))["facts"]["passed"]


@scenario
async def test_a_hand_that_dies_is_told_and_replaced():
    async with asking() as ask:
        await ask.upload()
        await ask.send("/ask", **(await ask.form()), what="run", effort="600s", k="2")
        run = ask.session.runs[0]
        async with asyncio.timeout(120):
            while run.job.what == "starting":
                await run.job.changed.wait()
        os.killpg(ask.session.hand._process.pid, signal.SIGKILL)
        await ask.ended(1)
        assert run.job.words == GONE
        status, said = await ask.send("/plan", **(await ask.form()))
        assert status == 200
        assert "RISK" in json.loads(said)["risk"]


@scenario
async def test_the_pages_say_which_release_of_a_series_this_is():
    async with asking() as ask:
        await ask.upload()
        plan = f"k: 3\nquasi: [{TABLE.columns[1]}]\nseries: ledger\neffort: quick\n"
        assert (await ask("PUT", "/plan/plan.yaml", plan.encode()))[0] == 204
        assert (await ask.send("/ask", **(await ask.form()), what="run"))[0] == 303
        await ask.ended(1)
        for page in ("/runs/1", "/runs/1/publish"):
            assert (await ask("GET", page))[1].count("Release 1 of a ledger.") == 1, page


@scenario
async def test_a_wrong_plan_is_shown_at_its_field_with_what_may_be_done():
    async with asking() as ask:
        await ask.upload()
        await ask.send("/ask", **(await ask.form()), **{"role-3": "sensitive", "rule-3": "9-diverse"})
        await ask.ended(1)
        await asyncio.sleep(0)
        assert (await ask("GET", "/runs/1"))[0] == 303
        page = (await ask("GET", "/columns"))[1]
        at = page.index('id="rule-3-error"')
        assert "No release can obey" in page[at : at + 200]
        assert 'aria-describedby="rule-3-error"' in page
        assert "Nothing was published." in page
        plan = TABLE.columns[1].join(["k: 3\nquasi: [", "]\n"])
        assert (await ask("PUT", "/plan/plan.yaml", plan.encode()))[0] == 204
        assert ask.session.form.k == "3"
        status, words = await ask("PUT", "/plan/plan.yaml", b"k: 3\nquasi: [nix]\n")
        assert (status, "nix" in words) == (422, True)
        assert (await ask("PUT", "/plan/plan.yaml", b"k: [" + CANARY.encode()))[0] == 422
        status, text = await ask("GET", "/plan.yaml")
        assert "k: 3" in text
        tree = "".join(f"{CANARY}{sign};{above};*\n" for sign, above in ("ax", "bx", "cy"))
        status, text = await ask("PUT", "/tree/2/t.csv", tree.encode())
        assert text.startswith("x\n")
        status, text = await ask.send("/tree/2/try", text="a\n    b")
        assert "line 2" in text
        await ask.send("/ask", **(await ask.form()), what="save", k="1")
        status, page = await ask("GET", "/plan.yaml")
        assert status == 422
        assert 'id="k-error"' in page

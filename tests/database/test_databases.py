"""Tables from databases and releases in them: whole or not at all, and silent about passwords and cells."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from postgres import PASSWORD, Server, running
from shoal.database import connection as opening
from shoal.errors import DataError, NotAnonymous, PlanError
from shoal.publish import database as publishing
from silent import said_by

CELL = "canary-cell"
STEPS = 7
"""Of a release that replaces another: made, old one dropped, named, constraints, asked, read, committed."""
PLAN = {"k": 3, "quasi": ["age", "town"], "sensitive": ["ill"]}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def people(server: Server) -> str:
    """A table of twelve persons, anew for each test."""
    server.run(
        "drop schema if exists ward cascade",
        "create schema ward",
        "create table ward.people (age int, town text, ill text)",
        "insert into ward.people select 20 + i, (array['A','B'])[1 + i % 2], "
        f"(array['flu','{CELL}'])[1 + i % 2] from generate_series(1, 12) i",
    )
    return f"{server.uri()}#ward.people"


def release_of(frame: pl.DataFrame, **words: Any) -> shoal.Release:
    return shoal.anonymize(frame, **{**PLAN, **words})


def some_release(k: int = 3) -> shoal.Release:
    ages = [20 + i for i in range(12)]
    return release_of(pl.DataFrame({"age": ages, "town": ["A", "B"] * 6, "ill": ["flu", "cold"] * 6}), k=k)


def tables_in(server: Server, schema: str = "ward") -> set[str]:
    rows = server.run(
        f"select table_name::text from information_schema.tables where table_schema = '{schema}'"
    )
    return {row[0] for row in rows}


def test_a_table_of_every_type_comes_and_goes(server: Server, people: str) -> None:
    server.run(
        "create type ward.mood as enum ('low', 'high')",
        """create table ward.kinds as select i::int2 as small, i::int4 as middle, i::int8 as large,
        i::float4 as half,
        i::float8 as whole, (i / 8.0)::numeric(8, 3) as exact, i::numeric as free, i % 2 = 0 as flag,
        date '2020-02-28' + i as day, timestamp '2020-02-28 10:00' + i * interval '1 h' as moment,
        timestamptz '2020-02-28 10:00+02' as zoned, time '10:00' + i * interval '1 s' as clock,
        ('low')::ward.mood as mood, ('00000000-0000-0000-0000-00000000000' || i)::uuid as code,
        'a' || chr(7) || chr(10) || '"' as odd, null::text as nothing, 'x'::varchar(3) as short
        from generate_series(1, 6) i""",
        "insert into ward.kinds default values",
    )
    read = shoal.read_database(server.uri(), table="ward.kinds")
    frame = read.frame.sort("small", nulls_last=True)
    assert frame.height == 7
    first = frame.row(0, named=True)
    assert first["exact"] == Decimal("0.125")
    assert (first["day"], first["clock"]) == (date(2020, 2, 29), time(10, 0, 1))
    assert first["moment"] == datetime(2020, 2, 28, 11)
    assert first["zoned"].isoformat() == "2020-02-28T08:00:00+00:00"
    assert (first["mood"], first["code"][-2:]) == ("low", "01")
    assert first["odd"] == 'a\x07\n"'
    assert frame.schema["free"] == pl.Decimal(38, 0)
    assert set(frame.row(6)) == {None}
    assert read.said == ("moments of column zoned in UTC",)
    kept = [name for name in frame.columns if name != "middle"]
    release = shoal.anonymize(frame, k=2, quasi=["middle"], keep=kept)
    assert release.verdict.has_passed
    for uri in (f"{server.uri()}#ward.out", "sqlite:out.db#out"):
        release.write_database(uri)
        back = shoal.read_database(uri).frame
        assert back.columns == release.table.columns
        assert back.height == 7
    same = shoal.read_database(f"{server.uri()}#ward.out").frame
    for name in ("exact", "day", "zoned", "code", "odd", "nothing"):
        assert sorted(same[name].to_list(), key=repr) == sorted(release.table[name].to_list(), key=repr)


def test_names_are_taken_as_they_are_written(server: Server, people: str) -> None:
    server.run('create schema "Two Words"')
    try:
        target = '"Two Words"."a ""quoted"".name"'
        some_release().write_database(server.uri(), target, certificate="out.certificate.json")
        assert tables_in(server, "Two Words") == {'a "quoted".name'}
        assert shoal.read_database(server.uri(), table=target).frame.height == 12
    finally:
        server.run('drop schema "Two Words" cascade')


def test_reading_is_one_snapshot_that_writes_nothing(server: Server, people: str) -> None:
    settings = "current_setting('transaction_isolation') a, current_setting('transaction_read_only') b"
    assert shoal.read_database(server.uri(), f"select {settings}").frame.row(0) == ("repeatable read", "on")
    with pytest.raises(DataError, match=r"may only read|does not answer"):
        shoal.read_database(server.uri(), "delete from ward.people returning *")
    assert shoal.read_database(people).frame.height == 12


def test_a_role_that_may_only_read_is_enough_for_reading(server: Server, people: str) -> None:
    server.run(
        "drop role if exists reader",
        f"create role reader login password '{PASSWORD}'",
        "grant usage on schema ward to reader",
        "grant select on ward.people to reader",
    )
    uri = server.uri(role="reader")
    assert shoal.read_database(uri, table="ward.people").frame.height == 12
    with pytest.raises(DataError, match="no rights"):
        shoal.check_database(f"{uri}#ward.out")
    with pytest.raises(DataError, match="no rights") as caught:
        some_release().write_database(f"{uri}#ward.out")
    said_by(caught.value, PASSWORD)
    assert tables_in(server) == {"people"}
    assert list(Path().iterdir()) == []
    server.run("drop owned by reader", "drop role reader")


BAD = {
    "wrong password": (lambda s: s.uri(password="canary-other"), "ward.people", "password is refused"),
    "no user": (lambda s: s.uri(role="nobody-here"), "ward.people", "password is refused|no such user"),
    "no database": (lambda s: s.uri("nothing"), "ward.people", "no database of that name"),
    "no server": (lambda s: s.uri().replace("host=", "host=/nowhere"), "ward.people", "no server answers"),
    "no host": (lambda s: f"postgresql://a:{PASSWORD}@host.invalid/x", "ward.people", "host|server|reason"),
    "bad port": (lambda s: f"postgresql://a:{PASSWORD}@host:99999/x", "ward.people", "cannot be opened"),
    "no table": (lambda s: s.uri(), "ward.nothing", "no table of that name"),
    "no schema": (lambda s: s.uri(), "nowhere.people", "no (table|schema) of that name"),
    "no name": (lambda s: s.uri(), "a.b.c", "no name of a table"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_sources_are_told_without_password(server: Server, people: str, what: str) -> None:
    uri, table, expected = BAD[what]
    for use in (
        lambda: shoal.read_database(uri(server), table=table),
        lambda: some_release().write_database(uri(server), table, replace=False),
    ):
        if what == "no table" and use.__code__.co_names[-1] == "write_database":
            continue
        with pytest.raises((DataError, PlanError)) as caught:
            use()
        said = said_by(caught.value, PASSWORD, "canary-other")
        if use.__code__.co_names[-1] == "read_database":
            import re

            assert re.search(expected, said)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("selec", "cannot be parsed"),
        ("select nothing from ward.people", "is not there"),
        ("select ill::int from ward.people", "does not fit"),
        ("select 1 / (age - 21) from ward.people", "does not fit|no reason"),
        ("select age, age from ward.people", "several columns"),
        ("select age from ward.people where age < 0", "no rows"),
        ("select '{}'::json j from ward.people", "type json"),
        ("select array[age] a from ward.people", "type _int4"),
        ("select '1 day'::interval a from ward.people", "type interval"),
        ("select age::text::money a from ward.people", "type money"),
        ("select 'NaN'::numeric a from ward.people", "not a number"),
        ("select 1e50::numeric a from ward.people", "more than 38 digits"),
        ("select 'infinity'::date a from ward.people", "outside the years"),
        ("select 'infinity'::timestamp a from ward.people", "outside the years"),
    ],
)
def test_bad_queries_are_told_without_a_cell(
    server: Server, people: str, query: str, expected: str
) -> None:
    with pytest.raises(DataError, match=expected) as caught:
        shoal.read_database(server.uri(), query)
    said_by(caught.value, PASSWORD, CELL)


def test_what_to_read_is_said_once(server: Server) -> None:
    for words in ({}, {"query": "select 1", "table": "a"}):
        with pytest.raises(PlanError, match="either a table or a query"):
            shoal.read_database(server.uri(), **words)
    with pytest.raises(PlanError, match="either a table or a query"):
        shoal.read_database(f"{server.uri()}#a", table="b")


def test_nothing_is_replaced_unless_it_is_said(server: Server, people: str) -> None:
    with pytest.raises(PlanError, match="already"):
        shoal.check_database(f"{server.uri()}#ward.people", certificate="c.json")
    with pytest.raises(DataError, match="already"):
        some_release().write_database(f"{server.uri()}#ward.people")
    assert shoal.read_database(people).frame["ill"].to_list().count(CELL) == 6
    assert tables_in(server) == {"people"}
    assert list(Path().iterdir()) == []
    some_release().write_database(f"{server.uri()}#ward.people", replace=True)
    assert CELL not in shoal.read_database(people).frame["ill"].to_list()


def test_views_and_what_depends_on_a_table_are_kept(server: Server, people: str) -> None:
    server.run("create view ward.seen as select * from ward.people")
    for name in ("seen", "people"):
        with pytest.raises(DataError, match=r"not a table|depend"):
            some_release().write_database(f"{server.uri()}#ward.{name}", replace=True)
    assert tables_in(server) == {"people", "seen"}
    assert list(Path().iterdir()) == []


def test_a_schema_that_goes_between_reading_and_writing(server: Server, people: str) -> None:
    release = release_of(shoal.read_database(people).frame)
    shoal.check_database(f"{server.uri()}#ward.out", certificate="c.json")
    server.run("drop schema ward cascade")
    with pytest.raises(DataError, match="no schema of that name") as caught:
        release.write_database(f"{server.uri()}#ward.out", certificate="c.json")
    said_by(caught.value, PASSWORD, CELL)
    assert list(Path().iterdir()) == []


def test_a_database_that_changes_cells_is_refused(server: Server, people: str) -> None:
    """A trigger is made on every table that appears: what was judged is not what a reader would see."""
    server.run(
        "create or replace function ward.change() returns event_trigger language plpgsql as $$ begin "
        "if (select count(*) from pg_event_trigger_ddl_commands() where command_tag = 'CREATE TABLE') > 0 "
        "then execute format('create rule twice as on insert to %s do also nothing', "
        "(select object_identity from pg_event_trigger_ddl_commands() limit 1)); "
        "execute format('alter table %s alter column ill type varchar(2) using left(ill, 2)', "
        "(select object_identity from pg_event_trigger_ddl_commands() limit 1)); end if; end $$",
    )
    server.run("create event trigger change on ddl_command_end execute function ward.change()")
    try:
        with pytest.raises((NotAnonymous, DataError)) as caught:
            some_release().write_database(f"{server.uri()}#ward.out")
        said_by(caught.value, PASSWORD, CELL)
    finally:
        server.run("drop event trigger change")
    assert tables_in(server) == {"people"}
    assert list(Path().iterdir()) == []


def test_rows_that_read_otherwise_are_refused(
    server: Server, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.database import cells

    real = cells.fetch
    monkeypatch.setattr(cells, "fetch", lambda *words: (real(*words)[0].with_columns(ill=pl.lit("x")), ()))
    with pytest.raises(NotAnonymous, match="'ill' the written table does not read"):
        some_release().write_database(f"{server.uri()}#ward.out")
    assert tables_in(server) == {"people"}
    assert list(Path().iterdir()) == []


def test_a_table_that_fails_is_not_written(server: Server, people: str) -> None:
    from dataclasses import replace

    release = some_release()
    failed = replace(release, verdict=replace(release.verdict, reasons=("No.",)))
    with pytest.raises(NotAnonymous):
        failed.write_database(f"{server.uri()}#ward.out")
    assert tables_in(server) == {"people"}


def test_ids_need_files(server: Server) -> None:
    frame = pl.DataFrame({"job": list("abcdef") * 2, "ill": list("mnop") * 3})
    release = shoal.anonymize(frame, k=3, quasi=["job"], sensitive=["ill"], cells="id", method="k-member")
    with pytest.raises(PlanError, match="lookup tables"):
        release.write_database("sqlite:a.db#t")


class _Proxy:
    """A connection that calls `act` before each of its steps that change or read something."""

    def __init__(self, real: Any, act: Callable[[str], None]) -> None:
        self._real, self._act = real, act

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in {"execute", "adbc_ingest", "commit", "fetch_record_batch"}:
            return found

        def step(*words: Any, **more: Any) -> Any:
            self._act(name)
            return found(*words, **more)

        return step

    def cursor(self) -> _Proxy:
        return _Proxy(self._real.cursor(), self._act)

    def __enter__(self) -> _Proxy:
        self._real.__enter__()
        return self

    def __exit__(self, *words: Any) -> None:
        self._real.__exit__(*words)


def at_step(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> list[str]:
    """Call `act` before the step of that number; the steps so far."""
    steps: list[str] = []
    real = opening.opened

    @contextmanager
    def watched(*words: Any, **more: Any) -> Iterator[Any]:
        def note(name: str) -> None:
            steps.append(name)
            if len(steps) == number:
                act()

        with real(*words, **more) as connection:
            yield _Proxy(connection, note)

    monkeypatch.setattr(publishing, "opened", watched)
    return steps


class Died(BaseException):
    """What a signal looks like from inside."""


@pytest.mark.parametrize("number", range(1, STEPS + 1))
def test_a_run_that_ends_at_any_step_leaves_the_older_table(
    server: Server, people: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    some_release().write_database(f"{server.uri()}#ward.out")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}

    def die() -> None:
        raise Died

    with monkeypatch.context() as patch:
        steps = at_step(patch, number, die)
        with pytest.raises(Died):
            some_release(k=6).write_database(f"{server.uri()}#ward.out", replace=True)
    assert len(steps) == number
    assert shoal.read_database(f"{server.uri()}#ward.out").frame["age"].n_unique() == 4
    assert tables_in(server) == {"people", "out"}
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def killed_server_leaves_old_or_whole(server: Server, number: int, patch: pytest.MonkeyPatch) -> None:
    some_release().write_database(f"{server.uri()}#ward.out", replace=True)
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    at_step(patch, number, server.kill)
    with pytest.raises(DataError) as caught:
        some_release(k=6).write_database(f"{server.uri()}#ward.out", replace=True)
    said_by(caught.value, PASSWORD, CELL)
    patch.undo()
    server.start()
    assert shoal.read_database(f"{server.uri()}#ward.out").frame["age"].n_unique() == 4
    assert tables_in(server) == {"people", "out"}
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("number", [random.Random(seed).randint(1, STEPS) for seed in range(20)])
def test_a_server_that_is_killed_at_any_step_has_the_older_table(
    server: Server, people: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        killed_server_leaves_old_or_whole(server, number, patch)


def test_a_server_that_is_killed_before_the_commit_has_the_older_table(
    server: Server, people: str, tmp_path: Path
) -> None:
    patch = pytest.MonkeyPatch()
    killed_server_leaves_old_or_whole(server, STEPS, patch)


CHILD = """
import os, signal, sys
sys.path[:0] = {paths!r}
import pytest
from test_databases import at_step, some_release
at_step(pytest.MonkeyPatch(), int(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGKILL))
some_release(k=6).write_database(sys.argv[1], replace=True, certificate="out.certificate.json")
"""


def killed_client_leaves_old_or_none(uri: str, number: int, *, has_old: bool) -> None:
    if has_old:
        some_release().write_database(uri, certificate="out.certificate.json")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix == ".json"}
    paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(paths=paths), uri, str(number)],
        check=False,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix == ".json"} == before
    if has_old:
        assert shoal.read_database(uri).frame["age"].n_unique() == 4
    else:
        with pytest.raises(DataError, match="no table of that name"):
            shoal.read_database(uri)
    some_release(k=6).write_database(uri, replace=True, certificate="out.certificate.json")
    assert shoal.read_database(uri).frame["age"].n_unique() == 2
    assert not list(Path().glob(".shoal*"))


def test_a_client_that_is_killed_before_the_commit_leaves_the_older_table(
    server: Server, people: str
) -> None:
    killed_client_leaves_old_or_none(f"{server.uri()}#ward.out", STEPS, has_old=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("place", ["server", "file"])
def test_a_client_that_is_killed_at_any_step_leaves_the_older_table_or_none(
    server: Server, people: str, seed: int, place: str
) -> None:
    luck = random.Random(seed)
    uri = f"{server.uri()}#ward.out" if place == "server" else "sqlite:out.db#out"
    if place == "file":
        pl.DataFrame({"a": [1]}).write_database("other", "sqlite:///out.db", engine="adbc")
    steps = STEPS if place == "server" else STEPS - 1  # SQLite has no constraints to wait for
    killed_client_leaves_old_or_none(uri, luck.randint(1, steps), has_old=luck.random() < 0.5)


SQLITE_BAD = {
    "no file": ("sqlite:nothing.db", "t", "no file"),
    "a folder": ("sqlite:.", "t", "no file"),
    "not a database": ("sqlite:bad.db", "t", "no SQLite database"),
    "no table": ("sqlite:good.db", "nothing", "no table"),
    "blobs": ("sqlite:good.db", "blobs", "type binary"),
}


@pytest.mark.parametrize("what", SQLITE_BAD)
def test_bad_sqlite_files_are_told(what: str) -> None:
    sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi")
    Path("bad.db").write_text(CELL * 1000)
    with sqlite.connect("file:good.db") as made, made.cursor() as cursor:
        cursor.execute("create table blobs (a blob)")
        cursor.execute("insert into blobs values (x'00')")
        made.commit()
    uri, table, expected = SQLITE_BAD[what]
    with pytest.raises(DataError, match=expected) as caught:
        shoal.read_database(uri, table=table)
    said_by(caught.value, CELL)
    assert not Path("nothing.db").exists()


def test_a_sqlite_file_comes_and_goes() -> None:
    pytest.importorskip("adbc_driver_sqlite")
    release = some_release()
    shoal.check_database("sqlite:new.db#out", certificate="out.certificate.json")
    assert not Path("new.db").exists()
    stored = release.write_database("sqlite:new.db#out")
    assert stored == shoal.Stored(
        "sqlite:new.db#out", Path("out.certificate.json"), Path("out.receipt.json")
    )
    assert os.stat(stored.receipt).st_mode & 0o077 == 0
    back = shoal.read_database("sqlite:new.db", table="out").frame
    findings = shoal.verify(back, stored.certificate)
    assert [one for one in findings if one.holds is False] == []
    with pytest.raises(DataError, match="already"):
        release.write_database("sqlite:new.db#out")
    release.write_database("sqlite:new.db#out", replace=True)
    with pytest.raises(PlanError, match="no schema"):
        release.write_database("sqlite:new.db#main.out")
    os.chmod("new.db", 0o444)
    with pytest.raises(DataError, match=r"certificate"):
        release.write_database("sqlite:other.db#out", certificate="nowhere/c.json")
    assert not Path("other.db").exists()

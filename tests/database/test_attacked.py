"""Databases under attack: odd names, other spellings of a table, writers at once, types that tell less."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from postgres import PASSWORD, Server, running
from shoal.database.address import Address
from shoal.errors import DataError, PlanError, ShoalError
from silent import said_by

CELL = "canary-cell"
AGES = [20 + i for i in range(12)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ward(server: Server) -> Server:
    """A schema of its own, anew for each test."""
    server.run("drop schema if exists ward cascade", "create schema ward")
    return server


def release_of(k: int = 3, **columns: Any) -> shoal.Release:
    frame = pl.DataFrame({"age": AGES, **columns})
    return shoal.anonymize(frame, k=k, quasi=["age"], keep=list(columns), method="mondrian")


def in_sqlite(*statements: str, file: str = "in.db") -> None:
    sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="the extra 'sqlite' is not installed")
    with sqlite.connect(f"file:{file}") as made, made.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        made.commit()


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://ward:canary,pa55/clinic",
        "postgresql://ward:canary-pa55,b:1/clinic",
        "postgresql://one:1,two:canary-pa55/clinic",
    ],
)
def test_a_password_with_a_comma_is_not_taken_for_hosts(uri: str) -> None:
    with pytest.raises(PlanError, match="cannot be read") as caught:
        Address.read(uri)
    said_by(caught.value, "pa55")


ODD = {
    "quotes": 'a"b; drop table ward.people; --',
    "lines": "two\nlines",
    "single": "it's",
    "backslash": "a\\' or 1=1",
    "word": "select",
    "percent": "%s $1 ?",
    "emoji": "\U0001f40b",
}


@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
def test_odd_names_of_tables_and_columns_are_only_names(ward: Server, name: str) -> None:
    ward.run("create table ward.people (a int)")
    release = release_of(**{name: ["x"] * 12})
    table = f'ward."{name.replace(chr(34), chr(34) * 2)}"'
    release.write_database(ward.uri(), table, certificate="c.json")
    for again in (False, True):
        if again:
            release.write_database(ward.uri(), table, certificate="c.json", replace=True)
        back = shoal.read_database(ward.uri(), table=table).frame
        assert back.columns == release.table.columns
        assert back.height == 12
    assert ward.run("select count(*) from ward.people") == [(0,)]
    plain = table.removeprefix("ward.")
    in_sqlite("create table people (a int)")
    release.write_database("sqlite:in.db", plain, certificate="d.json")
    assert shoal.read_database("sqlite:in.db", table=plain).frame.columns == release.table.columns
    assert "people" in str(
        shoal.read_database("sqlite:in.db", "select name from sqlite_master").frame.rows()
    )


def test_a_name_without_a_schema_is_that_of_one_table(server: Server) -> None:
    """Where the path has several schemas, the table that is replaced is the one that is dropped."""
    server.run(
        "drop schema if exists owner cascade",
        "create schema owner",
        "drop table if exists public.beds",
        "create table public.beds (a int)",
    )
    try:
        with pytest.raises(DataError, match="already"):
            release_of().write_database(f"{server.uri()}#beds")
        release_of().write_database(f"{server.uri()}#beds", replace=True)
        found = server.run(
            "select table_schema::text from information_schema.tables where table_name = 'beds'"
        )
        assert found == [("public",)]
        assert shoal.read_database(f"{server.uri()}#public.beds").frame.height == 12
        release_of().write_database(f"{server.uri()}#new_beds")
        assert shoal.read_database(f"{server.uri()}#owner.new_beds").frame.height == 12
    finally:
        server.run("drop schema owner cascade", "drop table if exists public.beds")


def test_the_table_that_is_read_is_never_written_however_it_is_named(server: Server) -> None:
    server.run("drop table if exists public.people", "create table public.people (age int)")
    uri = server.uri()
    host = f"host={server.folder}"
    spellings = [
        f"{uri}#people",
        f"{uri}#public.people",
        f'{uri}#"public"."people"',
        f"postgresql:///postgres?user=owner&password={PASSWORD}&{host}#people",
        f"postgresql://owner:{PASSWORD}@/postgres?{host}&application_name=x#public.people",
    ]
    for target in spellings:
        for source in spellings:
            with pytest.raises(PlanError, match="is the table that is read") as caught:
                shoal.check_database(target, replace=True, inputs=[source], certificate="c.json")
            said_by(caught.value, PASSWORD)
    shoal.check_database(f"{uri}#other", inputs=spellings, certificate="c.json")
    server.run("drop table public.people")
    in_sqlite("create table people (age int)")
    Path("link.db").symlink_to("in.db")
    for target in ("sqlite:in.db#people", "sqlite:./in.db#PEOPLE", "sqlite:link.db#People"):
        with pytest.raises(PlanError, match="is the table that is read"):
            shoal.check_database(target, replace=True, inputs=["sqlite:in.db#people"], certificate="c.json")
    shoal.check_database("sqlite:in.db#other", inputs=["sqlite:in.db#people"], certificate="c.json")


def test_names_that_postgresql_would_cut_are_refused(ward: Server) -> None:
    with pytest.raises(PlanError, match="63 bytes"):
        release_of().write_database(f"{ward.uri()}#ward.{'t' * 64}")
    with pytest.raises(DataError, match="63 bytes") as caught:
        release_of(**{"ü" * 32: ["x"] * 12}).write_database(f"{ward.uri()}#ward.out")
    assert caught.value.column == "ü" * 32
    assert list(Path().iterdir()) == []
    assert ward.run("select count(*) from pg_tables where schemaname = 'ward'") == [(0,)]


def test_what_a_database_cannot_hold_is_told_in_words(ward: Server) -> None:
    many = release_of(**{f"c{i}": [CELL] * 12 for i in range(2100)})
    cases = [
        (many, f"{ward.uri()}#ward.out", "more columns than"),
        (many, "sqlite:out.db#out", "more columns than"),
        (release_of(ctid=[CELL] * 12), f"{ward.uri()}#ward.out", "keeps for itself"),
        (release_of(Age=[CELL] * 12), "sqlite:out.db#out", "capitals make no difference"),
    ]
    for release, uri, expected in cases:
        with pytest.raises(DataError, match=expected) as caught:
            release.write_database(uri)
        said_by(caught.value, PASSWORD, CELL)
        assert list(Path().iterdir()) == []
    wide = release_of(**{f"c{i}": pl.Series([1] * 12, dtype=pl.Int16) for i in range(1599)})
    wide.write_database(f"{ward.uri()}#ward.wide")
    assert shoal.read_database(f"{ward.uri()}#ward.wide").frame.width == 1600


def test_views_of_sqlite_are_kept() -> None:
    in_sqlite("create table out (a int)", "create view seen as select * from out")
    for name, expected in (("out", "a view depends"), ("seen", "not a table")):
        with pytest.raises(DataError, match=expected):
            release_of().write_database(f"sqlite:in.db#{name}", replace=True)
    assert shoal.read_database("sqlite:in.db", "select count(*) n from seen").frame.item() == 0
    assert [path.name for path in Path().iterdir()] == ["in.db"]


def test_a_sqlite_column_of_several_types_is_told_without_a_cell() -> None:
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n"
    in_sqlite("create table mixed (a)", f"insert into mixed {rows}", f"insert into mixed values ('{CELL}')")
    with pytest.raises(DataError, match="several types") as caught:
        shoal.read_database("sqlite:in.db#mixed")
    said_by(caught.value, CELL)
    as_text = shoal.read_database("sqlite:in.db", "select cast(a as text) a from mixed").frame
    assert as_text.height == 5001


def test_a_text_with_a_zero_byte_is_refused_by_its_column() -> None:
    in_sqlite("create table people (age int, note text)")
    in_sqlite(*[f"insert into people values ({age}, '{CELL}' || char(0) || 'x')" for age in AGES])
    frame = shoal.read_database("sqlite:in.db#people").frame
    with pytest.raises(DataError, match="zero byte") as caught:
        shoal.anonymize(frame, k=3, quasi=["age"], keep=["note"])
    said_by(caught.value, CELL)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select '24:00'::time a", "24:00"),
        ("select '0044-03-15 BC'::date a", "outside the years"),
        ("select '294276-01-01'::timestamp a", "outside the years"),
        ("select '-infinity'::timestamptz a", "outside the years"),
        ("select repeat('9', 200)::numeric a", "more than 38 digits"),
        ("select '-Infinity'::numeric a", "infinite or not a number"),
        ("select int4range(1, 3) a", "type of its own"),
        ("select row(1, 2) a", "type record"),
        ("select '12:00+02'::timetz a", "type timetz"),
        ("select ''::bytea a", "type bytea"),
        ("select jsonb '{}' a", "type jsonb"),
        ("select array['x'] a", "type _text"),
        ("select pg_sleep(0)", "type void"),
        ("select 1 a; drop table ward.people", "reason|parsed|not read"),
    ],
)
def test_types_that_would_lose_something_are_refused(ward: Server, query: str, expected: str) -> None:
    ward.run("create table ward.people (a int)")
    with pytest.raises(DataError, match=expected) as caught:
        shoal.read_database(ward.uri(), query)
    said_by(caught.value, PASSWORD)
    assert ward.run("select count(*) from ward.people") == [(0,)]


def test_types_of_odd_names_are_asked_for_by_name_alone(ward: Server) -> None:
    ward.run(
        """create type ward."mo'od\\" as enum ('low', 'high')""",
        """create table ward.felt as select 'low'::ward."mo'od\\" as a""",
        """create type ward."pa'ir" as (x int, y int)""",
        """create table ward.pairs as select row(1, 2)::ward."pa'ir" as a""",
        "create domain ward.years as int check (value < 200)",
        "create table ward.olds as select 3::ward.years as a",
    )
    assert shoal.read_database(f"{ward.uri()}#ward.felt").frame["a"].to_list() == ["low"]
    assert shoal.read_database(f"{ward.uri()}#ward.olds").frame["a"].to_list() == [3]
    with pytest.raises(DataError, match="is not read"):
        shoal.read_database(f"{ward.uri()}#ward.pairs")


def test_what_a_database_does_after_the_name_is_given_is_seen(ward: Server) -> None:
    """An event trigger adds a row when the table gets its name; a deferred one when all is done."""
    ward.run(
        "create function ward.add() returns event_trigger language plpgsql as $$ begin "
        "if exists (select from pg_tables where schemaname = 'ward' and tablename = 'out') then "
        "insert into ward.out select * from ward.out limit 1; end if; end $$",
        "create event trigger late on ddl_command_end when tag in ('ALTER TABLE') "
        "execute function ward.add()",
    )
    try:
        with pytest.raises(ShoalError) as caught:
            release_of().write_database(f"{ward.uri()}#ward.out")
        said_by(caught.value, PASSWORD)
        assert ward.run("select count(*) from pg_tables where schemaname = 'ward'") == [(0,)]
        assert list(Path().iterdir()) == []
    finally:
        ward.run("drop event trigger late")


@pytest.mark.parametrize("place", ["server", "file"])
@pytest.mark.parametrize("replace", [False, True])
def test_two_writers_at_once_leave_one_whole_table(ward: Server, place: str, replace: bool) -> None:
    uri = f"{ward.uri()}#ward.out" if place == "server" else "sqlite:out.db#out"
    if place == "file":
        in_sqlite("create table other (a int)", file="out.db")
    releases = [release_of(k=3), release_of(k=6)]
    for _ in range(4):
        errors: list[str] = []
        start = threading.Barrier(2)

        def write(release: shoal.Release, at: int) -> None:
            start.wait(20)  # noqa: B023
            try:
                release.write_database(uri, replace=replace, certificate=f"{at}.json")
            except DataError as error:
                errors.append(said_by(error, PASSWORD))  # noqa: B023

        threads = [threading.Thread(target=write, args=(one, at)) for at, one in enumerate(releases)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        found = shoal.read_database(uri).frame
        assert found.height == 12
        assert found["age"].n_unique() in {one.table["age"].n_unique() for one in releases}
        assert len(errors) <= 1
        for said in errors:
            assert any(word in said for word in ("already", "at the same time", "another", "locked")), said
        assert not list(Path().glob(".shoal*"))
        if place == "server":
            assert ward.run("select tablename::text from pg_tables where schemaname = 'ward'") == [("out",)]
            ward.run("drop table ward.out")
        else:
            in_sqlite("drop table out", file="out.db")


def test_a_file_that_a_killed_program_left_is_read_as_it_was() -> None:
    import os
    import signal
    import subprocess
    import sys

    in_sqlite("create table people (age int)", "insert into people values (7)")
    child = (
        "import adbc_driver_sqlite.dbapi as s, os, signal\n"
        "c = s.connect('file:in.db'); cursor = c.cursor()\n"
        "cursor.execute('pragma cache_size = 1')\n"
        "cursor.execute('delete from people')\n"
        "cursor.execute('create table large as with recursive n(i) as (select 1 union all select i + 1 '\n"
        "               'from n where i < 20000) select i, hex(zeroblob(200)) from n')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", child], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert os.path.getsize("in.db-journal") > 0
    assert shoal.read_database("sqlite:in.db#people").frame["age"].to_list() == [7]


def test_a_service_file_and_its_password_stay_silent(ward: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ward.run("create table ward.people as select 1 as age")
    Path("services").write_text(
        f"[good]\nhost={ward.folder}\nuser=owner\npassword={PASSWORD}\ndbname=postgres\n"
        f"[bad]\nhost={ward.folder}\nuser=owner\npassword=canary-wrong\ndbname=postgres\n"
        f"[torn]\nhost={ward.folder}\nuser owner canary-torn\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(Path("services").resolve()))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    assert shoal.read_database("postgresql://?service=good", table="ward.people").frame.height == 1
    for service in ("bad", "torn", "none"):
        with pytest.raises(DataError, match="cannot be opened") as caught:
            shoal.read_database(f"postgresql://?service={service}", table="ward.people")
        said_by(caught.value, "canary", PASSWORD)
    for uri in (
        f"postgresql://owner:canary%2F%40%23%3F%3A@/postgres?host={ward.folder}",
        f"postgresql:///postgres?host={ward.folder}&user=owner&password=canary-wrong",
        f"postgresql://owner:canary@wrong@/postgres?host={ward.folder}",
    ):
        with pytest.raises((DataError, PlanError)) as caught:
            shoal.read_database(uri, table="ward.people")
        said_by(caught.value, "canary")

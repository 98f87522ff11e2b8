"""Addresses of databases: what is shown never holds a password."""

from __future__ import annotations

import pytest

import shoal
from shoal.database.address import Address, TableName
from shoal.errors import PlanError
from silent import said_by

SECRET = "canary-pa55"


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        (f"postgresql://ward:{SECRET}@host/clinic", "postgresql://ward@host/clinic"),
        (f"postgresql://ward:{SECRET}@host:5432/clinic#a.b", "postgresql://ward@host:5432/clinic"),
        (f"postgresql://ward:{SECRET}@/clinic?host=/run&sslpassword={SECRET}", "postgresql://ward@/clinic"),
        (f"postgresql:///clinic?password={SECRET}&user=ward", "postgresql:///clinic"),
        (f"postgresql://ward:{SECRET}@[::1]:5432/clinic", "postgresql://ward@[::1]:5432/clinic"),
        (f"postgresql://ward:{SECRET}@one:1,two:2/clinic", "postgresql://ward@one:1,two:2/clinic"),
        (f"flightsql://ward:{SECRET}@host?token={SECRET}", "flightsql://ward@host"),
        ("sqlite:folder/a.db#t", "sqlite:folder/a.db"),
        ("sqlite:///folder/a#b.db#t", "sqlite:/folder/a#b.db"),
        ("sqlite:a.db", "sqlite:a.db"),
    ],
)
def test_what_is_shown_holds_no_password(uri: str, shown: str) -> None:
    address = Address.read(uri)
    assert address.shown == shown
    assert SECRET not in repr(address)
    assert SECRET not in shoal.place_of(uri)


@pytest.mark.parametrize(
    "uri",
    [
        f"postgresql://ward:{SECRET}#x@host/clinic",
        f"postgresql://ward:x/{SECRET}@host/clinic",
        f"postgresql://ward:x?{SECRET}@host/clinic",
        f"postgresql://ward:{SECRET}/clinic",
        f"{SECRET}",
        "sqlite:",
    ],
)
def test_an_address_that_cannot_be_read_is_not_shown(uri: str) -> None:
    with pytest.raises(PlanError) as caught:
        Address.read(uri)
    said_by(caught.value, SECRET)


@pytest.mark.parametrize(
    ("text", "parts", "sql"),
    [
        ("beds", (None, "beds"), '"beds"'),
        ("ward.beds", ("ward", "beds"), '"ward"."beds"'),
        ('ward."my.beds"', ("ward", "my.beds"), '"ward"."my.beds"'),
        ('"a""b"', (None, 'a"b'), '"a""b"'),
        ("Betten frei", (None, "Betten frei"), '"Betten frei"'),
    ],
)
def test_names_of_tables(text: str, parts: tuple[str | None, str], sql: str) -> None:
    name = TableName.read(text)
    assert (name.schema, name.table) == parts
    assert name.sql == sql
    assert TableName.read(str(name)) == name


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a.b.c", '"a', 'a"b', '"a"b', "a\0b"])
def test_what_is_no_name_of_a_table(text: str) -> None:
    with pytest.raises(PlanError, match="no name of a table"):
        TableName.read(text)


def test_names_cannot_end_a_statement() -> None:
    assert TableName.read('"x""; drop table y; --"').sql == '"x""; drop table y; --"'


@pytest.mark.parametrize("text", ["a.csv", "C:/a.csv", r"C:\a.csv", "folder/a.parquet", "", 5])
def test_files_are_no_databases(text: object) -> None:
    assert not shoal.is_database(text)


def test_a_driver_that_is_not_there_is_named() -> None:
    with pytest.raises(PlanError, match="adbc_driver_mysql"):
        shoal.read_database(f"mysql://ward:{SECRET}@host/clinic#t")

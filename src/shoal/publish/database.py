"""A release in a database: the table whole or not at all, its certificate and receipt beside in files.

One transaction makes the table under a name that nobody asks for, gives it its name, reads it again, and
compares it with what was judged; an older table of that name goes in the same transaction. Whoever looks
sees the older table, or none, until the commit, and the new one after it. The certificate and the receipt
are on the disk before the commit, and get their names when it is known.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.database.address import Address, TableName, is_database
from shoal.database.connection import in_own_words, opened
from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.files import Stored
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.alone import alone_in
from shoal.publish.atomic import PRIVATE, Drafts, is_same, sync_folder
from shoal.publish.compare import compare
from shoal.publish.target import as_data_error, check_folder, check_name
from shoal.publish.verdict import check_verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_database", "write_database"]

ENDING = ".certificate.json"
LONGEST = 63
"""Bytes of a name in PostgreSQL: of a longer one the rest is lost without a word."""


def check_database(
    uri: str,
    table: str | None = None,
    *,
    replace: bool = False,
    certificate: str | os.PathLike[str] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Stored:
    """Whether a release can be written to a table, before any work is done for it."""
    address, name = _target(uri, table)
    stored = _stored(address, name, certificate)
    sources = [os.fspath(source) for source in inputs]
    read = [source for source in sources if is_database(source)]
    if any(_is_read(address, name, source) for source in read):
        raise PlanError(
            f"The output {stored.table} is the table that is read. Write it to another name.", field="table"
        )
    sources = [source for source in sources if source not in read]
    for path in (stored.certificate, stored.receipt):
        check_name(path, "certificate", inputs=sources)
    check_folder(stored.certificate, "certificate")
    made_here = address.file is not None and not Path(address.file).exists()
    try:
        with opened(address, writes=True) as connection:
            if not replace and _is_there(connection, name):
                raise PlanError(
                    f"There is a table {name} in {address.shown} already. Say replace, or choose another "
                    "name.",
                    field="replace",
                )
            connection.rollback()
            with in_own_words(address, "lets no table be made"), connection.cursor() as cursor:
                hidden = _hidden(_in_schema(connection, address, name))
                cursor.execute(f"create table {hidden.sql} (shoal integer)")
    finally:
        if made_here and address.file is not None:
            Path(address.file).unlink(missing_ok=True)
    return stored


def write_database(
    table: pl.DataFrame,
    verdict: Verdict,
    certificate: Certificate,
    receipt: Receipt,
    uri: str,
    name: str | None = None,
    *,
    replace: bool = False,
    papers: str | os.PathLike[str] | None = None,
) -> Stored:
    """Publish a table that has passed; there is no way around the verdict."""
    check_verdict(verdict, certificate)
    address, target = _target(uri, name)
    stored = _stored(address, target, papers)
    for path in (stored.certificate, stored.receipt):
        check_name(path, "certificate")
    check_folder(stored.certificate, "certificate")
    release = fingerprint_of(table)
    sealed = certificate.sealed(release=release, original=receipt.original)
    kept = receipt.sealed(release=release, certificate=sealed.digest)
    is_new = address.file is not None and not Path(address.file).exists()
    is_done = False
    try:
        with as_data_error(stored.certificate, "certificate"), Drafts(stored.certificate) as drafts:
            private = drafts.new(stored.receipt, mode=PRIVATE)
            private.write(kept.to_json())
            shown = drafts.new(stored.certificate)
            shown.write(sealed.to_json())
            with opened(address, writes=True) as connection:
                with in_own_words(address, "cannot hold the release"):
                    _make(connection, address, target, table, replace=replace)
                unknown = f"Whether the table {target} is there is not known: look, and write it once more."
                with in_own_words(address, "did not say whether it has the release", unknown):
                    connection.commit()
                is_done = True
            with alone_in(stored.certificate.parent):
                private.place()
                shown.place()
                sync_folder(stored.certificate.parent)
    except DataError as error:
        if is_done:
            raise DataError(
                f"The table {stored.table} is published, but its certificate is not. Write it once more. "
                f"{error}"
            ) from None
        raise
    finally:
        if is_new and not is_done and address.file is not None:
            _remove_empty(Path(address.file))
    return stored


def fingerprint_of(table: pl.DataFrame) -> str:
    """SHA-256 of the table as the CSV file that Shoal would write of it: a database has no bytes."""
    return hashlib.sha256(table.write_csv().encode()).hexdigest()


def _target(uri: str, table: str | None) -> tuple[Address, TableName]:
    address = Address.read(uri)
    name = TableName.read(table) if table is not None else address.table
    if name is None or (table is not None and address.table is not None):
        raise PlanError(
            f"Say once which table of {address.shown} to write: behind its address, as in #name.",
            field="table",
        )
    if address.file is not None and name.schema is not None:
        raise PlanError("A table in a SQLite file has no schema. Leave it out.", field="table")
    for part in (name.schema, name.table):
        if address.is_postgresql and part is not None and len(part.encode()) > LONGEST:
            raise PlanError(
                f"The name {part!r} is longer than the {LONGEST} bytes that PostgreSQL keeps of it. Choose "
                "a shorter one.",
                field="table",
            )
    return address, name


def _in_schema(connection: Any, address: Address, name: TableName) -> TableName:
    """The table with the schema where it is, or would be made: names without one are looked for in several.

    Else a table of one schema would be dropped, and the new one made in another.
    """
    if not address.is_postgresql or name.schema is not None:
        return name
    with connection.cursor() as cursor:
        cursor.execute(
            "select coalesce((select n.nspname::text from pg_catalog.pg_class c "
            "join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
            "where c.oid = pg_catalog.to_regclass($1)), pg_catalog.current_schema()::text)",
            (name.sql,),
        )
        return TableName(cursor.fetchall()[0][0], name.table)


def _is_read(address: Address, name: TableName, source: str) -> bool:
    """Whether a table is the one that is read, however either is named."""
    other = Address.read(source)
    if other.table is None or other.scheme != address.scheme:
        return False
    if address.file is not None:
        same = other.file is not None and is_same(Path(address.file), Path(other.file))
        return same and name.table.lower() == other.table.table.lower()  # capitals make no difference there
    if not address.is_postgresql:
        return address.shown == other.shown and name == other.table
    target = _identity(address, name)
    return target is not None and target == _identity(other, other.table)


def _identity(address: Address, name: TableName) -> tuple[Any, ...] | None:
    """A table of a PostgreSQL server, by the server's start and by numbers; None where there is none."""
    with (
        opened(address) as connection,
        in_own_words(address, "does not answer"),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "select pg_catalog.pg_postmaster_start_time()::text, (select oid::int8 from "
            "pg_catalog.pg_database where datname = pg_catalog.current_database()), "
            "pg_catalog.to_regclass($1)::oid::int8",
            (name.sql,),
        )
        found = tuple(cursor.fetchall()[0])
    return found if found[-1] is not None else None


def _stored(address: Address, name: TableName, certificate: str | os.PathLike[str] | None) -> Stored:
    plain = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in str(name))
    shown = Path(certificate) if certificate is not None else Path(f"{plain}{ENDING}")
    stem = shown.name.removesuffix(ENDING) if shown.name.endswith(ENDING) else shown.stem
    return Stored(f"{address.shown}#{name}", shown, shown.with_name(f"{stem}.receipt.json"))


def _hidden(name: TableName) -> TableName:
    return TableName(name.schema, f"shoal_{secrets.token_hex(8)}")


def _is_there(connection: Any, name: TableName) -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"select 1 from {name.sql} where 1 = 0")
            cursor.fetchall()
    except Exception as error:
        return getattr(error, "sqlstate", None) == "42501"  # there, though nobody may look
    return True


def _make(
    connection: Any, address: Address, name: TableName, table: pl.DataFrame, *, replace: bool
) -> None:
    """Make the table and give it its name; nobody sees any of it before the commit."""
    from shoal.database.cells import fetch

    name = _in_schema(connection, address, name)
    hidden = _hidden(name)
    with connection.cursor() as cursor:
        ready = _for_database(table, address)
        more = {"db_schema_name": name.schema} if name.schema is not None else {}
        cursor.adbc_ingest(hidden.table, ready.to_arrow(), mode="create", **more)
        if replace:
            cursor.execute(f"drop table if exists {name.sql}")
        cursor.execute(f"alter table {hidden.sql} rename to {TableName(None, name.table).sql}")
        if address.is_postgresql:  # whatever the database does at the end, it does now
            cursor.execute("set constraints all immediate")
        compare(
            _in_order(table),
            lambda: _in_order(_as_judged(fetch(connection, f"select * from {name.sql}")[0], table)),
            what="table",
        )


def _in_order(table: pl.DataFrame) -> pl.DataFrame:
    """A database promises no order of rows, so that both sides get one."""
    return table.sort(table.columns, nulls_last=True, maintain_order=True)


def _for_database(table: pl.DataFrame, address: Address) -> pl.DataFrame:
    """The table in types that the database takes; what SQLite lacks is written as text."""
    import polars as pl

    from shoal.model.plain import has_text

    columns = []
    for series in table.iter_columns():
        if address.is_postgresql and len(series.name.encode()) > LONGEST:
            raise DataError(
                f"The name of column {series.name!r} is longer than the {LONGEST} bytes that PostgreSQL "
                "keeps of it. Rename it first.",
                column=series.name,
            )
        if not has_text(series.dtype):
            kind = series.dtype.base_type().__name__
            raise DataError(
                f"Column {series.name!r} is a {kind}, which is not written to databases. Write Parquet.",
                column=series.name,
            )
        as_text = isinstance(series.dtype, pl.Categorical | pl.Enum | pl.Null)
        if address.file is not None:
            as_text |= isinstance(series.dtype, pl.Decimal | pl.Date | pl.Datetime | pl.Time)
        columns.append(series.cast(pl.String) if as_text else series)
    return pl.DataFrame(columns)


def _as_judged(found: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """What was read in the types of what was judged; whatever does not fit them raises."""
    import polars as pl

    from shoal.publish.formats import as_type

    schema = table.schema
    return pl.DataFrame(
        [
            as_type(series, schema[series.name])
            if series.dtype == pl.String and not isinstance(schema[series.name], pl.String)
            else series.cast(schema[series.name])
            for series in found.iter_columns()
        ]
    )


def _remove_empty(path: Path) -> None:
    """A file that was made for a release that failed."""
    if path.is_file() and path.stat().st_size == 0:
        path.unlink()

"""Tables from databases: PostgreSQL, SQLite, and any other that has an ADBC driver.

A table is read in one transaction that may only read, in one snapshot where the database knows them, so
that rows of one moment come together; a role that may only read is enough.
"""

from __future__ import annotations

from shoal.database.address import Address, TableName, place_of
from shoal.database.cells import fetch
from shoal.database.connection import in_own_words, opened
from shoal.errors import PlanError
from shoal.read.table import TableRead, check_frame

__all__ = ["read_database"]

SNAPSHOT = "set transaction isolation level repeatable read, read only"


def read_database(uri: str, query: str | None = None, *, table: str | None = None) -> TableRead:
    """Read a table, or what a query finds, from a database.

    Args:
        uri: `postgresql://user@host/database`, `sqlite:FILE`, or what another ADBC driver takes; a table
            may stand behind it: `...#schema.table`. PostgreSQL's own settings, such as PGPASSWORD, a file
            `~/.pgpass` or a service, work as in psql.
        query: A query instead of a table.
        table: The table, perhaps with its schema: `ward.beds`; parts with other signs in double quotes.

    Returns:
        The table, as `read_table` gives it.

    """
    address = Address.read(uri)
    name = TableName.read(table) if table is not None else address.table
    if (table is not None and address.table is not None) or (name is None) == (query is None):
        raise PlanError("Say what to read of the database: either a table or a query, once.", field="table")
    asked = query if query is not None else f"select * from {name.sql if name is not None else ''}"
    place = place_of(uri, table)
    trouble = "does not give the table" if query is None else "does not answer the query"
    with opened(address) as connection, in_own_words(address, trouble):
        if address.is_postgresql:
            with connection.cursor() as cursor:
                cursor.execute(SNAPSHOT)
        frame, said = fetch(connection, asked)
    check_frame(frame, place)
    return TableRead(frame, said)

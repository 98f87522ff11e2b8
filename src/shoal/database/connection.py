"""A database, opened by its ADBC driver; what the driver says of an error stays here.

Drivers quote addresses, statements and cells in their errors, so every error gets our own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shoal.database.address import SQLITE, Address
from shoal.errors import DataError, MissingExtra, PlanError, ShoalError

__all__ = ["check_driver", "in_own_words", "opened"]

_EXTRAS = {"postgresql": "postgresql", "postgres": "postgresql", SQLITE: SQLITE}
_STATES = {
    "08": "the connection was lost",
    "23505": "another run makes it at the same time",
    "22": "a value does not fit the type that it is turned into",
    "25006": "the database, or the role, may only read",
    "28": "the user or the password is refused",
    "2BP01": "other objects, such as views, depend on the table that is there",
    "3D000": "there is no database of that name",
    "3F000": "there is no schema of that name",
    "40": "another transaction was in the way",
    "42501": "the role has no rights for it",
    "42601": "the query cannot be parsed",
    "42701": "two columns have one name, or one has a name that the database keeps for itself",
    "42703": "a column that it names is not there",
    "42809": "what has that name is not a table",
    "42883": "a function that it names is not there",
    "42P01": "there is no table of that name",
    "42P07": "there is a table of that name already",
    "42P06": "there is a schema of that name already",
    "53": "the server lacks space or memory",
    "54011": "it has more columns than the database holds",
    "54": "it is larger than the database holds",
    "55P03": "another transaction holds the table",
    "57": "the server ended the connection",
}
"""What went wrong, by SQLSTATE or by its class."""
_SIGNS = {
    "error in view": "a view depends on the table that is there",
    "DROP VIEW": "what has that name is not a table",
    "duplicate column": "two columns have one name, since capitals make no difference there",
    "system column name": "a column has a name that the database keeps for itself",
    "can have at most": "it has more columns than the database holds",
    "too many columns": "it has more columns than the database holds",
    "Type mismatch in column": "a column holds values of several types, which a query can turn into one",
    "password authentication failed": "the user or the password is refused",
    "no password supplied": "the user or the password is refused",
    "no pg_hba.conf entry": "the server lets this user in neither from here nor by this way",
    "fe_sendauth": "the user or the password is refused",
    'role "': "the server knows no such user",
    'database "': "there is no database of that name",
    "translate host name": "there is no host of that name",
    "service file": "its service is not found",
    'definition of service "': "its service is not found",
    "refused": "no server answers there",
    "No such file": "no server answers there",
    "timeout": "no server answers there",
    "permission denied": "the role has no rights for it",
    'schema "': "there is no schema of that name",
    "invalid input syntax": "a value does not fit the type that it is turned into",
    "out of range": "a value does not fit the type that it is turned into",
    "no such table": "there is no table of that name",
    "no such column": "a column that it names is not there",
    "unknown database": "there is no schema of that name",
    "already": "there is a table of that name already",
    "readonly": "the file, or its folder, may only be read",
    "locked": "another program holds the file",
    "not a database": "the file is no SQLite database",
    "malformed": "the file is damaged",
    "disk is full": "no space is left",
    "syntax error": "the query cannot be parsed",
    "incomplete input": "the query cannot be parsed",
    "unable to open": "the file cannot be opened",
    "failed to open": "the file cannot be opened",
    "server closed the connection": "the connection was lost",
    "no connection to the server": "the connection was lost",
}
"""What went wrong, by a part of what the driver says where it gives no state."""


def check_driver(address: Address) -> str:
    """The driver's module, if its package is there."""
    name = _EXTRAS.get(address.scheme, address.scheme)
    package = f"adbc_driver_{name.replace('-', '_').replace('+', '_').replace('.', '_')}"
    if find_spec(package) is None:
        if address.scheme in _EXTRAS:
            raise MissingExtra(package.replace("_", "-"), extra=name)
        raise PlanError(
            f"There is no ADBC driver for {address.scheme}://: the package {package!r} is not installed. "
            "Install it, or write postgresql:// or sqlite:.",
            field="uri",
        )
    return f"{package}.dbapi"


@contextmanager
def opened(address: Address, *, writes: bool = False) -> Iterator[Any]:
    """A connection in a transaction of its own; what is not committed is as if it had never been."""
    driver = import_module(check_driver(address))
    if address.file is not None and not writes and not Path(address.file).is_file():
        raise DataError(f"There is no file {address.file!r}.")
    with in_own_words(address, "cannot be opened"):
        connection = driver.connect(address.for_driver(writes=writes))
    try:
        yield connection
    finally:
        with suppress(Exception):
            connection.rollback()
        with suppress(Exception):
            connection.close()


@contextmanager
def in_own_words(address: Address, what: str, mend: str = "") -> Iterator[None]:
    """Turn any error of the driver into one that shows neither an address, nor a statement, nor a cell."""
    try:
        yield
    except (ShoalError, MemoryError):
        raise
    except Exception as error:
        reason = _reason(error)
        raise DataError(
            f"The database {address.shown} {what}: {reason}. {mend or 'Nothing was written.'}"
        ) from None


def _reason(error: Exception) -> str:
    state = str(getattr(error, "sqlstate", None) or "")
    found = _STATES.get(state) or (_STATES.get(state[:2]) if state else None)
    said = str(error)
    return found or next(
        (words for sign, words in _SIGNS.items() if sign in said),
        "its driver gives no reason that is plain",
    )

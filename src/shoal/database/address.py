"""How a database and a table in it are named, and how they are shown: never with a password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from shoal.errors import PlanError

__all__ = ["Address", "TableName", "is_database", "place_of", "quoted"]

_SCHEME = re.compile(r"([a-z][a-z0-9+.\-]+)://|(sqlite):", re.IGNORECASE)
_PART = re.compile(r'"((?:[^"\0]|"")+)"|([^".\0]+)')
_HOST = re.compile(r"[^:]*(:\d*)?|\[[^]]*\](:\d*)?")
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))?")
SQLITE = "sqlite"


def is_database(text: object) -> bool:
    """Whether a text names a database and not a file.

    >>> is_database("postgresql://ward@host/clinic"), is_database("sqlite:clinic.db"), is_database("a.csv")
    (True, True, False)
    """
    return isinstance(text, str) and _SCHEME.match(text) is not None


def quoted(*names: str | None) -> str:
    """A name as SQL writes it, each part in quotes; parts that are None are left out.

    >>> quoted("ward", "my table")
    '"ward"."my table"'
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name is not None)


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, perhaps in a schema; names are taken as they are written, capitals and all."""

    schema: str | None
    table: str

    @classmethod
    def read(cls, text: str) -> TableName:
        """Read `table`, `schema.table`, or parts in double quotes.

        >>> TableName.read('ward."my.table"')
        TableName(schema='ward', table='my.table')
        """
        if not _NAME.fullmatch(text):
            raise PlanError(
                f"{text!r} is no name of a table. Write table or schema.table, and a part with other signs "
                'in double quotes: "my.table".',
                field="table",
            )
        parts = [
            match[1].replace('""', '"') if match[1] is not None else match[2]
            for match in _PART.finditer(text)
        ]
        return cls(parts[0] if len(parts) == 2 else None, parts[-1])

    @property
    def sql(self) -> str:
        """The name as SQL writes it."""
        return quoted(self.schema, self.table)

    def __str__(self) -> str:
        return ".".join(
            part if re.fullmatch(r"\w+", part) else quoted(part)
            for part in (self.schema, self.table)
            if part is not None
        )


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is; `shown` holds neither its password nor any of its settings.

    This is the only place that takes an address apart; whatever is said of a database says `shown`.
    """

    scheme: str
    shown: str
    table: TableName | None
    uri: str = field(repr=False)

    @classmethod
    def read(cls, text: str) -> Address:
        """Read `postgresql://user@host/database#table`, `sqlite:file.db#table`, or another driver's URI.

        >>> Address.read("postgresql://ward:secret@host/clinic?sslpassword=x#beds").shown
        'postgresql://ward@host/clinic'
        """
        match = _SCHEME.match(text)
        if match is None:
            raise PlanError(
                "That is no address of a database. Write postgresql://user@host/database or sqlite:FILE.",
                field="uri",
            )
        scheme = (match[1] or match[2]).lower()
        body, _, fragment = text.partition("#") if scheme != SQLITE else text.rpartition("#")
        if not body:  # a file without a table
            body, fragment = fragment, ""
        if scheme != SQLITE and ("@" in fragment or "/" in fragment):
            raise _unreadable(scheme)
        table = TableName.read(unquote(fragment)) if fragment else None
        if scheme == SQLITE:
            path = body[len(SQLITE) + 1 :]
            path = path[2:] if path.startswith("//") else path
            if not path:
                raise PlanError("The address names no file. Write sqlite:FILE.", field="uri")
            return cls(scheme, f"{SQLITE}:{path}", table, path)
        return cls(scheme, _shown(scheme, body[match.end() :]), table, body)

    @property
    def file(self) -> str | None:
        """The file that the database is; None where it is a server."""
        return self.uri if self.scheme == SQLITE else None

    def for_driver(self, *, writes: bool) -> str:
        """What the driver is told: a file is not made, and not changed, by one who only reads."""
        if self.file is None:
            return self.uri
        # what a killed program left half done is put back by the next one that opens the file, if it may
        is_torn = os.path.exists(f"{self.file}-journal")
        return f"file:{quote(self.file)}?mode={'rwc' if writes else 'rw' if is_torn else 'ro'}"

    @property
    def is_postgresql(self) -> bool:
        """Whether a PostgreSQL server answers there, whose catalogue can be asked."""
        return self.scheme in {"postgresql", "postgres"}


def place_of(uri: str, table: str | None = None) -> str:
    """A table of a database as it is shown, or the database itself.

    >>> place_of("postgresql://ward:secret@host/clinic", "beds")
    'postgresql://ward@host/clinic#beds'
    """
    address = Address.read(uri)
    name = TableName.read(table) if table is not None else address.table
    return address.shown if name is None else f"{address.shown}#{name}"


def _shown(scheme: str, rest: str) -> str:
    before, at, after = rest.rpartition("@")  # a sign that belongs into a password may stand in it bare
    user = before.partition(":")[0] if at else ""
    place = after.partition("?")[0]
    host = place.partition("/")[0]
    # several hosts stand with commas between them, and so may the signs of a password without its host
    if re.search(r"[?/#]", before) or not all(_HOST.fullmatch(one) for one in host.split(",")):
        raise _unreadable(scheme)
    return f"{scheme}://{user}{'@' if user else ''}{place}"


def _unreadable(scheme: str) -> PlanError:
    return PlanError(
        f"The address that begins with {scheme}:// cannot be read. In a name or password write @ as %40, / "
        "as %2F, # as %23, ? as %3F and : as %3A, or leave the password out and let the driver find it.",
        field="uri",
    )

"""Keyed pseudonyms: what stands in the place of an identifier, the same wherever the key is the same.

A pseudonym is `p` and the first 16 bytes, as hexadecimal digits, of HMAC-SHA-256 over the identifier's text
in UTF-8. The letter keeps spreadsheets from taking one for a number.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Any

import polars as pl

from shoal.errors import DataError
from shoal.model.missing import missing_to_null
from shoal.model.plain import EXACT

__all__ = ["PSEUDONYM", "Key", "identifiers_of", "links"]

PSEUDONYM = r"^p[0-9a-f]{32}$"
SIZE = 32
"""Bytes of a key, at least."""
DIFFERENT = 8
"""Different digits of a key, at least: of 64 random ones, fewer are never seen."""


class Key:
    """The secret behind pseudonyms; nothing that is shown, logged or pickled holds it."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SIZE or len(set(secret.hex())) < DIFFERENT:
            raise ValueError("too short")
        self._secret = secret

    @classmethod
    def new(cls) -> Key:
        """A random key."""
        return cls(secrets.token_bytes(SIZE))

    @classmethod
    def of_text(cls, text: str) -> Key:
        """Read what `to_text` wrote; raises ValueError where that is no key, or a short one."""
        if not re.fullmatch(r"[0-9a-fA-F]*\s*", text, re.ASCII):
            raise ValueError("no digits")
        return cls(bytes.fromhex(text.strip()))

    def to_text(self) -> str:
        """Hexadecimal digits in one line, for a file that nobody else reads."""
        return f"{self._secret.hex()}\n"

    def lots(self, identifiers: pl.Series) -> pl.Series:
        """An order of the texts that looks random, and tells nothing of their pseudonyms."""
        other = Key(hmac.digest(self._secret, b"shoal: lots, not pseudonyms", "sha256"))
        return other.pseudonyms(identifiers)

    def pseudonyms(self, identifiers: pl.Series) -> pl.Series:
        """The pseudonym of each text; null where there is none.

        >>> key = Key(bytes(range(32)))
        >>> key.pseudonyms(pl.Series("who", ["1", "2", None])).to_list()[::2]
        ['p7761b1cc25227dfca0bd6d972acc52ab', None]
        """
        made = [
            None if text is None else f"p{hmac.digest(self._secret, text.encode(), 'sha256')[:16].hex()}"
            for text in identifiers.to_list()
        ]
        return pl.Series(identifiers.name, made, dtype=pl.String)

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> Any:
        raise TypeError("A key is not pickled. It stays in its file.")


def identifiers_of(series: pl.Series, missing: tuple[str, ...] = ()) -> pl.Series:
    """Identifiers as texts, alike wherever a person is the same, whatever the type of their column.

    Blanks around a text do not matter, nor how its accents are composed, nor zeros behind the point of a
    whole number: 1, 1.0 and "1" are one person, and "01" is another. Null where a cell is missing.

    >>> identifiers_of(pl.Series([1.0, 2.0])).to_list(), identifiers_of(pl.Series([" 1", "1.0"])).to_list()
    (['1', '2'], ['1', '1'])
    """
    series = missing_to_null(series, missing)
    kind = series.dtype
    if isinstance(kind, pl.String | pl.Categorical | pl.Enum):
        return _whole(series.cast(pl.String).str.strip_chars().str.normalize("NFC"))
    if kind.is_integer() or isinstance(kind, pl.Null):
        return series.cast(pl.String)
    if kind.is_float():
        limit = {"Float16": 2.0**11, "Float32": 2.0**24}.get(kind.base_type().__name__, EXACT)
        exact = (series == series.floor()) & (series.abs() < limit)
        text = series.set(~exact, None).cast(pl.Int64).cast(pl.String)
    elif kind.is_decimal():
        text = _whole(series.cast(pl.String))
        text = text.set(text.str.contains(".", literal=True), None)
    else:
        raise DataError(
            f"Column {series.name!r} is of the type {kind.base_type().__name__}, which names nobody. Give "
            "identifiers as texts or whole numbers.",
            field="pseudonym",
            column=series.name,
        )
    odd = text.null_count() - series.null_count()
    if odd:
        raise DataError(
            f"Column {series.name!r} has {odd} of {len(series)} numbers that are not whole or too large to "
            "be exact, so that they name nobody. Give identifiers as texts or whole numbers.",
            field="pseudonym",
            column=series.name,
        )
    return text


def _whole(text: pl.Series) -> pl.Series:
    return text.str.replace(r"^([+-]?[0-9]+)\.0+$", "$1")


def links(column: str) -> str:
    """What a certificate says of a column of pseudonyms."""
    return (
        f"Column {column} holds keyed pseudonyms: one for each person, the same in all tables of one key. "
        "They link the rows of a person in those tables; k holds in this table alone."
    )

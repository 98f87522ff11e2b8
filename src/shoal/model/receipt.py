"""What stays with the releaser: the salt behind the certificate's fingerprints, and the exact figures.

An unsalted hash of a small table would confirm guesses: whoever guesses the table right sees the same
hash. The salt is random, so a fingerprint in the certificate says nothing to those without the receipt. The
same is true of a figure to its last digit, so the certificate has it rounded and the receipt has it whole.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from shoal.errors import DataError
from shoal.model.figures import Figures
from shoal.model.written import Aside, read_file, to_plain

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Receipt", "fingerprint"]

VERSION = "2.3"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The salt, the original's salted fingerprint, the exact figures, and what they belong to.

    `release` and `certificate` are the fingerprints of the two written files' contents, so that the keeper
    of a receipt sees any change to either.
    """

    salt: str
    original: str
    figures: Figures | None = None
    release: str | None = None
    certificate: str | None = None
    version: str = VERSION
    unread: Aside = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Receipt:
        """A receipt for `frame` with a new random salt."""
        salt = secrets.token_hex(32)
        return cls(salt, fingerprint([frame], salt))

    @classmethod
    def of_parts(cls, frames: Iterable[pl.DataFrame]) -> Receipt:
        """The same for a table that comes in parts, in their order."""
        salt = secrets.token_hex(32)
        return cls(salt, fingerprint(frames, salt))

    def mark(self, text: str) -> str:
        """A salted fingerprint of what may come from the data: a hierarchy, a graph, missing marks."""
        return hmac.new(bytes.fromhex(self.salt), text.encode(), hashlib.sha256).hexdigest()

    def sealed(self, *, release: str, certificate: str) -> Receipt:
        """The same for a written release."""
        return replace(self, release=release, certificate=certificate)

    def to_json(self, *, replaces: Receipt | None = None) -> str:
        """The receipt as text; `replaces` goes along while an older release is being replaced."""
        plain = to_plain(self)
        if replaces is not None:
            plain["replaces"] = to_plain(replaces)
        return json.dumps(plain, indent=2, sort_keys=True) + "\n"

    @classmethod
    def of_json(cls, text: str, *, release: str | None = None) -> Receipt:
        """Read what `to_json` wrote; of two receipts the one for the given release."""
        receipt = cast(Receipt, read_file(cls, text, what="receipt", version=VERSION, release=release))
        try:
            bytes.fromhex(receipt.salt)
        except ValueError:
            raise DataError(
                "The receipt cannot be read: its 'salt' is not what Shoal writes there."
            ) from None
        return receipt


class _Hasher:
    """A file that keeps nothing but the hash of what is written to it."""

    def __init__(self, salt: str) -> None:
        self.digest = hmac.new(bytes.fromhex(salt), digestmod=hashlib.sha256)

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return len(data)


def fingerprint(parts: Iterable[pl.DataFrame], salt: str) -> str:
    """HMAC-SHA256 of a table's names and cells as CSV: the same for the same cells in the same order.

    The table may come in parts. Columns that CSV cannot hold (lists, bytes, durations) are left out.
    """
    from shoal.model.plain import has_text

    hasher = _Hasher(salt)
    for place, frame in enumerate(parts):
        kept = [name for name, dtype in frame.schema.items() if has_text(dtype)]
        frame.select(kept).write_csv(hasher, include_header=place == 0)  # type: ignore[call-overload]
    return hasher.digest.hexdigest()

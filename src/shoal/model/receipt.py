"""What stays with the releaser: the salt behind the certificate's fingerprint of the original.

An unsalted hash of a small table would confirm guesses: whoever guesses the table right sees the same
hash. The salt is random, so the fingerprint in the certificate says nothing to those without the receipt.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.model.plain import has_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Receipt", "fingerprint"]

VERSION = 1


@dataclass(frozen=True, slots=True)
class Receipt:
    """The salt, the original's salted fingerprint, and the release they belong to."""

    salt: str
    original: str
    release: str | None = None
    version: int = VERSION

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Receipt:
        """A receipt for `frame` with a new random salt."""
        salt = secrets.token_hex(32)
        return cls(salt, fingerprint(frame, salt))

    def sealed(self, *, release: str) -> Receipt:
        """The same for a written release."""
        return replace(self, release=release)

    def to_json(self, *, replaces: Receipt | None = None) -> str:
        """The receipt as text; `replaces` goes along while an older release is being replaced."""
        plain = asdict(self)
        if replaces is not None:
            plain["replaces"] = asdict(replaces)
        return json.dumps(plain, indent=2, sort_keys=True) + "\n"

    @classmethod
    def of_json(cls, text: str, *, release: str | None = None) -> Receipt:
        """Read what `to_json` wrote; of two receipts the one for the given release."""
        try:
            raw = json.loads(text)
            older = raw.pop("replaces", None)
            receipt = cls(**raw)
            if older is not None and release not in {None, receipt.release}:
                replaced = cls(**older)
                return replaced if replaced.release == release else receipt
        except (ValueError, TypeError, AttributeError):
            raise DataError(
                "The receipt cannot be read: it is not one that this version of Shoal wrote."
            ) from None
        return receipt


class _Hasher:
    """A file that keeps nothing but the hash of what is written to it."""

    def __init__(self, salt: str) -> None:
        self.digest = hmac.new(bytes.fromhex(salt), digestmod=hashlib.sha256)

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return len(data)


def fingerprint(frame: pl.DataFrame, salt: str) -> str:
    """HMAC-SHA256 of a table's names and cells as CSV: the same for the same cells in the same order.

    Columns that CSV cannot hold (lists, bytes, durations) are left out.
    """
    hasher = _Hasher(salt)
    kept = [name for name, dtype in frame.schema.items() if has_text(dtype)]
    frame.select(kept).write_csv(hasher)  # type: ignore[call-overload]
    return hasher.digest.hexdigest()

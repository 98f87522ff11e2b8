"""A mark of rows in any order: what a table of many machines is recognised by.

Every row is hashed by itself and the hashes are added, so the sum is the same whatever the order of the
rows and whoever adds what. It has 2048 bits, since two tables with the same sum of few bits could be found;
the salt goes into every hash, so a sum says nothing to those who do not have it. Workers of Spark add up
the same by a kernel (`group/parts/marks`); here, where marks are verified, `hashlib` does it.

M. Bellare, D. Micciancio. A new paradigm for collision-free hashing: incrementality at reduced cost.
EUROCRYPT 1997.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ANY_ORDER", "added", "mark_of_rows", "marked_columns", "sum_of_rows"]

ANY_ORDER = "rows:"
"""How the fingerprint of a table begins that holds for its rows in any order."""
BYTES = 256
TOGETHER = 1 << 14

Sum = NDArray[np.uint64]


def marked_columns(frame: pl.DataFrame, names: Iterable[str | None]) -> list[str]:
    """The columns that are marked: of those named the ones there, if cells have a text."""
    from shoal.model.plain import has_text

    named = {*names}
    return sorted(name for name, kind in frame.schema.items() if name in named and has_text(kind))


def sum_of_rows(frame: pl.DataFrame, salt: str) -> Sum:
    """The sum of the hashes of all rows; columns are told by their place."""
    begin = hashlib.shake_128(bytes.fromhex(salt))
    plain = frame.rename({name: str(at) for at, name in enumerate(frame.columns)})
    total = np.zeros(BYTES // 8, dtype=np.uint64)
    for some in plain.iter_slices(TOGETHER):
        text = io.BytesIO()
        some.write_ndjson(text)
        digests = []
        for line in text.getvalue().splitlines():
            one = begin.copy()
            one.update(line)
            digests.append(one.digest(BYTES))
        total += np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, BYTES // 8).sum(axis=0)
    return total


def added(sums: Iterable[bytes]) -> Sum:
    """The sum of the sums of several pieces."""
    total = np.zeros(BYTES // 8, dtype=np.uint64)
    for one in sums:
        total += np.frombuffer(one, dtype="<u8")
    return total


def mark_of_rows(total: Sum, names: Sequence[str], rows: int, salt: str) -> str:
    """The fingerprint of a table with these columns and rows."""
    head = json.dumps([list(names), rows]).encode()
    digest = hmac.new(bytes.fromhex(salt), head + b"\n" + total.astype("<u8").tobytes(), hashlib.sha256)
    return f"{ANY_ORDER}{digest.hexdigest()}"

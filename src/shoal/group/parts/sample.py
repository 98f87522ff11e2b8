"""Distinct tuples and their copies, all of them or a sample that depends on their values alone.

A tuple is in the sample where its hash ends in enough zeros, together with all of its copies. So the sample
is the same whatever the order of the rows, the files they stand in, or who counts them, and two samples of
two halves of a table add up to that of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.parts.hashes import hash_keys

__all__ = ["Tuples", "add", "count_tuples", "empty", "hashes_of", "thin"]

Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Distinct tuples by their packed keys, one column per tuple, in rising order, with their copies.

    `zeros` is the number of zeros in which the hash of a tuple must end to be among them: 0 where all are.
    """

    keys: Keys
    count: Keys
    zeros: int = 0

    @property
    def are_all(self) -> bool:
        """Whether no tuple was left out."""
        return self.zeros == 0


def hashes_of(keys: Keys) -> NDArray[np.uint64]:
    """The hash of every tuple."""
    out = np.empty(keys.shape[1], dtype=np.uint64)
    hash_keys(keys, out)
    return out


def empty(width: int) -> Tuples:
    """No tuples, of so many keys each."""
    return Tuples(np.empty((width, 0), dtype=np.int64), np.empty(0, dtype=np.int64))


def count_tuples(keys: Keys, records: Keys | None = None, *, zeros: int = 0) -> Tuples:
    """The tuples of some rows, of which `keys` has a column each; `records` are those of every row."""
    if zeros:
        kept = _ends_in_zeros(keys, zeros)
        keys, records = keys[:, kept], None if records is None else records[kept]
    return _joined(keys, records, zeros)


def add(parts: list[Tuples], most: int) -> Tuples:
    """All tuples of several parts of a table, or so few zeros more that at most `most` are left."""
    zeros = max(part.zeros for part in parts)
    parts = [thin(part, zeros) for part in parts]
    keys = np.concatenate([part.keys for part in parts], axis=1)
    count = np.concatenate([part.count for part in parts])
    whole = _joined(keys, count, zeros)
    while whole.count.size > most:
        whole = thin(whole, whole.zeros + 1)
    return whole


def thin(tuples: Tuples, zeros: int) -> Tuples:
    """Those whose hash ends in so many zeros."""
    if zeros <= tuples.zeros:
        return tuples
    kept = _ends_in_zeros(tuples.keys, zeros)
    return Tuples(tuples.keys[:, kept], tuples.count[kept], zeros)


def _ends_in_zeros(keys: Keys, zeros: int) -> NDArray[np.bool_]:
    rest: NDArray[np.uint64] = hashes_of(keys) & np.uint64((1 << zeros) - 1)
    return np.equal(rest, 0)


def _joined(keys: Keys, count: Keys | None, zeros: int) -> Tuples:
    """Sorted by key, copies of a tuple counted once."""
    rows = keys.shape[1]
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    keys = keys[:, order]
    new = np.ones(rows, dtype=np.bool_)
    if rows:
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    starts = np.flatnonzero(new)
    held = np.diff(np.append(starts, rows))
    if count is not None and rows:
        held = np.add.reduceat(count[order], starts)
    return Tuples(np.ascontiguousarray(keys[:, starts]), held.astype(np.int64), zeros)

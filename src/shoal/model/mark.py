"""A mark of a table's cells, to see in this process whether they are still the same."""

from __future__ import annotations

import hashlib

import polars as pl

__all__ = ["mark_of"]

SOME = 1 << 20
"""Rows that are marked at a time: of a large table there is no room for the hashes of all."""


def mark_of(*tables: pl.DataFrame) -> str:
    """A digest of the names, types, cells and order of tables; only this process makes the same again.

    >>> one = pl.DataFrame({"a": [1, 2]})
    >>> mark_of(one) == mark_of(one.clone()), mark_of(one) == mark_of(one.reverse())
    (True, False)
    """
    digest = hashlib.sha256()
    for table in tables:
        digest.update(repr((table.shape, list(table.schema.items()))).encode())
        if table.width:
            for some in table.iter_slices(SOME):
                digest.update(some.hash_rows(seed=0).to_numpy().data)
    return digest.hexdigest()

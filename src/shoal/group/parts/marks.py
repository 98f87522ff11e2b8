"""The sum of the salted hashes of rows, as `model/marks` says it, many rows at a time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.parts.shake import BLOCK, add_digests
from shoal.model.marks import BYTES, TOGETHER, Sum

if TYPE_CHECKING:
    import polars as pl

__all__ = ["sum_of_many_rows"]

NEW_LINE = 10


def sum_of_many_rows(frame: pl.DataFrame, salt: str) -> Sum:
    """What `sum_of_rows` gives, for less: texts are hashed side by side."""
    plain = frame.rename({name: str(at) for at, name in enumerate(frame.columns)})
    begin = np.frombuffer(bytes.fromhex(salt), dtype=np.uint8)
    total = np.zeros(BYTES // 8, dtype=np.uint64)
    for some in plain.iter_slices(TOGETHER):
        text = io.BytesIO()
        some.write_ndjson(text)
        letters = np.frombuffer(text.getbuffer(), dtype=np.uint8)
        end = np.flatnonzero(letters == NEW_LINE)  # those of a cell are written as two letters
        first = np.append(0, end[:-1] + 1)[: end.size]
        blocks = (begin.size + end - first) // BLOCK
        for one in np.unique(blocks).tolist():
            alike = blocks == one
            add_digests(letters, first[alike], end[alike], begin, total)
    return total

"""Which values occur how often in which class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.check.kanonymity import Classes

__all__ = ["Mix", "mix_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """How often each value of a column occurs in each class: one entry per pair that occurs.

    Entries stand by class, then value code; `start` has the first entry of each class and the end.
    """

    value: NDArray[np.int64]
    records: NDArray[np.int64]
    start: NDArray[np.int64]
    values: int

    def part(self, first: int, last: int) -> Mix:
        """Some of its classes."""
        start = self.start[first : last + 1]
        entries = slice(start[0], start[-1])
        return Mix(self.value[entries], self.records[entries], start - start[0], self.values)


def mix_of(classes: Classes, codes: NDArray[np.int64], values: int) -> Mix:
    """Count the pairs of class and value."""
    cells = classes.sizes.size * values
    if cells > 4 * classes.label.size + 1000 and (classes.records == 1).all():
        return _of_single(classes, codes, values)
    alive = classes.label >= 0
    key, held = classes.label[alive] * values + codes[alive], classes.records[alive]
    if cells <= 4 * key.size + 1000:  # no larger than the rows: count into a table
        sums = np.bincount(key, weights=held, minlength=cells)
        pairs = np.flatnonzero(sums)
        records = sums[pairs]
    else:
        pairs, inverse = np.unique(key, return_inverse=True)
        records = np.bincount(inverse.ravel(), weights=held, minlength=pairs.size)
    start = np.searchsorted(pairs, np.arange(classes.sizes.size + 1, dtype=np.int64) * values)
    return Mix(pairs % values, np.rint(records).astype(np.int64), start, values)


def _of_single(classes: Classes, codes: NDArray[np.int64], values: int) -> Mix:
    """The same where every row is one record, in less room."""
    key = classes.label * values
    key += codes
    key.sort()
    new = np.ones(key.size, dtype=np.bool_)
    np.not_equal(key[1:], key[:-1], out=new[1:])
    pairs = key[new]
    del key
    records = np.diff(np.flatnonzero(new), append=new.size)
    start = np.searchsorted(pairs, np.arange(classes.sizes.size + 1, dtype=np.int64) * values)
    return Mix(pairs % values, records, start, values)

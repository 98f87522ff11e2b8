"""A heap of rows by key, the least first, of equals the first row."""

from __future__ import annotations

from shoal.kernels.compile.decorators import inner

__all__ = ["sink"]


@inner
def sink(key, row, its, who):
    """Put an item in place of the first of a heap."""
    at = 0
    child = 1
    while child < row.size:
        if child + 1 < row.size and (
            key[child + 1] < key[child] or (key[child + 1] == key[child] and row[child + 1] < row[child])
        ):
            child += 1
        if its < key[child] or (its == key[child] and who < row[child]):
            break
        key[at] = key[child]
        row[at] = row[child]
        at = child
        child = 2 * at + 1
    key[at] = its
    row[at] = who

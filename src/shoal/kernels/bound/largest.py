"""The k largest shares of some records: a heap, least first, with the records that each stands for."""

from __future__ import annotations

from shoal.kernels.compile.decorators import inner, leaf

__all__ = ["TINY", "put"]

TINY = 1e-300
"""Shares below it are none: a product of such is not always less, and 32 bits do not hold them."""


@leaf
def _push(value, held, size, one, records):
    """Put a share into the heap of the k largest, least first; its new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if value[above] <= one:
            break
        value[at] = value[above]
        held[at] = held[above]
        at = above
    value[at] = one
    held[at] = records
    return size + 1


@leaf
def _pop(value, held, size):
    """Take the least of the k largest shares out of their heap; its new size."""
    size -= 1
    one, records = value[size], held[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and value[below + 1] < value[below]:
            below += 1
        if value[below] >= one:
            break
        value[at] = value[below]
        held[at] = held[below]
        at = below
    value[at] = one
    held[at] = records
    return size


@inner
def put(value, held, size, total, worth, one, records, k):
    """Put records of a share among the k largest: size of the heap, records in it, and their sum.

    The heap holds at least k records, and fewer than k without its least share.
    """
    if total >= k and one <= value[0]:
        return size, total, worth
    records = min(records, k)  # no sum of more, of which k would be a small difference
    size = _push(value, held, size, one, records)
    total += records
    worth += one * records
    while total - held[0] >= k:
        total -= held[0]
        worth -= value[0] * held[0]
        size = _pop(value, held, size)
    return size, total, worth

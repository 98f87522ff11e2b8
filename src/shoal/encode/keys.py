"""Codes of a row as few whole numbers: what is counted, hashed, kept aside and sent around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["joined", "keys_needed", "narrowest", "pack_keys", "unpack_keys"]

ROOM = 2**62


def pack_keys(codes: NDArray[np.int32], sizes: Sequence[int]) -> NDArray[np.int64]:
    """One column per row of codes; keys stand in the order of the codes.

    >>> pack_keys(np.array([[1, 2], [0, 3]], dtype=np.int32), [2, 4]).tolist()
    [[6, 3]]
    """
    spans = _spans(sizes)
    keys = np.zeros((len(spans), len(codes)), dtype=np.int64)
    for at, axes in enumerate(spans):
        for axis in axes:
            keys[at] = keys[at] * sizes[axis] + codes[:, axis]
    return keys


def unpack_keys(keys: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int32]:
    """The codes that were packed, a row for each."""
    codes = np.empty((keys.shape[1], len(sizes)), dtype=np.int32)
    for key, axes in zip(keys, _spans(sizes), strict=True):
        rest = key.copy()
        for axis in reversed(axes):
            codes[:, axis] = rest % sizes[axis]
            rest //= sizes[axis]
    return codes


def keys_needed(sizes: Sequence[int]) -> int:
    """How many keys a row needs."""
    return len(_spans(sizes))


def joined(keys: NDArray[np.int64]) -> NDArray[Any]:
    """Several keys as one that is compared from left to right."""
    wide: NDArray[Any] = keys[0]
    if len(keys) == 1:
        return wide
    wide = np.empty(keys.shape[1], dtype=[(f"k{at}", np.int64) for at in range(len(keys))])
    for at, key in enumerate(keys):
        wide[f"k{at}"] = key
    return wide


def narrowest(sizes: Sequence[int]) -> list[np.dtype[np.unsignedinteger]]:
    """The smallest types that hold codes below these sizes.

    >>> [str(kind) for kind in narrowest([2, 256, 257, 70_000])]
    ['uint8', 'uint8', 'uint16', 'uint32']
    """
    return [np.min_scalar_type(max(size - 1, 0)) for size in sizes]


def _spans(sizes: Sequence[int]) -> list[list[int]]:
    """Which axes share a key."""
    spans: list[list[int]] = [[]]
    room = 1
    for axis, size in enumerate(sizes):
        if room > ROOM // max(size, 1):
            spans.append([])
            room = 1
        spans[-1].append(axis)
        room *= max(size, 1)
    return spans

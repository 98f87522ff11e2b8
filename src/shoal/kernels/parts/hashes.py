"""A hash of each row of packed codes, the same on every machine and in Spark."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry

__all__ = ["hash_keys"]


@entry
def hash_keys(keys, out):
    """What Spark's `xxhash64(bigint, ...)` gives for the keys (one row per key, one column per row)."""
    one, two, three = (
        np.uint64(0x9E3779B185EBCA87),
        np.uint64(0xC2B2AE3D27D4EB4F),
        np.uint64(0x165667B19E3779F9),
    )
    four, five = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
    for i in range(keys.shape[1]):
        h = np.uint64(42)
        for a in range(keys.shape[0]):
            x = np.uint64(keys[a, i]) * two
            x = ((x << np.uint64(31)) | (x >> np.uint64(33))) * one
            h = (h + five + np.uint64(8)) ^ x
            h = ((h << np.uint64(27)) | (h >> np.uint64(37))) * one + four
            h = (h ^ (h >> np.uint64(33))) * two
            h = (h ^ (h >> np.uint64(29))) * three
            h ^= h >> np.uint64(32)
        out[i] = h

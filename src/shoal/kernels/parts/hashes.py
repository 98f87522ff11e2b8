"""Hashes of rows of packed codes and of texts, the same on every machine and in Spark: XXH64.

Y. Collet. xxHash, the 64-bit variant. Spark's `xxhash64` begins with the seed 42.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner

__all__ = ["SEED", "hash_keys", "hash_rows", "hash_texts"]

SEED = np.uint64(42)
"""Where Spark begins."""
ONE, TWO, THREE, FOUR, FIVE = (
    np.uint64(0x9E3779B185EBCA87),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0x165667B19E3779F9),
    np.uint64(0x85EBCA77C2B2AE63),
    np.uint64(0x27D4EB2F165667C5),
)


@inner
def _turned(x, by):
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@inner
def _round(held, lane):
    return _turned(held + lane * TWO, 31) * ONE


@inner
def _mixed(h):
    h = (h ^ (h >> np.uint64(33))) * TWO
    h = (h ^ (h >> np.uint64(29))) * THREE
    return h ^ (h >> np.uint64(32))


@entry
def hash_keys(keys, out):
    """What Spark's `xxhash64(bigint, ...)` gives for the keys (one row per key, one column per row)."""
    for i in range(keys.shape[1]):
        h = SEED
        for a in range(keys.shape[0]):
            h = (h + FIVE + np.uint64(8)) ^ _round(np.uint64(0), np.uint64(keys[a, i]))
            h = _mixed(_turned(h, 27) * ONE + FOUR)
        out[i] = h


@entry
def hash_rows(codes, seed, out):
    """A hash of each row of codes, another for each seed."""
    for i in range(codes.shape[0]):
        h = seed
        for a in range(codes.shape[1]):
            h = (h + FIVE + np.uint64(8)) ^ _round(np.uint64(0), np.uint64(codes[i, a]))
            h = _mixed(_turned(h, 27) * ONE + FOUR)
        out[i] = h


@inner
def _lane(data, at, many):
    """So many bytes as one number, the lowest first."""
    x = np.uint64(0)
    for j in range(many):
        x |= np.uint64(data[at + j]) << np.uint64(8 * j)
    return x


@entry
def hash_texts(data, ends, seed, out):
    """The hash of each text: its bytes are data[ends[i] : ends[i + 1]]."""
    eight, four = np.int64(8), np.int64(4)
    for i in range(ends.size - 1):
        at, end = ends[i], ends[i + 1]
        size = end - at
        if size >= 32:
            a, b, c, d = seed + ONE + TWO, seed + TWO, seed, seed - ONE
            while at + 32 <= end:
                a = _round(a, _lane(data, at, eight))
                b = _round(b, _lane(data, at + 8, eight))
                c = _round(c, _lane(data, at + 16, eight))
                d = _round(d, _lane(data, at + 24, eight))
                at += 32
            h = _turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18)
            for held in (a, b, c, d):
                h = (h ^ _round(np.uint64(0), held)) * ONE + FOUR
        else:
            h = seed + FIVE
        h += np.uint64(size)
        while at + 8 <= end:
            h = _turned(h ^ _round(np.uint64(0), _lane(data, at, eight)), 27) * ONE + FOUR
            at += 8
        if at + 4 <= end:
            h = _turned(h ^ (_lane(data, at, four) * ONE), 23) * TWO + THREE
            at += 4
        while at < end:
            h = _turned(h ^ (np.uint64(data[at]) * FIVE), 11) * ONE
            at += 1
        out[i] = _mixed(h)

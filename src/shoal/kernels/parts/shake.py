"""SHAKE128 of many texts, several side by side, and the sum of their digests.

One permutation of Keccak does the same to every text, so eight of them stand side by side in the state and
a compiler makes each step one instruction for all. What comes out is what `hashlib.shake_128` gives.

NIST. FIPS 202: SHA-3 standard, permutation-based hash and extendable-output functions. 2015.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import entry, inner, leaf

__all__ = ["BLOCK", "add_digests"]

BLOCK = 168
"""Bytes that are taken in or given between two permutations."""
WORDS = BLOCK // 8
ROWS = 8
"""Texts side by side."""
END, LAST = np.uint64(0x1F), np.uint64(0x80 << 56)
"""What follows a text of SHAKE, and what closes its last block."""
CONSTANTS = np.array(
    [
        0x0000000000000001,
        0x0000000000008082,
        0x800000000000808A,
        0x8000000080008000,
        0x000000000000808B,
        0x0000000080000001,
        0x8000000080008081,
        0x8000000000008009,
        0x000000000000008A,
        0x0000000000000088,
        0x0000000080008009,
        0x000000008000000A,
        0x000000008000808B,
        0x800000000000008B,
        0x8000000000008089,
        0x8000000000008003,
        0x8000000000008002,
        0x8000000000000080,
        0x000000000000800A,
        0x800000008000000A,
        0x8000000080008081,
        0x8000000000008080,
        0x0000000080000001,
        0x8000000080008008,
    ],
    dtype=np.uint64,
)


@leaf
def _turned(word, by):
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@inner
def _permute(state):
    """Keccak-f[1600] of the states side by side: word i of text j stands at i * ROWS + j."""
    for number in range(24):
        constant = CONSTANTS[number]
        for at in range(ROWS):
            a0 = state[at]
            a1 = state[1 * ROWS + at]
            a2 = state[2 * ROWS + at]
            a3 = state[3 * ROWS + at]
            a4 = state[4 * ROWS + at]
            a5 = state[5 * ROWS + at]
            a6 = state[6 * ROWS + at]
            a7 = state[7 * ROWS + at]
            a8 = state[8 * ROWS + at]
            a9 = state[9 * ROWS + at]
            a10 = state[10 * ROWS + at]
            a11 = state[11 * ROWS + at]
            a12 = state[12 * ROWS + at]
            a13 = state[13 * ROWS + at]
            a14 = state[14 * ROWS + at]
            a15 = state[15 * ROWS + at]
            a16 = state[16 * ROWS + at]
            a17 = state[17 * ROWS + at]
            a18 = state[18 * ROWS + at]
            a19 = state[19 * ROWS + at]
            a20 = state[20 * ROWS + at]
            a21 = state[21 * ROWS + at]
            a22 = state[22 * ROWS + at]
            a23 = state[23 * ROWS + at]
            a24 = state[24 * ROWS + at]
            c0 = a0 ^ a5 ^ a10 ^ a15 ^ a20
            c1 = a1 ^ a6 ^ a11 ^ a16 ^ a21
            c2 = a2 ^ a7 ^ a12 ^ a17 ^ a22
            c3 = a3 ^ a8 ^ a13 ^ a18 ^ a23
            c4 = a4 ^ a9 ^ a14 ^ a19 ^ a24
            d0 = c4 ^ _turned(c1, 1)
            d1 = c0 ^ _turned(c2, 1)
            d2 = c1 ^ _turned(c3, 1)
            d3 = c2 ^ _turned(c4, 1)
            d4 = c3 ^ _turned(c0, 1)
            b0 = a0 ^ d0
            b1 = _turned(a6 ^ d1, 44)
            b2 = _turned(a12 ^ d2, 43)
            b3 = _turned(a18 ^ d3, 21)
            b4 = _turned(a24 ^ d4, 14)
            state[at] = b0 ^ (~b1 & b2) ^ constant
            state[1 * ROWS + at] = b1 ^ (~b2 & b3)
            state[2 * ROWS + at] = b2 ^ (~b3 & b4)
            state[3 * ROWS + at] = b3 ^ (~b4 & b0)
            state[4 * ROWS + at] = b4 ^ (~b0 & b1)
            b0 = _turned(a3 ^ d3, 28)
            b1 = _turned(a9 ^ d4, 20)
            b2 = _turned(a10 ^ d0, 3)
            b3 = _turned(a16 ^ d1, 45)
            b4 = _turned(a22 ^ d2, 61)
            state[5 * ROWS + at] = b0 ^ (~b1 & b2)
            state[6 * ROWS + at] = b1 ^ (~b2 & b3)
            state[7 * ROWS + at] = b2 ^ (~b3 & b4)
            state[8 * ROWS + at] = b3 ^ (~b4 & b0)
            state[9 * ROWS + at] = b4 ^ (~b0 & b1)
            b0 = _turned(a1 ^ d1, 1)
            b1 = _turned(a7 ^ d2, 6)
            b2 = _turned(a13 ^ d3, 25)
            b3 = _turned(a19 ^ d4, 8)
            b4 = _turned(a20 ^ d0, 18)
            state[10 * ROWS + at] = b0 ^ (~b1 & b2)
            state[11 * ROWS + at] = b1 ^ (~b2 & b3)
            state[12 * ROWS + at] = b2 ^ (~b3 & b4)
            state[13 * ROWS + at] = b3 ^ (~b4 & b0)
            state[14 * ROWS + at] = b4 ^ (~b0 & b1)
            b0 = _turned(a4 ^ d4, 27)
            b1 = _turned(a5 ^ d0, 36)
            b2 = _turned(a11 ^ d1, 10)
            b3 = _turned(a17 ^ d2, 15)
            b4 = _turned(a23 ^ d3, 56)
            state[15 * ROWS + at] = b0 ^ (~b1 & b2)
            state[16 * ROWS + at] = b1 ^ (~b2 & b3)
            state[17 * ROWS + at] = b2 ^ (~b3 & b4)
            state[18 * ROWS + at] = b3 ^ (~b4 & b0)
            state[19 * ROWS + at] = b4 ^ (~b0 & b1)
            b0 = _turned(a2 ^ d2, 62)
            b1 = _turned(a8 ^ d3, 55)
            b2 = _turned(a14 ^ d4, 39)
            b3 = _turned(a15 ^ d0, 41)
            b4 = _turned(a21 ^ d1, 2)
            state[20 * ROWS + at] = b0 ^ (~b1 & b2)
            state[21 * ROWS + at] = b1 ^ (~b2 & b3)
            state[22 * ROWS + at] = b2 ^ (~b3 & b4)
            state[23 * ROWS + at] = b3 ^ (~b4 & b0)
            state[24 * ROWS + at] = b4 ^ (~b0 & b1)


@inner
def _take_in(state, at, text, salt, block, last):
    """One block of a salted text into its state."""
    for word in range(WORDS):
        held = np.uint64(0)
        first = BLOCK * block + 8 * word - salt.size
        if first >= 0 and first + 8 <= text.size:  # most words by far
            for place in range(8):
                held |= np.uint64(text[first + place]) << np.uint64(8 * place)
        else:
            for place in range(first, min(first + 8, text.size + 1)):
                if place < 0:
                    byte = np.uint64(salt[salt.size + place])
                elif place < text.size:
                    byte = np.uint64(text[place])
                else:
                    byte = END
                held |= byte << np.uint64(8 * (place - first))
        state[word * ROWS + at] ^= held
    if last:
        state[(WORDS - 1) * ROWS + at] ^= LAST


@entry
def add_digests(letters, first, end, salt, total):
    """Add to `total` the digests, as long as it, of texts that fill the same number of blocks.

    Text i is `letters[first[i]:end[i]]`, and the salt stands before each.
    """
    state = np.empty(25 * ROWS, dtype=np.uint64)
    for start in range(0, first.size, ROWS):
        many = min(ROWS, first.size - start)
        blocks = (salt.size + end[start] - first[start]) // BLOCK + 1
        state[:] = 0
        for block in range(blocks):
            for at in range(many):
                text = letters[first[start + at] : end[start + at]]
                _take_in(state, at, text, salt, block, block + 1 == blocks)
            _permute(state)
        for given in range(0, total.size, WORDS):
            if given:
                _permute(state)
            for word in range(min(WORDS, total.size - given)):
                for at in range(many):
                    total[given + word] += state[word * ROWS + at]

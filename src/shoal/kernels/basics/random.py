"""Random numbers from a word of 64 bits that a caller seeds and each draw changes in place."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile.decorators import inner, leaf

__all__ = ["draw", "draw_word"]


@leaf
def draw(random):
    """The next random number in [0, 1) of a splitmix64 stream."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def draw_word(state):
    """The next 64 random bits of a xorshift stream."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return x

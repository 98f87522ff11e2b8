"""The kernels of improvement, compiled by another Python while groups are made: python -m this module."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile import ahead
from shoal.kernels.improve import chains
from shoal.kernels.improve.local_search import sweep
from shoal.kernels.improve.rebuild import rebuild
from shoal.kernels.improve.state import load_state
from shoal.kernels.neighbours.approximate import list_near

__all__ = ["begin", "wait"]

_HERE = "shoal.kernels.improve.first_run"


def begin() -> bool:
    """On a first run have the kernels of improvement compiled, if they never were; whether that began."""
    return ahead.begin(_HERE, chains._settle)


def wait() -> None:
    """Wait until the kernels of a first run are compiled."""
    ahead.wait(_HERE)


def _compile() -> None:
    """Compile what improvement needs on a first run, with a table of four numbers."""
    own, packed = ahead.four_numbers()
    near = list_near(own, packed, 2, np.zeros((1, 1), dtype=np.int64))
    group = np.array([0, 1, 0, 1], dtype=np.int32)
    state = load_state(own, packed, near, 2, np.arange(4), group, np.ones(4, dtype=np.int64), 0, 1.0)
    sweep(packed, state, 2)
    rebuild(packed, state, 2, 1, 0, 0.0, np.zeros(0))
    chains.settle(packed, state, 2)


if __name__ == "__main__":
    _compile()

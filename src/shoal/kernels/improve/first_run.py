"""The kernels of improvement, compiled by another Python while groups are made: python -m this module."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile import ahead
from shoal.kernels.improve import rebuild
from shoal.kernels.improve.state import load_state
from shoal.kernels.neighbours.approximate import list_near

__all__ = ["begin", "wait"]

_HERE = "shoal.kernels.improve.first_run"


def begin() -> bool:
    """Have them compiled, where they never were; tells whether that began."""
    return ahead.begin(_HERE, rebuild._rebuild)


def wait() -> None:
    """Wait until they are."""
    ahead.wait(_HERE)


def _compile() -> None:
    own, packed = ahead.four_numbers()
    near = list_near(own, packed, 2, np.zeros((1, 1), dtype=np.int64))
    group = np.array([0, 1, 0, 1], dtype=np.int32)
    state = load_state(own, packed, near, 2, np.arange(4), group, np.ones(4, dtype=np.int64), 0, 1.0)
    rebuild.rebuild(packed, state, 2, 1, 0, 0.0, np.zeros(0))


if __name__ == "__main__":
    _compile()

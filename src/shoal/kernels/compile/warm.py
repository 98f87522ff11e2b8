"""The first run ever: kernels needed late are compiled beside those that are needed first.

Compiling takes a core for some seconds, once per machine. A second Python does half of it meanwhile and
leaves it in Numba's cache. It sees no data: only a table of four numbers made up here.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

import numpy as np

from shoal.kernels.bound.shares import cell_floors, grow_shares
from shoal.kernels.compile.fresh import mark_of
from shoal.kernels.crowd.cheapest_first import sweep_rows
from shoal.kernels.crowd.cube import Cube, lay_out
from shoal.kernels.distance.packed import pack_metric
from shoal.kernels.distance.spans import LINE
from shoal.kernels.improve import rebuild
from shoal.kernels.improve.state import load_state
from shoal.kernels.neighbours.approximate import list_near

__all__ = ["begin", "wait"]

_helpers: list[subprocess.Popen[bytes]] = []
"""The second Python while it runs, at most one."""
_waiting = Lock()


def begin() -> bool:
    """Start the second Python, where the kernels are not in the cache and there is a core for it.

    Tells whether it did.
    """
    is_python = Path(sys.executable or "").name.startswith("python")  # not a program that embeds one
    if _helpers or not is_python or (os.cpu_count() or 1) < 2 or not _is_cold():
        return False
    try:
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", "shoal.kernels.compile.warm"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # then this Python compiles everything itself
        return False
    _helpers.append(helper)
    atexit.register(helper.kill)
    return True


def wait() -> None:
    """Wait until the second Python is done; whether it succeeded or not, the kernels can be called."""
    with _waiting:  # blocks are improved on threads, and each of them comes by
        while _helpers:
            _helpers[0].wait()
            atexit.unregister(_helpers.pop().kill)


def _is_cold() -> bool:
    """Whether Numba would cache the kernels, and has not."""
    stats = getattr(rebuild._rebuild, "stats", None)
    if stats is None or stats.cache_path is None:
        return False
    kept = Path(stats.cache_path).glob(f"rebuild._rebuild-*{mark_of(Path(rebuild.__file__))}*.nbi")
    return not any(kept)


def _compile() -> None:
    metric = SimpleNamespace(
        form=np.array([LINE]),
        size=np.array([4]),
        missing=np.array([-1]),
        offset=np.array([0]),
        data=np.arange(4) / 3,
        most=np.ones(1),
    )
    own, packed = pack_metric(metric, np.arange(4, dtype=np.int32)[:, None])
    near = list_near(own, packed, 2, np.zeros((1, 1), dtype=np.int64))
    group = np.array([0, 1, 0, 1], dtype=np.int32)
    state = load_state(own, packed, near, 2, np.arange(4), group, np.ones(4, dtype=np.int64), 0, 1.0)
    rebuild.rebuild(packed, state, 2, 1, 0, 0.0, np.zeros(0))
    swept = sweep_rows(own, np.ones(4, dtype=np.int64), metric, lay_out(0, [], []))
    everything = np.arange(4, dtype=np.int32)
    cube = Cube(everything, np.array([0, 4]), np.zeros(1), np.zeros(1, dtype=np.int64), True)
    floor, _ = cell_floors(swept, cube, 2, 1.0)
    grow_shares(swept, cube, 2, np.array([0.0, 0.5, 1.0]), floor, 3.0)


if __name__ == "__main__":
    _compile()

"""The first run ever: the kernels of improvement are compiled beside those that are needed before them.

Compiling takes a core for some seconds, once per machine. A second Python does half of it meanwhile and
leaves it in Numba's cache. It sees no data: only a table of four numbers made up here.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from shoal.kernels import rebuild
from shoal.kernels.region import improve_region
from shoal.kernels.spans import LINE

__all__ = ["begin", "wait"]

_helpers: list[subprocess.Popen[bytes]] = []
"""The second Python while it runs, at most one."""


def begin() -> None:
    """Start the second Python, where the kernels are not in the cache and there is a core for it."""
    is_python = Path(sys.executable or "").name.startswith("python")  # not a program that embeds one
    if _helpers or not is_python or (os.cpu_count() or 1) < 2 or not _is_cold():
        return
    try:
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", "shoal.kernels.warm"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # then this Python compiles everything itself
        return
    _helpers.append(helper)
    atexit.register(helper.kill)


def wait() -> None:
    """Wait until the second Python is done; whether it succeeded or not, the kernels can be called."""
    while _helpers:
        helper = _helpers.pop()
        helper.wait()
        atexit.unregister(helper.kill)


def _is_cold() -> bool:
    """Whether Numba would cache the kernels, and has not."""
    stats = getattr(rebuild._rebuild, "stats", None)
    if stats is None or stats.cache_path is None:
        return False
    return not any(Path(stats.cache_path).glob("rebuild._rebuild-*.nbi"))


def _compile() -> None:
    metric = SimpleNamespace(
        form=np.array([LINE]),
        size=np.array([4]),
        missing=np.array([-1]),
        offset=np.array([0]),
        data=np.arange(4) / 3,
        most=np.ones(1),
    )
    codes = np.arange(4, dtype=np.int32)[:, None]
    group = np.array([0, 1, 0, 1], dtype=np.int32)
    count = np.ones(4, dtype=np.int64)
    orders = np.zeros((1, 1), dtype=np.int64)
    improve_region(codes, metric, np.arange(4), group, count, 2, 0, 1.0, True, 1, orders, 0)


if __name__ == "__main__":
    _compile()

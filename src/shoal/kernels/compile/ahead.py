"""The first run ever: kernels needed late are compiled beside those that are needed first.

Compiling takes a core for some seconds, once per machine. Other Pythons do the larger part of it meanwhile
and leave it in Numba's cache. They run a module that sees no data: only a table of four numbers.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compile.fresh import mark_of
from shoal.kernels.distance.packed import PackedMetric, pack_metric
from shoal.kernels.distance.spans import LINE

__all__ = ["begin", "four_numbers", "give_way", "wait"]

LATER = 10
"""By how much a Python gives way whose kernels are needed last."""
_helpers: dict[str, subprocess.Popen[bytes]] = {}
"""The other Pythons while they run, by the module that they run."""
_waiting = Lock()


def begin(module: str, last: Any) -> bool:
    """Compile ahead: start a Python that runs `module`, if a core is there and `last` is not kept.

    Tells whether one runs.
    """
    helper = _helpers.get(module)
    if helper is not None:
        return helper.poll() is None
    is_python = Path(sys.executable or "").name.startswith("python")  # not a program that embeds one
    if not is_python or (os.cpu_count() or 1) < 2 or not _is_cold(last):
        return False
    try:
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"},  # nobody sees them
        )
    except OSError:  # then this Python compiles everything itself
        return False
    _helpers[module] = helper
    atexit.register(helper.kill)
    return True


def wait(module: str) -> None:
    """Wait for the Python that compiles ahead; whether it succeeded or not, the kernels can be called."""
    with _waiting:  # blocks are improved on threads, and each of them comes by
        helper = _helpers.get(module)
        if helper is not None:
            helper.wait()
            atexit.unregister(helper.kill)
            del _helpers[module]


def give_way() -> None:
    """In a Python that compiles ahead what is needed last: leave the cores to others."""
    if hasattr(os, "nice"):
        os.nice(LATER)


def four_numbers() -> tuple[NDArray[np.int32], PackedMetric]:
    """The codes and the metric of a table of four numbers, to compile ahead with."""
    metric = SimpleNamespace(
        form=np.array([LINE]),
        size=np.array([4]),
        missing=np.array([-1]),
        offset=np.array([0]),
        data=np.arange(4) / 3,
        most=np.ones(1),
    )
    return pack_metric(metric, np.arange(4, dtype=np.int32)[:, None])


def _is_cold(last: Any) -> bool:
    """Whether Numba would keep the kernel once compiled, and has not."""
    stats = getattr(last, "stats", None)
    if stats is None or stats.cache_path is None:
        return False
    source = Path(last.py_func.__code__.co_filename)
    kept = Path(stats.cache_path).glob(f"{source.stem}.{last.__name__}-*{mark_of(source)}*.nbi")
    return not any(kept)

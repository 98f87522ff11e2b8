"""A kernel over a range of rows, run on as many threads as Numba may use.

Each row writes its own slot, so the number of threads changes nothing. Numba's own loops in parallel take
seconds to compile; these kernels let go of Python's lock and are called side by side instead.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from numba import get_num_threads

__all__ = ["over_rows"]

BLOCK = 256
SHARES = 8
"""Blocks per thread, so that none waits long for the last one."""


def over_rows(rows: int, work: Callable[[int, int], object], least: int = BLOCK) -> None:
    """On many threads call work(first, last) for blocks that are all rows, each of at least so many."""
    threads = get_num_threads()
    if threads == 1 or rows <= least:
        work(0, rows)
        return
    block = max(least, -(-rows // (SHARES * threads)))
    with ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(work, at, min(rows, at + block)) for at in range(0, rows, block)]
        for job in jobs:
            job.result()

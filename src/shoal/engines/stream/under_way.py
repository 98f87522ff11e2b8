"""Work on threads without piling up results, and without more memory than is allowed."""

from __future__ import annotations

import ctypes
import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from shoal.errors import PlanError

__all__ = ["Hands", "resident", "under_way"]

A = TypeVar("A")
B = TypeVar("B")
NEAR = 0.85
"""The share of the memory from which on nothing new is begun before what is under way is done."""


@dataclass(frozen=True, slots=True)
class Hands:
    """How many items are worked on at a time, and the bytes that the process may hold; None for any.

    Of these `room` is for what is under way.
    """

    workers: int
    most: int | None = None
    room: int | None = None

    def has_room(self, sizes: Iterable[int]) -> bool:
        """Whether items of so many bytes may be under way together."""
        return self.room is None or sum(sizes) <= self.room

    def is_near(self) -> bool:
        """Whether little memory is left."""
        return self.most is not None and resident() > NEAR * self.most

    def check(self) -> None:
        """Stop where the process holds more than it may, and nothing is under way that would end."""
        if self.most is None or resident() <= self.most:
            return
        _give_back()
        held = resident()
        if held > self.most:
            raise PlanError(
                f"The run holds {held / 1e9:.1f} GB of memory, and {self.most / 1e9:.1f} GB are allowed. "
                "Nothing was published. Allow more memory, or smaller parts.",
                field="memory",
            )


def resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _give_back() -> None:
    """Memory that libraries keep for later, back to the system."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def under_way(
    work: Callable[[A], B], items: Iterable[A], hands: Hands, size: Callable[[A], int] = lambda _item: 0
) -> Iterator[B]:
    """What work gives for each item, in their order, with few of them waiting at any time.

    `size` says about how many bytes the work on an item takes.
    """
    if hands.is_near():
        _give_back()
    if hands.workers <= 1:
        for item in items:
            hands.check()
            yield work(item)
        return
    with ThreadPoolExecutor(hands.workers) as pool:
        waiting: deque[tuple[Future[B], int]] = deque()
        try:
            for item in items:
                its = size(item)
                while waiting and (
                    len(waiting) > hands.workers
                    or not hands.has_room([its, *(taken for job, taken in waiting if not job.done())])
                    or hands.is_near()
                ):
                    yield waiting.popleft()[0].result()
                if hands.is_near():
                    _give_back()
                if not waiting:
                    hands.check()
                waiting.append((pool.submit(work, item), its))
            while waiting:
                yield waiting.popleft()[0].result()
        finally:
            for job, _ in waiting:
                job.cancel()

"""Work on threads without piling up results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["under_way"]

A = TypeVar("A")
B = TypeVar("B")


def under_way(work: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """What work gives for each item, in their order, with few of them waiting at any time."""
    if workers <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[B]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()

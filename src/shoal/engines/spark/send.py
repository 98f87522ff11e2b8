"""Work that is sent to Spark's workers: small functions that name ours and carry what they need.

A function is told by the name of its module and its own, and what it works with travels as bytes: a worker
that has no Shoal, or another one, says so in words. Libraries look once, when they are imported, how many
threads they may have, so that is said before anything of ours is imported there.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

from shoal.model.hierarchy import Builder
from shoal.read.hierarchy import parse_builder

__all__ = ["of_batches", "of_group"]

Batches = Iterator[Any]


def of_batches(work: Callable[[Any, Batches], Batches], about: Any) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow`: `work(about, batches)` gives batches."""
    name, packed = _named(work), _packed(about)

    def run(batches):  # type: ignore[no-untyped-def]
        import os

        for word in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(word, "1")
        from shoal.engines.spark.worker import apply

        yield from apply(name, packed, batches)

    return run


def of_group(work: Callable[[Any, int, Any], Any], about: Any) -> Callable[[Any, Any], Any]:
    """A function for `applyInArrow`, grouped by a whole number: `work(about, number, table)` is a table."""
    name, packed = _named(work), _packed(about)

    def run(key, table):  # type: ignore[no-untyped-def]
        import os

        for word in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(word, "1")
        from shoal.engines.spark.worker import apply_to_group

        return apply_to_group(name, packed, key, table)

    return run


def _named(work: Callable[..., Any]) -> str:
    return f"{work.__module__}:{work.__qualname__}"


def _packed(about: Any) -> bytes:
    file = io.BytesIO()
    _Packer(file, protocol=pickle.HIGHEST_PROTOCOL).dump(about)
    return file.getvalue()


class _Packer(pickle.Pickler):
    """Plans hold mappings that nobody may change and builders, which pickle does not know."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Builder:
            return parse_builder, (value.text,)
        return (_unchanging, (dict(value),)) if type(value) is MappingProxyType else NotImplemented


def _unchanging(words: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(words)

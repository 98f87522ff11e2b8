"""What runs on a worker: silent, and nothing but our own words leaves it.

Whatever fails there would be quoted in Spark's logs, in its pages and in the driver's error. So every error
is caught: ours pass with their words, which have no cell, and of others the name of their type. Libraries
write to standard error when they fail, cells and all, so it is shut while our work runs.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from shoal.errors import BrokenPromise, ShoalError

__all__ = ["MARK", "WorkerFailed", "apply", "apply_to_group"]

MARK = "shoal-worker-failed:"


class WorkerFailed(Exception):
    """What a worker says of an error, in letters that no log breaks."""


def apply(name: str, packed: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Work on batches of rows."""
    with _in_own_words(), _silent():
        work, about = _find(name), _unpacked(packed)
        yield from work(about, batches)


def apply_to_group(name: str, packed: bytes, key: Any, table: Any) -> Any:
    """Work on all rows of a group."""
    with _in_own_words(), _silent():
        work, about = _find(name), _unpacked(packed)
        return work(about, key[0].as_py(), table)


@contextmanager
def _in_own_words() -> Iterator[None]:
    try:
        yield
    except GeneratorExit:
        raise
    except BaseException as error:
        told: dict[str, Any] = {"kind": type(error).__name__, "shoal": version("shoal")}
        if isinstance(error, ShoalError | BrokenPromise):
            told |= {"text": str(error)}
            told |= {word: getattr(error, word, None) for word in ("field", "column")}
            told |= {word: getattr(error, word) for word in ("rows", "k") if hasattr(error, word)}
        words = base64.b64encode(json.dumps(told).encode()).decode()
        raise WorkerFailed(f"{MARK}{words}:") from None


@contextmanager
def _silent() -> Iterator[None]:
    """No word of any library reaches the worker's standard error."""
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # somebody shut it before
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _find(name: str) -> Any:
    import numba

    numba.set_num_threads(1)
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


@lru_cache(maxsize=2)
def _unpacked(packed: bytes) -> Any:
    return pickle.loads(packed)

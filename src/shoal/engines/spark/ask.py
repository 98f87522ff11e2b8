"""Spark as it is asked by the driver: names as they are, and errors in our own words."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

from shoal import errors
from shoal.engines.spark.worker import MARK
from shoal.errors import BrokenPromise, DataError, ShoalError, TooFewRows

__all__ = ["collected", "in_own_words", "is_connected", "named", "renamed", "row_hash"]


BITS = 30
"""Columns whose missing cells share a whole number."""


def named(name: str) -> Any:
    """A column by its name, whatever letters that has."""
    from pyspark.sql import functions as f

    return f.col(f"`{name.replace('`', '``')}`")


def renamed(frame: Any, names: Sequence[str], to: Sequence[str]) -> Any:
    """Some columns under other names."""
    return frame.select(*(named(name).alias(other) for name, other in zip(names, to, strict=True)))


def row_hash(names: Sequence[str]) -> Any:
    """A hash of 64 bits of the cells of each row, and of where they are missing."""
    from pyspark.sql import functions as f

    missing = []
    for first in range(0, len(names), BITS):  # null cells say nothing to a hash, wherever they stand
        bits = [
            f.when(named(name).isNull(), 1 << at).otherwise(0)
            for at, name in enumerate(names[first : first + BITS])
        ]
        missing.append(reduce(lambda one, other: one.bitwiseOR(other), bits))
    return f.xxhash64(*missing, *map(named, names))


def is_connected(frame: Any) -> bool:
    """Whether a frame lives on a server that is spoken to by Spark Connect."""
    return type(frame).__module__.startswith("pyspark.sql.connect")


def collected(frame: Any, doing: str) -> Any:
    """A small result as an Arrow table; `doing` says in an error what Spark was asked."""
    with in_own_words(doing):
        return frame.toArrow()


@contextmanager
def in_own_words(doing: str) -> Iterator[None]:
    """What went wrong in Spark, without what it quotes: its errors hold rows, paths and plans."""
    try:
        yield
    except (ShoalError, BrokenPromise):
        raise
    except Exception as error:
        raise _translated(error, doing) from None


def _translated(error: Exception, doing: str) -> Exception:
    text = str(error)
    found = re.search(f"{MARK}([A-Za-z0-9+/=]+):", text)
    if found is not None:
        return _of_worker(json.loads(base64.b64decode(found[1])), doing)
    if "No module named 'shoal" in text:
        return DataError(
            "Spark's workers have no Shoal, or another one. Install the same version for the Python that "
            "workers run (PYSPARK_PYTHON, or the cluster's environment)."
        )
    kind = type(error).__name__
    ask = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    condition = None
    if callable(ask):
        try:
            condition = ask()
        except Exception:
            condition = None
    # a condition is a word of Spark's own, such as CAST_INVALID_INPUT
    word = condition if isinstance(condition, str) and re.fullmatch(r"[A-Z0-9_.]+", condition) else kind
    return DataError(
        f"Spark failed while {doing} ({word}). Nothing was published. Ask Spark for the same rows to see "
        "why: its words may quote cells, so they are not repeated here."
    )


def _of_worker(told: dict[str, Any], doing: str) -> Exception:
    kind = getattr(errors, str(told["kind"]), None)
    if kind is TooFewRows and {"rows", "k"} <= told.keys():
        return TooFewRows(rows=told["rows"], k=told["k"])
    if "text" in told and isinstance(kind, type) and issubclass(kind, BrokenPromise):
        return BrokenPromise(told["text"])
    if "text" in told and isinstance(kind, type) and issubclass(kind, ShoalError):
        plain = kind if kind in {errors.DataError, errors.PlanError} else DataError
        return plain(told["text"], field=told.get("field"), column=told.get("column"))
    if told["kind"] == "MemoryError":
        return DataError(
            f"A worker of Spark had no memory left while {doing}. Give workers more memory, or say smaller "
            "parts.",
            field="part",
        )
    return DataError(f"A worker of Spark failed while {doing} ({told['kind']}). Nothing was published.")

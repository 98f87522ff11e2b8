"""The key of pseudonyms: read where it is there, made where it is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from shoal.errors import PlanError
from shoal.model.plan import Plan
from shoal.model.pseudonym import Key
from shoal.publish.key import check_key, write_key
from shoal.read.key import read_key

__all__ = ["key_of"]


def key_of(plan: Plan, path: str | os.PathLike[str] | None) -> tuple[Key | None, Callable[[], None]]:
    """The key that a plan needs, and how to keep it; a new one is kept when nothing is refused any more."""
    if plan.pseudonym is None:
        if path is not None:
            raise PlanError(
                "A key is for pseudonyms, and the plan has none. Name their column as pseudonym, or leave "
                "out the key.",
                field="pseudonym",
            )
        return None, _do_nothing
    if path is None:
        raise PlanError(
            "Pseudonyms need a key. Name its file; where there is none of that name, Shoal makes one.",
            field="key",
        )
    found = read_key(path)
    if found is not None:
        return found, _do_nothing
    check_key(path)
    made = Key.new()
    return made, partial(write_key, made, path)


def _do_nothing() -> None:
    """A key that is there stays as it is."""

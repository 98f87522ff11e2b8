"""What a table that is worked on in parts may ask for, and how much memory it may take."""

from __future__ import annotations

import os

from shoal.engines.stream.under_way import Hands, resident
from shoal.errors import PlanError
from shoal.model.plan import Plan
from shoal.model.size import bytes_of

__all__ = ["LEAST", "PER_CODE", "check_plan", "hands_of", "memory_of"]

LEAST = 500_000_000
"""Bytes that Python, its libraries, batches under way and their buffers take."""
PER_CODE = 60
"""Bytes for each code of a part that is being grouped, by the method that takes most."""
PER_CLASS = 40
"""Bytes for each class until the release is written, of which there are at most rows / k."""
MOST_WORKERS = 8


def check_plan(plan: Plan) -> None:
    """Refuse what cannot be done part by part."""
    for field, possible in {"style": "generalize", "cells": "text", "distance": "span"}.items():
        if getattr(plan, field) != possible:
            raise PlanError(
                f"A table that is worked on in parts has {field} = {possible!r} only; the plan says "
                f"{getattr(plan, field)!r}. Change it, or use the engine 'memory'.",
                field=field,
            )
    for name in plan.quasi:
        kind = plan.kind(name)
        if kind is not None and kind.name in {"place", "region"}:
            raise PlanError(
                f"Column {name!r} is a {kind.name}; a table that is worked on in parts takes numbers, "
                "dates, trees and labels. Leave it out, or use the engine 'memory'.",
                field="kinds",
                column=name,
            )
    if plan.stop_at is not None:
        raise PlanError(
            "A table that is worked on in parts cannot stop at a ratio: its bound is proved when all parts "
            "are done. Leave stop_at out, or use the engine 'memory'.",
            field="stop_at",
        )


def memory_of(plan: Plan) -> int:
    """Bytes that may be used: what the plan says, or half of what the machine has."""
    if plan.memory is not None:
        return bytes_of(plan.memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def hands_of(plan: Plan, rows: int) -> Hands:
    """How many parts may be grouped at a time; refuses where there is no memory for one.

    What the process held before, beyond Python and its libraries, is not the run's.
    """
    part = PER_CODE * len(plan.quasi) * min(plan.part, rows)
    base = LEAST + PER_CLASS * (rows // plan.k)
    memory = memory_of(plan)
    room = (memory - base) // max(part, 1)
    if room < 1:
        raise PlanError(
            f"Parts of {plan.part:,} rows need about {(base + part) / 1e9:.1f} GB of memory for a table of "
            f"{rows:,} rows, and {memory / 1e9:.1f} GB are allowed. Allow more, or smaller parts.",
            field="memory",
        )
    workers = int(min(room, plan.threads or os.cpu_count() or 1, MOST_WORKERS))
    return Hands(workers, memory + max(0, resident() - LEAST), memory - base)

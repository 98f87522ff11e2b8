"""Texts of the original in bytes that leave the house."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fuzzing.cases import Case
from fuzzing.judge import Fault
from fuzzing.published import Published

__all__ = ["needles", "scan"]


def scan(case: Case, published: Published, hay: dict[str, bytes]) -> Iterator[Fault]:
    """Texts of the original that no published cell shows, in bytes that leave the house."""
    shown = "\n".join(published.texts)
    for needle in needles(case):
        if needle in shown:
            continue
        sought = needle.encode()
        for found in hay.values():
            if sought in found:
                kind = re.sub(r"^.*canary |\s*[0-9a-f]{12}$", "", needle)
                yield Fault("leak", f"{kind} text of {case.door}")


def needles(case: Case) -> list[str]:
    """All long texts: cells, members of categories that no cell has, rows that were sliced off."""
    found = [f"canary hidden {case.seed:012x}"]
    for column in case.columns:
        cells = [*(cell for cell in column.cells if isinstance(cell, str)), *column.unused]
        found += [cell for cell in cells if "canary" in cell]
    return sorted(set(found))

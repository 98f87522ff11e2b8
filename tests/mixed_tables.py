"""Tables of any length with a column of every kind, missing cells and copies, for work in parts."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

from shoal.model.hierarchy import Hierarchy
from tables import PATHS

__all__ = ["mixed_table", "mixed_words"]


def mixed_table(rows: int, *, seed: int = 0, missing: float = 0.05) -> pl.DataFrame:
    """Numbers, floats, dates, a tree, labels; a sensitive text and a kept number."""
    random = np.random.default_rng(seed)

    def some(cells: list[Any]) -> list[Any]:
        absent = random.random(rows) < missing
        return [None if out else cell for cell, out in zip(cells, absent, strict=True)]

    first = date(1950, 1, 1)
    return pl.DataFrame(
        {
            "income": some((np.round(random.lognormal(3, 1, rows)) * 10).astype(int).tolist()),
            "height": some((np.round(random.normal(0, 2, rows), 1) + 0.0).tolist()),
            "birth": some([first + timedelta(days=int(day)) for day in random.integers(0, 900, rows)]),
            "job": some([PATHS[at][0] for at in random.integers(0, len(PATHS), rows)]),
            "town": some([f"{{town}} {at}" for at in random.integers(0, 6, rows)]),
            "ill": some([f"ill {at}" for at in random.integers(0, 9, rows)]),
            "cost": some(random.integers(0, 40, rows).tolist()),
        },
        schema_overrides={"income": pl.Int32, "birth": pl.Date},
    )


def mixed_words(**more: Any) -> dict[str, Any]:
    """The keywords of a plan for such a table."""
    return {
        "k": 4,
        "quasi": ("income", "height", "birth", "job", "town"),
        "sensitive": ("ill",),
        "keep": ("cost",),
        "hierarchies": {"job": Hierarchy.of_paths(PATHS)},
        **more,
    }

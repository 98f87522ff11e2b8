"""Clusters of any size with a cost for opening each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal import engines
from shoal.errors import DataError, PlanError
from shoal.model.cells import Cells
from shoal.model.plan import Plan
from shoal.model.task import Progress, quiet
from shoal.read.frames import to_polars
from shoal.run.plans import plan_of

__all__ = ["cellular"]


def cellular(
    frame: Any,
    plan: Plan | None = None,
    *,
    opening: Any,
    matrix: Any = None,
    progress: Progress = quiet,
    **words: Any,
) -> Cells:
    """Clusters of any size around centres, the least sum of size * radius and opening costs; factor 3.

    `opening` is what a cluster costs besides, wherever its centre is: a number of at least 0, or one for
    each row of the frame. Columns, kinds, hierarchies, weights and the distance are those of a plan; there
    is no k. Nothing is made anonymous by this: it says who stands around whom.
    """
    for word in ("k", "withhold", "rules", "unit"):
        if word in words:
            raise PlanError(
                f"Clusters with opening costs have no {word}. Leave it out, or use shoal.anonymize with "
                "the method 'cellular'."
            )
    plan = plan_of(plan, {"k": 2, "withhold": 0.0, "rules": (), "unit": None, **words})
    if plan.options:
        raise PlanError(f"Clusters with opening costs have no option {', '.join(plan.options)}.")
    if matrix is not None and plan.distance == "span":
        plan = replace(plan, distance="matrix")
    _, original = to_polars(frame)
    if original.height < 2:
        raise DataError(f"Clusters need at least 2 rows; the table has {original.height}. Add rows.")
    costs = _costs(opening, original.height)
    at = engines.load(plan.engine)
    with at.threads(plan.threads):
        progress("encoding", 0.0)
        coded = at.encode(original, plan, matrix=matrix)
        found: Cells = at.cells(coded, costs, plan, progress)
    progress("done", 1.0)
    return found


def _costs(opening: Any, rows: int) -> Any:
    """Opening costs as an array, one per row."""
    import numpy as np

    try:
        costs = np.asarray(opening, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlanError("Opening costs are not numbers. Give one number, or one for each row.") from None
    if costs.ndim == 0:
        costs = np.full(rows, float(costs))
    if costs.shape != (rows,):
        shape = " x ".join(str(side) for side in costs.shape)
        raise PlanError(
            f"There are {shape} opening costs for {rows} rows. Give one number, or one for each row."
        )
    bad = int((~np.isfinite(costs) | (costs < 0)).sum())
    if bad:
        raise PlanError(
            f"{bad} of {rows} opening costs are below 0 or not finite. A cost is a number of at least 0."
        )
    return costs

"""Clusters of any size with a cost for opening each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from shoal import engines
from shoal.bound import hold_below, value_of
from shoal.errors import DataError, PlanError
from shoal.group.centres.opening import open_cells
from shoal.model.clusters import Clusters
from shoal.model.coded import Coded
from shoal.model.fields import FIELDS, explained
from shoal.model.plan import Plan
from shoal.model.task import Effort, Progress, Task, quiet
from shoal.model.words import Words
from shoal.recode import radii_of
from shoal.run.anonymize import threads
from shoal.run.plans import plan_of

__all__ = ["cellular"]

WITHOUT = ("k", "withhold", "rules", "unit")


@explained(name for name in FIELDS if name not in WITHOUT)
def cellular(
    frame: Any,
    plan: Plan | None = None,
    *,
    opening: Any,
    matrix: Any = None,
    progress: Progress = quiet,
    **words: Unpack[Words],
) -> Clusters:
    """Find clusters of any size around centres: a small sum of size * radius and opening costs.

    The sum is at most 3 times the least. Nothing is made anonymous by this: it says who stands around whom.

    Args:
        frame: A pandas, Polars or Arrow frame.
        plan: What the columns are; its k, withhold, rules and unit are not used.
        opening: What a cluster costs besides, wherever its centre is: a number of at least 0, or one for
            each row of the frame.
        matrix: The distance of every two rows, in the order of the frame.
        progress: Called with what is being done, in words without cells, and the share done.

    Returns:
        The cluster of each row, and the centre, size and radius of each cluster.

    Raises:
        PlanError: What is asked for cannot be right, or is for releases alone, such as k.
        DataError: The table does not fit what is asked, or has fewer than 2 rows.

    Example:
        >>> import polars as pl, shoal
        >>> table = pl.DataFrame({"age": [20, 21, 22, 50, 51]})
        >>> cells = shoal.cellular(table, quasi=["age"], opening=0.1)
        >>> cells.label.tolist(), cells.size.tolist()
        ([0, 0, 0, 1, 1], [3, 2])

    """
    for word in WITHOUT:
        if word in words:
            raise PlanError(
                f"Clusters with opening costs have no {word}. Leave it out, or use shoal.anonymize with "
                "the method 'cellular'.",
                field=word,
            )
    plan = plan_of(plan, {"k": 2, "withhold": 0.0, "rules": (), "unit": None, **words}).nameless
    if plan.options:
        raise PlanError(
            f"Clusters with opening costs have no option {', '.join(plan.options)}.", field="options"
        )
    if matrix is not None and plan.distance == "span":
        plan = replace(plan, distance="matrix")
    at = engines.load("memory")
    table = at.open(frame, plan)
    if table.rows < 2:
        raise DataError(f"Clusters need at least 2 rows; the table has {table.rows}. Add rows.")
    costs = _costs(opening, table.rows)
    with threads(plan.threads):
        progress("encoding", 0.0)
        coded = at.code(table, at.survey(table, plan, quiet), plan, quiet, matrix=matrix)
        found = _clusters(coded, costs, plan, progress)
    progress("done", 1.0)
    return found


def _clusters(coded: Coded, opening: NDArray[np.float64], plan: Plan, progress: Progress) -> Clusters:
    """Clusters with a cost for opening each; of rows that look alike the cheapest may be a centre."""
    empty = np.zeros(coded.row.size, dtype=np.bool_) if coded.records is None else coded.records == 0
    by_cost = np.lexsort((opening, empty, coded.row))
    used, first = np.unique(coded.row[by_cost], return_index=True)
    cheapest = np.zeros(coded.distinct, dtype=np.int64)
    cheapest[used] = by_cost[first]
    task = Task(k=1, effort=Effort.parse(plan.effort), progress=progress)
    grouping = open_cells(coded, opening[cheapest], task)
    assert grouping.centre is not None, "clusters have centres"
    assert grouping.proof is not None, "the duals are a proof"
    label = np.full(coded.distinct, -1, dtype=np.int32)
    label[grouping.distinct] = grouping.group
    centre = cheapest[grouping.centre].astype(np.int32)
    value = value_of("cellular", coded, grouping) + float(opening[centre].sum())
    return Clusters(
        label=label[coded.row],
        centre=centre,
        size=grouping.sizes,
        radius=radii_of(coded, grouping),
        value=value,
        bound=hold_below(grouping.proof, value).bound,
    )


def _costs(opening: Any, rows: int) -> Any:
    """Opening costs as an array, one per row."""
    try:
        costs = np.asarray(opening, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlanError(
            "Opening costs are not numbers. Give one number, or one for each row.", field="opening"
        ) from None
    if costs.ndim == 0:
        costs = np.full(rows, float(costs))
    if costs.shape != (rows,):
        shape = " x ".join(str(side) for side in costs.shape)
        raise PlanError(
            f"There are {shape} opening costs for {rows} rows. Give one number, or one for each row.",
            field="opening",
        )
    bad = int((~np.isfinite(costs) | (costs < 0)).sum())
    if bad:
        raise PlanError(
            f"{bad} of {rows} opening costs are below 0 or not finite. A cost is a number of at least 0.",
            field="opening",
        )
    return costs

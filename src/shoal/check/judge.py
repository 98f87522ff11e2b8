"""Classes, verdict on k, and every measurement, from the finished table alone."""

from __future__ import annotations

import polars as pl

from shoal.model.column import Column
from shoal.model.plan import Plan
from shoal.model.verdict import Risk, Verdict

__all__ = ["judge"]


def judge(table: pl.DataFrame, plan: Plan, columns: tuple[Column, ...], *, withheld: int) -> Verdict:
    """Judge a finished table by its published quasi-identifier cells."""
    others = {*plan.sensitive, *plan.keep, plan.count}
    quasi = [name for name in table.columns if name not in others]
    records = pl.col(plan.count).sum() if plan.count else pl.len()
    sizes = table.group_by(quasi).agg(records.alias("\0records"))["\0records"]
    smallest = int(sizes.min() or 0)  # type: ignore[arg-type]
    total = int(sizes.sum())
    reasons = () if smallest >= plan.k else (f"The smallest class has {smallest} records.",)
    return Verdict(
        k=plan.k,
        records=total + withheld,
        withheld=withheld,
        classes=len(sizes),
        smallest_class=smallest,
        largest_class=int(sizes.max() or 0),  # type: ignore[arg-type]
        mean_class=total / max(len(sizes), 1),
        discernibility=int((sizes**2).sum()),
        entropy=None,
        loss=None,
        loss_percent=None,
        columns=(),
        sensitive=(),
        risk=Risk(1 / max(smallest, 1), 0.0, 0.0, 0.0, 0),
        reasons=reasons,
    )

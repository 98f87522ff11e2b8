"""The border bound on Spark: every part is looked at on whichever worker Spark sends its tuples to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.bound.border import BoxSearch, proof_of_shares, search_for, shares_of_part
from shoal.encode.keys import unpack_keys
from shoal.engines.spark.ask import collected
from shoal.engines.spark.route import route_all
from shoal.engines.spark.send import of_group
from shoal.engines.spark.tuples import key_names
from shoal.engines.spark.values import InSpark
from shoal.model.coded import Metric, pack
from shoal.model.grouping import Proof
from shoal.model.parts import Cuts
from shoal.model.task import Task, quiet

__all__ = ["look_at_part", "prove_on_workers"]


@dataclass(frozen=True, slots=True, eq=False)
class _Proving:
    """What it takes to look at any part: small, and all that travels."""

    sizes: tuple[int, ...]
    metric: Metric
    cuts: Cuts
    task: Task
    search: BoxSearch


def prove_on_workers(coded: InSpark, task: Task, loss: float) -> Proof:
    """What the records of all parts pay at least, added up in the order of parts.

    `loss` is that of a record in the release at hand, on average.
    """
    assert coded.cuts is not None, "a table of many tuples is cut"
    metric = pack([(axis, column.weight) for column in coded.columns for axis in column.axes])
    search = search_for(task, coded.total, len(coded.columns), coded.about.plan.part, loss)
    quiet_task = replace(task, threads=1, progress=quiet)
    about = _Proving(tuple(coded.coder.sizes), metric, coded.cuts, quiet_task, search)
    names = key_names(coded.coder)
    tuples = coded.rows.frame.groupBy(*names).agg(coded.records.alias("n"))
    by_part = route_all(tuples, coded.cuts, about.sizes, len(names))
    told = by_part.groupBy("block").applyInArrow(of_group(look_at_part, about), "part bigint, share double")
    found = collected(told, "proving a bound")
    order = np.argsort(found.column("part").to_numpy(), kind="stable")
    return proof_of_shares(
        found.column("share").to_numpy()[order].tolist(), search, coded.cuts, coded.total
    )


def look_at_part(about: _Proving, part: int, table: Any) -> Any:
    """On a worker: what the records of one part pay at least."""
    many = table.num_columns - 2
    keys = np.stack([table.column(1 + at).to_numpy() for at in range(many)])
    order = np.lexsort(keys[::-1])  # the same sums whatever the order in which tuples came
    codes = unpack_keys(keys[:, order], about.sizes)
    count = table.column("n").to_numpy().astype(np.int64)[order]
    share = shares_of_part(
        (codes, count), metric=about.metric, cuts=about.cuts, task=about.task, search=about.search
    )
    return pa.table({"part": pa.array([part], pa.int64()), "share": pa.array([share])})

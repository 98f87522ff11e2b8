"""Whether parts obey rules and units as one class, from what is counted of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.encode.part import Rows
from shoal.engines.parts import obeys
from shoal.engines.spark.ask import collected
from shoal.engines.spark.route import Routing, routed
from shoal.engines.spark.tuples import key_names, line_names, seen_of
from shoal.engines.spark.values import InSpark

__all__ = ["Obeying"]

Integers = NDArray[np.int64]


class Obeying:
    """Whether parts obey as one class: by what rules see in each, and by persons, k of each at most."""

    def __init__(self, coded: InSpark, routing: Routing) -> None:
        from pyspark.sql import functions as f
        from pyspark.sql.window import Window

        self.about = coded.about
        self.k = coded.about.plan.k
        rows = routed(coded, routing)
        names = line_names(self.about)[len(key_names(coded.coder)) :]
        self.has_unit = self.about.plan.whom.unit is not None
        seen = names[: len(names) - self.has_unit]
        self.seen: dict[int, tuple[Integers, Integers]] = {}
        self.persons: dict[int, NDArray[np.int64]] = {}
        if seen:
            counted = rows.groupBy("block", *seen).agg(coded.records.alias("n"))
            told = collected(counted, "counting what rules look at")
            block = told.column("block").to_numpy()
            keys = np.stack([told.column(name).to_numpy() for name in seen])
            many = told.column("n").to_numpy()
            for part in np.unique(block).tolist():
                self.seen[part] = keys[:, block == part], many[block == part]
        if self.has_unit:
            each = rows.select("block", "p").distinct()
            some = f.row_number().over(Window.partitionBy("block").orderBy("p"))
            told = collected(each.withColumn("j", some).where(f.col("j") <= self.k), "counting persons")
            block, who = told.column("block").to_numpy(), told.column("p").to_numpy()
            for part in np.unique(block).tolist():
                self.persons[part] = who[block == part]

    def together(self, parts: list[int]) -> bool:
        """Whether some parts do."""
        if self.has_unit and np.unique(np.concatenate([self.persons[one] for one in parts])).size < self.k:
            return False
        if not self.seen:
            return True
        keys = np.concatenate([self.seen[one][0] for one in parts], axis=1)
        many = np.concatenate([self.seen[one][1] for one in parts])
        codes = np.zeros((many.size, len(self.about.coder.sizes)), dtype=np.int32)
        rows = Rows(codes, (), many, (), seen_of(keys, self.about))
        return obeys(rows, replace(self.about, plan=replace(self.about.plan, unit=None)))

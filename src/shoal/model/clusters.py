"""Clusters that each cost something to open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.model.figures import ratio_of

__all__ = ["Clusters"]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Who stands around whom, what it costs, and what nothing can cost less than.

    `label` has a cluster per input row, -1 for a row without records. Per cluster, `centre` is an input
    row, `size` its records, `radius` how far the farthest lies from the centre. `value` is the sum over
    clusters of size * radius and the centre's opening cost; no clusters cost less than `bound`, and the
    least possible sum is at least `value` / `factor`.
    """

    label: NDArray[np.int32]
    centre: NDArray[np.int32]
    size: NDArray[np.int64]
    radius: NDArray[np.float64]
    value: float
    bound: float
    factor: float = 3.0

    @property
    def ratio(self) -> float | None:
        """Value / bound: 1 where the value is 0, None where only the bound is."""
        return ratio_of(self.value, self.bound)

    def __repr__(self) -> str:
        ratio = "" if self.ratio is None else f", ratio {self.ratio:.3f}"
        return f"Clusters({self.centre.size} clusters of {self.label.size} rows: {self.value:g}{ratio})"

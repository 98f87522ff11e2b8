"""What the methods that pack whole labels share: what they say of themselves, and the order of labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.model.facts import Facts, Option, one_of

__all__ = ["facts_of", "order_of", "read_order"]

read_order = one_of("sorted", "random")


def facts_of(
    *, title: str, guarantee: str, time: str, paper: str, factor: float, options: Mapping[str, Option]
) -> Facts:
    """A method that packs the labels of one column, none of them split, the largest group small."""
    return Facts(
        title=title,
        objective="largest",
        guarantee=guarantee,
        time=time,
        paper=paper,
        takes=frozenset({"label"}),
        most_columns=1,
        withholds=False,
        obeys="merge",
        styles=frozenset({"generalize"}),
        options=options,
        factor=lambda k, columns: factor,
    )


def order_of(weight: NDArray[np.int64], order: str, seed: int) -> NDArray[np.int64]:
    """The labels heaviest first (ties by name), or shuffled by the seed."""
    if order == "random":
        return np.random.default_rng(seed).permutation(weight.size)
    return np.argsort(-weight, kind="stable")

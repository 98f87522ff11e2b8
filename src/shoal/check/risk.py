"""Chances that a record of the finished table is matched with its person."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.model.verdict import Risk

__all__ = ["risk_of"]


def risk_of(sizes: NDArray[np.int64]) -> Risk:
    """Prosecutor, journalist and marketer risk from the sizes of the classes.

    A record of a class of size s is matched with chance 1 / s. The table serves as its own population,
    so the journalist's highest risk is the prosecutor's; a larger population can only lower it.
    """
    if sizes.size == 0:
        return Risk(0.0, 0.0, 0.0, 0.0, 0)
    highest = 1.0 / int(sizes.min())
    mean = sizes.size / int(sizes.sum())
    return Risk(
        prosecutor_highest=highest,
        prosecutor_mean=mean,
        journalist_highest=highest,
        marketer=mean,
        uniques=int((sizes == 1).sum()),
    )
